import type { TokenUsage } from "../log/events.ts"

/** What a vendor gave for one call, as if it had been made by itself. `status` is null where the call was never made, with the reason as `body`. */
export interface BatchAnswer {
  readonly status: number | null
  /** JSON text. */
  readonly body: string
  /** The vendor stopped the call because the batch was cancelled. */
  readonly cancelled?: true
}

/** A call that wants to be made in a batch. */
export interface CallToBatch {
  readonly attempt: number
  /** Estimated tokens of all that is sent, and the most output tokens. */
  readonly input: () => number
  readonly output: number
  /** The fewest output tokens that are of use: an answer with fewer was cut off. Absent: 1. */
  readonly least?: number | undefined
  /** The body with a bound on its output tokens; null: as the workflow sets it. */
  body(most: number | null): string
}

/** What came of a call that was made in a batch. */
export interface BatchedCall {
  readonly batch: string
  /** Milliseconds since the epoch. */
  readonly submitted_at: number
  readonly answer: BatchAnswer
  /** Most output tokens that the limits and budgets of the run left; null where they did not bound them. */
  readonly max_tokens: number | null
  /** The answer was read: what it used, and whether it is one. */
  settle(usage: TokenUsage | null, answered: boolean): void
}

/** The place of one step in the batches of its agent. */
export interface BatchSeat {
  /** Resolves when the call has been made in a batch, which may take days; null: it is to be made directly. */
  call(call: CallToBatch): Promise<BatchedCall | null>
  /** Makes the call now, as others are made. */
  directly<T>(call: () => Promise<T>): Promise<T>
}
