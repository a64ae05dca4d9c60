import type { DatabaseSync } from "node:sqlite"
import { runSteps, type Statement } from "../../store/sql.ts"
import { Writes, type Operation, type Outcome, type ResultOf } from "../../store/writes.ts"
import { execute } from "./execute.ts"
import { SqliteLeaseRules } from "./lease-rules.ts"
import { PreparedStatements } from "./prepared-statements.ts"
import { readNumber } from "./schema.ts"
import { codeOf, sentenceFor, sqliteCode } from "./sqlite-error.ts"

/** How long to wait for another process's transaction. */
const patienceMs = 5_000
/** Other processes begin their next transaction a fraction of a millisecond after the last: whoever looks less often may never find a gap. */
const shortestPauseMs = 0.25
const longestPauseMs = 2
/** While it waits for readers of other processes to empty the log, nothing is stored. */
const emptyingMs = 500
/** A larger database takes too long to be written anew while others wait. */
const rewrittenBytes = 512 * 1024 * 1024

/** Applies operations, many to a transaction. Lives in the writer thread; knows nothing of threads. */
export class Writer {
  readonly #database: DatabaseSync
  readonly #path: string
  readonly #statements: PreparedStatements
  readonly #writes: Writes
  readonly #execute: (statement: Statement) => unknown
  readonly #patienceMs: number
  #rewriteIsDue = false

  constructor(database: DatabaseSync, path: string, holder: string, waitMs = patienceMs) {
    this.#patienceMs = waitMs
    this.#database = database
    this.#path = path
    this.#statements = new PreparedStatements(database)
    this.#writes = new Writes(new SqliteLeaseRules(path, holder))
    this.#execute = (statement) => execute(this.#statements, statement)
    // It waits by itself.
    database.exec("PRAGMA busy_timeout = 0")
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

  /** Since the log was emptied last, a key or a cache entry was deleted that can still be found in it. */
  get hasResidue(): boolean {
    return this.#writes.residue || this.#writes.erased || this.#rewriteIsDue
  }

  /** Deleted secrets are zeros in the database by now; this makes its log forget them too. False: try again later. */
  removeResidue(): boolean {
    // Once nothing more was erased for a while: it takes as long for one run as for a thousand.
    if (this.#writes.erased) this.#rewriteIsDue = true
    else if (this.#rewriteIsDue) this.#rewriteIsDue = !this.#rewrite()
    this.#writes.erased = false
    if (this.#emptyLog()) this.#writes.residue = false
    return !this.hasResidue
  }

  /** When SQLite moves a row to another page, a copy stays in the free bytes of the first. Writes all pages anew, without any. False: try again later. */
  #rewrite(): boolean {
    try {
      if (
        readNumber(this.#database, "PRAGMA page_count") * readNumber(this.#database, "PRAGMA page_size") >
        rewrittenBytes
      )
        return true
      this.#database.exec(`PRAGMA busy_timeout = ${emptyingMs}; VACUUM`)
      return true
    } catch {
      return false
    } finally {
      this.#database.exec("PRAGMA busy_timeout = 0")
    }
  }

  #transaction(operations: readonly Operation[]): Outcome[] {
    this.#begin()
    let outcome: "committed" | "failed" = "failed"
    try {
      const outcomes = operations.map((operation) => ({ value: this.#apply(operation) }))
      this.#run("COMMIT")
      outcome = "committed"
      return outcomes
    } catch (error) {
      // Some errors have rolled back already.
      if (this.#database.isTransaction) this.#run("ROLLBACK")
      throw error
    } finally {
      this.#writes.over(outcome)
    }
  }

  /** SQLite's own wait looks ever more seldom: beside a process that writes all the time it takes seconds. */
  #begin(): void {
    const deadline = performance.now() + this.#patienceMs
    for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.25)) {
      try {
        return this.#run("BEGIN IMMEDIATE")
      } catch (error) {
        if (codeOf(error) !== sqliteCode.busy || performance.now() > deadline) throw error
        Atomics.wait(sleeping, 0, 0, pauseMs)
      }
    }
  }

  #apply(operation: Operation): ResultOf<Operation> {
    if (operation.kind !== "sweep leftovers") return runSteps(this.#writes.steps(operation), this.#execute)
    // What was sealed by a key that is gone need not be overwritten with zeros as well.
    this.#database.exec("PRAGMA secure_delete = OFF")
    try {
      return runSteps(this.#writes.steps(operation), this.#execute)
    } finally {
      this.#database.exec("PRAGMA secure_delete = ON")
    }
  }

  #emptyLog(): boolean {
    try {
      this.#database.exec(`PRAGMA busy_timeout = ${emptyingMs}`)
      return this.#database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0
    } catch {
      return false
    } finally {
      this.#database.exec("PRAGMA busy_timeout = 0")
    }
  }

  #failure(error: unknown): Outcome {
    return { failure: sentenceFor(this.#path, error) }
  }

  #run(sql: string): void {
    this.#statements.get(sql).run()
  }
}

const sleeping = new Int32Array(new SharedArrayBuffer(4))
