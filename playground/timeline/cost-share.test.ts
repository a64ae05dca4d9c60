import assert from "node:assert/strict"
import { test } from "node:test"
import { costShare, showShare } from "./cost-share.ts"

test("a step has a share of the run's cost, where both are known and something was spent", () => {
  const half = costShare(0.002, 0.004)
  assert.ok(half !== null)
  assert.deepEqual(half, { text: "cost 0.002", percent: 50 })
  assert.equal(showShare(half), "cost 0.002, 50 % of the run")
  const little = costShare(0.000_01, 1)
  assert.ok(little !== null)
  assert.equal(showShare(little), "cost 0.00001, less than 1 % of the run")
  // Sums are rounded: a step is never more than the whole.
  assert.equal(costShare(0.0031, 0.003)?.percent, 100)
  for (const [cost, whole] of [
    [null, 1],
    [undefined, 1],
    [0, 1],
    [1, null],
    [1, 0],
  ] as const) {
    assert.equal(costShare(cost, whole), null)
  }
})
