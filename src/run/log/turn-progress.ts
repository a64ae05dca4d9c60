import type { RetryProgress, TurnProgress } from "../../ports/model.ts"
import type { KeptProgress } from "./kept.ts"
import { readMessages, storeMessages } from "./stored-messages.ts"

/** The progress of a turn after one more retry. */
export function joinProgress(before: TurnProgress | null, retry: RetryProgress): TurnProgress {
  const { new_calls, added = before?.added ?? [], ...rest } = retry
  return { ...rest, added, calls: before === null ? new_calls : [...before.calls, ...new_calls] }
}

export function storeProgress({ added, ...retry }: RetryProgress): KeptProgress {
  return added === undefined ? retry : { ...retry, added: storeMessages(added) }
}

/** The same as `joinProgress`, from what the log kept. */
export function readProgress(before: TurnProgress | null, kept: KeptProgress): TurnProgress {
  const { added, ...retry } = kept
  return joinProgress(before, added === undefined ? retry : { ...retry, added: readMessages(added) })
}
