import assert from "node:assert/strict"
import { test } from "node:test"
import { compareTypes } from "../../src/diff/compare-types.ts"
import type { ContractChange } from "../../src/diff/diff-shape.ts"
import { showType } from "../../src/types/show-type.ts"
import type { Field, Type, TypeTable } from "../../src/types/types.ts"
import { validateValue } from "../../src/types/validate-value.ts"
import { fc } from "../support/fast-check.ts"
import { assertOften, cases } from "../support/strength.ts"
import { arbitraryTypes, randomFrom, validValue, type Random } from "./arbitraries.ts"

const seed = fc.integer()

/** A type with a small edit somewhere in it: wider, narrower, or something else. */
function edited(type: Type, random: Random): Type {
  const inner = (part: Type): Type => edited(part, random)
  const fieldsOf = (fields: readonly Field[]): readonly Field[] => {
    const at = random.below(fields.length + 1)
    const changed = fields.map((field, index) => (index === at ? { ...field, type: inner(field.type) } : field))
    if (at < fields.length) return changed
    const added: Field = { name: "added", type: random.below(2) === 0 ? { kind: "string" } : nullableText }
    return random.below(2) === 0 ? [...fields, added] : fields.slice(1)
  }
  switch (type.kind) {
    case "integer":
      return { kind: "number" }
    case "number":
      return { kind: "integer" }
    case "enum":
      return random.below(2) === 0
        ? { kind: "enum", values: [...type.values, "another"] }
        : { kind: "enum", values: type.values.slice(0, Math.max(1, type.values.length - 1)) }
    case "array":
      return random.below(3) === 0
        ? { kind: "array", element: type.element }
        : { ...type, element: inner(type.element) }
    case "map":
      return { kind: "map", value: inner(type.value) }
    case "tuple":
      return { kind: "tuple", elements: type.elements.map((one) => (random.below(2) === 0 ? inner(one) : one)) }
    case "record":
      return random.below(6) === 0 ? { kind: "object" } : { kind: "record", fields: fieldsOf(type.fields) }
    case "variant":
      return {
        ...type,
        cases: type.cases.map((one) => (random.below(2) === 0 ? { ...one, fields: fieldsOf(one.fields) } : one)),
      }
    case "union": {
      const members = random.below(2) === 0 ? type.members.slice(1) : type.members.map(inner)
      return { kind: "union", members: members.flatMap((one) => (one.kind === "union" ? one.members : [one])) }
    }
    default:
      return random.below(2) === 0 ? { kind: "union", members: [type, { kind: "null" }] } : { kind: "any" }
  }
}

const nullableText: Type = { kind: "union", members: [{ kind: "string" }, { kind: "null" }] }

function assertFits(changes: readonly ContractChange[], from: Type, to: Type, types: TypeTable, random: Random): void {
  const value = validValue({ type: from, types }, random)
  const misfits = validateValue(value, to, types, "value")
  assert.equal(
    misfits.length,
    0,
    `${showType(from, 300)} → ${showType(to, 300)}: ${JSON.stringify({ value, changes, misfits })}`,
  )
}

test("without a breaking change, every value that callers sent is taken, and every value that they get is one that they know", () => {
  let compatible = { input: 0, output: 0 }
  fc.assert(
    fc.property(arbitraryTypes, seed, ({ a, b, types }, start) => {
      const random = randomFrom(start)
      const other = random.below(5) === 0 ? b : edited(a, random)
      const [old, now] = random.below(2) === 0 ? [a, other] : [other, a]
      const input = compareTypes("input", "input", { type: old, types }, { type: now, types })
      // A field that may be left out is sent by nobody here: with it, the value is another one.
      const leavesOut = input.some(({ change }) => change === "is new")
      if (!leavesOut && input.every(({ breaking }) => !breaking)) {
        compatible = { ...compatible, input: compatible.input + 1 }
        assertFits(input, old, now, types, random)
      }
      const output = compareTypes("output", "output", { type: old, types }, { type: now, types })
      const isPlain = !JSON.stringify([old, now, types]).includes('"literal"')
      const gains = output.some(({ change }) => change === "is new")
      if (isPlain && !gains && output.every(({ breaking }) => !breaking)) {
        compatible = { ...compatible, output: compatible.output + 1 }
        assertFits(output, now, old, types, random)
      }
    }),
    { numRuns: cases(2000) },
  )
  assertOften(compatible.input, 100, "inputs are compatible")
  assertOften(compatible.output, 30, "outputs are compatible")
})

test("a type does not differ from itself, whatever its schemas are called on the other side", () => {
  fc.assert(
    fc.property(arbitraryTypes, ({ a, types }) => {
      const copy = structuredClone({ type: a, types })
      for (const side of ["input", "output"] as const)
        assert.deepEqual(compareTypes("x", side, { type: a, types }, copy), [])
    }),
    { numRuns: cases(500) },
  )
})
