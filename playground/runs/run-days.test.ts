import assert from "node:assert/strict"
import { test } from "node:test"
import type { ListedRunAnswer } from "../../src/client/client.ts"
import { expiryText, runDays, runTotals } from "./run-days.ts"

const hour = 3_600_000

function made(at: number, more: Partial<ListedRunAnswer> = {}): ListedRunAnswer {
  const usage = {
    input_tokens: 10,
    output_tokens: 5,
    cached_tokens: 0,
    written_tokens: 0,
    reasoning_tokens: 0,
    cost: 0.01,
  }
  const created_at = new Date(at).toISOString()
  const names = { workflow: null, version: null }
  return {
    run_id: `r${at}`,
    ...names,
    status: "completed",
    created_at,
    finished_at: created_at,
    usage,
    ...more,
  }
}

test("runs are grouped by the day of the reader, whatever the hour", () => {
  const noon = new Date(2026, 10, 17, 12).getTime()
  const days = runDays([made(noon), made(noon - 11 * hour), made(noon - 13 * hour), made(noon - 40 * hour)], noon)
  assert.deepEqual(
    days.map(({ name, runs }) => [name, runs.length]),
    [
      ["Today", 2],
      ["Yesterday", 1],
      ["Sun, 15 Nov", 1],
    ],
  )
})

test("totals say what they do not know", () => {
  assert.equal(runTotals([made(0), made(1)]), "2 runs · 30 tokens · cost 0.02")
  assert.equal(
    runTotals([made(0), made(1, { status: "cancelled" })]),
    "2 runs · at least 30 tokens · at least cost 0.02",
  )
  const unpriced = { ...made(1).usage, cost: null }
  assert.equal(runTotals([made(0), made(1, { usage: unpriced })]), "2 runs · 30 tokens · at least cost 0.01")
})

test("the end of a run's life is in words", () => {
  const at = (ms: number): string => new Date(ms).toISOString()
  assert.equal(expiryText(null, 0), "")
  assert.equal(expiryText(at(23 * hour), 0), "deleted in 23 h")
  assert.equal(expiryText(at(7 * 24 * hour), 0), "deleted in 7 days")
  assert.equal(expiryText(at(0), hour), "deleted soon")
})
