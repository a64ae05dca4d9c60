import assert from "node:assert/strict"
import { test } from "node:test"
import type { KeptRun } from "../state/history.ts"
import { sinceBefore } from "./since-before.ts"

const before: KeptRun = {
  run_id: "a",
  asked_at: 1,
  request: { name: "Hello", source: "output { }", input: { name: "Ada" }, options: {} } as KeptRun["request"],
  status: "completed",
  duration_ms: 1200,
  tokens: 100,
  cost: null,
  events: 3,
  result: "message: hi",
}

test("a run that was asked the same, and gave the same", () => {
  assert.deepEqual(sinceBefore(before, { ...before, run_id: "b" }), ["same source and input", "same result"])
})

test("what was asked, what came of it, and what it took", () => {
  const request = { ...before.request, source: "output { a: 1 }", input: { name: "Bob" } }
  const now = { ...before, request, result: "message: ho", duration_ms: 200, tokens: 193 }
  assert.deepEqual(sinceBefore(before, now), ["other source and input", "another result", "−1.00 s", "+93 tokens"])
})

test("another end, and a result whose line is cut", () => {
  assert.equal(sinceBefore(before, { ...before, status: "failed" })[1], "failed, was completed")
  const cut = { ...before, result: "long …" }
  assert.deepEqual(sinceBefore(cut, cut), ["same source and input"])
})
