import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject } from "../../base/json-value.ts"
import { namedProperties, withoutProperties } from "./bound-schema.ts"

test("a bound argument leaves no trace in the schema that a model sees", () => {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { project: { type: "string", description: "ours" }, query: { type: "string" } },
    required: ["project", "query"],
    examples: [{ project: "secret-project", query: "x" }],
    default: { project: "secret-project" },
    dependentRequired: { project: ["query"], query: ["project"] },
    dependentSchemas: { project: { required: ["query"] }, query: { properties: { project: { const: "a" } } } },
    allOf: [
      { required: ["project"] },
      { if: { properties: { project: { const: "b" } } }, then: { required: ["query"] } },
    ],
    additionalProperties: false,
  }
  const left = withoutProperties(schema, ["project"])
  assert.doesNotMatch(JSON.stringify(left), /project/)
  assert.deepEqual(left["properties"], { query: { type: "string" } })
  assert.deepEqual(left["required"], ["query"])
  assert.equal(left["additionalProperties"], false)
})

test("without bound arguments the schema stays as it is, an object in any case", () => {
  const schema = { type: "object", properties: { a: {} }, examples: [{ a: 1 }] }
  assert.deepEqual(withoutProperties(schema, []), schema)
  assert.deepEqual(withoutProperties({}, []), { type: "object", properties: {} })
})

const target = {
  type: "object",
  properties: { project: { const: "p" }, query: { type: "string" } },
  required: ["project"],
}
const behind: readonly [what: string, schema: JsonObject, properties: JsonObject | null][] = [
  ["a reference", { $ref: "#/$defs/args", $defs: { args: target } }, { query: { type: "string" } }],
  ["an anchor", { $ref: "#args", $defs: { x: { $anchor: "args", ...target } } }, { query: { type: "string" } }],
  [
    "a reference beside properties",
    { properties: { a: {} }, $ref: "#/$defs/args", $defs: { args: target } },
    { a: {} },
  ],
  ["a reference in allOf", { type: "object", allOf: [{ $ref: "#/definitions/a" }], definitions: { a: target } }, {}],
  [
    "references in a row",
    { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: target } },
    { query: { type: "string" } },
  ],
  ["then", { if: { required: ["query"] }, then: { $ref: "#/$defs/a" }, $defs: { a: target } }, {}],
  ["oneOf", { oneOf: [target, { required: ["query"] }] }, {}],
  ["not", { not: { required: ["project"] } }, {}],
  ["names", { propertyNames: { enum: ["project", "query"] } }, {}],
  ["an enum of whole arguments", { enum: [{ project: "p" }] }, {}],
  ["definitions that nothing refers to", { properties: { query: {} }, $defs: { project: {} } }, { query: {} }],
  // A value that is like the arguments does not show them either.
  [
    "a tree",
    { ...target, $defs: {}, properties: { ...target.properties, query: { $ref: "#" } } },
    { query: { $ref: "#/$defs/d1" } },
  ],
  // The type of a bound argument may be that of another.
  [
    "a shared type",
    { properties: { project: { type: "string" }, query: { $ref: "#/properties/project" } } },
    { query: { $ref: "#/$defs/d1" } },
  ],
  ["a reference to itself", { properties: { project: {}, query: {} }, allOf: [{ $ref: "#" }] }, { query: {} }],
  ["references without end", { properties: { query: {} }, ...doubling(40, target) }, { query: {} }],
  ["a deep row of references", { properties: { query: {} }, ...row(400, target) }, { query: {} }],
]
for (const [what, schema, properties] of behind) {
  test(`a bound argument behind ${what} is not shown`, () => {
    const left = withoutProperties(schema, ["project"])
    assert.doesNotMatch(JSON.stringify(left), /project/)
    assert.deepEqual(left["properties"], properties)
  })
}

test("what other arguments refer to goes along, under names that say nothing", () => {
  const schema = {
    properties: { project: { $ref: "#/$defs/secret_id" }, list: { items: { $ref: "#/$defs/entry" } } },
    $defs: { secret_id: { type: "string" }, entry: { properties: { next: { $ref: "#/$defs/entry" } } } },
  }
  assert.deepEqual(withoutProperties(schema, ["project"]), {
    type: "object",
    properties: { list: { items: { $ref: "#/$defs/d1" } } },
    $defs: { d1: { properties: { next: { $ref: "#/$defs/d1" } } } },
  })
})

test("the arguments that a schema names, in its branches too", () => {
  const schema = { properties: { a: {} }, anyOf: [{ properties: { b: {} } }, { then: { properties: { c: {} } } }] }
  assert.deepEqual(namedProperties(schema), new Set(["a", "b", "c"]))
})

function doubling(levels: number, last: JsonObject): JsonObject {
  const $defs: JsonObject = { [`d${levels}`]: last }
  for (let level = 0; level < levels; level++) {
    const next = { $ref: `#/$defs/d${level + 1}` }
    $defs[`d${level}`] = { allOf: [next, next] }
  }
  return { $ref: "#/$defs/d0", $defs }
}

function row(levels: number, last: JsonObject): JsonObject {
  const $defs: JsonObject = { [`d${levels}`]: last }
  for (let level = 0; level < levels; level++) $defs[`d${level}`] = { $ref: `#/$defs/d${level + 1}` }
  return { $ref: "#/$defs/d0", $defs }
}
