import assert from "node:assert/strict"
import { test } from "node:test"
import { expectedFigures, expectedSentence, rangesOf } from "./ranges.ts"

test("figures of earlier runs are ranges, with their unit once", () => {
  const found = rangesOf([
    { ms: 1_204, tokens: 93, cost: 0.02 },
    { ms: 2_400, tokens: 78, cost: 0.01 },
  ])
  assert.ok(found !== null)
  assert.equal(expectedSentence(found), "In 2 earlier runs: 1.20–2.40 s · 78–93 tok · cost 0.01–0.02")
})

test("one figure is no range, and units that differ are both written", () => {
  const one = rangesOf([{ ms: 12, tokens: 0, cost: 0 }])
  assert.equal(one && expectedSentence(one), "In 1 earlier run: 12 ms")
  const two = rangesOf([
    { ms: 900, tokens: 5, cost: null },
    { ms: 125_000, tokens: 5, cost: 1 },
  ])
  assert.equal(two && expectedFigures(two), "900 ms – 2 min 5 s · 5 tok")
  const minutes = rangesOf([
    { ms: 61_000, tokens: 0, cost: 0 },
    { ms: 125_000, tokens: 0, cost: 0 },
  ])
  assert.equal(minutes && expectedFigures(minutes), "1 min 1 s – 2 min 5 s")
  assert.equal(rangesOf([]), null)
})
