import assert from "node:assert/strict"
import { describe, test } from "node:test"

import {
  any,
  array,
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
  table,
  tuple,
  variant,
} from "../../test/support/build-types.ts"
import type { JsonObject } from "../base/json-value.ts"
import { toJsonSchema } from "./json-schema.ts"
import { showType } from "./show-type.ts"
import type { Type, TypeTable } from "./types.ts"

/** The text too: the order of the keys is part of the promise. */
function assertSchema(type: Type, types: TypeTable, expected: JsonObject): void {
  assert.equal(JSON.stringify(toJsonSchema(type, types), null, 2), JSON.stringify(expected, null, 2))
}

const closed = (properties: Record<string, JsonObject>): JsonObject => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})

const rows: readonly [Type, JsonObject][] = [
  [string, { type: "string" }],
  [boolean, { type: "boolean" }],
  [nothing, { type: "null" }],
  [number, { type: "number" }],
  [integer, { type: "integer" }],
  [object, { type: "object" }],
  [any, {}],
  [error, {}],
  [literal("yes"), { const: "yes" }],
  [oneOf("a", "b"), { type: "string", enum: ["a", "b"] }],
  [array(string), { type: "array", items: { type: "string" } }],
  [array(string, 3), { type: "array", items: { type: "string" }, minItems: 3, maxItems: 3 }],
  [
    tuple(string, integer),
    { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }], items: false, minItems: 2, maxItems: 2 },
  ],
  [tuple(), { type: "array", items: false, minItems: 0, maxItems: 0 }],
  [record({}), closed({})],
  [
    record({ b: string, a: maybe(integer) }),
    closed({ b: { type: "string" }, a: { anyOf: [{ type: "integer" }, { type: "null" }] } }),
  ],
  [either(string, integer), { anyOf: [{ type: "string" }, { type: "integer" }] }],
  [
    variant("kind", { rewrite: { patch: string }, "not.now": {} }),
    {
      anyOf: [
        closed({ kind: { const: "rewrite" }, patch: { type: "string" } }),
        closed({ kind: { const: "not.now" } }),
      ],
    },
  ],
  [
    maybe(variant("kind", { a: {}, b: {} })),
    { anyOf: [closed({ kind: { const: "a" } }), closed({ kind: { const: "b" } }), { type: "null" }] },
  ],
]

