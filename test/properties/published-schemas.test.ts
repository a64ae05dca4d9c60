import assert from "node:assert/strict"
import { test } from "node:test"

import { Ajv2020 } from "ajv/dist/2020.js"
import { fc } from "../support/fast-check.ts"
import { assertOften, cases } from "../support/strength.ts"

import { declaredClashes } from "../../src/adapters/mcp/declared-fit.ts"
import { SchemaValidator } from "../../src/adapters/mcp/schema-validator.ts"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { StepBudget } from "../../src/adapters/mcp/step-budget.ts"
import { toJsonSchema } from "../../src/types/json-schema.ts"
import { showType } from "../../src/types/show-type.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import { arbitraryType, arbitraryTypes, mutated, randomFrom, randomValue, validValue } from "./arbitraries.ts"

const ajv = new Ajv2020({ strict: false, ownProperties: true, logger: false })

test("the validator of published schemas agrees with Ajv", () => {
  fc.assert(
    fc.property(arbitraryType, fc.integer(), (one, start) => {
      const schema = toJsonSchema(one.type, one.types)
      const accepts = ajv.compile(schema)
      const validator = new SchemaValidator(schema)
      const random = randomFrom(start)
      for (let at = 0; at < 6; at++) {
        const valid = validValue(one, random)
        for (const value of [valid, mutated(valid, random), randomValue(random)]) {
          const problems = validator.check(value, new StepBudget(1_000_000))
          assert.equal(problems.length === 0, accepts(value), `${JSON.stringify(schema)}\n${JSON.stringify(value)}`)
        }
      }
    }),
    { numRuns: cases(60) },
  )
})

test("two types that share a value are never said to clash, and a type never clashes with itself", () => {
  fc.assert(
    fc.property(arbitraryTypes, fc.integer(), ({ a, b, types }, start) => {
      const random = randomFrom(start)
      const side = start % 2 === 0 ? "output" : "input"
      assert.deepEqual(declaredClashes(a, types, toJsonSchema(a, types), side, new StepBudget(1_000_000)), [])
      const clashes = declaredClashes(a, types, toJsonSchema(b, types), "output", new StepBudget(1_000_000))
      if (clashes.length === 0) return
      for (let at = 0; at < 10; at++) {
        const value = validValue({ type: b, types }, random)
        const shared = validateValue(value, a, types, "value").length === 0
        // A list that no element fits both sides of still has the empty one: that is no agreement worth the name.
        if (shared && !JSON.stringify(value).includes("[]")) {
          assert.fail(`${showType(a, 400)}\n${showType(b, 400)}\n${JSON.stringify(value)}\n${JSON.stringify(clashes)}`)
        }
      }
    }),
    { numRuns: cases(300) },
  )
})

const scalar = fc.constantFrom<JsonValue>(null, true, 0, 1, 2, 2.5, -3, "", "a", "ab", "😀", [], {})
const value = fc.letrec<{ one: JsonValue; list: JsonValue; table: JsonValue }>((tie) => ({
  one: fc.oneof({ maxDepth: 3, withCrossShrink: true }, scalar, tie("list"), tie("table")),
  list: fc.array(tie("one"), { maxLength: 3 }),
  table: fc.dictionary(fc.constantFrom("a", "b", "ab"), tie("one"), { maxKeys: 3 }),
}))
const count = fc.nat(3)
const names = fc.uniqueArray(fc.constantFrom("a", "b", "ab"), { maxLength: 2 })
const type = fc.constantFrom("null", "boolean", "integer", "number", "string", "array", "object")

/** Up to four of the keywords: a schema that has them all is fit by nothing. */
function fewOf(keywords: Record<string, fc.Arbitrary<JsonValue>>): fc.Arbitrary<JsonObject> {
  return fc
    .subarray(Object.keys(keywords), { maxLength: 4 })
    .chain((names) => fc.record(Object.fromEntries(names.map((name) => [name, keywords[name] ?? fc.boolean()]))))
}

/**
 * Schemas of many keywords, with references to themselves below a property or an item. Without `contains`, in
 * which Ajv departs from the standard: it takes empty arrays, and forgets it for `unevaluatedItems`.
 */
const { schema: anySchema } = fc.letrec<{ schema: JsonValue; object: JsonObject }>((tie) => ({
  schema: fc.oneof({ maxDepth: 3 }, fc.boolean(), tie("object")),
  object: fewOf({
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
    enum: fc.array(value.one, { minLength: 1, maxLength: 3 }),
    const: value.one,
    minLength: count,
    maxLength: count,
    pattern: fc.constantFrom("^a", "b$", "^(a|b)*$", "[^a]", "^.$"),
    minimum: count,
    exclusiveMaximum: count,
    multipleOf: fc.constantFrom(1, 2, 0.5),
    minItems: count,
    maxItems: count,
    uniqueItems: fc.boolean(),
    items: fc.oneof(tie("schema"), fc.constant({ $ref: "#" })),
    prefixItems: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
    required: names,
    minProperties: count,
    maxProperties: count,
    unevaluatedItems: tie("schema"),
    propertyNames: tie("schema"),
    properties: fc.dictionary(fc.constantFrom("a", "b"), fc.oneof(tie("schema"), fc.constant({ $ref: "#" }))),
    patternProperties: fc.dictionary(fc.constantFrom("^a", "b$"), tie("schema"), { maxKeys: 1 }),
    additionalProperties: tie("schema"),
    unevaluatedProperties: tie("schema"),
    dependentRequired: fc.dictionary(fc.constantFrom("a", "b"), names, { maxKeys: 1 }),
    dependentSchemas: fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 1 }),
    allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
    anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
    oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
    not: tie("schema"),
    if: tie("schema"),
    then: tie("schema"),
    else: tie("schema"),
  }),
}))

/** As it comes from a server: fast-check makes objects without a prototype, too. */
function asJson(made: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(made)) as JsonValue
}

test("the validator of published schemas agrees with Ajv on schemas of all keywords", () => {
  let valid = 0
  let pairs = 0
  fc.assert(
    fc.property(
      anySchema.map(asJson),
      fc.array(value.one.map(asJson), { minLength: 5, maxLength: 5 }),
      (schema, values) => {
        const published: JsonObject = typeof schema === "boolean" ? { allOf: [schema] } : (schema as JsonObject)
        const accepts = new Ajv2020({ strict: false, ownProperties: true, logger: false }).compile(published)
        const validator = new SchemaValidator(published)
        for (const one of values) {
          pairs++
          const problems = validator.check(one, new StepBudget(1_000_000))
          if (problems.length === 0) valid++
          assert.equal(problems.length === 0, accepts(one), `${JSON.stringify(published)}\n${JSON.stringify(one)}`)
        }
      },
    ),
    { numRuns: cases(100) },
  )
  assertOften(valid, pairs / 10, `of ${pairs} values fit`)
  assertOften(pairs - valid, 0, "values do not fit")
})
