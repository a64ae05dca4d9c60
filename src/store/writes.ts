import type { Usage } from "../log/events.ts"
import { addUsage } from "../log/usage.ts"
import type { UsageChange } from "../log/usage-after.ts"
import { firstFence, type Deletion } from "../ports/store.ts"
import { claim, claimParked, release, renew, type LeaseRules } from "./lease-writer.ts"
import { addFile, deleteFile, forgetObjects, numbersOfFiles, useFiles, useStoredFiles } from "./file-writer.ts"
import type {
  AddFileOperation,
  UseFilesOperation,
  DeleteFileOperation,
  ForgetObjectsOperation,
  AddActionOperation,
  AdvanceActionOperation,
  AppendOperation,
  AppendResult,
  CacheForgetOperation,
  CachePurgeOperation,
  CachePutOperation,
  CancelOperation,
  CloseEventOperation,
  DeliverOperation,
  DropEventOperation,
  ReceiveEventOperation,
  ClaimOperation,
  ClaimParkedOperation,
  FailAsCorruptOperation,
  CreateOperation,
  CreateResult,
  DeleteOperation,
  HoldOperation,
  KeepVersionOperation,
  PauseTriggerOperation,
  ParkAgainOperation,
  PinOperation,
  ProbeOperation,
  PutScoreOperation,
  ReserveScoreOperation,
  ScoredOperation,
  TakeScoredOperation,
  ReleaseOperation,
  RenewOperation,
  ServeOperation,
  SettleDueOperation,
  SettleNoticeOperation,
  SettleOperation,
  SweepOperation,
  SweepVersionsOperation,
  TakeNoticesOperation,
  WithdrawVersionOperation,
  WriteTriggerOperation,
} from "./operations.ts"
import { addWaits, areOpen, settle, settleDue, wake, withdraw } from "./wait-writer.ts"
import { closeEvent, deliver, dropEvent, receiveEvent } from "./event-writer.ts"
import { addNotice, settleNotice, takeNotices } from "./outbox-writer.ts"
import { get, insert, run, type Steps } from "./sql.ts"
import { addSecrets, eraseSecrets } from "./secrets-writer.ts"
import { keepKey, keepOutput, keptKey, pauseTrigger, writeTrigger } from "./trigger-writer.ts"
import { beginningEntry } from "../ports/ledger.ts"
import { hold, setEntries } from "./ledger-writer.ts"
import { countEnded } from "./stats-writer.ts"
import { addAction, advanceAction } from "./action-writer.ts"
import { endScoring, putScore, reserveScore, takeScored } from "./score-writer.ts"
import { deleteRun, redactRuns, sweepAges, sweepLeftovers, sweepRuns } from "./sweep-writer.ts"
import { keepVersion, pinWorkflow, serveVersions, sweepVersions, withdrawVersion } from "./version-writer.ts"

const rememberedRuns = 20_000
const probeEntry = Buffer.from("probe")

interface KnownRun {
  readonly fence: number
  /** Its last event. */
  readonly last: number
  /** It has no row in the tables of waits and secrets. */
  readonly alone: boolean
  /** The bytes that it takes in the store: request, events, waits. */
  readonly bytes: number
}

interface RunEnd {
  readonly outcome: string | null
  readonly error_kind: string | null
  /** JSON; null where it stays as it is. */
  readonly usage: string | null
  /** Sealed. */
  readonly end_preview: Uint8Array | null
  readonly alone: boolean
  /** Null where it is not known. */
  readonly bytes: number | null
}

type Handlers = Writes["handlers"]

/** What the writer can be asked for. */
export type Operation = NonNullable<Parameters<Handlers[keyof Handlers]>[0]>

export type ResultOf<O extends Operation> = ReturnType<Handlers[O["kind"]]> extends Steps<infer T> ? T : never

/** How one operation of a batch went. `failure` is the sentence for the operator. */
export type Outcome = { readonly value: ResultOf<Operation> } | { readonly failure: string }

/**
 * What each operation does to the tables. The medium runs many of them in one transaction, those on one run in their order, and no other process writes
 * meanwhile what they read.
 */
export class Writes {
  readonly #rules: LeaseRules
  /** Runs that this store writes to; correct as long as the fence holds, because no other process writes meanwhile. */
  readonly #known = new Map<number, KnownRun>()
  /** Numbers of the runs that were made in the transaction that is under way. */
  readonly #made = new Map<string, number>()
  /** Since the medium set it to false, a key or a cache entry was deleted that can still be found in its files. */
  residue = false
  /** Since the medium set it to false, a run was erased: what SQLite has left of it in free bytes of pages must go, too. */
  erased = false

