import assert from "node:assert/strict"
import { test } from "node:test"
import { checkOptions, toOptionTexts, defaultOptions } from "./options.ts"

test("only what differs from the service's defaults is sent: of the usual ones, that text comes as it is written", () => {
  assert.deepEqual(checkOptions(defaultOptions), { value: { deltas: true }, wrong: {} })
  assert.deepEqual(checkOptions({ ...defaultOptions, deltas: false }), { value: {}, wrong: {} })
  const texts = { cache_key: "k", use_cache: false, max_concurrency: "5", timeout: "30s", deltas: true }
  const { value, wrong } = checkOptions(texts)
  assert.deepEqual(wrong, {})
  assert.deepEqual(value, { cache_key: "k", use_cache: false, max_concurrency: 5, timeout_ms: 30_000, deltas: true })
  assert.deepEqual(checkOptions(toOptionTexts(value)).value, value)
})

test("what the service would refuse is reported before it is sent", () => {
  for (const most of ["0", "1001", "1.5", "-1", "x"]) {
    assert.ok(checkOptions({ ...defaultOptions, max_concurrency: most }).wrong.max_concurrency, most)
  }
  for (const timeout of ["soon", "0s", "2d", "30"]) {
    assert.ok(checkOptions({ ...defaultOptions, timeout }).wrong.timeout, timeout)
  }
  assert.ok(checkOptions({ ...defaultOptions, cache_key: "k".repeat(1025) }).wrong.cache_key)
})

test("limits are numbers above 0, and only those that are set are sent", () => {
  const texts = { ...defaultOptions, limits: { cost: "0.5", tokens: "200_000", tool_calls: "" } }
  const { value, wrong } = checkOptions(texts)
  assert.deepEqual([value.limits, wrong], [{ cost: 0.5, tokens: 200_000 }, {}])
  assert.deepEqual(checkOptions(toOptionTexts(value)).value, value)
  for (const tokens of ["0", "-1", "many", "1e999"]) {
    assert.ok(checkOptions({ ...defaultOptions, limits: { tokens } }).wrong.tokens, tokens)
  }
})
