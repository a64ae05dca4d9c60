import { parseInOrder } from "../base/ordered-object.ts"
import type { DataKey, Vault } from "../ports/vault.ts"
import type { OpenedWait, WaitKind, WaitKinds } from "../ports/waits.ts"

// What sealed things are about: changing these makes what is stored unreadable.

export function sealWait(key: DataKey, { kind, id, about }: OpenedWait): Uint8Array {
  return key.seal(`wait ${kind} ${id}`, JSON.stringify(about))
}

export function openWait<K extends WaitKind>(
  key: DataKey,
  kind: K,
  id: string,
  sealed: Uint8Array,
): WaitKinds[K]["about"] {
  return parseInOrder(key.open(`wait ${kind} ${id}`, sealed)) as WaitKinds[K]["about"]
}

export function sealOutcome<K extends WaitKind>(
  key: DataKey,
  kind: K,
  id: string,
  outcome: WaitKinds[K]["outcome"],
): Uint8Array {
  return key.seal(`outcome ${kind} ${id}`, JSON.stringify(outcome))
}

export function openOutcome<K extends WaitKind>(
  key: DataKey,
  kind: K,
  id: string,
  sealed: Uint8Array,
): WaitKinds[K]["outcome"] {
  return parseInOrder(key.open(`outcome ${kind} ${id}`, sealed)) as WaitKinds[K]["outcome"]
}

/** A keyed hash: indexes find waits by it. Those of two kinds differ. */
export function waitKeyDigest(vault: Vault, kind: WaitKind, key: string): Uint8Array {
  return vault.digest("key of a wait", [kind, key])
}
