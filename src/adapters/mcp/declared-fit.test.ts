import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../../compile.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { declaredClashes } from "./declared-fit.ts"
import { StepBudget } from "./step-budget.ts"

function clashes(
  declared: string,
  schema: JsonObject,
  side: "input" | "output",
  steps = new StepBudget(100_000),
): [string, string][] {
  const { plan, diagnostics } = compile(`
    schema named { a: string }
    provider p from openai { endpoint: "demo" }
    model m from p { id: "demo" }
    mcp s { endpoint: "http://x.test/" }
    tool t from mcp.s.tool.t { ${side} { ${declared} } }
    agent a { model: model.m uses: [tool.t] instruction: "x" output { n: maybe schema.named } }
    output { n: agent.a.n }`)
  const tool = plan?.tools["t"] ?? null
  const type = tool === null ? null : tool[side]
  if (type === null) assert.fail(diagnostics.map(({ message }) => message).join("\n"))
  return declaredClashes(type, plan?.types ?? {}, schema, side, steps).map(({ path, message }) => [path, message])
}

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: "object", properties, ...more })

const outputs: readonly [declared: string, schema: JsonObject, found: [string, string][]][] = [
  ["n: number", object({ n: { type: "integer" } }), []],
  ["n: integer", object({ n: { type: "number" } }), []],
  ["n: string", object({ n: { type: "number" } }), [["n", "the workflow declares string, the server has number"]]],
  ["n: maybe string", object({ n: { type: "string" } }), []],
  ["n: string", object({ n: { type: ["string", "null"] } }), []],
  [
    "n: string",
    object({ n: { anyOf: [{ type: "number" }, { type: "null" }] } }),
    [["n", "the workflow declares string, the server has number"]],
  ],
  ["n: string", object({ n: { oneOf: [{ type: "number" }, { type: "string" }] } }), []],
  ["n: enum { a, b }", object({ n: { enum: ["b", "c"] } }), []],
  [
    "n: enum { a, b }",
    object({ n: { enum: ["c", "d"] } }),
    [["n", 'the workflow declares enum { a, b }, the server has "c", "d"']],
  ],
  ['n: "a"', object({ n: { const: "b" } }), [["n", 'the workflow declares "a", the server has "b"']]],
  [
    "n: [{ a: string }]",
    object({ n: { type: "array", items: object({ a: { type: "boolean" } }) } }),
    [["n[].a", "the workflow declares string, the server has boolean"]],
  ],
  [
    "n: schema.named",
    object({ n: { $ref: "#/$defs/m" } }, { $defs: { m: object({ a: { type: "null" } }) } }),
    [["n.a", "the workflow declares string, the server has null"]],
  ],
  // What may be there is not a clash; what never is, is. Fields that the workflow does not declare are left out.
  ["a: string, b: string", object({ a: {} }), []],
  ["a: string, b: string", object({ a: {} }, { additionalProperties: false }), [["b", "the server has no field b"]]],
  [
    "a: string, b: string",
    object({ a: {} }, { additionalProperties: { type: "number" } }),
    [["b", "the workflow declares string, the server has number"]],
  ],
  ["a: string", object({ a: {}, b: {} }, { required: ["a"] }), []],
  ["a: string", object({ a: {}, b: {} }, { required: ["a", "b"] }), []],
  ["n: { a: string }", object({ n: object({ a: {}, b: {} }, { required: ["a", "b"] }) }), []],
  ["a: string, b: maybe string", object({ a: {} }, { additionalProperties: false }), []],
  ["a: string", { type: "array" }, [["", "the workflow declares { a: string }, the server has array"]]],
  [
    "a: string",
    { allOf: [object({ a: { type: "number" } })] },
    [["a", "the workflow declares string, the server has number"]],
  ],
  [
    "v: variant kind { x { n: string } y { n: number } }",
    object({ v: object({ kind: {}, n: { type: "boolean" } }) }),
    [["v.n", "the workflow declares string, the server has boolean"]],
  ],
  [
    "v: variant kind { x { n: string } y { n: number } }",
    object({ v: object({ kind: { const: "y" }, n: { type: "number" } }) }),
    [],
  ],
]

for (const [declared, schema, found] of outputs) {
  test(`output { ${declared} } and ${JSON.stringify(schema)}`, () =>
    assert.deepEqual(clashes(declared, schema, "output"), found))
}

test("input: an argument that the server does not know is a slip, one that it needs may be bound", () => {
  assert.deepEqual(clashes("a: string", object({ b: {} }, { required: ["b"] }), "input"), [
    ["a", "the server has no argument a"],
  ])
  assert.deepEqual(clashes("a: string", object({ b: {} }, { additionalProperties: true }), "input"), [])
  assert.deepEqual(clashes("a: string", { type: "object" }, "input"), [])
  assert.deepEqual(clashes("a: { b: string }", object({ a: object({ b: {}, c: {} }, { required: ["c"] }) }), "input"), [
    ["a.c", "the server needs the field c, which the workflow does not declare"],
  ])
})

test("a schema whose branches lead back to itself takes few steps", () => {
  const properties = { p0: { $ref: "#" }, p1: { $ref: "#" }, p2: {} }
  const branch = { type: "object", properties, required: ["p0", "p1", "p2"] }
  const schema = { anyOf: [{ $ref: "#" }, branch, { $ref: "#" }, { $ref: "#" }] }
  const steps = new StepBudget(100_000)
  clashes(
    "p0: [{ p0: string, p1: maybe integer } | [string]], p1: { p0: { p1: { p0: string } } }",
    schema,
    "output",
    steps,
  )
  assert.ok(steps.used < 500, `${steps.used} steps`)
})
