import assert from "node:assert/strict"
import { test } from "node:test"
import { canonicalJson, CanonicalText } from "./canonical-json.ts"

test("the order of keys does not count, that of items does", () => {
  const value = { b: [1, "x", null], a: { d: undefined, c: true } }
  assert.equal(canonicalJson(value), '{"a":{"c":true},"b":[1,"x",null]}')
  assert.equal(canonicalJson({ a: { c: true }, b: [1, "x", null] }), canonicalJson(value))
  assert.notEqual(canonicalJson([1, 2]), canonicalJson([2, 1]))
  assert.equal(canonicalJson([undefined, [], {}, ""]), '[null,[],{},""]')
})

test("a part whose text was made before counts as its value", () => {
  const part = { z: 1, a: ["ü", { k: 2 }] }
  assert.equal(canonicalJson({ part: new CanonicalText(part), x: 1 }), canonicalJson({ x: 1, part }))
})
