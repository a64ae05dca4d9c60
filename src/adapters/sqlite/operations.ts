// What the store asks of its writer thread. Everything that a run is made of is sealed by then: the thread never sees it.

export interface CreateOperation {
  readonly kind: "create"
  readonly run_id: string
  readonly caller: string
  readonly created_at: number
  readonly resumable: boolean
  readonly owner: string
  readonly lease_until: number
  /** Keyed hashes. */
  readonly idempotency: Uint8Array | null
  readonly fingerprint: Uint8Array | null
  /** The run's key, wrapped. */
  readonly key: Uint8Array
  readonly request: Uint8Array
  readonly secrets: Uint8Array | null
}

export type CreateResult =
  | { readonly outcome: "created"; readonly num: number; readonly fence: number }
  | { readonly outcome: "exists" | "conflict"; readonly run_id: string }

export interface AppendOperation {
  readonly kind: "append"
  /** The number of the run. */
  readonly run: number
  readonly fence: number
  readonly first: number
  readonly last: number
  readonly body: Uint8Array
  readonly kept: Uint8Array | null
  /** When the last event is a terminal one. */
  readonly finished_at: number | null
}

export type AppendResult = "stored" | "lease lost" | { readonly stored_last: number }

export interface ClaimOperation {
  readonly kind: "claim"
  readonly owner: string
  readonly limit: number
  readonly now: number
  readonly lease_until: number
}

export interface RenewOperation {
  readonly kind: "renew"
  readonly run_id: string
  readonly fence: number
  readonly lease_until: number
}

export interface ReleaseOperation {
  readonly kind: "release"
  readonly run_id: string
  readonly fence: number
}

export interface CancelOperation {
  readonly kind: "cancel"
  readonly run_id: string
}

export interface CachePutOperation {
  readonly kind: "cache put"
  readonly entry: Uint8Array
  readonly slot: Uint8Array
  readonly expires_at: number
  readonly body: Uint8Array
}

export interface CachePurgeOperation {
  readonly kind: "cache purge"
  readonly slot: Uint8Array
  readonly now: number
}

/** One slice of a sweep, so that a long one does not keep appends waiting. */
export interface SweepOperation {
  readonly kind: "sweep runs" | "sweep leftovers" | "sweep ages"
  readonly ended_before: number
  readonly now: number
  readonly tombstone_until: number
}

export interface ProbeOperation {
  readonly kind: "probe"
}

interface Results {
  create: CreateResult
  append: AppendResult
  claim: readonly { readonly run_id: string; readonly fence: number }[]
  /** Whether the lease still holds. */
  renew: boolean
  release: null
  cancel: boolean
  "cache put": null
  "cache purge": number
  /** How many runs, or rows, were deleted. */
  "sweep runs": number
  "sweep leftovers": number
  "sweep ages": number
  probe: null
}

export type Operation =
  | CreateOperation
  | AppendOperation
  | ClaimOperation
  | RenewOperation
  | ReleaseOperation
  | CancelOperation
  | CachePutOperation
  | CachePurgeOperation
  | SweepOperation
  | ProbeOperation

export type ResultOf<O extends Operation> = Results[O["kind"]]

/** How one operation of a batch went. `failure` is the sentence for the operator. */
export type Outcome = { readonly value: Results[Operation["kind"]] } | { readonly failure: string }
