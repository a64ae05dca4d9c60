import type { SoughtValue } from "../ports/erasure.ts"
import type { Receipt } from "../ports/event-store.ts"
import type { CausedNotice, Notice, ReceiverLimit } from "../ports/notices.ts"
import type { Release } from "../log/release.ts"
import type { UsageChange } from "../log/usage-after.ts"
import type { OutputKeeper } from "../ports/trigger-store.ts"
import type { RunOrigin } from "../ports/run-list.ts"
import type { OpenedWait, WaitKind } from "../ports/waits.ts"
import type { LedgerRow, SliceRequest } from "../ports/ledger.ts"

// What the store asks of its medium's writer; `Writes.handlers` says what it answers. Everything that a run is made of is sealed by then.

/** `blobs` apart from the rest, for they travel apart. */
interface Blobs<T extends readonly (Uint8Array | null)[]> {
  readonly blobs: T
}

export interface CreateOperation extends Blobs<
  readonly [
    /** Keyed hashes of the idempotency key, and of the request. */
    idempotency: Uint8Array | null,
    fingerprint: Uint8Array | null,
    /** The run's key, wrapped. */
    key: Uint8Array,
    /** Null where it was sealed with the first events. */
    request: Uint8Array | null,
    secrets: Uint8Array | null,
    /** The URL that the run notifies. */
    notify: Uint8Array | null,
    /** The first events, where they are stored with the run. */
    events: Uint8Array | null,
    kept: Uint8Array | null,
    /** The key of the secrets, wrapped. */
    secretsKey: Uint8Array | null,
    preview: Uint8Array | null,
  ]
> {
  readonly kind: "create"
  readonly notify_events: string | null
  readonly notify_receiver: string | null
  readonly run_id: string
  readonly caller: string
  readonly created_at: number
  readonly workflow: string | null
  readonly version: string | null
  readonly release: Release | null
  /** The run that it shadows. */
  readonly shadow_of: string | null
  /** The run whose results it takes over. */
  readonly rerun_of: string | null
  /** Values of its input by which it can be found. An empty hash: it has none there. */
  readonly values: readonly SoughtValue[]
  /** JSON of what started it; null where a caller did. */
  readonly started_by: string | null
  readonly origin: RunOrigin
  readonly trace_id: string | null
  /** JSON of the schedule that remembers its output; null where none does. */
  readonly keeper: string | null
  /** Until when its idempotency key is remembered, also when the run is gone; null where it lives as long as the run. */
  readonly key_until: number | null
  readonly owner: string
  readonly lease_until: number
  /** The last of the events that are stored with the run; 0 where there are none. */
  readonly last: number
  /** Files of its caller that it refers to. */
  readonly files: readonly string[]
  /** It is judged once it has completed. */
  readonly scored: boolean
  /** Its file marks values as private. */
  readonly private: boolean
}

export type CreateResult =
  | { readonly outcome: "created"; readonly num: number; readonly fence: number }
  | { readonly outcome: "exists" | "conflict"; readonly run_id: string }
  | { readonly outcome: "file gone"; readonly file_id: string }

export interface AppendOperation extends Blobs<
  readonly [
    events: Uint8Array,
    kept: Uint8Array | null,
    /** What a list shows of how the run ended. */
    endPreview: Uint8Array | null,
    /** Its output, for the schedule that remembers it. */
    keptOutput: Uint8Array | null,
    /** Of a run that moves. */
    request: Uint8Array | null,
    /** Two for each wait that is opened: itself, and the keyed hash of its key. */
    ...waits: (Uint8Array | null)[],
  ]
> {
  readonly kind: "append"
  /** The number of the run, or the id of one whose creation was not yet stored when this was sent. */
  readonly run: number | string
  readonly fence: number
  readonly first: number
  readonly last: number
  /** When the last event is a terminal one, and how the run ended. */
  readonly finished_at: number | null
  readonly caused: CausedNotice | null
  readonly outcome: string | null
  readonly error_kind: string | null
  /** What the events change of the run's usage in the list. */
  readonly usage: UsageChange | null
  /** The schedule that remembers how the run completed; null where none does. */
  readonly keeper: OutputKeeper | null
  /** Entries of the run that the events change. */
  readonly ledger?: readonly LedgerRow[]
  /** Where the events open waits, take outcomes in, or say that the run waits. */
  readonly waits?: AppendedWaits
  /** Of a run that moves to another version. */
  readonly move?: {
    readonly version: string
    readonly moved_from: string
    readonly wakes: boolean
    readonly scored: boolean
    readonly private: boolean
  }
}

/** A run parks without an event. */
export interface ParkAgainOperation extends Blobs<readonly (Uint8Array | null)[]> {
  readonly kind: "park again"
  readonly run_id: string
  readonly fence: number
  readonly waits: AppendedWaits
}

