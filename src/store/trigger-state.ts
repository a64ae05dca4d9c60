import type { WireError } from "../log/events.ts"
import { Damaged } from "../ports/store.ts"
import type { LastOutcome, TriggerState } from "../ports/trigger-store.ts"
import type { Vault } from "../ports/vault.ts"

// The memory of a trigger as stores write it: names, times and outcomes in plain text, and the error of a refusal sealed, which may
// quote what a workflow or a delivery says.

/** JSON can hold it. */
export interface StoredState extends Omit<TriggerState, "last"> {
  readonly last: (Omit<LastOutcome, "error"> & { readonly error: SealedError | null }) | null
}

interface SealedError {
  readonly kind: WireError["kind"]
  /** Base64. */
  readonly sealed: string
}

export function toStored(vault: Vault, id: string, state: TriggerState): StoredState {
  const { last } = state
  if (last === null || last.error === null) return { ...state, last: last && { ...last, error: null } }
  const sealed = Buffer.from(vault.seal(about(id), JSON.stringify(last.error))).toString("base64")
  return { ...state, last: { ...last, error: { kind: last.error.kind, sealed } } }
}

/** Once the master key was changed, the kind is all that is known of an older error. */
export function fromStored(vault: Vault, id: string, stored: StoredState): TriggerState {
  const { last } = stored
  if (last === null || last.error === null) return { ...stored, last: last && { ...last, error: null } }
  return { ...stored, last: { ...last, error: opened(vault, id, last.error) } }
}

function opened(vault: Vault, id: string, { kind, sealed }: SealedError): WireError {
  try {
    return JSON.parse(vault.open(about(id), Buffer.from(sealed, "base64"))) as WireError
  } catch (error) {
    if (!(error instanceof Damaged)) throw error
    return { kind, message: "The message can no longer be read: the encryption key was changed", issues: [] }
  }
}

function about(id: string): string {
  return `trigger ${id}`
}
