import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { Limits } from "../plan/plan-shape.ts"
import type { ErrorKind, LogEvent, RunTrigger, Usage } from "../log/events.ts"
import type { SourceText } from "../source/source-files.ts"
import type { OutputKeeper, TriggerStore } from "./trigger-store.ts"
import type { ActionStore } from "./run-actions.ts"
import type { Deletion } from "./deletion.ts"
import type { ErasureStore } from "./erasure.ts"
import type { ScoreStore } from "./scores.ts"
import type { EventStore } from "./event-store.ts"
import type { VersionStore } from "./version-store.ts"
import type { FileStore } from "./file-store.ts"
import type { Questions } from "./question-store.ts"
import type { Notify, OutboxStore } from "./notices.ts"
import type { RunCounts } from "./run-stats.ts"
import type { RunList, RunStatus, WorkflowVersion } from "./run-list.ts"
import type { Alarm } from "../log/replay-data.ts"
import type { WaitStore } from "./waits.ts"
import type { LedgerRow, LedgerStore } from "./ledger.ts"

export type { Deletion, RunStatus, WorkflowVersion }

/** What was asked for. All of it is stored encrypted; `secrets` is deleted when the run ends. */
export interface RunRequest extends SourceText {
  readonly input: JsonObject
  readonly secrets: JsonObject
  readonly options: RunOptions
  /** The workflow of the server's folder that the source comes from; absent for source that a caller sent. */
  readonly workflow?: WorkflowVersion
  /** The request named that version. Absent where it took what was served. */
  readonly asked_version?: true
  /** What started it; absent where a caller did. */
  readonly trigger?: RunTrigger
  /** The schedule that remembers its output; absent where none asks for it. */
  readonly keeper?: OutputKeeper
  /** The trace that the request belongs to, as its `traceparent` header says. */
  readonly traceparent?: string
  /** What tracing systems on the way have added to it, as the `tracestate` header says. */
  readonly tracestate?: string
  /** The trace of its spans: that of the request, else its own. Absent where neither is there. */
  readonly trace_id?: string
  /** What the caller wants backends to know, as the `baggage` header says; absent where no backend may have it. */
  readonly baggage?: string
  /** Absent for a run that starts afresh. */
  readonly rerun?: RerunOf
  /** How a client of a chat asked for it; absent for all others. */
  readonly chat?: ChatRequest
}

/** What answers of a chat repeat of their request. */
export interface ChatRequest {
  readonly api: "responses" | "chat" | "ag-ui"
  /** It can be fetched and continued. */
  readonly store: boolean
  /** It goes on without its client. */
  readonly background: boolean
  readonly metadata?: Readonly<Record<string, string>>
  readonly instructions?: string | null
  /** The response that it continues. */
  readonly previous?: string | null
}

/** What a re-run takes its results over from. */
export interface RerunOf {
  readonly run_id: string
  /** Steps that run whatever their facts: `agent.write`. */
  readonly from: readonly string[]
  /** By step (`agent.sort`, `agent.review[2]`): results that the caller gives. Absent where there are none. */
  readonly given?: JsonObject
}

export interface RunOptions {
  readonly cache_key: string | null
  readonly use_cache: boolean
  readonly max_concurrency: number | null
  readonly timeout_ms: number | null
  readonly deltas: boolean
  /** Absent unless asked for. */
  readonly partials?: true
  /** Absent when no one is notified. */
  readonly notify?: Notify
  /** It parks where a budget is used up, instead of failing. */
  readonly on_budget?: "wait"
  /** What the run may use at most; absent where the request sets nothing. */
  readonly limits?: Limits | null
}

export interface NewRun {
  readonly run_id: string
  /** The key's name that started it; empty without keys. */
  readonly caller: string
  readonly request: RunRequest
  readonly created_at: number
  /** Unique with `caller`; `fingerprint` is that of the request without its secrets. */
  readonly idempotency: Idempotency | null
  /** Ids of files of its caller that it refers to from now on, each once. */
  readonly files?: readonly string[]
  /** It is judged once it has completed. */
  readonly scored?: true
  /** Its file marks values as private. */
  readonly private?: true
}

