import type { History } from "./history.ts"

/** Histories of the memory store, made again on databases. */
export interface Replays {
  /** So many histories may be made again at the same time. */
  readonly beside: number
  /** Where the database answers otherwise than the memory store did in a traced history, or holds something else in the end. */
  problems(history: History): Promise<string[]>
  close(): Promise<void>
}
