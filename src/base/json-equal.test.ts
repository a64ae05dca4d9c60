import assert from "node:assert/strict"
import { test } from "node:test"
import { jsonEqual } from "./json-equal.ts"

test("values are compared by structure", () => {
  assert.ok(jsonEqual({ a: 1, b: [null, { c: "x" }] }, { b: [null, { c: "x" }], a: 1.0 }))
  assert.ok(jsonEqual(0, -0))
  assert.ok(jsonEqual([], []))
  assert.ok(jsonEqual(JSON.parse('{ "__proto__": 1 }'), JSON.parse('{ "__proto__": 1 }')))
})

test("what differs anywhere is not equal", () => {
  assert.ok(!jsonEqual({ a: 1 }, { a: 1, b: null }))
  assert.ok(!jsonEqual({ a: null }, { b: null }))
  assert.ok(!jsonEqual([1, 2], [2, 1]))
  assert.ok(!jsonEqual([1], [1, null]))
  assert.ok(!jsonEqual([], {}))
  assert.ok(!jsonEqual("1", 1))
  assert.ok(!jsonEqual(null, false))
  assert.ok(!jsonEqual({}, JSON.parse('{ "__proto__": null }')))
  assert.ok(!jsonEqual({ toString: 1 }, {}))
})
