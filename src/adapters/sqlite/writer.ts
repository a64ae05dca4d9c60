import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementResultingChanges } from "node:sqlite"
import type { Usage } from "../../log/events.ts"
import { sumUsage } from "../../log/usage.ts"
import type { UsageChange } from "../../log/usage-after.ts"
import { firstFence } from "../../ports/store.ts"
import { countHolders } from "./holder.ts"
import { claim, release, renew } from "./lease-writer.ts"
import type {
  AnswerOperation,
  AppendOperation,
  AppendResult,
  CachePurgeOperation,
  CachePutOperation,
  CancelOperation,
  ClaimOperation,
  CondemnOperation,
  CreateOperation,
  CreateResult,
  ExpireOperation,
  ForgetCacheOperation,
  KeysOperation,
  ProbeOperation,
  ReleaseOperation,
  RenewOperation,
  RewrapOperation,
  SettleNoticeOperation,
  SweepOperation,
  TakeNoticesOperation,
} from "./operations.ts"
import { PreparedStatements } from "./prepared-statements.ts"
import { QuestionWriter } from "./question-writer.ts"
import { addNotice, settleNotice, takeNotices } from "./outbox-writer.ts"
import { rewrap } from "./rewrap.ts"
import { sweepAges, sweepLeftovers, sweepRuns, sweptRows } from "./sweep-writer.ts"
import type { Sql } from "./sql.ts"
import { codeOf, sentenceFor, sqliteCode } from "./sqlite-error.ts"

const rememberedRuns = 20_000
/** Sealed secrets of up to this many bytes are kept in the run's row, which each change of it writes again. */
const shortSecrets = 1024
const probeEntry = Buffer.from("probe")

interface KnownRun {
  readonly fence: number
  /** Its last event. */
  readonly last: number
  /** It has no row in the tables of questions and secrets. */
  readonly alone: boolean
  /** The bytes that it takes in the store: request, events, questions. */
  readonly bytes: number
}

interface RunEnd {
  readonly outcome: string | null
  /** JSON; null where it stays as it is. */
  readonly usage: string | null
  readonly alone: boolean
  /** Null where it is not known. */
  readonly bytes: number | null
}

type Handlers = Writer["handlers"]

/** What the writer can be asked for. */
export type Operation = NonNullable<Parameters<Handlers[keyof Handlers]>[0]> | ForgetCacheOperation

export type ResultOf<O extends Operation> = ReturnType<Handlers[O["kind"]]>

/** How one operation of a batch went. `failure` is the sentence for the operator. */
export type Outcome = { readonly value: ResultOf<Operation> } | { readonly failure: string }

