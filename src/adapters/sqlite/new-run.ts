import type { Idempotency, NewRun } from "../../ports/store.ts"
import { receiverOf } from "../../ports/receiver-of.ts"
import type { Vault } from "../../ports/vault.ts"
import type { RunHead } from "./log-reader.ts"
import type { CreateOperation } from "./operations.ts"
import { aboutUrl } from "./outbox-reader.ts"
import type { Outbox } from "./outbox.ts"

type NewKey = ReturnType<Vault["newKey"]>

/** The head of a run whose number the writer has not assigned yet, or has. */
export type NewRunHead = Omit<RunHead, "num"> & { readonly num?: number }

export function newHead({ run_id, request }: NewRun, { key }: NewKey): Omit<RunHead, "num"> {
  return { run_id, key, notifies: request.options.notify !== undefined }
}

/** What the writer stores of a new run: its request, secrets and receiver are sealed. */
export function creationOf(
  run: NewRun,
  { key, wrapped }: NewKey,
  lease: Pick<CreateOperation, "owner" | "lease_until">,
  vault: Vault,
  outbox: Outbox,
): CreateOperation {
  const { run_id, caller, idempotency } = run
  const { secrets, ...request } = run.request
  const { notify } = request.options
  return {
    kind: "create",
    run_id,
    caller,
    created_at: run.created_at,
    resumable: run.resumable,
    workflow: run.request.workflow?.name ?? null,
    version: run.request.workflow?.version ?? null,
    owner: lease.owner,
    lease_until: lease.lease_until,
    notify_events: notify === undefined ? null : ` ${notify.events.join(" ")} `,
    notify_receiver: notify === undefined ? null : outbox.receiver(receiverOf(notify.url)),
    blobs: [
      ...(idempotency === null ? ([null, null] as const) : idempotencyDigests(vault, caller, idempotency)),
      wrapped,
      key.seal("request", JSON.stringify(request)),
      Object.keys(secrets).length === 0 ? null : key.seal("secrets", JSON.stringify(secrets)),
      notify === undefined ? null : vault.seal(aboutUrl(run_id), notify.url),
    ],
  }
}

/** Keyed hashes of an idempotency key, and of the request that it came with. */
export function idempotencyDigests(
  vault: Vault,
  caller: string,
  { key, fingerprint }: Idempotency,
): readonly [Uint8Array, Uint8Array] {
  return [vault.digest("idempotency", [caller, key]), vault.digest("fingerprint", [caller, key, fingerprint])]
}
