import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { assertCpuBelow } from "../../test/support/cpu-time.ts"
import { createDemoModel } from "./handle-demo.ts"

const demo = createDemoModel({ slowFirstMs: 0 })

async function ask(schema: JsonObject, more: JsonObject = {}): Promise<{ status: number; body: string }> {
  const format = { type: "json_schema", name: "x", schema }
  const request = { model: "demo", input: "Say what is not broken.", text: { format }, ...more }
  return handled(JSON.stringify(request))
}

/** The answer, which takes bounded time: without a budget, each of these requests takes minutes or all memory. */
async function handled(request: string): Promise<{ status: number; body: string }> {
  let answer = { status: 0, body: "" }
  await assertCpuBelow(2_000, async () => {
    const { status, body } = await demo.handle({ route: { api: "responses" }, body: request })
    answer = { status, body: typeof body === "string" ? body : "" }
  })
  return answer
}

const reference = { $ref: "#" }
const object = (properties: JsonObject): JsonObject => ({
  type: "object",
  properties,
  required: Object.keys(properties),
})
const nested = (length: number, levels: number, innermost: JsonObject): JsonObject =>
  levels === 0
    ? innermost
    : { type: "array", items: nested(length, levels - 1, innermost), minItems: length, maxItems: length }
const named = (count: number, make: (index: number) => JsonValue): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, make(index)]))

/** Each asks for more than anybody could make. */
const impossible: Readonly<Record<string, JsonObject>> = {
  "a recursive schema with two required fields": object({ a: reference, b: reference }),
  "a recursive schema of arrays": { type: "array", items: reference, minItems: 3 },
  "a recursive tuple": { type: "array", prefixItems: [reference, reference], items: false },
  "arrays of arrays of arrays": object({ x: nested(10_000, 3, { type: "boolean" }) }),
  "long strings, many times": object({ x: nested(10_000, 1, { type: "string", minLength: 100_000 }) }),
  "one long string": object({ x: { type: "string", minLength: 1_000_000_000 } }),
  "a large constant, many times": object({ x: nested(10_000, 1, { const: "y".repeat(100_000) }) }),
  "a large default, many times": object({ x: nested(10_000, 1, { default: ["y".repeat(100_000)] }) }),
  "many optional fields, many times": object({
    x: nested(10_000, 1, { type: "object", properties: named(10_000, () => ({ type: "string" })) }),
  }),
  "alternatives that all recurse": { anyOf: [object({ a: reference, b: reference }), object({ c: reference })] },
}

for (const [name, schema] of Object.entries(impossible)) {
  test(`${name}: refused at once`, async () => {
    for (const more of [{}, { stream: true }]) {
      const { status, body } = await ask(schema, more)
      assert.equal(status, 400, body.slice(0, 200))
      assert.match(body, /asks for a larger value than the demo model makes/)
    }
  })
}

/** Each takes care to be answered in time. */
const awkward: Readonly<Record<string, JsonObject>> = {
  "a schema that is all of itself": { allOf: [reference] },
  "a schema that refers to itself": reference,
  "a chain of references": {
    $ref: "#/$defs/f0",
    $defs: named(5000, (index) => ({ $ref: `#/$defs/f${index + 1}` })),
  },
  "all of many": { allOf: Array.from({ length: 5000 }, (_, index) => object({ [`f${index}`]: { type: "string" } })) },
  "all of all of all of": Array.from({ length: 200 }).reduce<JsonObject>((inner) => ({ allOf: [inner] }), object({})),
  "a long enum, many times": object({
    x: nested(2000, 1, { enum: Array.from({ length: 20_000 }, (_, index) => `m${index}`) }),
  }),
  "long names and descriptions": object({
    ["n".repeat(100_000)]: { type: "string", description: "Path ".repeat(100_000) },
  }),
  "dates and doubts by the thousand": object({
    x: nested(5000, 1, object({ date: { type: "string" }, ok: { type: "boolean" } })),
  }),
  "alternatives inside alternatives": Array.from({ length: 200 }).reduce<JsonObject>(
    (inner) => ({ anyOf: [object({ a: { $ref: "#/$defs/b" } }), inner] }),
    { type: "string" },
  ),
}

for (const [name, schema] of Object.entries(awkward)) {
  test(`${name}: answered in time`, async () => {
    const { status, body } = await ask(schema)
    assert.ok(status === 200 || /larger value than/.test(body), body.slice(0, 200))
  })
}

test("thousands of tools share the budget of one answer", async () => {
  const tools = Array.from({ length: 5000 }, (_, index) => ({
    type: "function",
    name: `t${index}`,
    parameters: object({ a: nested(100, 1, { type: "string" }) }),
  }))
  const { status, body } = await ask(object({}), { tools, input: "x".repeat(500_000) })
  assert.equal(status, 400)
  assert.match(body, /"param":"tools"/)
})

test("a body that is nested too deeply is refused", async () => {
  const deep = `{"model":"demo","input":"x","metadata":${"[".repeat(100_000)}${"]".repeat(100_000)}}`
  const { status, body } = await demo.handle({ route: { api: "responses" }, body: deep })
  assert.equal(status, 400)
  assert.match(typeof body === "string" ? body : "", /nested too deeply/)
})

test("a text full of braces is not searched for a schema again and again", async () => {
  const instructions = `${'{"a":'.repeat(100_000)}1${"}".repeat(99_999)}`
  const request = { model: "demo", input: "x", instructions }
  const { status } = await handled(JSON.stringify(request))
  assert.equal(status, 200)
})

test("a long answer is streamed in a bounded number of pieces", async () => {
  const schema = object({ x: { type: "string", minLength: 900_000 } })
  const { status, body } = await ask(schema, { stream: true })
  assert.equal(status, 200)
  const deltas = body.split("response.output_text.delta").length
  assert.ok(deltas < 5000, String(deltas))
})