/** No request can name it again: it is always new. */
export interface UnkeyedRun extends NewRun {
  readonly idempotency: null
}

/** The fence of a run's first owner. */
export const firstFence = 1

/** A parked run moves to another version of its workflow. */
export interface RunMove {
  /** In place of the one before; its secrets stay as they are. */
  readonly request: RunRequest
  /** Steps of the new version are ready: the run can be claimed at once. */
  readonly wakes: boolean
  /** Its new file declares scores. */
  readonly scored?: true
  /** Its new file marks values as private. A run that had private values has them still. */
  readonly private?: true
}

export interface Idempotency {
  readonly key: string
  readonly fingerprint: string
  /** The key is remembered until then, also when its run is gone; absent for one that lives as long as its run. */
  readonly kept_until?: number
}

export type CreateOutcome =
  /** Stored, and already claimed by its creator. */
  | { readonly outcome: "created"; readonly lease: Lease }
  | ExistingRun
  /** Nothing was stored: the caller has no such file any more. */
  | { readonly outcome: "file gone"; readonly file_id: string }

/** A conflict is the same key with another fingerprint. */
export interface ExistingRun {
  readonly outcome: "exists" | "conflict"
  readonly run_id: string
}

export interface RunRow {
  readonly run_id: string
  readonly caller: string
  readonly created_at: number
  readonly finished_at: number | null
  readonly last_event_id: number
  readonly cancel_requested: boolean
  readonly workflow: WorkflowVersion | null
  readonly trigger: RunTrigger | null
  readonly trace_id: string | null
  /** Parked: no outcome of what it waits for has been stored since. */
  readonly waiting: boolean
}

/** The right to append to a run's log. The fence grows with each owner; a writer with an old one is refused. */
export interface Lease {
  readonly run_id: string
  readonly owner: string
  readonly fence: number
}

/** A lease that was claimed. */
export interface ClaimedLease extends Lease {
  /** The owner before gave the run back by itself. Else that process died, or has been silent for too long. */
  readonly given_back: boolean
  /** It was parked, and has been woken. */
  readonly woken: boolean
}

/** Another process took the run over, or it has ended: the holder of this lease must drop the run without writing anything. */
export class LeaseLost extends Error {
  constructor(run_id: string) {
    super(`The lease of run ${run_id} is lost: another process took it over, or it has ended`)
    this.name = "LeaseLost"
  }
}

/** The store cannot do it now (a full disk, a broken connection). The message is a sentence for the operator. */
export class StoreFailure extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = "StoreFailure"
  }
}

/** The store will not work again in this process: trying once more is of no use. */
export class StoreBroken extends StoreFailure {
  constructor(message: string) {
    super(message)
    this.name = "StoreBroken"
  }
}

/** Stored data of one run is damaged and can never be read. Other runs are not affected. */
export class Damaged extends StoreFailure {
  constructor(message: string, cause?: unknown) {
    super(message, cause)
    this.name = "Damaged"
  }
}

export class NoSuchRun extends StoreFailure {
  constructor(run_id: string) {
    super(`There is no run ${run_id}`)
    this.name = "NoSuchRun"
  }
}

/** An append that withdraws a wait which has its outcome already, or is due. Nothing of it was stored. */
export class WaitSettled extends StoreFailure {
  constructor(run_id: string) {
    super(`A wait of run ${run_id} that was to be withdrawn has its outcome`)
    this.name = "WaitSettled"
  }
}

/** An append whose ids do not go on from the last event that is stored: another append failed, or another process wrote. */
export class OutOfSequence extends StoreFailure {
  constructor(run_id: string, first: number, last: number) {
    super(`Event ${first} does not follow event ${last}, the last of run ${run_id} that is stored`)
    this.name = "OutOfSequence"
  }
}

