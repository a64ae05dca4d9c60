import { setTimeout as sleep } from "node:timers/promises"
import { StoreFailure } from "../../ports/store.ts"
import { runStepsLater, type Statement, type Steps } from "../../store/sql.ts"
import { Connection, type ServerTarget } from "./connection.ts"
import { failureOf, isConnectionLost } from "./postgres-error.ts"

/** How long a read is tried again while the server is out of reach. */
const holdMs = 10_000
const pauseMs = 200
/** Large reads on one connection do not keep the others waiting. */
const connectionLimit = 3

/** Reads on a few connections of their own: readers never wait for the writer. */
export class Reads {
  readonly #target: ServerTarget
  readonly #where: string
  readonly #onTrouble: () => void
  #connections: Connection[] = []
  #opening: Promise<Connection> | null = null
  #closed = false

  constructor(target: ServerTarget, where: string, onTrouble: () => void) {
    this.#target = target
    this.#where = where
    this.#onTrouble = onTrouble
  }

  read<T>(steps: Steps<T>): Promise<T> {
    return runStepsLater(steps, (statement) => this.#execute(statement))
  }

  /** A statement that only reads can be asked again. */
  async #execute(statement: Statement): Promise<unknown> {
    const deadline = performance.now() + holdMs
    for (;;) {
      try {
        const connection = await this.#connection()
        return await connection.execute(statement)
      } catch (error) {
        if (error instanceof StoreFailure) throw error
        if (!isConnectionLost(error) || this.#closed || performance.now() > deadline) {
          throw failureOf(this.#where, error)
        }
        this.#onTrouble()
        await sleep(pauseMs)
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all(this.#connections.map((one) => one.close()))
  }

  /** The one with the least to do. */
  async #connection(): Promise<Connection> {
    if (this.#closed) throw new StoreFailure("The store is closed")
    this.#connections = this.#connections.filter(({ isLost }) => !isLost)
    const [best] = this.#connections.toSorted((a, b) => a.pending - b.pending)
    const full = this.#connections.length >= connectionLimit
    if (best !== undefined && (best.pending === 0 || full)) return best
    const opening = (this.#opening ??= this.#open())
    if (best === undefined) return await opening
    // One more for the next reads; if it cannot be had, this one serves them too.
    opening.catch(() => undefined)
    return best
  }

  async #open(): Promise<Connection> {
    try {
      const connection = await Connection.open(this.#target, "reader")
      if (this.#closed) {
        await connection.close()
        throw new StoreFailure("The store is closed")
      }
      this.#connections.push(connection)
      return connection
    } finally {
      this.#opening = null
    }
  }
}