/** Applies operations, many to a transaction. Lives in the writer thread; knows nothing of threads. */
export class Writer {
  readonly #database: DatabaseSync
  readonly #path: string
  readonly #holder: string
  readonly #statements: PreparedStatements
  /** Runs that this store writes to; correct as long as the fence holds, because no other process writes meanwhile. */
  readonly #known = new Map<number, KnownRun>()
  /** Numbers of the runs that were made in the transaction that is under way. */
  readonly #made = new Map<string, number>()
  readonly #questions: QuestionWriter
  /** Since the log was emptied last, a key or a cache entry was deleted that can still be found in it. */
  #residue = false
  readonly #sql: Sql = {
    run: (sql, ...values) => this.#run(sql, ...values),
    get: (sql, ...values) => this.#get(sql, ...values),
    all: (sql, ...values) => this.#all(sql, ...values),
  }

  /** By kind of operation. What the store may send, and what it gets, follows from their types. */
  readonly handlers = {
    create: (operation: CreateOperation) => this.#create(operation),
    append: (operation: AppendOperation) => this.#append(operation),
    answer: (operation: AnswerOperation) => this.#questions.answer(operation),
    /** The ids of their runs. */
    expire: (operation: ExpireOperation) => this.#questions.expire(operation),
    claim: (operation: ClaimOperation) => claim(this.#sql, { path: this.#path, holder: this.#holder }, operation),
    /** Whether the lease still held. */
    condemn: (operation: CondemnOperation) => this.#condemn(operation),
    renew: (operation: RenewOperation) => renew(this.#sql, operation),
    release: (operation: ReleaseOperation) => release(this.#sql, operation),
    cancel: (operation: CancelOperation) => this.#cancel(operation),
    "cache put": (operation: CachePutOperation) => this.#cachePut(operation),
    "cache purge": (operation: CachePurgeOperation) => this.#cachePurge(operation),
    /** Which were taken; the rest of them is read. */
    "take notices": (operation: TakeNoticesOperation) => takeNotices(this.#sql, operation),
    "settle notice": (operation: SettleNoticeOperation) => settleNotice(this.#sql, operation),
    /** How many runs, or rows, were deleted. */
    "sweep runs": (operation: SweepOperation) => this.#sweepRuns(operation),
    "sweep leftovers": () => sweepLeftovers(this.#sql, this.#database),
    "sweep ages": (operation: SweepOperation) => sweepAges(this.#sql, operation),
    probe: ({ bytes }: ProbeOperation) => this.#probe(bytes),
    /** Why not, as a sentence; null when it is done. */
    keys: (operation: KeysOperation) => this.#keys(operation),
    rewrap: (operation: RewrapOperation) => rewrap(this.#sql, operation),
    /** How many entries were deleted. */
    "forget cache": () => this.#forgetCache(),
  }

  constructor(database: DatabaseSync, path: string, holder: string) {
    this.#database = database
    this.#statements = new PreparedStatements(database)
    this.#path = path
    this.#holder = holder
    this.#questions = new QuestionWriter(this.#statements)
  }

  /** In order, and durable when it returns. An operation that fails leaves nothing behind and does not harm the others. */
  commit(operations: readonly Operation[]): Outcome[] {
    try {
      return this.#transaction(operations)
    } catch (error) {
      if (operations.length === 1 && codeOf(error) !== sqliteCode.full) return [this.#failure(error)]
      switch (codeOf(error)) {
        case sqliteCode.full:
          // What the log holds may have its place in the file already; emptying it may make room.
          this.#emptyLog()
          break
        case sqliteCode.constraint:
        case sqliteCode.tooBig:
          break
        default:
          return operations.map(() => this.#failure(error))
      }
    }
    return operations.map((operation) => {
      try {
        const [outcome] = this.#transaction([operation])
        return outcome ?? { failure: "There was no outcome" }
      } catch (error) {
        return this.#failure(error)
      }
    })
  }

  get hasResidue(): boolean {
    return this.#residue
  }

  /** Deleted secrets are zeros in the database by now; this makes its log forget them too. False: try again later. */
  removeResidue(): boolean {
    if (this.#emptyLog()) this.#residue = false
    return !this.#residue
  }

  #transaction(operations: readonly Operation[]): Outcome[] {
    this.#run("BEGIN IMMEDIATE")
    try {
      const outcomes = operations.map((operation) => ({ value: this.#apply(operation) }))
      this.#run("COMMIT")
      return outcomes
    } catch (error) {
      this.#known.clear()
      // Some errors have rolled back already.
      if (this.#database.isTransaction) this.#run("ROLLBACK")
      throw error
    } finally {
      this.#made.clear()
    }
  }

  #apply(operation: Operation): ResultOf<Operation> {
    const handle = this.handlers[operation.kind] as (operation: Operation) => ResultOf<Operation>
    return handle(operation)
  }

  #create(operation: CreateOperation): CreateResult {
    const { run_id } = operation
    const [idempotency, fingerprint, key, request, secrets, notify, events, kept] = operation.blobs
    if (idempotency !== null) {
      const existing = this.#get("SELECT run_id, fingerprint FROM runs WHERE idempotency = ?", idempotency)
      if (existing !== undefined) {
        const same = Buffer.compare(existing["fingerprint"] as Uint8Array, fingerprint ?? new Uint8Array()) === 0
        return { outcome: same ? "exists" : "conflict", run_id: existing["run_id"] as string }
      }
    }
    const fence = firstFence
    const short = secrets !== null && secrets.length <= shortSecrets
    const { lastInsertRowid } = this.#run(
      `INSERT INTO runs (run_id, caller, created_at, resumable, workflow, version, fence, owner, holder, lease_until,
         idempotency, fingerprint, key, secrets, notify, notify_events, notify_receiver)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      run_id,
      operation.caller,
      operation.created_at,
      operation.resumable ? 1 : 0,
      operation.workflow,
      operation.version,
      fence,
      operation.owner,
      this.#holder,
      operation.lease_until,
      idempotency,
      fingerprint,
      key,
      short ? secrets : null,
      notify,
      operation.notify_events,
      operation.notify_receiver,
    )
    const num = Number(lastInsertRowid)
    if (request !== null) this.#run("INSERT INTO requests (run, body) VALUES (?, ?)", num, request)
    if (secrets !== null && !short) this.#run("INSERT INTO secrets (run, body) VALUES (?, ?)", num, secrets)
    const { last } = operation
    if (events !== null) {
      this.#run("INSERT INTO events (run, last, body, kept) VALUES (?, ?, ?, ?)", num, last, events, kept)
    }
    this.#made.set(run_id, num)
    this.#remember(num, { fence, last, alone: secrets === null || short, bytes: bytesOf([request, events, kept]) })
    return { outcome: "created", num, fence }
  }

  #append(operation: AppendOperation): AppendResult {
    const { fence, first, last, finished_at, caused, people } = operation
    const [body, kept, ...questions] = operation.blobs
    const run = typeof operation.run === "number" ? operation.run : this.#numberOf(operation.run)
    // It could not be created.
    if (run === undefined) return "lease lost"
    const known = this.#known.get(run)
    const current = known?.fence === fence ? known : null
    const stored_last = current?.last ?? this.#lastEvent(run)
    const bytes = (current?.bytes ?? this.#storedBytes(run)) + bytesOf(operation.blobs)
    // Fence and insert in one statement: asking first would cost as much again.
    const { changes } = this.#run(
      `INSERT INTO events (run, last, body, kept) SELECT ?1, ?2, ?3, ?4
       WHERE ?5 AND EXISTS (SELECT 1 FROM runs WHERE num = ?1 AND fence = ?6 AND finished_at IS NULL)`,
      run,
      last,
      body,
      kept,
      first === stored_last + 1 ? 1 : 0,
      fence,
    )
    if (changes === 0) {
      const held = this.#get("SELECT 1 FROM runs WHERE num = ? AND fence = ? AND finished_at IS NULL", run, fence)
      return held === undefined ? "lease lost" : { stored_last }
    }
    const alone = current !== null && current.alone && people === undefined
    this.#remember(run, { fence, last, alone, bytes })
    if (people !== undefined) this.#questions.appended(run, people, questions)
    if (people?.waits === true) {
      this.#count(run, bytes)
      this.#run("UPDATE runs SET bytes = ? WHERE num = ?", bytes, run)
    }
    if (caused !== null) addNotice(this.#sql, run, caused)
    const usage = operation.usage === null ? null : this.#usageAfter(run, operation.usage)
    if (finished_at !== null) this.#finish(run, finished_at, { outcome: operation.outcome, usage, alone, bytes })
    else if (usage !== null) this.#run("UPDATE runs SET usage = ? WHERE num = ?", usage, run)
    return "stored"
  }

  #numberOf(run_id: string): number | undefined {
    const made = this.#made.get(run_id)
    if (made !== undefined) return made
    return this.#get("SELECT num FROM runs WHERE run_id = ?", run_id)?.["num"] as number | undefined
  }

  #lastEvent(run: number): number {
    return this.#get("SELECT ifnull(max(last), 0) AS last FROM events WHERE run = ?", run)?.["last"] as number
  }

  #storedBytes(run: number): number {
    const found = this.#get(
      `SELECT ifnull((SELECT length(body) FROM requests WHERE run = ?1), 0)
         + ifnull((SELECT sum(length(body) + ifnull(length(kept), 0)) FROM events WHERE run = ?1), 0)
         + ifnull((SELECT sum(length(body) + ifnull(length(answer), 0)) FROM questions WHERE run = ?1), 0) AS bytes`,
      run,
    )
    return found?.["bytes"] as number
  }

  /** Counts what a run that has ended, or waits for people, takes of what its caller may store. Its row gets the same number. */
  #count(run: number, bytes: number): void {
    this.#run(
      `INSERT INTO stored (caller, bytes) SELECT caller, ?2 - bytes FROM runs WHERE num = ?1
       ON CONFLICT (caller) DO UPDATE SET bytes = stored.bytes + excluded.bytes`,
      run,
      bytes,
    )
  }

  #remember(run: number, state: KnownRun): void {
    if (this.#known.size > rememberedRuns) this.#known.clear()
    this.#known.set(run, state)
  }

  /** Touches no row of the log: the pages that they are on may be what is damaged. */
  #condemn({ run_id, fence, finished_at, caused, blobs: [key, end] }: CondemnOperation): boolean {
    const { changes } = this.#run(
      "UPDATE runs SET key = ?, condemned = ? WHERE run_id = ? AND fence = ? AND finished_at IS NULL",
      key,
      end,
      run_id,
      fence,
    )
    if (changes === 0) return false
    const num = this.#numberOf(run_id) as number
    if (caused !== null) addNotice(this.#sql, num, caused)
    const bytes = this.#known.get(num)?.bytes ?? null
    this.#finish(num, finished_at, { outcome: "failed", usage: null, alone: false, bytes })
    return true
  }

  /** JSON. */
  #usageAfter(run: number, { whole, usage }: UsageChange): string {
    const before = whole ? null : this.#get("SELECT usage FROM runs WHERE num = ?", run)?.["usage"]
    return JSON.stringify(typeof before === "string" ? sumUsage(JSON.parse(before) as Usage, usage) : usage)
  }

  /** In one statement: each change of a row writes all of it again. */
  #finish(run: number, finished_at: number, { outcome, usage, alone, bytes }: RunEnd): void {
    if (bytes !== null) this.#count(run, bytes)
    this.#run(
      `UPDATE runs SET finished_at = ?, outcome = ?, usage = ifnull(?, usage), bytes = ifnull(?, bytes), fence = fence + 1, owner = NULL, holder = NULL,
         lease_until = 0, waiting = 0, woken_at = NULL, secrets = NULL WHERE num = ?`,
      finished_at,
      outcome,
      usage,
      bytes,
      run,
    )
    this.#residue = true
    this.#known.delete(run)
    if (alone) return
    this.#questions.withdraw(run, finished_at)
    this.#run("DELETE FROM secrets WHERE run = ?", run)
  }

  #cancel({ run_id, now }: CancelOperation): "requested" | "woken" | "too late" {
    const { changes } = this.#run(
      "UPDATE runs SET cancel_requested = 1 WHERE run_id = ? AND finished_at IS NULL",
      run_id,
    )
    if (changes === 0) return "too late"
    const run = this.#numberOf(run_id) as number
    return this.#questions.wake(run, now) ? "woken" : "requested"
  }

  #cachePut({ expires_at, blobs: [entry, slot, body] }: CachePutOperation): null {
    this.#run(
      "INSERT OR REPLACE INTO cache (entry, slot, expires_at, body) VALUES (?, ?, ?, ?)",
      entry,
      slot,
      expires_at,
      body,
    )
    return null
  }

  #cachePurge({ now, blobs: [slot] }: CachePurgeOperation): number {
    const live = this.#get("SELECT count(*) AS live FROM cache WHERE slot = ? AND expires_at > ?", slot, now)
    if (this.#run("DELETE FROM cache WHERE slot = ?", slot).changes > 0) this.#residue = true
    return live?.["live"] as number
  }

  #sweepRuns(operation: SweepOperation): number {
    const swept = sweepRuns(this.#sql, operation)
    if (swept > 0) this.#residue = true
    return swept
  }

  #probe(bytes: number): null {
    this.#run("UPDATE store SET mark = mark")
    if (bytes > 0) {
      // An expired entry of the cache that cannot be asked for.
      this.#run(
        "INSERT OR REPLACE INTO cache (entry, slot, expires_at, body) VALUES (?1, ?1, 0, randomblob(?2))",
        probeEntry,
        bytes,
      )
    }
    return null
  }

  /** A process that has only the old key would write data that no process can read later. */
  #keys({ blobs: [before, mark, old, digest] }: KeysOperation): string | null {
    const begins = Buffer.compare(before, mark) !== 0
    if (begins && countHolders(this.#path).living > 1) {
      return `${this.#path} is open in another process, too; stop it before the key is changed`
    }
    const { changes } = this.#run(
      "UPDATE store SET mark = ?, old_mark = ?, digest = ? WHERE mark = ?",
      mark,
      old,
      digest,
      before,
    )
    // What the key before wrapped can still be found in the log.
    if (!begins) this.#residue = true
    return changes > 0 ? null : `The key of ${this.#path} was changed by another process; start again`
  }

  #forgetCache(): number {
    const { changes } = this.#run("DELETE FROM cache WHERE entry IN (SELECT entry FROM cache LIMIT ?)", sweptRows)
    if (changes > 0) this.#residue = true
    return Number(changes)
  }

  #emptyLog(): boolean {
    try {
      return this.#database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0
    } catch {
      return false
    }
  }

  #failure(error: unknown): Outcome {
    return { failure: sentenceFor(this.#path, error) }
  }

  #run(sql: string, ...values: SQLInputValue[]): StatementResultingChanges {
    return this.#statements.get(sql).run(...values)
  }

  #get(sql: string, ...values: SQLInputValue[]): Record<string, SQLOutputValue> | undefined {
    return this.#statements.get(sql).get(...values)
  }

  #all(sql: string, ...values: SQLInputValue[]): Record<string, SQLOutputValue>[] {
    return this.#statements.get(sql).all(...values)
  }
}

function bytesOf(blobs: readonly (Uint8Array | null)[]): number {
  return blobs.reduce((bytes, blob) => bytes + (blob?.length ?? 0), 0)
}