export interface AppendedWaits {
  readonly now: number
  readonly opened: readonly Pick<OpenedWait, "kind" | "id" | "opened_at" | "due_at">[]
  /** Ids of waits whose outcome the log shows from now on. */
  readonly taken: readonly string[]
  /** Ids of open waits that nobody can settle any more. */
  readonly withdrawn: readonly string[]
  /** The alarms of the run are deleted. */
  readonly disarms: boolean
  /** The run is parked. */
  readonly parks: boolean
}

export interface SettleOperation extends Blobs<readonly [outcome: Uint8Array]> {
  readonly kind: "settle"
  /** The number of the run. */
  readonly run: number
  readonly wait: readonly [kind: WaitKind, id: string]
  readonly now: number
}

/** `late`: it was due by now, which was stored by this. */
export type SettleResult = "stored" | "late" | "settled before" | "unknown"

export interface SettleDueOperation extends Blobs<readonly []> {
  readonly kind: "settle due"
  readonly now: number
}

/** Blobs: keyed hashes of the id, of the contents, and of name and key; the event, sealed. */
export interface ReceiveEventOperation extends Blobs<
  readonly [id: Uint8Array | null, fingerprint: Uint8Array, place: Uint8Array, body: Uint8Array]
> {
  readonly kind: "receive event"
  readonly caller: string
  readonly received_at: number
  readonly keep_until: number | null
}

export type ReceiveResult = Receipt

/** An event becomes the outcome of a wait. */
export interface DeliverOperation extends Blobs<readonly [outcome: Uint8Array]> {
  readonly kind: "deliver"
  readonly number: number
  /** The number of the run. */
  readonly run: number
  readonly wait: string
  readonly now: number
}

export interface CloseEventOperation extends Blobs<readonly []> {
  readonly kind: "close event"
  readonly number: number
  readonly forget: boolean
  readonly now: number
}

export interface DropEventOperation extends Blobs<readonly []> {
  readonly kind: "drop event"
  readonly number: number
}

/** Parks and claims are one step for others: nobody else gets the run in between. */
export interface ClaimParkedOperation extends Blobs<readonly []> {
  readonly kind: "claim parked"
  readonly run_id: string
  readonly owner: string
  readonly lease_until: number
}

/** `settled`: a wait that was to be withdrawn is not open. */
export type AppendResult = "stored" | "lease lost" | "settled" | { readonly stored_last: number }

export interface ClaimOperation extends Blobs<readonly []> {
  readonly kind: "claim"
  readonly owner: string
  readonly limit: number
  /** By the monotonic clock of this process, like `lease_until`. */
  readonly now: number
  readonly lease_until: number
}

export interface RenewOperation extends Blobs<readonly []> {
  readonly kind: "renew"
  readonly run_id: string
  readonly fence: number
  readonly lease_until: number
}

/** With a new key, for the old one may be what is damaged. */
export interface FailAsCorruptOperation extends Blobs<
  readonly [key: Uint8Array, end: Uint8Array, endPreview: Uint8Array]
> {
  readonly kind: "failAsCorrupt"
  readonly run_id: string
  readonly fence: number
  readonly finished_at: number
  readonly error_kind: string | null
  readonly caused: CausedNotice | null
}

export interface ReleaseOperation extends Blobs<readonly []> {
  readonly kind: "release"
  readonly run_id: string
  readonly fence: number
}

export interface CancelOperation extends Blobs<readonly []> {
  readonly kind: "cancel"
  readonly run_id: string
  readonly now: number
}

/** Entry and slot are keyed hashes. */
export interface CachePutOperation extends Blobs<readonly [entry: Uint8Array, slot: Uint8Array, value: Uint8Array]> {
  readonly kind: "cache put"
  readonly expires_at: number
}

export interface CachePurgeOperation extends Blobs<readonly [slot: Uint8Array]> {
  readonly kind: "cache purge"
  readonly now: number
}

export interface CacheForgetOperation extends Blobs<readonly [entry: Uint8Array]> {
  readonly kind: "cache forget"
}

export interface TakeNoticesOperation extends Blobs<readonly []> {
  readonly kind: "take notices"
  readonly limit: number
  /** Receivers by their digests. Null: no limit. */
  readonly receivers: ReceiverLimit | null
  readonly now: number
  readonly due_at: number
}

export interface SettleNoticeOperation extends Blobs<readonly [last_error: Uint8Array | null]> {
  readonly kind: "settle notice"
  readonly run_id: string
  readonly event_id: number
  readonly attempts: number
  readonly status: Notice["status"]
  readonly due_at: number
}

/** One slice of a sweep, so that a long one does not keep appends waiting. */
export interface SweepOperation extends Blobs<readonly []> {
  readonly kind: "sweep runs" | "redact runs" | "sweep leftovers" | "sweep ages"
  readonly ended_before: number
  readonly now: number
  readonly tombstone_until: number
}