/** Whether it is about the store as a whole, and not about one run. */
export function isStoreTrouble(error: unknown): error is StoreFailure {
  if (!(error instanceof StoreFailure)) return false
  return !(
    error instanceof Damaged ||
    error instanceof NoSuchRun ||
    error instanceof OutOfSequence ||
    error instanceof WaitSettled
  )
}

/** A run whose private values were deleted. Only its record is left. */
export interface RedactedRun {
  readonly run: RunRow
  readonly status: RunStatus
  readonly error_kind: ErrorKind | null
  readonly usage: Usage
  readonly rerun_of: string | null
  readonly redacted_at: number
}

export type RunLookup =
  | { readonly found: "run"; readonly run: RunRow }
  /** Deleted, by retention or by request: with `redacted`, all but how it went. */
  | { readonly found: "expired"; readonly caller: string; readonly redacted?: RedactedRun }
  | { readonly found: "nothing" }

/** Answers of models. Expired ones are never given. */
export interface AnswerCache {
  get(caller: string, cache_key: string, hash: string): Promise<JsonValue | undefined>
  put(caller: string, cache_key: string, hash: string, value: JsonValue, ttlMs: number): Promise<void>
  /** How many live entries were dropped. */
  purge(caller: string, cache_key: string): Promise<number>
  /** Drops one entry, where it is there. */
  forget(caller: string, cache_key: string, hash: string): Promise<void>
}

/**
 * Every method that returns a promise, those of the parts too, may reject with a `StoreFailure`: then nothing of what it asked for has been
 * acknowledged to anyone, and it may work again later. What a resolved promise said is durable.
 */
export interface RunStore extends RunList, RunCounts {
  readonly waits: WaitStore
  /** A view of `waits`. */
  readonly questions: Questions
  readonly outbox: OutboxStore
  readonly cache: AnswerCache
  readonly triggers: TriggerStore
  readonly ledger: LedgerStore
  readonly sentEvents: EventStore
  readonly versions: VersionStore
  readonly files: FileStore
  readonly actions: ActionStore
  readonly erasure: ErasureStore
  readonly scores: ScoreStore

  /** Idempotent by `run.idempotency`, among the runs of one caller that retention has left, and the keys that outlive theirs. */
  create(run: NewRun, owner: string, leaseMs: number): Promise<CreateOutcome>
  /**
   * Creates a run without an idempotency key under a lease of the fence `firstFence`. The lease can be used at once: appends are applied after the creation
   * (together with it, where the store can), and reject with `LeaseLost` or a `StoreFailure` where it failed. Resolves when the run is durable; until then
   * nothing else finds it. A run that refers to files is made by `create`. Absent: the store cannot do that.
   */
  begin?(run: UnkeyedRun, lease: Lease, leaseMs: number): Promise<void>
  /** What `create` would find under a key; null where it would make a run, which this does not. */
  existing(caller: string, idempotency: Idempotency): Promise<ExistingRun | null>
  lookup(run_id: string): Promise<RunLookup>
  /** `secrets` is empty once the run has ended. Rejects with a `StoreFailure` for a run that does not exist. */
  request(run_id: string): Promise<RunRequest>

