import assert from "node:assert/strict"
import { test } from "node:test"

import { fc } from "../support/fast-check.ts"
import { assertOften, cases } from "../support/strength.ts"

import { overlaps } from "../../src/types/overlap.ts"
import { equivalent, isAssignable, maybe, nullable, union, withoutNull } from "../../src/types/relations.ts"
import { showType } from "../../src/types/show-type.ts"
import type { Field, Type, TypeTable } from "../../src/types/types.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import { arbitraryType, arbitraryTypes, randomFrom, validValue } from "./arbitraries.ts"
import type { Random } from "./arbitraries.ts"

const seed = fc.integer()

/** `any` agrees with everything by decree, so that a value proves nothing about it. */
function isKnown(type: Type, types: TypeTable): boolean {
  return !/"kind":"any"/.test(JSON.stringify([type, types]))
}

function accepts(type: Type, types: TypeTable, value: unknown): boolean {
  return validateValue(value, type, types, "value").length === 0
}

/** The type with some of its parts made wider: whatever fitted before fits after. */
function widened(type: Type, random: Random): Type {
  const inner = (part: Type): Type => widened(part, random)
  const fields = (some: readonly Field[]): Field[] => some.map((field) => ({ ...field, type: inner(field.type) }))
  switch (random.below(5)) {
    case 0:
      return maybe(type)
    case 1:
      return union([{ kind: "boolean" }, type, { kind: "array", element: { kind: "string" } }])
    default:
  }
  switch (type.kind) {
    case "integer":
      return { kind: "number" }
    case "literal":
      return { kind: "enum", values: ["another", type.value] }
    case "enum":
      return { kind: "string" }
    case "array":
      return { kind: "array", element: inner(type.element) }
    case "tuple":
      return random.below(2) === 0 || type.elements.length === 0
        ? { kind: "tuple", elements: type.elements.map(inner) }
        : { kind: "array", element: union(type.elements) }
    case "record":
      return random.below(4) === 0 ? { kind: "object" } : { kind: "record", fields: fields(type.fields).toReversed() }
    case "variant":
      return {
        ...type,
        cases: [{ name: "another", fields: [] }, ...type.cases.map((one) => ({ ...one, fields: fields(one.fields) }))],
      }
    case "union":
      return {
        kind: "union",
        members: type.members.map(inner).flatMap((one) => (one.kind === "union" ? one.members : [one])),
      }
    default:
      return type
  }
}

test("a type fits itself, written twice", () => {
  fc.assert(
    fc.property(arbitraryType, ({ type, types }) => {
      assert.ok(equivalent(type, structuredClone(type), types))
      assert.ok(equivalent(type, union([type, structuredClone(type)]), types))
    }),
    { numRuns: cases(500) },
  )
})

test("a type fits what is wider", () => {
  fc.assert(
    fc.property(arbitraryType, seed, ({ type, types }, start) => {
      const wide = widened(type, randomFrom(start))
      assert.ok(isAssignable(type, wide, types), `${showType(type, 300)} → ${showType(wide, 300)}`)
    }),
    { numRuns: cases(1000) },
  )
})

test("what is assignable is so for every value", () => {
  let assignable = 0
  fc.assert(
    fc.property(arbitraryTypes, seed, ({ a, b, types }, start) => {
      fc.pre(isKnown(a, types))
      const random = randomFrom(start)
      for (const to of [b, widened(a, random), widened(widened(a, random), random)]) {
        if (!isAssignable(a, to, types)) continue
        assignable++
        for (let at = 0; at < 10; at++) {
          const value = validValue({ type: a, types }, random)
          assert.ok(accepts(to, types, value), `${showType(a, 300)} → ${showType(to, 300)}: ${JSON.stringify(value)}`)
        }
      }
    }),
    { numRuns: cases(500), maxSkipsPerRun: 100 },
  )
  assertOften(assignable, 500, "pairs of types are assignable")
})

test("types that share a value overlap, and types that fit overlap both ways", () => {
  let shared = 0
  fc.assert(
    fc.property(arbitraryTypes, seed, ({ a, b, types }, start) => {
      const random = randomFrom(start)
      for (const other of [b, widened(a, random), union([b, widened(a, random)])]) {
        const value = validValue({ type: a, types }, random)
        if (!accepts(other, types, value)) continue
        shared++
        const about = `${showType(a, 300)} and ${showType(other, 300)}: ${JSON.stringify(value)}`
        assert.ok(overlaps(a, other, types), about)
        assert.ok(overlaps(other, a, types), about)
      }
    }),
    { numRuns: cases(1000) },
  )
  assertOften(shared, 500, "values are shared")
})

test("a union takes the values of all its members", () => {
  fc.assert(
    fc.property(arbitraryTypes, seed, ({ a, b, types }, start) => {
      const random = randomFrom(start)
      const both = union([a, b])
      for (const member of [a, b]) {
        assert.ok(isAssignable(member, both, types))
        const value = validValue({ type: member, types }, random)
        assert.ok(accepts(both, types, value), `${showType(both, 300)}: ${JSON.stringify(value)}`)
      }
      assert.deepEqual(union([both]), both)
    }),
    { numRuns: cases(500) },
  )
})

test("null is taken out and put back", () => {
  fc.assert(
    fc.property(arbitraryType, ({ type, types }) => {
      const able = maybe(type)
      // Nothing would be left of null alone, and nothing is known of any.
      fc.pre(able.kind !== "any" && able.kind !== "null")
      assert.ok(nullable(able, types))
      const without = withoutNull(able, types)
      assert.ok(!nullable(without, types))
      assert.ok(!accepts(without, types, null))
      assert.ok(equivalent(maybe(without), able, types))
    }),
    { numRuns: cases(500) },
  )
})
