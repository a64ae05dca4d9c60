import type { Steps } from "./sql.ts"
import type { Operation, ResultOf } from "./writes.ts"

/** A database as the store sees it: everything that SQL databases do differently. */
export interface SqlMedium {
  /** Runs steps that only read. Throws, or rejects with, a `StoreFailure`. */
  read<T>(steps: Steps<T>): T | Promise<T>
  /**
   * Takes its place in the order of operations at once; resolves when it is durable. `complete` makes the operation that is written in its place, at the moment
   * when its transaction begins. `news` is announced to the other processes on the database with the commit.
   */
  send<O extends Operation>(operation: O, sending?: Sending<O>): Promise<ResultOf<O>>
  /** Whether there is recent proof that the store can be written to. */
  readonly storedLately: boolean
  /** The last thing that was to be stored could not be. */
  readonly failedLast: boolean
  /** Calls back with what other processes announce. */
  onNews(listener: (news: News) => void): void
  /** Changes whenever another process may have written something. */
  version(): number | Promise<number>
  /** The time by the database's clock. */
  time(): Promise<number>
  /** After what is under way. */
  close(): Promise<void>
}

export interface Sending<O extends Operation> {
  readonly complete?: () => O
  readonly news?: News
}

/** What happened to a run that other processes may wait for. `all`: anything may have happened to any run. */
export interface News {
  readonly what: "events" | "cancel" | "outcome" | "all"
  readonly run_id: string
}