  /**
   * Appends events whose ids go on from the log's last, all or none; resolves when they are durable. Rejects with
   * `LeaseLost`, or with a `StoreFailure` (also when the ids do not go on from the log's last). Calls need not wait for
   * each other: they are applied in the order in which they were made, and one that follows a failed one fails too. A
   * terminal event is the last of its run: it deletes the secrets and frees the lease. `run_waiting` frees the lease as well
   * and parks the run: no process can claim it until an outcome or a cancel wakes it. An earlier one wakes it at once.
   * `entries` of the ledger that the events change are set with them. An event that withdraws a wait is refused with `WaitSettled` unless that is open.
   * `move` replaces the request of a run that moves to another version.
   */
  append(lease: Lease, events: readonly LogEvent[], entries?: readonly LedgerRow[], move?: RunMove): Promise<void>
  /** The lease of a run that is parked, and whose cancel nobody has asked for; null for every other one. */
  claimParked(run_id: string, owner: string, leaseMs: number): Promise<Lease | null>
  /**
   * Parks a run again that was woken, without an event: each of these alarms takes the place of the one with its id, which may have been due. Rejects with `LeaseLost`.
   */
  parkAgain(lease: Lease, alarms: readonly Alarm[]): Promise<void>
  /**
   * Events with an id over `after`, at most `limit`, and fewer where they are large: an empty page, not a short one,
   * says that there are no more. `kept` is there only when asked for, as long as the run is. Others may
   * be given the same objects.
   */
  read(run_id: string, after: number, limit: number, kept?: "kept"): Promise<LogEvent[]>
  /**
   * Ends a run with unreadable data (`Damaged`) with a terminal event, whose id is the one after the last that
   * was ever given. From now on the log can be read to its end; events before the end may be missing. Rejects with
   * `LeaseLost`.
   */
  failAsCorrupt(lease: Lease, end: LogEvent): Promise<void>
  /**
   * Every event after `after`, first stored, then live, each once and in order, until the terminal one or the abort,
   * neither of which throws. Ends at once for a run that does not exist, or has ended by then. A run that retention deletes
   * while it is read goes on to its end, or else `NoSuchRun` is thrown. Backpressure: nothing is buffered for a reader that
   * does not ask. Others may be given the same objects.
   */
  follow(run_id: string, after: number, signal: AbortSignal): AsyncIterable<LogEvent>

  /**
   * Takes over unfinished runs, at most `limit`: first those that were woken, then those whose lease has run out (or whose owner
   * is known to be dead).
   */
  claim(owner: string, limit: number, leaseMs: number): Promise<ClaimedLease[]>
  /** False: lost. */
  renew(lease: Lease, leaseMs: number): Promise<boolean>
  /** Gives an unfinished run back at once, for others to claim; harmless when it is lost already. */
  release(lease: Lease): Promise<void>

  /** Remembers that the run must stop; `false` when it has ended or does not exist. Repeats are harmless. */
  requestCancel(run_id: string): Promise<boolean>
  /**
   * Calls back once, never before it has returned, when a cancel is (or already was) requested, by whatever process. The
   * result stops listening.
   */
  onCancel(run_id: string, listener: () => void): () => void

  /**
   * Bytes that the caller's runs take which have ended or wait for people, about; those of others count when they get there. `sweep` frees them. A
   * store that many machines share may count what this process has stored, and no more.
   */
  stored(caller: string): Promise<number>
  /**
   * Deletes runs that ended before `ended_before`, and dead cache entries; says how many runs. A tombstone of each
   * stays for a good while. Of private runs that ended before `private_before`, all goes that they were given and made.
   */
  sweep(ended_before: number, private_before?: number): Promise<number>
  /**
   * Deletes a run that has ended, at once: all that a sweep would delete of it later, its idempotency key included, and with a tombstone. `open`: it has
   * not ended, and stays. `gone`: there is no such run (any more). If the process dies meanwhile, the next sweep deletes the rest.
   */
  delete(run_id: string): Promise<Deletion>
  /** A keyed hash as a number, from 0 to below 1: the same in all processes that share the store, and nobody else can compute it. */
  keyedHash(parts: readonly string[]): Promise<number>
  /** The time by the store's own clock, in milliseconds since the epoch: what all processes decide by (`StoreClock`). */
  time(): Promise<number>
  /** Readiness: rejects with a `StoreFailure` when the store can not be written to now. */
  probe(): Promise<void>
  /**
   * Waits for what is under way; followers end. The leases that it still holds are free for others to claim. The store is not called
   * after that: `untilClosed` sees to it.
   */
  close(): Promise<void>
}
