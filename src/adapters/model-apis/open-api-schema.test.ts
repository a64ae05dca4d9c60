import assert from "node:assert/strict"
import { test } from "node:test"
import { toOpenApiSchema } from "./open-api-schema.ts"

test("references are written out, null becomes nullable, the rest is left out", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string", description: "Who", pattern: "^a" },
      age: { anyOf: [{ type: "integer", minimum: 0 }, { type: "null" }] },
      tags: { type: "array", items: { $ref: "#/$defs/tag" }, maxItems: 3 },
      kind: { const: "person" },
      level: { type: ["number", "null"], format: "percent" },
      size: { enum: [1, 2], type: "integer" },
      either: { anyOf: [{ type: "string" }, { type: "number" }] },
    },
    required: ["name", "age"],
    additionalProperties: false,
    $defs: { tag: { enum: ["a", "b"] } },
  }
  assert.deepEqual(toOpenApiSchema(schema), {
    type: "object",
    properties: {
      name: { type: "string", description: "Who", pattern: "^a" },
      age: { type: "integer", minimum: 0, nullable: true },
      tags: { type: "array", items: { enum: ["a", "b"], type: "string" }, maxItems: 3 },
      kind: { enum: ["person"], type: "string" },
      level: { type: "number", nullable: true },
      size: { type: "integer" },
      either: { anyOf: [{ type: "string" }, { type: "number" }] },
    },
    required: ["name", "age"],
    propertyOrdering: ["name", "age", "tags", "kind", "level", "size", "either"],
  })
})

test("a recursive schema, or a reference to nothing, cannot be written so", () => {
  const tree = { type: "object", properties: { next: { $ref: "#" } } }
  assert.equal(toOpenApiSchema(tree), null)
  assert.equal(toOpenApiSchema({ $ref: "#/$defs/none" }), null)
})
