import type { DatabaseSync } from "node:sqlite"
import type { Sending, SqlMedium } from "../../store/sql-medium.ts"
import type { Steps } from "../../store/sql.ts"
import type { Operation, ResultOf } from "../../store/writes.ts"
import type { CommitQueue } from "../../store/commit-queue.ts"
import { readsOf, type Reads } from "./reads.ts"

/** Writes through a thread of its own, reads here: readers never wait for the writer. */
export class SqliteMedium implements SqlMedium {
  readonly #queue: CommitQueue
  readonly #database: DatabaseSync
  readonly #read: Reads
  readonly time: () => Promise<number>

  constructor(queue: CommitQueue, database: DatabaseSync, path: string, time: () => Promise<number>) {
    this.time = time
    this.#queue = queue
    this.#database = database
    this.#read = readsOf(database, path)
  }

  read<T>(steps: Steps<T>): T {
    return this.#read(steps)
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

  /** Nothing is announced: other processes are found by looking. */
  onNews(): void {}

  /** Changes whenever another connection has committed something. */
  version(): number {
    return this.#read(dataVersion())
  }

  async close(): Promise<void> {
    await this.#queue.close()
    this.#database.close()
  }
}

function* dataVersion(): Steps<number> {
  const row = yield { how: "get", sql: "PRAGMA data_version", values: [], ofRun: false }
  return (row as { readonly data_version: number }).data_version
}
