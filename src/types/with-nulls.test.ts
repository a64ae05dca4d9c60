import assert from "node:assert/strict"
import { test } from "node:test"
import { withNulls } from "./with-nulls.ts"
import type { Type } from "./types.ts"

const maybe = (type: Type): Type => ({ kind: "union", members: [type, { kind: "null" }] })
const line: Type = {
  kind: "record",
  fields: [
    { name: "text", type: { kind: "string" } },
    { name: "note", type: maybe({ kind: "string" }) },
  ],
}
const types = { line: { type: line } }
const ref: Type = { kind: "ref", name: "line" }

test("fields that may be null are filled in at every level; the others are left as they are", () => {
  assert.deepEqual(withNulls({ text: "a" }, ref, types), { text: "a", note: null })
  assert.deepEqual(withNulls({ text: "a", note: "b", more: 1 }, ref, types), { text: "a", note: "b", more: 1 })
  assert.deepEqual(withNulls({}, line, {}), { note: null })
  const all: Type = { kind: "record", fields: [{ name: "lines", type: maybe({ kind: "array", element: ref }) }] }
  assert.deepEqual(withNulls({ lines: [{ text: "a" }, 5] }, all, types), { lines: [{ text: "a", note: null }, 5] })
  assert.deepEqual(withNulls({ lines: null }, all, types), { lines: null })
  assert.deepEqual(withNulls("a", all, types), "a")
})

test("a field that is called like one of every object's is not taken for given", () => {
  const odd: Type = { kind: "record", fields: [{ name: "constructor", type: maybe({ kind: "string" }) }] }
  assert.deepEqual(withNulls({}, odd, {}), { constructor: null })
  const poisoned = withNulls(JSON.parse('{"__proto__":{"note":"x"}}') as { note?: string }, line, {})
  assert.deepEqual(Object.keys(poisoned as object), ["__proto__", "note"])
})
