import type { ModelCallRecord } from "./events.ts"
import type { Message } from "./messages.ts"
import { readMessages, storeMessages, type StoredMessages } from "./stored-messages.ts"

/** How far a turn has come: joined from what the log kept with every retry, and given back where the turn is taken up again. */
export interface TurnProgress {
  /** Those made so far; none of their answers held. */
  readonly calls: readonly ModelCallRecord[]
  /** Failed calls in a row. */
  readonly retries: number
  /** Answers that were sent back to be corrected. */
  readonly repairs: number
  /** Milliseconds since the epoch: the next call is not made before. */
  readonly not_before: number
  /** Added to the conversation for this turn: an answer that did not fit, and what is wrong with it. */
  readonly added: readonly Message[]
  /** The tools are done with. */
  readonly closing: boolean
  /** How the output is asked for by now, in the client's own word. */
  readonly format: string | null
}

/** What a retry adds to the progress of its turn: the log keeps nothing twice. */
export interface RetryProgress extends Omit<TurnProgress, "calls" | "added"> {
  /** Those made since the retry before. */
  readonly new_calls: readonly ModelCallRecord[]
  /** Absent where it has not changed since. */
  readonly added?: TurnProgress["added"]
}

/** What the log keeps of a retry. */
export type ProgressReplayData = Omit<RetryProgress, "added"> & { readonly added?: StoredMessages }

/** The progress of a turn after one more retry. */
export function joinProgress(before: TurnProgress | null, retry: RetryProgress): TurnProgress {
  const { new_calls, added = before?.added ?? [], ...rest } = retry
  return { ...rest, added, calls: before === null ? new_calls : [...before.calls, ...new_calls] }
}

export function storeProgress({ added, ...retry }: RetryProgress): ProgressReplayData {
  return added === undefined ? retry : { ...retry, added: storeMessages(added) }
}

/** The same as `joinProgress`, from what the log kept. */
export function readProgress(before: TurnProgress | null, kept: ProgressReplayData): TurnProgress {
  const { added, ...retry } = kept
  return joinProgress(before, added === undefined ? retry : { ...retry, added: readMessages(added) })
}
