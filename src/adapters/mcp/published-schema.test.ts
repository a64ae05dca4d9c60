import assert from "node:assert/strict"
import { test } from "node:test"
import { assertCpuBelow } from "../../../test/support/cpu-time.ts"
import type { JsonObject } from "../../base/json-value.ts"
import { declaredClashes } from "./declared-fit.ts"
import { publishedSchema } from "./published-schema.ts"
import { SchemaValidator } from "./schema-validator.ts"
import { StepBudget } from "./step-budget.ts"

test("six thousand anchors, each referred to, are found in one walk", async () => {
  const items: JsonObject[] = Array.from({ length: 6000 }, (_, at) => ({ $anchor: `a${at}` }))
  const allOf: JsonObject[] = items.map((_, at) => ({ $ref: `#a${5999 - at}` }))
  const schema = { type: "object", $defs: { all: { prefixItems: items } }, allOf }
  const read = publishedSchema(schema)
  assert.ok(read.ok)
  assert.deepEqual(new SchemaValidator(read.schema).check({}, new StepBudget(100_000)), [])
  await assertCpuBelow(2_000, () => publishedSchema(schema))
  const type = { kind: "record", fields: [] } as const
  await assertCpuBelow(2_000, () => declaredClashes(type, {}, schema, "input", new StepBudget(1_000_000)))
})

test("choices of references, many levels deep, are compared with a declared type in bounded time", async () => {
  const $defs: JsonObject = {}
  for (let level = 0; level < 12; level++) {
    const next = { $ref: `#/$defs/d${level + 1}` }
    $defs[`d${level}`] = { anyOf: Array.from({ length: 20 }, () => next) }
  }
  $defs["d12"] = { type: "string" }
  const schema = { type: "object", properties: { a: { $ref: "#/$defs/d0" } }, $defs }
  const type = { kind: "record", fields: [{ name: "a", type: { kind: "number" } }] } as const
  await assertCpuBelow(2_000, () => {
    assert.deepEqual(declaredClashes(type, {}, schema, "output", new StepBudget(100_000)), [])
  })
})

for (const [what, schema, problem] of [
  ["too large", { type: "object", description: "ä".repeat(131_072) }, "is larger than 262144 bytes"],
  ["too deep", deep(65), "is nested more than 64 levels deep"],
] as const) {
  test(`a schema that is ${what} is beyond the limits`, () => {
    assert.deepEqual(publishedSchema(schema), { ok: false, problem, limit: true })
  })
}

function deep(levels: number): JsonObject {
  let schema: JsonObject = {}
  for (let level = 0; level < levels; level++) schema = { not: schema }
  return schema
}
