import assert from "node:assert/strict"
import { test } from "node:test"
import type { RunFigures } from "./since-before.ts"
import { sinceBefore } from "./since-before.ts"

const before: RunFigures = {
  request: { source: "output { }", input: { name: "Ada" } },
  status: "completed",
  duration_ms: 1200,
  tokens: 100,
  cost: null,
  result: "message: hi",
}

test("a run that was asked the same, and gave the same", () => {
  assert.deepEqual(sinceBefore(before, { ...before }), ["same source and input", "same result"])
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