  /** By kind of operation. What the store may send, and what it gets, follows from their types. */
  readonly handlers = {
    create: (operation: CreateOperation) => this.#create(operation),
    append: (operation: AppendOperation) => this.#append(operation),
    "park again": (operation: ParkAgainOperation) => this.#parkAgain(operation),
    settle: (operation: SettleOperation) => settle(operation),
    "settle due": (operation: SettleDueOperation) => settleDue(operation),
    "receive event": (operation: ReceiveEventOperation) => receiveEvent(operation),
    deliver: (operation: DeliverOperation) => deliver(operation),
    "close event": (operation: CloseEventOperation) => closeEvent(operation),
    "drop event": (operation: DropEventOperation) => dropEvent(operation),
    claim: (operation: ClaimOperation) => claim(this.#rules, operation),
    "claim parked": (operation: ClaimParkedOperation) => claimParked(this.#rules, operation),
    failAsCorrupt: (operation: FailAsCorruptOperation) => this.#failAsCorrupt(operation),
    renew: (operation: RenewOperation) => renew(operation),
    release: (operation: ReleaseOperation) => release(operation),
    cancel: (operation: CancelOperation) => this.#cancel(operation),
    "cache put": (operation: CachePutOperation) => this.#cachePut(operation),
    "cache purge": (operation: CachePurgeOperation) => this.#cachePurge(operation),
    "cache forget": (operation: CacheForgetOperation) => this.#cacheForget(operation),
    "take notices": (operation: TakeNoticesOperation) => takeNotices(operation),
    "settle notice": (operation: SettleNoticeOperation) => settleNotice(operation),
    /** How many runs, or rows, were deleted. */
    "sweep runs": (operation: SweepOperation) => this.#sweepRuns(operation),
    "redact runs": (operation: SweepOperation) => this.#redactRuns(operation),
    "delete run": (operation: DeleteOperation) => this.#deleteRun(operation),
    "sweep leftovers": () => sweepLeftovers(),
    "sweep ages": (operation: SweepOperation) => sweepAges(operation),
    "add file": (operation: AddFileOperation) => addFile(operation),
    "use files": (operation: UseFilesOperation) => useStoredFiles(operation),
    "delete file": (operation: DeleteFileOperation) => deleteFile(operation),
    "forget objects": (operation: ForgetObjectsOperation) => forgetObjects(operation),
    "write trigger": (operation: WriteTriggerOperation) => writeTrigger(operation),
    "pause trigger": (operation: PauseTriggerOperation) => pauseTrigger(operation),
    "add action": (operation: AddActionOperation) => addAction(operation),
    "advance action": (operation: AdvanceActionOperation) => advanceAction(operation),
    "take scored": (operation: TakeScoredOperation) => takeScored(operation),
    "end scoring": (operation: ScoredOperation) => endScoring(operation),
    "reserve score": (operation: ReserveScoreOperation) => reserveScore(operation),
    "put score": (operation: PutScoreOperation) => putScore(operation),
    "hold slices": (operation: HoldOperation) => hold(operation),
    "keep version": (operation: KeepVersionOperation) => keepVersion(operation),
    "withdraw version": (operation: WithdrawVersionOperation) => withdrawVersion(operation),
    "serve versions": (operation: ServeOperation) => serveVersions(operation),
    "pin workflow": (operation: PinOperation) => pinWorkflow(operation),
    "sweep versions": (operation: SweepVersionsOperation) => sweepVersions(operation),
    probe: (operation: ProbeOperation) => this.#probe(operation),
  }

  constructor(rules: LeaseRules) {
    this.#rules = rules
  }

  steps(operation: Operation): Steps<ResultOf<Operation>> {
    const handle = this.handlers[operation.kind] as (operation: Operation) => Steps<ResultOf<Operation>>
    return handle(operation)
  }

  /** The transaction is over. What it would have stored may be gone. */
  over(outcome: "committed" | "failed"): void {
    this.#made.clear()
    if (outcome === "failed") this.#known.clear()
  }

  *#create(operation: CreateOperation): Steps<CreateResult> {
    const { run_id } = operation
    const [idempotency, fingerprint, key, request, secrets, notify, events, kept, secretsKey, preview] = operation.blobs
    if (idempotency !== null) {
      const { key_until, created_at } = operation
      const existing =
        (yield* get("SELECT run_id, fingerprint FROM runs WHERE idempotency = ?", idempotency)) ??
        (key_until === null ? undefined : yield* keptKey(idempotency, created_at))
      if (existing !== undefined) {
        const same = Buffer.compare(existing["fingerprint"] as Uint8Array, fingerprint ?? new Uint8Array()) === 0
        return { outcome: same ? "exists" : "conflict", run_id: existing["run_id"] as string }
      }
    }
    const files = yield* numbersOfFiles(operation.caller, operation.files)
    if ("missing" in files) return { outcome: "file gone", file_id: files.missing }
    const fence = firstFence
    // `resumable` is always 1: earlier releases, which may share the tables, cancel a run with 0 instead of resuming it.
    const num = yield* insert(
      `INSERT INTO runs (run_id, caller, created_at, resumable, workflow, version, fence, owner, holder, lease_until,
         idempotency, fingerprint, key, notify, notify_events, notify_receiver, started_by, origin, keeper, preview,
         release, shadow_of, rerun_of, scored, private, trace_id)
         VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      run_id,
      operation.caller,
      operation.created_at,
      operation.workflow,
      operation.version,
      fence,
      operation.owner,
      this.#rules.holder,
      operation.lease_until,
      idempotency,
      fingerprint,
      key,
      notify,
      operation.notify_events,
      operation.notify_receiver,
      operation.started_by,
      operation.origin,
      operation.keeper,
      preview,
      operation.release,
      operation.shadow_of,
      operation.rerun_of,
      operation.scored ? 1 : 0,
      operation.private ? 1 : 0,
      operation.trace_id,
    )
    for (const { path, digest } of operation.values) {
      yield* run("INSERT INTO run_values (run, path, value) VALUES (?, ?, ?)", num, path, digest)
    }
    this.#made.set(run_id, num)
    if (operation.key_until !== null && idempotency !== null && fingerprint !== null) {
      yield* keepKey(idempotency, fingerprint, run_id, operation.key_until)
    }
    // A shadow counts in no budget.
    if (operation.release !== "shadow") yield* setEntries(num, [beginningEntry(operation.created_at)], operation)
    yield* useFiles(run_id, files.numbers, null)
    if (request !== null) yield* run("INSERT INTO requests (run, body) VALUES (?, ?)", num, request)
    if (secrets !== null && secretsKey !== null) yield* addSecrets(num, secrets, secretsKey)
    const { last } = operation
    if (events !== null) {
      yield* run("INSERT INTO events (run, last, body, kept) VALUES (?, ?, ?, ?)", num, last, events, kept)
    }
    this.#remember(num, { fence, last, alone: secrets === null, bytes: bytesOf([request, events, kept]) })
    return { outcome: "created", num, fence }
  }

  *#append(operation: AppendOperation): Steps<AppendResult> {
    const { fence, first, last, finished_at, caused, waits } = operation
    const [body, kept, end_preview, keptOutput, request, ...waitBlobs] = operation.blobs
    const num = typeof operation.run === "number" ? operation.run : yield* this.#numberOf(operation.run)
    // It could not be created.
    if (num === undefined) return "lease lost"
    if (waits !== undefined && !(yield* areOpen(num, waits))) return "settled"
    const known = this.#known.get(num)
    const current = known?.fence === fence ? known : null
    const stored_last = current?.last ?? (yield* lastEvent(num))
    const bytes = (current?.bytes ?? (yield* storedBytes(num))) + bytesOf(operation.blobs)
    // Fence and insert in one statement: asking first would cost as much again.
    const changes = yield* run(
      `INSERT INTO events (run, last, body, kept) SELECT ?1, ?2, ?3, ?4
       WHERE ?5 = 1 AND EXISTS (SELECT 1 FROM runs WHERE num = ?1 AND fence = ?6 AND finished_at IS NULL)`,
      num,
      last,
      body,
      kept,
      first === stored_last + 1 ? 1 : 0,
      fence,
    )
    if (changes === 0) {
      const held = yield* get(
        "SELECT 1 AS held FROM runs WHERE num = ? AND fence = ? AND finished_at IS NULL",
        num,
        fence,
      )
      return held === undefined ? "lease lost" : { stored_last }
    }
    const alone = current !== null && current.alone && waits === undefined
    this.#remember(num, { fence, last, alone, bytes })
    if (waits !== undefined) yield* addWaits(num, waits, waitBlobs)
    if (operation.move !== undefined && request !== null) yield* moveRun(num, operation.move, request)
    if (operation.move?.wakes === true && waits !== undefined) yield* wake(num, waits.now)
    if (waits?.parks === true) {
      yield* count(num, bytes)
      yield* run("UPDATE runs SET bytes = ? WHERE num = ?", bytes, num)
    }
    if (operation.ledger !== undefined) yield* setEntries(num, operation.ledger)
    if (caused !== null) yield* addNotice(num, caused)
    const usage = operation.usage === null ? null : yield* usageAfter(num, operation.usage)
    const { outcome, error_kind } = operation
    if (finished_at !== null)
      yield* this.#finish(num, finished_at, { outcome, error_kind, usage, end_preview, alone, bytes })
    else if (usage !== null) yield* run("UPDATE runs SET usage = ? WHERE num = ?", usage, num)
    if (operation.keeper !== null) yield* keepOutput(num, operation.keeper, keptOutput)
    return "stored"
  }

  /** Whether the lease still held. */
  *#parkAgain({ run_id, fence, waits, blobs }: ParkAgainOperation): Steps<boolean> {
    const held = yield* get(
      "SELECT num FROM runs WHERE run_id = ? AND fence = ? AND finished_at IS NULL",
      run_id,
      fence,
    )
    if (held === undefined) return false
    const num = held["num"] as number
    for (const { id } of waits.opened) yield* run("DELETE FROM waits WHERE run = ? AND id = ?", num, id)
    yield* addWaits(num, waits, blobs)
    return true
  }

  *#numberOf(run_id: string): Steps<number | undefined> {
    const made = this.#made.get(run_id)
    if (made !== undefined) return made
    return (yield* get("SELECT num FROM runs WHERE run_id = ?", run_id))?.["num"] as number | undefined
  }

  #remember(num: number, state: KnownRun): void {
    if (this.#known.size > rememberedRuns) this.#known.clear()
    this.#known.set(num, state)
  }

  /** Whether the lease still held. Touches no row of the log: the pages that they are on may be what is damaged. */
  *#failAsCorrupt({
    run_id,
    fence,
    finished_at,
    error_kind,
    caused,
    blobs: [key, end, end_preview],
  }: FailAsCorruptOperation): Steps<boolean> {
    const changes = yield* run(
      "UPDATE runs SET key = ?, condemned = ?, preview = NULL WHERE run_id = ? AND fence = ? AND finished_at IS NULL",
      key,
      end,
      run_id,
      fence,
    )
    if (changes === 0) return false
    const num = (yield* this.#numberOf(run_id)) as number
    if (caused !== null) yield* addNotice(num, caused)
    const bytes = this.#known.get(num)?.bytes ?? null
    yield* this.#finish(num, finished_at, {
      outcome: "failed",
      error_kind,
      usage: null,
      end_preview,
      alone: false,
      bytes,
    })
    return true
  }

  /** In one statement: each change of a row writes all of it again. Only a run that has not ended gets here. */
  *#finish(
    num: number,
    finished_at: number,
    { outcome, error_kind, usage, end_preview, alone, bytes }: RunEnd,
  ): Steps<void> {
    if (bytes !== null) yield* count(num, bytes)
    const ended = yield* get(
      `UPDATE runs SET finished_at = ?, outcome = ?, error_kind = ?, usage = coalesce(?, usage), end_preview = ?, bytes = coalesce(?, bytes), fence = fence + 1, owner = NULL, holder = NULL,
         lease_until = 0, waiting = 0, woken_at = NULL, score_due = CASE WHEN scored = 1 THEN ? ELSE score_due END WHERE num = ?
       RETURNING created_at, usage`,
      finished_at,
      outcome,
      error_kind,
      usage,
      end_preview,
      bytes,
      outcome === "completed" ? 0 : null,
      num,
    )
    if (ended !== undefined) yield* countEnded(num, finished_at, ended)
    this.residue = true
    this.#known.delete(num)
    if (alone) return
    yield* withdraw(num, finished_at)
    yield* eraseSecrets(num)
  }

  *#cancel({ run_id, now }: CancelOperation): Steps<"requested" | "woken" | "too late"> {
    const changes = yield* run("UPDATE runs SET cancel_requested = 1 WHERE run_id = ? AND finished_at IS NULL", run_id)
    if (changes === 0) return "too late"
    const num = (yield* this.#numberOf(run_id)) as number
    return (yield* wake(num, now)) ? "woken" : "requested"
  }

  *#cachePut({ expires_at, blobs: [entry, slot, body] }: CachePutOperation): Steps<null> {
    yield* putEntry(entry, slot, expires_at, body)
    return null
  }

  *#cachePurge({ now, blobs: [slot] }: CachePurgeOperation): Steps<number> {
    const live = yield* get("SELECT count(*) AS live FROM cache WHERE slot = ? AND expires_at > ?", slot, now)
    if ((yield* run("DELETE FROM cache WHERE slot = ?", slot)) > 0) this.residue = true
    return live?.["live"] as number
  }

  *#cacheForget({ blobs: [entry] }: CacheForgetOperation): Steps<null> {
    if ((yield* run("DELETE FROM cache WHERE entry = ?", entry)) > 0) this.residue = true
    return null
  }

  *#sweepRuns(operation: SweepOperation): Steps<number> {
    const swept = yield* sweepRuns(operation)
    if (swept > 0) this.residue = true
    return swept
  }

  *#redactRuns(operation: SweepOperation): Steps<number> {
    const redacted = yield* redactRuns(operation)
    if (redacted > 0) this.residue = true
    if (redacted > 0) this.erased = true
    return redacted
  }

  *#deleteRun(operation: DeleteOperation): Steps<Deletion> {
    const deletion = yield* deleteRun(operation)
    if (deletion === "deleted") this.residue = true
    if (deletion === "deleted" && operation.erased_at !== null) this.erased = true
    return deletion
  }

  *#probe({ blobs: [bytes] }: ProbeOperation): Steps<null> {
    yield* run("UPDATE store SET mark = mark")
    // An expired entry of the cache that cannot be asked for.
    if (bytes !== null) yield* putEntry(probeEntry, probeEntry, 0, bytes)
    return null
  }
}

/** From now on its request is another one. */
function* moveRun(
  num: number,
  { version, moved_from, scored, private: isPrivate }: NonNullable<AppendOperation["move"]>,
  request: Uint8Array,
): Steps<void> {
  yield* run(
    "INSERT INTO requests (run, body) VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET body = excluded.body",
    num,
    request,
  )
  yield* run(
    "UPDATE runs SET version = ?, moved_from = ?, scored = ?, private = CASE WHEN ? = 1 THEN 1 ELSE private END WHERE num = ?",
    version,
    moved_from,
    scored ? 1 : 0,
    isPrivate ? 1 : 0,
    num,
  )
}

function* lastEvent(num: number): Steps<number> {
  return (yield* get("SELECT coalesce(max(last), 0) AS last FROM events WHERE run = ?", num))?.["last"] as number
}

function* storedBytes(num: number): Steps<number> {
  const found = yield* get(
    `SELECT coalesce((SELECT length(body) FROM requests WHERE run = ?1), 0)
       + coalesce((SELECT sum(length(body) + coalesce(length(kept), 0)) FROM events WHERE run = ?1), 0)
       + coalesce((SELECT sum(length(body) + coalesce(length(outcome), 0)) FROM waits WHERE run = ?1), 0) AS bytes`,
    num,
  )
  return found?.["bytes"] as number
}

/** Counts what a run that has ended, or waits for people, takes of what its caller may store. Its row gets the same number. */
function* count(num: number, bytes: number): Steps<void> {
  yield* run(
    `INSERT INTO stored (caller, bytes) SELECT caller, ?2 - bytes FROM runs WHERE num = ?1
     ON CONFLICT (caller) DO UPDATE SET bytes = stored.bytes + excluded.bytes`,
    num,
    bytes,
  )
}

/** JSON. */
function* usageAfter(num: number, { whole, usage }: UsageChange): Steps<string> {
  const before = whole ? null : (yield* get("SELECT usage FROM runs WHERE num = ?", num))?.["usage"]
  return JSON.stringify(typeof before === "string" ? addUsage(JSON.parse(before) as Usage, usage) : usage)
}

function* putEntry(entry: Uint8Array, slot: Uint8Array, expires_at: number, body: Uint8Array): Steps<void> {
  yield* run(
    `INSERT INTO cache (entry, slot, expires_at, body) VALUES (?, ?, ?, ?)
     ON CONFLICT (entry) DO UPDATE SET slot = excluded.slot, expires_at = excluded.expires_at, body = excluded.body`,
    entry,
    slot,
    expires_at,
    body,
  )
}

function bytesOf(blobs: readonly (Uint8Array | null)[]): number {
  return blobs.reduce((bytes, blob) => bytes + (blob?.length ?? 0), 0)
}
