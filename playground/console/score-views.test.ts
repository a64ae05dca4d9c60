import assert from "node:assert/strict"
import { test } from "node:test"
import type { ListedRunAnswer } from "../../src/client/client.ts"
import { scoreViews, worstFirst } from "./score-views.ts"

const from = Date.parse("2026-11-17T00:00:00Z")
const to = Date.parse("2026-11-20T00:00:00Z")

test("sums by day become one view of each score, with the days between, the mean or the shares of all", () => {
  const [helpful, cites, ...more] = scoreViews(
    [
      { name: "helpful", day: "2026-11-17", count: 1, shares: { bad: 1 } },
      { name: "helpful", day: "2026-11-19", count: 3, shares: { good: 1 } },
      { name: "cites", day: "2026-11-18", count: 2, mean: 0.5 },
      { name: "cites", day: "2026-11-19", count: 6, mean: 0.9 },
    ],
    [
      { name: "helpful", version: "aaa", count: 4, shares: { bad: 0.25, good: 0.75 } },
      { name: "cites", version: null, count: 8, mean: 0.8 },
    ],
    "version",
    from,
    to,
  )
  assert.deepEqual(more, [])
  assert.deepEqual([helpful?.count, helpful?.mean, helpful?.shares], [4, null, { bad: 0.25, good: 0.75 }])
  assert.deepEqual(helpful?.values, ["bad", "good"])
  assert.deepEqual(
    helpful?.days.map(({ day, results }) => [day, results?.count ?? null]),
    [
      ["2026-11-17", 1],
      ["2026-11-18", null],
      ["2026-11-19", 3],
    ],
  )
  assert.equal(cites?.mean?.toFixed(6), "0.800000")
  assert.deepEqual(
    cites?.rows.map(({ key, results }) => [key, results.mean]),
    [[null, 0.8]],
  )
})

test("true stands before false", () => {
  const [fast] = scoreViews(
    [{ name: "fast", day: "2026-11-17", count: 2, shares: { false: 0.5, true: 0.5 } }],
    [],
    "model",
    from,
    to,
  )
  assert.deepEqual(fast?.values, ["true", "false"])
})

test("the worst runs come first: numbers from below, false before true, else the rarest value", () => {
  const at = "2026-11-17T00:00:00Z"
  const run = (run_id: string, scores: ListedRunAnswer["scores"]): ListedRunAnswer =>
    ({ run_id, scores }) as unknown as ListedRunAnswer
  const view = { name: "s", count: 4, mean: null, shares: { good: 0.75, bad: 0.25 }, values: [], days: [], rows: [] }
  const order = (...values: (boolean | number | string)[]): string[] =>
    worstFirst(
      [...values.map((value, index) => run(`r${index}`, [{ name: "s", value, at }])), run("none", [])],
      view,
    ).map(({ value }) => value)
  assert.deepEqual(order(0.5, -1, 2, 0.25), ["-1", "0.25", "0.5", "2"])
  assert.deepEqual(order(true, false, true), ["false", "true", "true"])
  assert.deepEqual(order("good", "bad", "good"), ["bad", "good", "good"])
  for (const output of [
    { grade: "bad", why: "It says nothing" },
    { why: "It says nothing", grade: "bad" },
  ]) {
    const [judged] = worstFirst([run("j", [{ name: "s", output, at }])], view)
    assert.deepEqual([judged?.value, judged?.why], ["bad", "It says nothing"])
  }
  const [sure] = worstFirst([run("j", [{ name: "s", output: { why: "It says nothing", sure: false }, at }])], view)
  assert.deepEqual([sure?.value, sure?.why], ["false", "It says nothing"])
})
