import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementResultingChanges } from "node:sqlite"
import type { Usage } from "../../ports/events.ts"
import { sumUsage } from "../../run/usage.ts"
import type { UsageChange } from "../../run/usage-after.ts"
import { firstFence } from "../../ports/store.ts"
import { countHolders, isAlive } from "./holder.ts"
import type {
  AppendOperation,
  AppendResult,
  CancelOperation,
  CachePurgeOperation,
  CachePutOperation,
  ClaimOperation,
  CondemnOperation,
  CreateOperation,
  CreateResult,
  KeysOperation,
  Operation,
  Outcome,
  ReleaseOperation,
  RenewOperation,
  ResultOf,
  SweepOperation,
} from "./operations.ts"
import { PreparedStatements } from "./prepared-statements.ts"
import { QuestionWriter } from "./question-writer.ts"
import { addNotice, forgetNotices, settleNotice, sweepNotices, takeNotices, type Sql } from "./outbox-writer.ts"
import { rewrap } from "./rewrap.ts"
import { codeOf, sentenceFor, sqliteCode } from "./sqlite-error.ts"

/** Rows that one slice of a sweep deletes at most. */
const sweptRuns = 100
const sweptRows = 1_000
const rememberedRuns = 20_000
const probeEntry = Buffer.from("probe")
/** No lease lasts longer: one that seems to was taken before the machine, and with it the monotonic clock, started again. */
const longestLeaseMs = 3_600_000
/** From here on a lease's time is one of the wall clock, written by an older release: no machine runs for 30 years. */
const firstWallTime = 1_000_000_000_000

