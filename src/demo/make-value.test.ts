import assert from "node:assert/strict"
import { test } from "node:test"
import { Ajv2020 } from "ajv/dist/2020.js"
import { fc } from "../../test/support/fast-check.ts"
import { cases } from "../../test/support/strength.ts"
import {
  array,
  boolean,
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
import type { JsonObject } from "../base/json-value.ts"
import { toJsonSchema } from "../types/json-schema.ts"
import type { Type } from "../types/types.ts"
import { validateValue } from "../types/validate-value.ts"
import { makeValue } from "./make-value.ts"
import { readTopic } from "./topic.ts"
import { assertCpuBelow } from "../../test/support/cpu-time.ts"

const make = (schema: JsonObject, instruction: string, seed = "seed") =>
  makeValue(schema, readTopic(instruction), new Map(), seed)

const types = table({
  tree: record({ name: string, children: array(ref("tree")) }),
  list: record({ value: integer, next: maybe(ref("list")) }),
  expression: variant("op", {
    number: { value: number },
    add: { left: ref("expression"), right: ref("expression") },
  }),
})

const leaf = fc.constantFrom<Type>(
  string,
  boolean,
  number,
  integer,
  object,
  literal("x"),
  oneOf("low", "high"),
  ref("tree"),
  ref("list"),
  ref("expression"),
)
const anyType: fc.Arbitrary<Type> = fc.letrec<{ type: Type }>((tie) => ({
  type: fc.oneof(
    { depthSize: "small" },
    leaf,
    fc
      .tuple(tie("type"), fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }))
      .map(([element, length]) => array(element, length)),
    fc.array(tie("type"), { minLength: 1, maxLength: 3 }).map((elements) => tuple(...elements)),
    fc
      .dictionary(fc.constantFrom("name", "summary", "file_path", "count", "is_ok", "tags", "due_date"), tie("type"), {
        maxKeys: 4,
      })
      .map(record),
    // A union is flat.
    tie("type").map((type) => (type.kind === "union" ? type : maybe(type))),
    fc.constant(either(string, integer)),
    fc.constant(variant("kind", { a: { text: string }, b: {} })),
  ),
})).type

test("a made value fits its type, whatever the type and the instruction", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom("a", "message", "path"), anyType), fc.string(), (fields, instruction) => {
      const type = record(fields)
      const value = make(toJsonSchema(type, types), instruction)
      assert.deepEqual(validateValue(value, type, types, "value"), [])
      assert.deepEqual(make(toJsonSchema(type, types), instruction), value)
    }),
    { numRuns: cases(300) },
  )
})

// Schemas that the language has no words for: tools of MCP servers have them.
const foreign: readonly JsonObject[] = [
  { type: "object", properties: { n: { type: "integer", minimum: 10, maximum: 20 } }, required: ["n"] },
  {
    type: "object",
    properties: { n: { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 0.5 } },
    required: ["n"],
  },
  { type: "object", properties: { n: { type: "integer", multipleOf: 7, minimum: 100 } }, required: ["n"] },
  { type: "object", properties: { n: { type: "integer", maximum: -5 } }, required: ["n"] },
  { type: "object", properties: { s: { type: "string", minLength: 200 }, t: { type: "string", maxLength: 3 } } },
  { type: "object", properties: { s: { type: ["null", "string"] }, e: { enum: [1, null, "x"] } } },
  {
    type: "object",
    properties: { a: { type: "array", minItems: 3, items: { $ref: "#/definitions/p" } } },
    definitions: { p: { const: 1 } },
  },
  { properties: { a: { allOf: [{ type: "object" }, { properties: { b: { type: "boolean" } }, required: ["b"] }] } } },
  {
    type: "object",
    properties: { a: { oneOf: [{ type: "string" }, { type: "integer" }] }, d: { type: "string", default: "x" } },
  },
]

for (const schema of foreign) {
  test(`a made value fits ${JSON.stringify(schema)}`, () => {
    const valid = new Ajv2020({ strict: false }).compile(schema)
    for (const instruction of ["Do 12 things.", "", "Take 3.5 of -7"]) {
      const value = make(schema, instruction)
      assert.ok(valid(value), JSON.stringify(value))
    }
  })
}

for (const [format, pattern] of Object.entries({
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  date: /^\d{4}-\d\d-\d\d$/,
  time: /^\d\d:\d\d:\d\dZ$/,
  email: /^[a-z]+@example\.com$/,
  uri: /^https:\/\/example\.com\/[a-z-]+$/,
  uuid: /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/,
  ipv4: /^192\.0\.2\.\d+$/,
})) {
  test(`a string of format ${format} looks like one`, () => {
    assert.match(make({ type: "string", format }, "Anything at all") as string, pattern)
  })
}

test("names, descriptions, enum members and words of the instruction show in the values", () => {
  const type = record({
    message: string,
    path: string,
    severity: oneOf("low", "medium", "high"),
    title: string,
    email: string,
    url: string,
  })
  const instruction = "Review src/run/agent/agent.ts (medium risk) for bob@example.com, see https://example.com/x?y=1"
  const value = make(toJsonSchema(type, {}), instruction) as JsonObject
  assert.equal(value["path"], "src/run/agent/agent.ts")
  assert.equal(value["severity"], "medium")
  assert.equal(value["email"], "bob@example.com")
  assert.equal(value["url"], "https://example.com/x?y=1")
  assert.match(value["title"] as string, /Medium Risk/)
})

for (const [instruction, greeting] of [
  ["Greet Ada.", "Hello, Ada."],
  ["Please greet Grace Hopper and be brief.", "Hello, Grace Hopper."],
  ["Say hello to Zoë!", "Hello, Zoë."],
  ["welcome our guests", "Hello, our guests."],
] as const) {
  test(`${instruction} → ${greeting}`, () => {
    assert.deepEqual(make(toJsonSchema(record({ message: string }), {}), instruction), { message: greeting })
  })
}

test("an instruction made to be slow to read is not", async () => {
  for (const hostile of [
    "a".repeat(100_000),
    "a.".repeat(50_000),
    "greet " + "a ".repeat(50_000),
    "a/".repeat(50_000),
    "-1".repeat(50_000),
  ]) {
    await assertCpuBelow(5_000, () => readTopic(hostile))
  }
})
