import type { ModelCallRecord } from "./events.ts"
import type { Message } from "./messages.ts"
import { readMessages, storeMessages, type StoredMessages } from "./stored-messages.ts"

/** How far a turn has come: joined from what the log kept with every retry, and given back where the turn is taken up again. */
export interface TurnProgress {
  /** Calls made so far; none of their answers was accepted. */
  readonly calls: readonly ModelCallRecord[]
  /** Failed calls in a row. */
  readonly retries: number
  /** Answers that were sent back to be corrected. */
  readonly repairs: number
  /** Milliseconds since the epoch: the next call is not made before. */
  readonly not_before: number
  /** Added to the conversation for this turn: an answer that did not fit, and what is wrong with it. */
  readonly added: readonly Message[]
  /** The model gets no more tools. */
  readonly closing: boolean
  /** The output format in use, in the client's own word. */
  readonly format: string | null
}

/** The part of a turn's progress that a retry adds: the log keeps nothing twice. */
export interface RetryProgress extends Omit<TurnProgress, "calls" | "added"> {
  /** Calls made since the retry before. */
  readonly new_calls: readonly ModelCallRecord[]
  /** Absent where it has not changed since. */
  readonly added?: TurnProgress["added"]
}

/** A retry as the log keeps it. */
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