/** Applies operations, many to a transaction. Lives in the writer thread; knows nothing of threads. */
export class Writer {
  readonly #database: DatabaseSync
  readonly #path: string
  readonly #holder: string
  readonly #statements: PreparedStatements
  /** The last event of runs that this store writes to; correct as long as the fence holds, because no other process writes meanwhile. */
  readonly #lastEvents = new Map<number, { readonly fence: number; readonly last: number }>()
  readonly #questions: QuestionWriter
  /** Since the log was emptied last, a key or a cache entry was deleted that can still be found in it. */
  #residue = false
  readonly #sql: Sql = {
    run: (sql, ...values) => this.#run(sql, ...values),
    all: (sql, ...values) => this.#all(sql, ...values),
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
      this.#lastEvents.clear()
      // Some errors have rolled back already.
      if (this.#database.isTransaction) this.#run("ROLLBACK")
      throw error
    }
  }

  #apply(operation: Operation): ResultOf<Operation> {
    switch (operation.kind) {
      case "create":
        return this.#create(operation)
      case "append":
        return this.#append(operation)
      case "answer":
        return this.#questions.answer(operation)
      case "expire":
        return this.#questions.expire(operation)
      case "claim":
        return this.#claim(operation)
      case "condemn":
        return this.#condemn(operation)
      case "renew":
        return this.#renew(operation)
      case "release":
        return this.#release(operation)
      case "cancel":
        return this.#cancel(operation)
      case "cache put":
        return this.#cachePut(operation)
      case "cache purge":
        return this.#cachePurge(operation)
      case "take notices":
        return takeNotices(this.#sql, operation)
      case "settle notice":
        return settleNotice(this.#sql, operation)
      case "sweep runs":
        return this.#sweepRuns(operation)
      case "sweep leftovers":
        return this.#sweepLeftovers()
      case "sweep ages":
        return this.#sweepAges(operation)
      case "probe":
        return this.#probe(operation.bytes)
      case "keys":
        return this.#keys(operation)
      case "rewrap":
        return rewrap(this.#sql, operation)
      case "forget cache":
        return this.#forgetCache()
    }
  }

  #create(operation: CreateOperation): CreateResult {
    const { run_id } = operation
    const [idempotency, fingerprint, key, request, secrets, notify] = operation.blobs
    if (idempotency !== null) {
      const existing = this.#get("SELECT run_id, fingerprint FROM runs WHERE idempotency = ?", idempotency)
      if (existing !== undefined) {
        const same = Buffer.compare(existing["fingerprint"] as Uint8Array, fingerprint ?? new Uint8Array()) === 0
        return { outcome: same ? "exists" : "conflict", run_id: existing["run_id"] as string }
      }
    }
    const fence = firstFence
    const { lastInsertRowid } = this.#run(
      `INSERT INTO runs (run_id, caller, created_at, resumable, workflow, version, fence, owner, holder, lease_until,
         idempotency, fingerprint, key, notify, notify_events, notify_receiver)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
      notify,
      operation.notify_events,
      operation.notify_receiver,
    )
    const num = Number(lastInsertRowid)
    this.#run("INSERT INTO requests (run, body) VALUES (?, ?)", num, request)
    if (secrets !== null) {
      this.#run("INSERT INTO secrets (run, body) VALUES (?, ?)", num, secrets)
    }
    this.#remember(num, { fence, last: 0 })
    return { outcome: "created", num, fence }
  }

  #append(operation: AppendOperation): AppendResult {
    const { fence, first, last, finished_at, caused, people } = operation
    const [body, kept, ...questions] = operation.blobs
    const run = typeof operation.run === "number" ? operation.run : this.#numberOf(operation.run)
    // It could not be created.
    if (run === undefined) return "lease lost"
    const stored_last = this.#lastEvent(run, fence)
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
    this.#remember(run, { fence, last })
    if (people !== undefined) this.#questions.appended(run, people, questions)
    if (caused !== null) addNotice(this.#sql, run, caused)
    const usage = operation.usage === null ? null : this.#usageAfter(run, operation.usage)
    if (finished_at !== null) this.#finish(run, finished_at, operation.outcome, usage)
    else if (usage !== null) this.#run("UPDATE runs SET usage = ? WHERE num = ?", usage, run)
    return "stored"
  }

  #numberOf(run_id: string): number | undefined {
    return this.#get("SELECT num FROM runs WHERE run_id = ?", run_id)?.["num"] as number | undefined
  }

  #lastEvent(run: number, fence: number): number {
    const known = this.#lastEvents.get(run)
    if (known?.fence === fence) return known.last
    return this.#get("SELECT ifnull(max(last), 0) AS last FROM events WHERE run = ?", run)?.["last"] as number
  }

  #remember(run: number, event: { readonly fence: number; readonly last: number }): void {
    if (this.#lastEvents.size > rememberedRuns) this.#lastEvents.clear()
    this.#lastEvents.set(run, event)
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
    this.#finish(num, finished_at, "failed", null)
    return true
  }

  /** JSON. */
  #usageAfter(run: number, { whole, usage }: UsageChange): string {
    const before = whole ? null : this.#get("SELECT usage FROM runs WHERE num = ?", run)?.["usage"]
    return JSON.stringify(typeof before === "string" ? sumUsage(JSON.parse(before) as Usage, usage) : usage)
  }

  /** In one statement: each change of a row writes all of it again. */
  #finish(run: number, finished_at: number, outcome: string | null, usage: string | null): void {
    this.#run(
      `UPDATE runs SET finished_at = ?, outcome = ?, usage = ifnull(?, usage), fence = fence + 1, owner = NULL, holder = NULL,
         lease_until = 0, waiting = 0, woken_at = NULL WHERE num = ?`,
      finished_at,
      outcome,
      usage,
      run,
    )
    this.#questions.withdraw(run, finished_at)
    if (this.#run("DELETE FROM secrets WHERE run = ?", run).changes > 0) this.#residue = true
    this.#lastEvents.delete(run)
  }

  #claim({ owner, limit, now, wall, lease_until }: ClaimOperation): ResultOf<ClaimOperation> {
    if (limit <= 0) return []
    this.#freeLeasesOfTheDead(now)
    const woken = this.#all(
      "SELECT num, run_id, fence, owner FROM runs INDEXED BY runs_woken WHERE woken_at IS NOT NULL ORDER BY woken_at LIMIT ?",
      limit,
    )
    const lapsed = this.#all(
      `SELECT num, run_id, fence, owner FROM runs INDEXED BY runs_claimable
       WHERE finished_at IS NULL AND waiting = 0 AND woken_at IS NULL
       AND (lease_until <= ?1 OR lease_until BETWEEN ?2 AND ?3 OR lease_until BETWEEN ?3 AND ?4) ORDER BY num LIMIT ?5`,
      now,
      now + longestLeaseMs,
      firstWallTime,
      wall,
      limit - woken.length,
    )
    return [...woken, ...lapsed].map((row, index) => {
      const fence = (row["fence"] as number) + 1
      this.#run(
        "UPDATE runs SET fence = ?, owner = ?, holder = ?, lease_until = ?, woken_at = NULL WHERE num = ?",
        fence,
        owner,
        this.#holder,
        lease_until,
        row["num"] as number,
      )
      const given_back = row["owner"] === null
      return { run_id: row["run_id"] as string, fence, given_back, woken: index < woken.length }
    })
  }

  #freeLeasesOfTheDead(now: number): void {
    const holders = this.#all(
      "SELECT DISTINCT holder FROM runs WHERE finished_at IS NULL AND waiting = 0 AND lease_until > ? AND holder <> ?",
      now,
      this.#holder,
    )
    for (const { holder } of holders) {
      if (isAlive(this.#path, holder as string)) continue
      this.#run(
        "UPDATE runs SET lease_until = 0 WHERE finished_at IS NULL AND waiting = 0 AND holder = ?",
        holder as string,
      )
    }
  }

  #renew({ run_id, fence, lease_until }: RenewOperation): boolean {
    const { changes } = this.#run(
      "UPDATE runs SET lease_until = ? WHERE run_id = ? AND fence = ? AND finished_at IS NULL",
      lease_until,
      run_id,
      fence,
    )
    return changes > 0
  }

  #release({ run_id, fence }: ReleaseOperation): null {
    this.#run(
      `UPDATE runs SET fence = fence + 1, owner = NULL, holder = NULL, lease_until = 0
       WHERE run_id = ? AND fence = ? AND finished_at IS NULL`,
      run_id,
      fence,
    )
    return null
  }

  #cancel({ run_id, now }: CancelOperation): ResultOf<CancelOperation> {
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

  /** With its key gone, nothing of a run can be read any more; its events follow in slices of their own. */
  #sweepRuns({ ended_before, tombstone_until }: SweepOperation): number {
    const rows = this.#all(
      "SELECT num, run_id, caller FROM runs WHERE finished_at < ? ORDER BY finished_at LIMIT ?",
      ended_before,
      sweptRuns,
    )
    for (const { num, run_id, caller } of rows) {
      this.#run("DELETE FROM runs WHERE num = ?", num as number)
      this.#run("DELETE FROM questions WHERE run = ?", num as number)
      this.#run("INSERT INTO leftovers (run) VALUES (?)", num as number)
      forgetNotices(this.#sql, run_id as string)
      this.#run(
        "INSERT OR REPLACE INTO tombstones (run_id, caller, until) VALUES (?, ?, ?)",
        run_id as string,
        caller as string,
        tombstone_until,
      )
    }
    if (rows.length > 0) this.#residue = true
    return rows.length
  }

  #sweepLeftovers(): number {
    // What was sealed by a key that is gone need not be overwritten with zeros as well.
    this.#database.exec("PRAGMA secure_delete = OFF")
    try {
      let deleted = 0
      while (deleted < sweptRows) {
        const run = this.#get("SELECT run FROM leftovers LIMIT 1")?.["run"] as number | undefined
        if (run === undefined) break
        deleted += Number(
          this.#run(
            "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE run = ? LIMIT ?)",
            run,
            sweptRows - deleted,
          ).changes,
        )
        if (this.#get("SELECT 1 FROM events WHERE run = ? LIMIT 1", run) !== undefined) continue
        this.#run("DELETE FROM requests WHERE run = ?", run)
        this.#run("DELETE FROM leftovers WHERE run = ?", run)
        deleted++
      }
      return deleted
    } finally {
      this.#database.exec("PRAGMA secure_delete = ON")
    }
  }

  #sweepAges({ now }: SweepOperation): number {
    const dead = this.#run(
      "DELETE FROM cache WHERE entry IN (SELECT entry FROM cache WHERE expires_at <= ? LIMIT ?)",
      now,
      sweptRows,
    )
    const forgotten = this.#run(
      "DELETE FROM tombstones WHERE run_id IN (SELECT run_id FROM tombstones WHERE until <= ? LIMIT ?)",
      now,
      sweptRows,
    )
    return Number(dead.changes) + Number(forgotten.changes) + sweepNotices(this.#sql, now, sweptRows)
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
