import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { isDeeper } from "./bounded-json.ts"
import { canonicalJson } from "./canonical-json.ts"
import { jsonEqual } from "./json-equal.ts"
import type { JsonObject, JsonValue } from "./json-value.ts"
import { objectOf, parseInOrder } from "./ordered-object.ts"

const key = fc.oneof(
  fc.constantFrom(
    "0",
    "1",
    "2",
    "10",
    "007",
    "4294967294",
    "4294967295",
    "99999999999",
    "-1",
    "1.5",
    "a",
    "",
    "constructor",
  ),
  fc.string(),
)
const pairs = fc.array(fc.tuple(key, fc.integer()))

/** The keys in the order of their first occurrence. */
function keysOf(entries: readonly (readonly [string, unknown])[]): string[] {
  return [...new Map(entries).keys()]
}

test("keys stay in the order in which they were set first", () => {
  fc.assert(
    fc.property(pairs, (entries) => {
      const made = objectOf(entries)
      assert.deepEqual(Object.keys(made), keysOf(entries))
      assert.deepEqual(Object.entries(made), [...new Map(entries)])
      const seen: string[] = []
      for (const name in made) seen.push(name)
      assert.deepEqual(seen, keysOf(entries))
    }),
  )
})

test("a value that is written as JSON and read again has its keys in their order", () => {
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(
        fc.string(),
        fc.constantFrom('"1":', '\\"1":', "\\", "\ue000", "\\ue0001"),
        fc.integer(),
        fc.constant(null),
      ),
      fc.array(tie("value")),
      fc.array(fc.tuple(key, tie("value"))).map((entries) => objectOf(entries)),
    ),
  }))
  fc.assert(
    fc.property(value, fc.constantFrom(0, 1), (given, indent) => {
      const text = JSON.stringify(given, null, indent)
      const read = parseInOrder(text) as JsonValue
      assert.equal(JSON.stringify(read, null, indent), text)
      assert.ok(jsonEqual(read, given))
      assert.deepEqual(read, JSON.parse(text))
      assert.equal(canonicalJson(read), canonicalJson(JSON.parse(text)))
    }),
    { numRuns: 500 },
  )
})

test("escaped digits, equal keys and mistakes are read as JSON.parse reads them", () => {
  const text = '{"b":1,"\\u0031":2,"1" : 3,"a\\"12":4,"\ue000":5,"0":[{"9":1,"3":"\\ue001"}]}'
  const read = parseInOrder(text) as JsonObject
  assert.deepEqual(Object.keys(read), ["b", "1", 'a"12', "\ue000", "0"])
  assert.equal(JSON.stringify(read["0"]), '[{"9":1,"3":"\ue001"}]')
  for (const wrong of ['{"1":', '{"a"1":2}', '{"2":1,"1":}', ""]) {
    const message = (read: () => unknown): string => {
      try {
        return String(read())
      } catch (error) {
        return String(error)
      }
    }
    assert.equal(
      message(() => parseInOrder(wrong)),
      message(() => JSON.parse(wrong)),
    )
  }
})

test("a value nested more deeply than calls can be is read", () => {
  const read = parseInOrder(`${'{"1":['.repeat(50_000)}${"]}".repeat(50_000)}`)
  assert.ok(isDeeper(read, 1000))
})

test("fields that are set, replaced and removed later keep the order of the others", () => {
  const made = objectOf([
    ["b", 1],
    ["1", 2],
    ["0", 3],
  ])
  made["c"] = 4
  made["1"] = 5
  delete made["b"]
  assert.equal(JSON.stringify(made), '{"1":5,"0":3,"c":4}')
  assert.equal(JSON.stringify(Object.freeze(made)), '{"1":5,"0":3,"c":4}')
})
