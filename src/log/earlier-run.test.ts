import type { JsonObject } from "../base/json-value.ts"
import assert from "node:assert/strict"
import { test } from "node:test"
import { toJsonSchema } from "../types/json-schema.ts"
import type { Type } from "../types/types.ts"
import { questionFacts } from "./earlier-run.ts"

test("an answer to a question of an earlier release, whose schema required every field, is still one to this question", () => {
  const field = (name: string, type: Type) => ({ name, type })
  const maybe: Type = { kind: "union", members: [{ kind: "string" }, { kind: "null" }] }
  const answer: Type = { kind: "record", fields: [field("required", { kind: "boolean" }), field("note", maybe)] }
  const factsOf = (schema: JsonObject): string => questionFacts({ question: "Send?", schema })
  const [before, now] = [toJsonSchema(answer, {}), toJsonSchema(answer, {}, "answer")]
  assert.deepEqual([before["required"], now["required"]], [["required", "note"], ["required"]])
  assert.equal(factsOf(now), factsOf(before))
  const other: Type = { kind: "record", fields: [field("required", maybe), field("note", maybe)] }
  assert.notEqual(factsOf(now), factsOf(toJsonSchema(other, {}, "answer")))
  assert.notEqual(factsOf(now), questionFacts({ question: "Send?", schema: now, prefill: { note: "Yes." } }))
})
