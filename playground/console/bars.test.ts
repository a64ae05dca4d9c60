import assert from "node:assert/strict"
import { test } from "node:test"
import { barsOf } from "./bars.ts"

const hour = 3_600_000

test("a chart has a bar for each hour, those without runs too", () => {
  const bucket = { at: "1970-01-01T02:00:00.000Z", runs: 3, failed: 1, waiting: 0, p50_ms: 7, p95_ms: null, tokens: 1 }
  const { bars } = barsOf({ by: "hour", buckets: [{ ...bucket, cost: 0.5 }] }, hour + 1, 4 * hour - 1)
  assert.deepEqual(
    bars.map(({ at, runs, failed, p50, p95 }) => [at / hour, runs, failed, p50, p95]),
    [
      [1, 0, 0, 0, 0],
      [2, 3, 1, 7, 0],
      [3, 0, 0, 0, 0],
    ],
  )
})
