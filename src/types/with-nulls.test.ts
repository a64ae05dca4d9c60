import assert from "node:assert/strict"
import { test } from "node:test"
import { Ajv2020 } from "ajv/dist/2020.js"
import type { JsonValue } from "../base/json-value.ts"
import { toJsonSchema } from "./json-schema.ts"
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

test("cases of variants, elements of tuples and the one type of a union that takes the value are filled in, too", () => {
  const note = { name: "note", type: maybe({ kind: "string" }) }
  const variant: Type = {
    kind: "variant",
    tag: "kind",
    cases: [
      { name: "a", fields: [note] },
      { name: "b", fields: [] },
    ],
  }
  assert.deepEqual(withNulls({ kind: "a" }, variant, {}), { kind: "a", note: null })
  assert.deepEqual(withNulls({ kind: "b" }, variant, {}), { kind: "b" })
  assert.deepEqual(withNulls({ kind: "c" }, variant, {}), { kind: "c" })
  const tuple: Type = { kind: "tuple", elements: [line, { kind: "string" }] }
  assert.deepEqual(withNulls([{ text: "a" }, "b", {}], tuple, {}), [{ text: "a", note: null }, "b", {}])
  const text: Type = { kind: "union", members: [{ kind: "string" }, line] }
  assert.deepEqual(withNulls({ text: "a" }, text, {}), { text: "a", note: null })
  assert.deepEqual(withNulls("a", text, {}), "a")
  const several: Type = { kind: "union", members: [{ kind: "object" }, line] }
  assert.deepEqual(withNulls({ text: "a" }, several, {}), { text: "a" })
})

test("what the schema of an answer lets out is what is filled in", () => {
  const ajv = new Ajv2020({ strict: false })
  const choice: Type = {
    kind: "variant",
    tag: "kind",
    cases: [{ name: "a", fields: [{ name: "more", type: maybe(line) }] }],
  }
  const answer: Type = {
    kind: "record",
    fields: [
      { name: "send", type: { kind: "boolean" } },
      { name: "line", type: maybe(line) },
      { name: "lines", type: { kind: "array", element: line } },
      { name: "choice", type: choice },
    ],
  }
  const fits = ajv.compile(toJsonSchema(answer, {}, "answer"))
  const whole = ajv.compile(toJsonSchema(answer, {}))
  for (const [given, isRight] of [
    [{ send: true, lines: [{ text: "a" }], choice: { kind: "a" } }, true],
    [{ send: true, line: { text: "a" }, lines: [], choice: { kind: "a", more: { text: "b" } } }, true],
    [{ send: true, lines: [{ note: "a" }], choice: { kind: "a" } }, false],
    [{ lines: [], choice: { kind: "a" } }, false],
  ] as const) {
    assert.equal(fits(given), isRight, JSON.stringify(given))
    assert.equal(whole(withNulls(given as unknown as JsonValue, answer, {})), isRight, JSON.stringify(given))
  }
})
