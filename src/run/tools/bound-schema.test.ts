import assert from "node:assert/strict"
import { test } from "node:test"
import { withoutProperties } from "./bound-schema.ts"

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
