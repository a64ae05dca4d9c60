import assert from "node:assert/strict"
import { test } from "node:test"

import { Ajv2020 } from "ajv/dist/2020.js"
import { fc } from "../support/fast-check.ts"
import { assertOften, cases } from "../support/strength.ts"

import type { JsonValue } from "../../src/base/json-value.ts"
import { toJsonSchema } from "../../src/types/json-schema.ts"
import { showFound } from "../../src/types/show-misfit.ts"
import { showType } from "../../src/types/show-type.ts"
import { fitsStrict, toStrictSchema } from "../../src/types/strict-schema.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import type { Misfit } from "../../src/types/validate-value.ts"
import { arbitraryType, mutated, randomFrom, randomValue, validValue } from "./arbitraries.ts"
import type { Random, TypeInTable } from "./arbitraries.ts"

// Ajv is the oracle: it knows nothing of our types, only the JSON Schema that they turn into. By design ours is stricter
// in four points, which the values here keep clear of and which have tests of their own below and beside the validator:
// whole numbers beyond the safe ones, numbers that are not finite, keys named `__proto__`, and values nested too deep.

// `ownProperties`, or the `toString` that every object inherits would count as one of its fields.
const ajv = new Ajv2020({ strict: false, ownProperties: true, logger: false })
const seed = fc.integer()

function* valuesFor(one: TypeInTable, random: Random, count: number): Generator<JsonValue> {
  for (let at = 0; at < count; at++) {
    const valid = validValue(one, random)
    yield valid
    yield mutated(valid, random)
    yield mutated(mutated(valid, random), random)
    yield randomValue(random)
  }
}

function about({ type, types }: TypeInTable, value: JsonValue): string {
  return `${showType(type, 500)}\n${JSON.stringify(types)}\n${JSON.stringify(value)}`
}

test("validateValue agrees with Ajv on the JSON Schema of the type", (t) => {
  const counts = { fit: 0, misfit: 0 }
  fc.assert(
    fc.property(arbitraryType, seed, (one, start) => {
      const accepts = ajv.compile(toJsonSchema(one.type, one.types))
      for (const value of valuesFor(one, randomFrom(start), 50)) {
        const misfits = validateValue(value, one.type, one.types, "value")
        assert.equal(misfits.length === 0, accepts(value), about(one, value))
        if (misfits.length === 0) counts.fit++
        else counts.misfit++
      }
    }),
    { numRuns: cases(250) },
  )
  t.diagnostic(`${counts.fit} values that fit, ${counts.misfit} that do not`)
  // A generator that made only one sort would prove nothing.
  assertOften(counts.fit, 5_000, "values fit")
  assertOften(counts.misfit, 5_000, "values do not fit")
})

test("generated values fit their type", () => {
  fc.assert(
    fc.property(arbitraryType, seed, (one, start) => {
      const random = randomFrom(start)
      for (let at = 0; at < 10; at++) {
        const value = validValue(one, random)
        assert.deepEqual(validateValue(value, one.type, one.types, "value"), [], about(one, value))
      }
    }),
    { numRuns: cases(300) },
  )
})

test("the strict schema accepts what the plain one accepts", () => {
  let compared = 0
  fc.assert(
    fc.property(arbitraryType, seed, (one, start) => {
      const type: TypeInTable = { ...one, type: { kind: "record", fields: [{ name: "it", type: one.type }] } }
      if (!fitsStrict(type.type, type.types).fits) return
      const plain = ajv.compile(toJsonSchema(type.type, type.types))
      const strict = ajv.compile(toStrictSchema(type.type, type.types))
      for (const value of valuesFor(type, randomFrom(start), 10)) {
        compared++
        assert.equal(strict(value), plain(value), about(type, value))
      }
    }),
    { numRuns: cases(150) },
  )
  assertOften(compared, 1_000, "values were compared")
})

