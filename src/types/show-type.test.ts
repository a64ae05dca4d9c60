import assert from "node:assert/strict"
import { test } from "node:test"

import {
  any,
  array,
  asset,
  boolean,
  either,
  error,
  integer,
  literal,
  maybe,
  nothing,
  number,
  object,
  oneOf,
  record,
  ref,
  string,
  tuple,
  variant,
} from "../../test/support/build-types.ts"
import { showType } from "./show-type.ts"
import type { Type } from "./types.ts"

const shown: readonly [Type, string][] = [
  [string, "string"],
  [boolean, "boolean"],
  [number, "number"],
  [integer, "integer"],
  [nothing, "null"],
  [object, "object"],
  [any, "any"],
  [asset, "asset"],
  [error, "unknown"],
  [literal("high"), '"high"'],
  [literal('say "hi"\n{{ x }}'), '"say \\"hi\\"\\n\\{\\{ x \\}\\}"'],
  [oneOf("low", "high"), "enum { low, high }"],
  [oneOf("low", "not now"), 'enum { low, "not now" }'],
  [array(string), "[string]"],
  [array(string, 3), "[string; 3]"],
  [array(maybe(string)), "[maybe string]"],
  [tuple(string, integer), "(string, integer)"],
  [tuple(), "()"],
  [record({}), "{ }"],
  [array(record({ path: string })), "[{ path: string }]"],
  [record({ "X-Trace": string, a: maybe(array(number)) }), '{ "X-Trace": string, a: maybe [number] }'],
  [either(string, integer), "string | integer"],
  [either(nothing, string), "maybe string"],
  [either(string, nothing, integer), "string | integer | null"],
  [ref("finding"), "schema.finding"],
  [maybe(ref("finding")), "maybe schema.finding"],
  [
    variant("kind", { rewrite: { patch: string }, "not.now": {} }),
    'variant kind { rewrite { patch: string }, "not.now" { } }',
  ],
]

for (const [type, text] of shown) test(`shows ${text}`, () => assert.equal(showType(type), text))

const fields = (count: number): Record<string, Type> => {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`field_${at}`, array(record({ inner: string }))]))
}

test("leaves the inside out before the outside", () => {
  assert.equal(showType(record({ first: record(fields(20)), second: integer })), "{ first: { … }, second: integer }")
})

test("leaves fields out where there are too many", () => {
  assert.equal(
    showType(record(fields(1000))),
    "{ field_0: [{ … }], field_1: [{ … }], field_2: [{ … }], field_3: [{ … }], … }",
  )
})

test("keeps to the width that was asked for, down to a mere outline", () => {
  const type = variant("kind", { first_case: fields(30), second_case: fields(30) })
  for (const width of [200, 80, 40]) {
    const text = showType(type, width)
    assert.ok(text.length <= width, `${width}: ${text}`)
    assert.match(text, /^variant kind \{/)
  }
})

test("a type nested a thousand deep is shown by its outside", () => {
  let type: Type = string
  for (let at = 0; at < 1000; at++) type = array(type)
  assert.equal(showType(type), "[[[[[[[[[[[[[…]]]]]]]]]]]]]")
})

test("a long literal is cut", () => {
  const text = showType(literal("x".repeat(500)))
  assert.ok(text.length <= 80, text)
  assert.match(text, /^"x+…"$/)
})

test("a type that shares its parts is not written out along every path", () => {
  let type: Type = string
  for (let at = 0; at < 60; at++)
    type = record(Object.fromEntries(Array.from("abcdefghijklmnop", (name) => [name, type])))
  assert.match(showType(type), /^\{ a: \{ … \}, b: /)
})
