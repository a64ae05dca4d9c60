import assert from "node:assert/strict"
import { test } from "node:test"

import { Ajv2020 } from "ajv/dist/2020.js"
import fc from "fast-check"

import { declaredClashes } from "../../src/adapters/mcp/declared-fit.ts"
import { SchemaValidator } from "../../src/adapters/mcp/schema-validator.ts"
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
          const problems = validator.check(value)
          assert.equal(problems.length === 0, accepts(value), `${JSON.stringify(schema)}\n${JSON.stringify(value)}`)
        }
      }
    }),
    { numRuns: 60 },
  )
})

test("two types that share a value are never said to clash, and a type never clashes with itself", () => {
  fc.assert(
    fc.property(arbitraryTypes, fc.integer(), ({ a, b, types }, start) => {
      const random = randomFrom(start)
      const side = start % 2 === 0 ? "output" : "input"
      assert.deepEqual(declaredClashes(a, types, toJsonSchema(a, types), side), [])
      const clashes = declaredClashes(a, types, toJsonSchema(b, types), "output")
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
    { numRuns: 300 },
  )
})