test("what a strict schema is made of", () => {
  const known = new Set(
    "type description properties required additionalProperties items minItems maxItems anyOf const enum $ref $defs".split(
      " ",
    ),
  )
  const check = (schema: JsonValue | undefined): void => {
    assert.ok(typeof schema === "object" && schema !== null && !Array.isArray(schema))
    for (const keyword of Object.keys(schema)) assert.ok(known.has(keyword), keyword)
    assert.ok("type" in schema || "anyOf" in schema || "$ref" in schema, JSON.stringify(schema))
    if ("$ref" in schema) assert.deepEqual(Object.keys(schema), ["$ref"])
    const { type, properties = {}, required, additionalProperties, items, anyOf = [], $defs = {} } = schema
    if (type === "object") {
      assert.deepEqual(required, Object.keys(properties ?? {}))
      assert.equal(additionalProperties, false)
    }
    if (type === "array") check(items)
    const parts = [...Object.values(properties ?? {}), ...Object.values(anyOf ?? []), ...Object.values($defs ?? {})]
    for (const part of parts) check(part)
  }
  fc.assert(
    fc.property(arbitraryType, ({ type, types }) => {
      const root = { kind: "record", fields: [{ name: "it", type }] } as const
      if (fitsStrict(root, types).fits) check(toStrictSchema(root, types))
    }),
    { numRuns: cases(500) },
  )
})

test("every misfit is where it says, and finds what it says", () => {
  fc.assert(
    fc.property(arbitraryType, seed, (one, start) => {
      for (const value of valuesFor(one, randomFrom(start), 5)) {
        const misfits = validateValue(value, one.type, one.types, "value")
        for (const misfit of misfits) assertInPlace(misfit, value, about(one, value))
        const hidden = validateValue(value, one.type, one.types, "value", { values: "hidden" })
        assert.deepEqual(
          hidden.map(({ path, expected }) => ({ path, expected })),
          misfits.map(({ path, expected }) => ({ path, expected })),
        )
      }
    }),
    { numRuns: cases(300) },
  )
})

function assertInPlace(misfit: Misfit, value: JsonValue, context: string): void {
  const keys = keysOf(misfit.path)
  const last = keys.at(-1)
  const holder = keys.slice(0, -1).reduce<unknown>(childOf, value)
  if (misfit.found === "nothing") {
    assert.ok(typeof holder === "object" && holder !== null && last !== undefined, context)
    assert.ok(!Object.hasOwn(holder, last), `${misfit.message}\n${context}`)
    return
  }
  assert.equal(misfit.found, showFound(keys.reduce<unknown>(childOf, value), true), `${misfit.message}\n${context}`)
}

function childOf(value: unknown, key: string | number): unknown {
  assert.ok(typeof value === "object" && value !== null && Object.hasOwn(value, key), String(key))
  return (value as Record<string | number, unknown>)[key]
}

/** `value.files[2]["X-Trace"]` → files, 2, X-Trace */
function keysOf(path: string): (string | number)[] {
  const steps = path
    .slice("value".length)
    .matchAll(/\.(?<name>\w+)|\[(?<index>\d+)\]|\[(?<quoted>"(?:[^"\\]|\\.)*")\]/g)
  return Array.from(steps, ({ groups = {} }) => {
    if (groups["index"] !== undefined) return Number(groups["index"])
    return groups["name"] ?? String(JSON.parse(groups["quoted"] ?? '""'))
  })
}

test("whatever the value is, ours accepts nothing that Ajv refuses", () => {
  // The points in which ours is stricter by design come in here, so that only this direction holds.
  const odd = [
    '{"__proto__":1}',
    "9007199254740993",
    "-1e300",
    "1e400",
    '[{"a":{"__proto__":null}}]',
    `${"[".repeat(600)}${"]".repeat(600)}`,
  ]
  fc.assert(
    fc.property(arbitraryType, seed, fc.constantFrom(...odd), (one, start, json) => {
      const accepts = ajv.compile(toJsonSchema(one.type, one.types))
      const random = randomFrom(start)
      for (let at = 0; at < 20; at++) {
        const value = planted(mutated(validValue(one, random), random), JSON.parse(json) as JsonValue, random)
        if (validateValue(value, one.type, one.types, "value").length === 0)
          assert.ok(accepts(value), about(one, value))
      }
    }),
    { numRuns: cases(100) },
  )
})

/** The value with another one put somewhere into it. */
function planted(value: JsonValue, part: JsonValue, random: Random): JsonValue {
  if (typeof value !== "object" || value === null || random.below(3) === 0) return part
  const keys = Object.keys(value)
  if (keys.length === 0) return part
  const key = random.pick(keys)
  const inner = planted((value as Record<string, JsonValue>)[key] ?? null, part, random)
  if (Array.isArray(value)) return value.with(Number(key), inner)
  return Object.fromEntries(Object.entries(value).map(([name, old]) => [name, name === key ? inner : old]))
}
