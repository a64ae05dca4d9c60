import type { JsonObject } from "../base/json-value.ts"
import { valueAt } from "../ports/erasure.ts"
import type { Idempotency, NewRun, RunRequest } from "../ports/store.ts"
import { receiverOf } from "../ports/receiver-of.ts"
import type { Vault } from "../ports/vault.ts"
import type { RunHead } from "./log-reader.ts"
import { digestOfValue } from "./sql-erasure.ts"
import { sealEvents, type EventsText } from "./sealed-events.ts"
import type { CreateOperation } from "./operations.ts"
import { originOf, type RequestPreview } from "../ports/run-list.ts"
import { previewOfRequest } from "../ports/run-preview.ts"
import { sealPreview } from "./sealed-previews.ts"
import { newSecretsKey } from "./run-key.ts"
import { aboutUrl } from "./sealed-notices.ts"
import type { Outbox } from "./sql-outbox.ts"

type NewKey = ReturnType<Vault["newKey"]>

/** The head of a run whose number the writer has not assigned yet, or has. */
export type NewRunHead = Omit<RunHead, "num"> & { readonly num?: number }

export function newHead({ run_id, caller, request }: NewRun, { key }: NewKey): Omit<RunHead, "num"> {
  return { run_id, caller, key, notifies: request.options.notify !== undefined, keeper: request.keeper ?? null }
}

/** A longer request is stored apart from the first events, so that followers need not read it. */
const shortRequest = 8 * 1024
/** Longer events are sealed as soon as they come. */
const shortEvents = 64 * 1024

/** A run whose creation waits for its transaction. Its first events may join it until then: both are sealed as one. */
export class BeginningRun {
  readonly head: NewRunHead
  readonly creation: CreateOperation
  readonly #key: NewKey["key"]
  readonly #request: string
  readonly #preview: RequestPreview
  #first: EventsText | null = null
  #sealed = false

  constructor(head: NewRunHead, creation: CreateOperation, key: NewKey["key"], request: RunRequest) {
    this.head = head
    this.creation = creation
    this.#key = key
    this.#request = textOfRequest(request)
    this.#preview = previewOfRequest(request)
  }

  /** False: they come too late, or are too long. */
  join(events: EventsText): boolean {
    const fits = events.text.length + (events.kept?.length ?? 0) <= shortEvents
    if (this.#sealed || this.#first !== null || !fits) return false
    this.#first = events
    return true
  }

  seal(): CreateOperation {
    this.#sealed = true
    const [idempotency, fingerprint, key, , secrets, notify, , , secretsKey] = this.creation.blobs
    const joins = this.#first !== null && this.#request.length <= shortRequest
    const request = joins ? null : this.#key.seal("request", this.#request)
    const [events, kept] =
      this.#first === null ? [null, null] : sealEvents(this.#key, this.#first, joins ? this.#request : null)
    const last = this.#first?.last ?? 0
    return {
      ...this.creation,
      last,
      blobs: [
        idempotency,
        fingerprint,
        key,
        request,
        secrets,
        notify,
        events,
        kept,
        secretsKey,
        sealPreview(this.#key, this.#preview),
      ],
    }
  }
}

export interface CreationParts {
  readonly vault: Vault
  readonly outbox: Outbox
  /** Paths of inputs by whose values runs can be found to be erased. */
  readonly erasePaths: readonly string[]
}

/** What the writer stores of a new run, without its request: secrets and receiver are sealed. */
export function creationOf(
  run: NewRun,
  { wrapped }: NewKey,
  lease: Pick<CreateOperation, "owner" | "lease_until">,
  { vault, outbox, erasePaths }: CreationParts,
): CreateOperation {
  const { run_id, caller, idempotency } = run
  const { secrets, options } = run.request
  const { notify } = options
  const ofSecrets = Object.keys(secrets).length === 0 ? null : newSecretsKey(vault, run_id)
  return {
    kind: "create",
    run_id,
    caller,
    created_at: run.created_at,
    workflow: run.request.workflow?.name ?? null,
    version: run.request.workflow?.version ?? null,
    release: run.request.workflow?.release ?? null,
    shadow_of: run.request.workflow?.shadow_of ?? null,
    rerun_of: run.request.rerun?.run_id ?? null,
    values: erasePaths.map((path) => ({ path, digest: digestAt(vault, run.request.input, path) })),
    started_by: run.request.trigger === undefined ? null : JSON.stringify(run.request.trigger),
    origin: originOf(run.request),
    trace_id: run.request.trace_id ?? null,
    keeper: run.request.keeper === undefined ? null : JSON.stringify(run.request.keeper),
    key_until: idempotency?.kept_until ?? null,
    owner: lease.owner,
    lease_until: lease.lease_until,
    notify_events: notify === undefined ? null : ` ${notify.events.join(" ")} `,
    last: 0,
    files: run.files ?? [],
    scored: run.scored === true,
    private: run.private === true,
    notify_receiver: notify === undefined ? null : outbox.receiver(receiverOf(notify.url)),
    blobs: [
      ...(idempotency === null ? ([null, null] as const) : idempotencyDigests(vault, caller, idempotency)),
      wrapped,
      null,
      ofSecrets?.key.seal("secrets", JSON.stringify(secrets)) ?? null,
      notify === undefined ? null : vault.seal(aboutUrl(run_id), notify.url),
      null,
      null,
      ofSecrets?.wrapped ?? null,
      null,
    ],
  }
}

/** The keyed hash of a value; empty where there is none. */
function digestAt(vault: Vault, input: JsonObject, path: string): string {
  const value = valueAt(input, path)
  return value === undefined ? "" : digestOfValue(vault, path, value)
}

/** Without its secrets. */
export function textOfRequest(request: RunRequest): string {
  return JSON.stringify({ ...request, secrets: undefined })
}

/** Keyed hashes of an idempotency key, and of the request that it came with. */
export function idempotencyDigests(
  vault: Vault,
  caller: string,
  { key, fingerprint }: Idempotency,
): readonly [Uint8Array, Uint8Array] {
  return [vault.digest("idempotency", [caller, key]), vault.digest("fingerprint", [caller, key, fingerprint])]
}
