import assert from "node:assert/strict"
import { test } from "node:test"
import { userText } from "./messages.ts"
import type { ProgressReplayData, RetryProgress, TurnProgress } from "./turn-progress.ts"
import { readProgress, storeProgress } from "./turn-progress.ts"

const call = (attempt: number): TurnProgress["calls"][number] => ({ turn: 1, attempt, started_at: "", duration_ms: 1 })
const stands = { retries: 1, repairs: 0, not_before: 5, closing: false, format: null }
const added = [userText("It does not fit.")]

const stored = (retry: RetryProgress): ProgressReplayData =>
  JSON.parse(JSON.stringify(storeProgress(retry))) as ProgressReplayData

test("retries that keep what is new join to the whole progress", () => {
  const retries: RetryProgress[] = [
    { ...stands, new_calls: [call(1)] },
    { ...stands, new_calls: [call(2)], added, repairs: 1 },
    { ...stands, new_calls: [call(3), call(4)], repairs: 1, not_before: 9 },
  ]
  const joined = retries.reduce<TurnProgress | null>((before, retry) => readProgress(before, stored(retry)), null)
  assert.deepEqual(joined, { ...stands, repairs: 1, not_before: 9, added, calls: [1, 2, 3, 4].map(call) })
  assert.ok(!("added" in stored({ ...stands, new_calls: [] })))
})
