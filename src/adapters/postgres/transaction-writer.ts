import { setTimeout as sleep } from "node:timers/promises"
import { StoreFailure } from "../../ports/store.ts"
import type { BatchWriter, SentOperation } from "../../store/commit-queue.ts"
import type { News } from "../../store/sql-medium.ts"
import { runStepsLater } from "../../store/sql.ts"
import { Writes, type Operation, type Outcome } from "../../store/writes.ts"
import { Connection, type ServerTarget } from "./connection.ts"
import type { PostgresLeaseRules } from "./lease-rules.ts"
import { payloadsOf } from "./news.ts"
import {
  ConnectionLost,
  failureOf,
  isConflict,
  isConnectionLost,
  isConsequence,
  isOfOneOperation,
  sentenceFor,
} from "./postgres-error.ts"

/** How long a transaction is tried again while the server is out of reach, or another one takes over. */
const holdMs = 20_000
const pauseMs = 200
const maxConflicts = 10
export interface WriterSettings {
  readonly target: ServerTarget
  readonly where: string
  readonly channel: string
  /** One process writes at a time: whoever holds this lock of the server. */
  readonly lock: readonly [number, number]
  /** The number of this process in the table of writers. */
  readonly writer: number
  readonly rules: PostgresLeaseRules
  readonly onTrouble: () => void
}

/** Writes batches on one connection. One process of all writes at a time, so that what a transaction reads stays true until it commits, as with SQLite. */
export class TransactionWriter implements BatchWriter {
  /** What fails now may work later. */
  readonly broken = null
  readonly #settings: WriterSettings
  readonly #writes: Writes
  #connection: Connection | null = null
  #mark = 0

  constructor(settings: WriterSettings) {
    this.#settings = settings
    this.#writes = new Writes(settings.rules)
  }

  async close(): Promise<void> {
    await this.#connection?.close()
  }

  /** An operation that fails leaves nothing behind and does not harm the others. */
  async write(batch: readonly SentOperation[]): Promise<readonly Outcome[]> {
    const { where } = this.#settings
    try {
      return await this.#commit(batch)
    } catch (error) {
      const failure = { failure: sentenceFor(where, error) }
      if (error instanceof StoreFailure || batch.length === 1 || !isOfOneOperation(error))
        return batch.map(() => failure)
    }
    const outcomes: Outcome[] = []
    for (const one of batch) {
      try {
        outcomes.push(...(await this.#commit([one])))
      } catch (error) {
        outcomes.push({ failure: error instanceof StoreFailure ? error.message : sentenceFor(where, error) })
      }
    }
    return outcomes
  }

  /**
   * One transaction, until it is known to be committed. Where the connection breaks after `COMMIT` was sent, the row of this process says whether it
   * was: the transaction wrote its number there.
   */
  async #commit(sent: readonly SentOperation[]): Promise<Outcome[]> {
    const { where, onTrouble } = this.#settings
    const mark = ++this.#mark
    const deadline = performance.now() + holdMs
    /** Outcomes of an attempt that may have been committed. */
    let inDoubt: Outcome[] | null = null
    for (let conflicts = 0; ;) {
      let connection: Connection | null = null
      try {
        connection = await this.#connected()
        const committed = await this.#begin(connection)
        if (inDoubt !== null && committed === mark) {
          await connection.query("ROLLBACK")
          return inDoubt
        }
        inDoubt = null
        const outcomes = await this.#apply(connection, sent)
        if (changedNothing(sent, outcomes)) {
          await connection.query("ROLLBACK")
          this.#writes.over("committed")
          return outcomes
        }
        const finished = this.#finish(connection, mark, sent)
        inDoubt = outcomes
        await finished
        this.#writes.over("committed")
        return outcomes
      } catch (error) {
        this.#writes.over("failed")
        if (!isConnectionLost(error)) {
          inDoubt = null
          if (connection !== null) await this.#rollBack(connection)
          if (isConflict(error) && ++conflicts <= maxConflicts) continue
          throw error
        }
        connection?.drop()
        this.#connection = null
        onTrouble()
        if (performance.now() > deadline) throw failureOf(where, error)
        await sleep(pauseMs)
      }
    }
  }

  async #connected(): Promise<Connection> {
    if (this.#connection === null || this.#connection.isLost) {
      this.#connection = null
      this.#connection = await Connection.open(this.#settings.target, "writer")
    }
    return this.#connection
  }

