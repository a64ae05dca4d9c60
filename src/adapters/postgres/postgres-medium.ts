import type { News, Sending, SqlMedium } from "../../store/sql-medium.ts"
import { get, type Steps } from "../../store/sql.ts"
import type { Operation, ResultOf } from "../../store/writes.ts"
import type { CommitQueue } from "../../store/commit-queue.ts"
import type { Reads } from "./reads.ts"

/** Writes on one connection, reads on others, and hears of other processes on one more. */
export class PostgresMedium implements SqlMedium {
  readonly #queue: CommitQueue
  readonly #reads: Reads
  readonly #listening: { close(): Promise<void> }
  readonly #listeners = new Set<(news: News) => void>()
  #looks = 0

  constructor(queue: CommitQueue, reads: Reads, listening: { close(): Promise<void> }) {
    this.#queue = queue
    this.#reads = reads
    this.#listening = listening
  }

  read<T>(steps: Steps<T>): Promise<T> {
    return this.#reads.read(steps)
  }

  send<O extends Operation>(operation: O, sending?: Sending<O>): Promise<ResultOf<O>> {
    return this.#queue.send(operation, sending)
  }

  get storedLately(): boolean {
    return this.#queue.storedLately
  }

  get failedLast(): boolean {
    return this.#queue.failedLast
  }

  onNews(listener: (news: News) => void): void {
    this.#listeners.add(listener)
  }

  announce(news: News): void {
    for (const listener of this.#listeners) listener(news)
  }

  /** The server does not say: every look is worth it. */
  version(): number {
    return ++this.#looks
  }

  time(): Promise<number> {
    return this.#reads.read(serverTime())
  }

  async close(): Promise<void> {
    await this.#queue.close()
    await Promise.all([this.#reads.close(), this.#listening.close()])
  }
}

function* serverTime(): Steps<number> {
  const row = yield* get("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS float8) AS now")
  if (row === undefined) throw new Error("The server said nothing")
  return row["now"] as number
}