describe("toJsonSchema", () => {
  for (const [type, schema] of rows) test(`of ${showType(type)}`, () => assertSchema(type, {}, schema))

  test("doc comments are descriptions, after the type and before the rest", () => {
    const types: TypeTable = {
      finding: {
        doc: "One thing to fix",
        type: {
          kind: "record",
          fields: [
            { name: "path", type: string, doc: "Path of the file\nthe finding is about" },
            { name: "severity", type: oneOf("low", "high"), doc: "How bad" },
            { name: "first", type: literal("x"), doc: "A literal" },
            { name: "tags", type: array(string), doc: "Tags" },
            { name: "note", type: maybe(string), doc: "Anything else" },
            {
              name: "advice",
              doc: "What to do",
              type: {
                kind: "variant",
                tag: "kind",
                cases: [
                  { name: "rewrite", doc: "Write it anew", fields: [{ name: "patch", type: string, doc: "A diff" }] },
                ],
              },
            },
          ],
        },
      },
    }
    const described = (description: string): JsonObject => ({
      type: "object",
      description,
      properties: {
        path: { type: "string", description: "Path of the file\nthe finding is about" },
        severity: { type: "string", description: "How bad", enum: ["low", "high"] },
        first: { const: "x", description: "A literal" },
        tags: { type: "array", description: "Tags", items: { type: "string" } },
        note: { description: "Anything else", anyOf: [{ type: "string" }, { type: "null" }] },
        advice: {
          description: "What to do",
          anyOf: [
            {
              type: "object",
              description: "Write it anew",
              properties: { kind: { const: "rewrite" }, patch: { type: "string", description: "A diff" } },
              required: ["kind", "patch"],
              additionalProperties: false,
            },
          ],
        },
      },
      required: ["path", "severity", "first", "tags", "note", "advice"],
      additionalProperties: false,
    })
    assertSchema(ref("finding"), types, described("One thing to fix"))
    assertSchema(array(ref("finding")), types, { type: "array", items: described("One thing to fix") })
    const field: Type = { kind: "record", fields: [{ name: "worst", type: ref("finding"), doc: "The worst one" }] }
    assertSchema(field, types, closed({ worst: described("The worst one") }))
  })

  test("a named schema is written out at every place", () => {
    const point = closed({ x: { type: "number" }, y: { type: "number" } })
    assertSchema(
      record({ from: ref("point"), to: ref("point") }),
      table({ point: record({ x: number, y: number }), unused: record({ next: maybe(ref("unused")) }) }),
      closed({ from: point, to: point }),
    )
  })

  test("a recursive one is defined once, and the root is written out all the same", () => {
    const tree = closed({ value: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/tree" } } })
    const types = table({ tree: record({ value: string, children: array(ref("tree")) }) })
    assertSchema(ref("tree"), types, { ...tree, $defs: { tree } })
    assertSchema(record({ root: ref("tree") }), types, {
      ...closed({ root: { $ref: "#/$defs/tree" } }),
      $defs: { tree },
    })
  })

  test("schemas that are recursive through each other are both defined, those around them are not", () => {
    const types = table({
      list: record({ head: ref("item"), rest: maybe(ref("list_rest")) }),
      list_rest: record({ list: array(ref("list")) }),
      item: record({ name: string }),
      holder: record({ list: ref("list") }),
    })
    assertSchema(record({ holder: ref("holder") }), types, {
      ...closed({ holder: closed({ list: { $ref: "#/$defs/list" } }) }),
      $defs: {
        list: closed({
          head: closed({ name: { type: "string" } }),
          rest: { anyOf: [{ $ref: "#/$defs/list_rest" }, { type: "null" }] },
        }),
        list_rest: closed({ list: { type: "array", items: { $ref: "#/$defs/list" } } }),
      },
    })
  })

  test("a description stands beside a reference", () => {
    const types = table({ tree: record({ children: array(ref("tree")) }) })
    const type: Type = { kind: "record", fields: [{ name: "root", type: ref("tree"), doc: "The root" }] }
    assertSchema(type, types, {
      ...closed({ root: { $ref: "#/$defs/tree", description: "The root" } }),
      $defs: { tree: closed({ children: { type: "array", items: { $ref: "#/$defs/tree" } } }) },
    })
  })

  test("names that mean something to JavaScript are names like others", () => {
    const type: Type = {
      kind: "record",
      fields: [
        { name: "__proto__", type: string },
        { name: "constructor", type: string },
      ],
    }
    assert.equal(
      JSON.stringify(toJsonSchema(type, {})),
      '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}},' +
        '"required":["__proto__","constructor"],"additionalProperties":false}',
    )
    assert.deepEqual(toJsonSchema(ref("toString"), {}), {})
  })

  test("named schemas that would double and double again are defined once each", () => {
    const names = Array.from({ length: 40 }, (_, at): [string, Type] => {
      return [`s${at}`, at === 0 ? record({ end: string }) : record({ a: ref(`s${at - 1}`), b: ref(`s${at - 1}`) })]
    })
    const schema = toJsonSchema(ref("s39"), table(Object.fromEntries(names)))
    assert.equal(Object.keys(schema["$defs"] ?? {}).length, 39)
    assert.ok(JSON.stringify(schema).length < 10_000)
  })

  test("a chain of many thousand schemas neither overflows the stack nor nests", () => {
    const names = Array.from({ length: 20_000 }, (_, at): [string, Type] => {
      return [`s${at}`, at === 19_999 ? record({ end: string }) : record({ next: ref(`s${at + 1}`) })]
    })
    const schema = toJsonSchema(ref("s0"), table(Object.fromEntries(names)))
    assert.equal(Object.keys(schema["$defs"] ?? {}).length, 19_999)
    assert.ok(JSON.stringify(schema).length > 0)
  })

  test("a nameless type that shares its parts a thousandfold stays bounded", () => {
    let type: Type = string
    for (let at = 0; at < 60; at++) type = tuple(type, type)
    assert.ok(JSON.stringify(toJsonSchema(type, {})).length < 50_000_000)
    let deep: Type = string
    for (let at = 0; at < 5_000; at++) deep = array(deep)
    assert.ok(JSON.stringify(toJsonSchema(deep, {})).length < 50_000)
  })
})