/** Deletes one run that has ended; its events are left to slices of a sweep. */
export interface DeleteOperation extends Blobs<readonly []> {
  readonly kind: "delete run"
  readonly run_id: string
  /** Set where it is erased: then nothing of it waits for its own time. */
  readonly erased_at: number | null
  readonly tombstone_until: number
}

export interface WriteTriggerOperation extends Blobs<readonly []> {
  readonly kind: "write trigger"
  readonly name: string
  /** JSON. */
  readonly state: string
  /** Null: nothing was there. */
  readonly read: number | null
}

export interface PauseTriggerOperation extends Blobs<readonly []> {
  readonly kind: "pause trigger"
  readonly name: string
  readonly paused: boolean
  readonly at: number
}

/** Blobs: plan and progress, sealed. */
export interface AddActionOperation extends Blobs<readonly [plan: Uint8Array, progress: Uint8Array]> {
  readonly kind: "add action"
  readonly id: string
  readonly caller: string
  readonly by_operator: boolean
  readonly due_at: number
  readonly until: number
}

export interface AdvanceActionOperation extends Blobs<readonly [progress: Uint8Array]> {
  readonly kind: "advance action"
  readonly id: string
  /** The revision that was read. */
  readonly read: number
  readonly due_at: number | null
}

/** Runs that are to be judged. */
export interface TakeScoredOperation extends Blobs<readonly []> {
  readonly kind: "take scored"
  readonly limit: number
  readonly now: number
  readonly due_at: number
}

export interface ScoredOperation extends Blobs<readonly []> {
  readonly kind: "end scoring"
  readonly run_id: string
}

export interface ReserveScoreOperation extends Blobs<readonly []> {
  readonly kind: "reserve score"
  readonly run_id: string
  readonly name: string
  readonly day: number
  readonly cost: number
  readonly most: number
}

/** Blobs: the keyed hash of name and value; the score, sealed. */
export interface PutScoreOperation extends Blobs<readonly [match: Uint8Array | null, body: Uint8Array | null]> {
  readonly kind: "put score"
  readonly run_id: string
  readonly name: string
  readonly author: string
  readonly counted: { readonly model: string; readonly value: string; readonly number: number } | null
  readonly at: number
  readonly cost: number
}

export interface HoldOperation extends Blobs<readonly []> {
  readonly kind: "hold slices"
  readonly holder: string
  readonly requests: readonly SliceRequest[]
  readonly now: number
  readonly until: number
}

/** Two blobs for each file: the keyed hash of its text, and the text. */
export interface KeepVersionOperation extends Blobs<
  readonly [digest: Uint8Array, contents: Uint8Array, ...texts: Uint8Array[]]
> {
  readonly kind: "keep version"
  readonly workflow: string
  readonly version: string
  readonly at: number
}

export interface WithdrawVersionOperation extends Blobs<readonly []> {
  readonly kind: "withdraw version"
  readonly workflow: string
  readonly version: string
  readonly at: number
}

/** `files` and `served` are JSON: versions by workflow. */
export interface ServeOperation extends Blobs<readonly []> {
  readonly kind: "serve versions"
  readonly replica: string
  readonly files: string
  readonly served: string
  readonly at: number
  readonly until: number
}

/** Without a version the file is served again. */
export interface PinOperation extends Blobs<readonly []> {
  readonly kind: "pin workflow"
  readonly workflow: string
  readonly version: string | null
  readonly at: number
}

/** One slice: versions after this number. */
export interface SweepVersionsOperation extends Blobs<readonly []> {
  readonly kind: "sweep versions"
  readonly before: number
  readonly after: number
  readonly now: number
}

/** Blobs: keyed hashes of the file and of its contents; the key of the object, and what is known of the file, both sealed. */
export interface AddFileOperation extends Blobs<
  readonly [slot: Uint8Array, content: Uint8Array, key: Uint8Array, body: Uint8Array]
> {
  readonly kind: "add file"
  readonly caller: string
  readonly file_id: string
  readonly object: string
  readonly bytes: number
  /** The most that the objects of its caller may take. */
  readonly most: number
  readonly now: number
  readonly until: number
  readonly made: { readonly run_id: string; readonly step: string | null } | null
}

export interface UseFilesOperation extends Blobs<readonly []> {
  readonly kind: "use files"
  readonly run_id: string
  readonly caller: string
  readonly files: readonly string[]
  readonly step: string | null
}

export interface DeleteFileOperation extends Blobs<readonly []> {
  readonly kind: "delete file"
  readonly file_id: string
  readonly now: number
}

export interface ForgetObjectsOperation extends Blobs<readonly []> {
  readonly kind: "forget objects"
  readonly objects: readonly string[]
}

/** `more` is written beside the usual page; the next sweep deletes it. */
export interface ProbeOperation extends Blobs<readonly [more: Uint8Array | null]> {
  readonly kind: "probe"
}
