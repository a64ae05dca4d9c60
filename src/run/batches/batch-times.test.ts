import assert from "node:assert/strict"
import { test } from "node:test"
import { nextPoll } from "./batch-times.ts"

test("a vendor is asked after ten seconds, then at growing intervals of five minutes at most, at whole milliseconds", () => {
  const intervals: number[] = []
  for (let now = 1_001, asked = 0; asked < 30; asked++) {
    const next = nextPoll(1_000, now)
    assert.ok(Number.isSafeInteger(next))
    intervals.push(next - now)
    now = next
  }
  assert.equal(intervals[0], 10_000)
  assert.equal(intervals.at(-1), 300_000)
  assert.deepEqual(
    intervals,
    intervals.toSorted((a, b) => a - b),
  )
})