  /** The number of the last transaction that this process has committed. Waits until no other one writes: also for its own of a connection that broke. */
  async #begin(connection: Connection): Promise<number> {
    const { lock, writer } = this.#settings
    const [, , marks] = await Promise.all([
      connection.query("BEGIN"),
      connection.query("SELECT pg_advisory_xact_lock($1, $2)", lock),
      connection.query<{ readonly mark: number }>("SELECT mark FROM writers WHERE num = $1", [writer]),
    ])
    return marks.rows[0]?.mark ?? 0
  }

  async #finish(connection: Connection, mark: number, sent: readonly SentOperation[]): Promise<void> {
    const { channel, writer } = this.#settings
    const news = sent.flatMap((one): News[] => (one.news === null ? [] : [one.news]))
    const before = [
      connection.query(
        "INSERT INTO writers (num, mark) VALUES ($1, $2) ON CONFLICT (num) DO UPDATE SET mark = excluded.mark, seen_at = now()",
        [writer, mark],
      ),
      ...payloadsOf(String(writer), news).map((payload) =>
        connection.query("SELECT pg_notify($1, $2)", [channel, payload]),
      ),
    ]
    const results = await Promise.allSettled([...before, connection.query("COMMIT")])
    for (const result of results) if (result.status === "rejected") throw result.reason
    const last = results.at(-1)
    // The server answers the commit of a transaction that failed by rolling it back.
    if (last?.status === "fulfilled" && last.value.command !== "COMMIT") {
      throw new ConnectionLost("the server rolled a transaction back")
    }
  }

  async #rollBack(connection: Connection): Promise<void> {
    try {
      await connection.query("ROLLBACK")
    } catch {
      connection.drop()
      this.#connection = null
    }
  }

  /** Operations on one run in their order, those on different runs side by side: each waits for the server several times. */
  async #apply(connection: Connection, sent: readonly SentOperation[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    let lanes = new Map<string, Promise<void>>()
    const all: Promise<void>[] = []
    // Everything that was begun has ended before the transaction is rolled back: else a late statement would be outside of it.
    const arrived = async (): Promise<void> => {
      const reasons = (await Promise.allSettled(all)).flatMap((one) => (one.status === "rejected" ? [one.reason] : []))
      // After one has failed, the server refuses those of the other lanes: that says nothing of why.
      if (reasons.length > 0) throw reasons.find((one) => !isConsequence(one)) ?? reasons[0]
    }
    for (const [index, { operation, news }] of sent.entries()) {
      const lane = laneOf(operation, news)
      if (lane === null) await arrived()
      const before = lane === null ? undefined : lanes.get(lane)
      const applied = (async () => {
        await before
        const value = await runStepsLater(this.#writes.steps(operation), (statement) => connection.execute(statement))
        outcomes[index] = { value }
      })()
      all.push(applied)
      if (lane !== null) lanes.set(lane, applied)
      else {
        await arrived()
        lanes = new Map()
      }
    }
    await arrived()
    return outcomes
  }
}

/** What an operation must not overtake; null: nothing may be beside it. */
function laneOf(operation: Operation, news: News | null): string | null {
  if (operation.kind === "create" && operation.blobs[0] !== null) return Buffer.from(operation.blobs[0]).toString("hex")
  if (operation.kind === "cache put" || operation.kind === "cache purge") return "cache"
  if (operation.kind === "append" || operation.kind === "settle") return news?.run_id ?? null
  return "run_id" in operation ? operation.run_id : null
}

/** Most looks for runs to claim find none: no commit is needed. */
function changedNothing(sent: readonly SentOperation[], outcomes: readonly Outcome[]): boolean {
  return sent.every(({ operation }, index) => {
    const outcome = outcomes[index]
    return operation.kind === "claim" && outcome !== undefined && "value" in outcome && isEmpty(outcome.value)
  })
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}
