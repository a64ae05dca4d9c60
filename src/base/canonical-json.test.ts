import assert from "node:assert/strict"
import { test } from "node:test"
import { canonicalJson, canonicalPieces, CanonicalText } from "./canonical-json.ts"

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

test("a text is JSON, in pieces too", () => {
  const value = {
    "10": [-0, 1e21, 0.1, Number.NaN, true, null],
    "9": '\u2028 "\\\n é 😀 \ud800',
    empty: { a: {}, b: [], c: [[], {}], d: [{ e: [] }] },
    long: Array.from({ length: 10_000 }, (_, at) => ({ z: at, a: `item ${at}` })),
    ["__proto__"]: 1,
  }
  const text = canonicalJson(value)
  assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
  assert.ok(text.startsWith('{"10":[0,1e+21,0.1,null,true,null],"9":"'))
  const pieces = [...canonicalPieces(value)]
  assert.ok(pieces.length > 10)
  assert.equal(pieces.join(""), text)
  for (const one of [
    undefined,
    1,
    "x",
    null,
    [],
    {},
    { a: undefined },
    new CanonicalText(value),
    [new CanonicalText(1)],
  ]) {
    assert.equal([...canonicalPieces(one)].join(""), canonicalJson(one))
  }
  assert.equal(canonicalJson(undefined), "null")
  assert.equal(canonicalJson({ a: undefined }), "{}")
})
