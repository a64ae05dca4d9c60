import assert from "node:assert/strict"
import { describe, test } from "node:test"

import {
  any,
  array,
  either,
  integer,
  literal,
  maybe,
  number,
  object,
  oneOf,
  record,
  ref,
  string,
  table,
  tuple,
  variant,
} from "../../test/support/build-types.ts"
import { fitsStrict, toStrictSchema } from "./strict-schema.ts"
import type { Type, TypeTable } from "./types.ts"

const types: TypeTable = table({
  tree: record({ value: string, children: array(ref("tree")) }),
  open: record({ rest: object }),
  holder: record({ inner: array(ref("open")), self: maybe(ref("holder")) }),
})

const fields = (count: number, type: (at: number) => Type): Type => {
  return record(Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, type(at)])))
}

const nested = (levels: number): Type => {
  let type: Type = string
  for (let at = 0; at < levels; at++) type = record({ inner: type })
  return type
}

const fitting: readonly [string, Type][] = [
  ["plain fields", record({ a: string, b: maybe(integer), c: array(oneOf("x", "y")) })],
  ["no fields", record({})],
  ["fixed length", record({ a: array(number, 3) })],
  ["a tuple of one type", record({ point: tuple(number, number) })],
  ["a variant", record({ advice: variant("kind", { a: { x: string }, b: { x: string } }) })],
  ["a recursive schema", record({ root: ref("tree") })],
  ["a recursive root", ref("tree")],
  ["records that begin differently", record({ a: either(record({ x: string }), record({ y: string })) })],
  [
    "records that begin with different literals",
    record({ a: either(record({ type: literal("a"), n: string }), record({ type: literal("b"), n: string })) }),
  ],
  ["ten levels", nested(10)],
  ["1000 enum values", record({ a: oneOf(...Array.from({ length: 1000 }, (_, at) => `v${at}`)) })],
  ["5000 fields", fields(5000, () => string)],
]

const refused: readonly [string, Type, RegExp][] = [
  ["a root that is no object", array(string), /top level is not an object/],
  ["a variant at the root", variant("kind", { a: {} }), /top level is not an object/],
  ["an open object", record({ a: array(record({ b: object })) }), /^`a\[\]\.b` is an object of any fields$/],
  ["any value", record({ a: any }), /^`a` may be any value$/],
  ["an open object behind a name", record({ h: ref("holder") }), /^`h\.inner\[\]\.rest` is an object/],
  ["in a case", record({ v: variant("kind", { a: { x: any } }) }), /^`v#a\.x` may be any value$/],
  ["a mixed tuple", record({ pair: tuple(string, number) }), /^`pair` is a tuple of different types$/],
  ["an empty tuple", record({ none: tuple() }), /^`none` is a tuple/],
  [
    "records that begin alike",
    record({ a: either(record({ x: string }), record({ x: number, y: string })) }),
    /^objects of `a` begin with the same field `x`$/,
  ],
  [
    "a record that begins like a variant's case",
    record({ a: either(variant("kind", { p: {} }), record({ kind: literal("p"), y: string })) }),
    /begin with the same field `kind`/,
  ],
  ["eleven levels", nested(11), /10 levels/],
  [
    "eleven levels of arrays",
    record({ a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].reduce<Type>((type) => array(type), string) }),
    /10 levels/,
  ],
  ["1001 enum values", record({ a: oneOf(...Array.from({ length: 1001 }, (_, at) => `v${at}`)) }), /1000 enum values/],
  [
    "a large enum of long values",
    record({ a: oneOf(...Array.from({ length: 251 }, (_, at) => `${at}`.padStart(60))) }),
    /15000/,
  ],
  ["5001 fields", fields(5001, () => string), /5000 fields/],
  ["too much text", fields(50, (at) => literal(`${at}`.padStart(3000))), /120000 characters/],
]

describe("fitsStrict", () => {
  for (const [name, type] of fitting) {
    test(`takes ${name}`, () => assert.deepEqual(fitsStrict(type, types), { fits: true }))
  }
  for (const [name, type, reason] of refused) {
    test(`refuses ${name}`, () => {
      const fit = fitsStrict(type, types)
      assert.ok(!fit.fits)
      assert.match(fit.reason, reason)
    })
  }
})

test("the strict form differs from the plain one in consts, described references and even tuples", () => {
  const type: Type = {
    kind: "record",
    fields: [
      { name: "kind", type: literal("x"), doc: "Always x" },
      { name: "root", type: ref("tree"), doc: "The root" },
      { name: "other", type: ref("tree") },
      { name: "point", type: tuple(number, number) },
    ],
  }
  assert.deepEqual(toStrictSchema(type, types), {
    type: "object",
    properties: {
      kind: { type: "string", description: "Always x", const: "x" },
      root: { description: "The root", anyOf: [{ $ref: "#/$defs/tree" }] },
      other: { $ref: "#/$defs/tree" },
      point: { type: "array", items: { type: "number" }, minItems: 2, maxItems: 2 },
    },
    required: ["kind", "root", "other", "point"],
    additionalProperties: false,
    $defs: {
      tree: {
        type: "object",
        properties: { value: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/tree" } } },
        required: ["value", "children"],
        additionalProperties: false,
      },
    },
  })
})
