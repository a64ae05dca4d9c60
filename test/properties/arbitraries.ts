import { fc } from "../support/fast-check.ts"

import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { caseRecord, resolve } from "../../src/types/relations.ts"
import type { Field, RecordType, Type, TypeTable, VariantType } from "../../src/types/types.ts"

// Types come from fast-check, which shrinks them. Values come from a small generator with a seed: thousands for each type
// in no time, and a failure is repeated from the seed that it prints.

export interface TypeInTable {
  readonly type: Type
  readonly types: TypeTable
}

/** Few, so that records meet each other's fields; some that JavaScript objects inherit. */
const fieldNames = ["a", "b", "c", "kind", "type", "path", "X-Trace", "toString", "constructor", "length", "a b"]
const strings = ["", "a", "b", "low", "high", "not.now", "kind", "é😀", "constructor", "0"]
const schemaNames = ["s0", "s1", "toString"]

const name = fc.constantFrom(...fieldNames)
const text = fc.constantFrom(...strings)
const reference = fc.constantFrom(...schemaNames).map((schema): Type => ({ kind: "ref", name: schema }))

const primitive: fc.Arbitrary<Type> = fc
  .constantFrom("string", "boolean", "null", "number", "integer", "object", "any")
  .map((kind) => ({ kind }))

const leaf: fc.Arbitrary<Type> = fc.oneof(
  { weight: 4, arbitrary: primitive },
  { weight: 1, arbitrary: text.map((value): Type => ({ kind: "literal", value })) },
  {
    weight: 1,
    arbitrary: fc.uniqueArray(text, { minLength: 1, maxLength: 4 }).map((values): Type => ({ kind: "enum", values })),
  },
)

const fieldsOf = (type: fc.Arbitrary<Type>): fc.Arbitrary<Field[]> => {
  const field = fc.record({ name, type, doc: fc.option(text, { nil: undefined, freq: 4 }) }).map(withoutUndefined)
  return fc.uniqueArray(field, { selector: (one) => one.name, maxLength: 4 })
}

function withoutUndefined(field: { name: string; type: Type; doc: string | undefined }): Field {
  return field.doc === undefined ? { name: field.name, type: field.type } : { ...field, doc: field.doc }
}

const recordOf = (type: fc.Arbitrary<Type>): fc.Arbitrary<RecordType> => {
  return fieldsOf(type).map((fields): RecordType => ({ kind: "record", fields }))
}

/** The first case is made of `first`, so that a recursive variant has finite values. */
const variantOf = (type: fc.Arbitrary<Type>, first: fc.Arbitrary<Type>): fc.Arbitrary<VariantType> => {
  return fc
    .tuple(
      name,
      fc.uniqueArray(text, { minLength: 1, maxLength: 3 }),
      fieldsOf(first),
      fc.array(fieldsOf(type), { minLength: 2, maxLength: 2 }),
    )
    .map(([tag, names, firstFields, others]): VariantType => {
      const fields = [firstFields, ...others].map((some) => some.filter((field) => field.name !== tag))
      return { kind: "variant", tag, cases: names.map((one, at) => ({ name: one, fields: fields[at] ?? [] })) }
    })
}

const eitherOf = (...members: fc.Arbitrary<Type>[]): fc.Arbitrary<Type> => {
  return fc.tuple(...members).map((some): Type => {
    return { kind: "union", members: some.flatMap((one) => (one.kind === "union" ? one.members : [one])) }
  })
}

const maybeOf = (type: fc.Arbitrary<Type>): fc.Arbitrary<Type> => eitherOf(type, fc.constant<Type>({ kind: "null" }))

const arrayOf = (type: fc.Arbitrary<Type>, fixed: boolean): fc.Arbitrary<Type> => {
  const length = fixed ? fc.option(fc.nat(3), { nil: undefined, freq: 3 }) : fc.constant(undefined)
  return fc.tuple(type, length).map(([element, exactly]): Type => {
    return exactly === undefined ? { kind: "array", element } : { kind: "array", element, length: exactly }
  })
}

const tupleOf = (type: fc.Arbitrary<Type>): fc.Arbitrary<Type> => {
  return fc.array(type, { maxLength: 3 }).map((elements): Type => ({ kind: "tuple", elements }))
}

/** Any type; references stand where `refs` may. */
const typeWith = (refs: fc.Arbitrary<Type>): fc.Arbitrary<Type> => {
  return fc.letrec<{ type: Type }>((tie) => ({
    type: fc.oneof(
      { maxDepth: 4, depthIdentifier: fc.createDepthIdentifier() },
      { weight: 5, arbitrary: leaf },
      { weight: 2, arbitrary: refs },
      { weight: 3, arbitrary: recordOf(tie("type")) },
      { weight: 2, arbitrary: arrayOf(tie("type"), true) },
      { weight: 2, arbitrary: maybeOf(tie("type")) },
      { weight: 1, arbitrary: tupleOf(tie("type")) },
      { weight: 2, arbitrary: eitherOf(tie("type"), tie("type")) },
      { weight: 2, arbitrary: variantOf(tie("type"), tie("type")) },
    ),
  })).type
}

/** References inside schemas, always behind something that can end. */
const guarded = fc.oneof(
  maybeOf(reference),
  arrayOf(reference, false),
  eitherOf(leaf, reference),
  variantOf(reference, leaf),
)

const schema: fc.Arbitrary<Type> = fc.oneof(recordOf(typeWith(guarded)), variantOf(typeWith(guarded), leaf))

const table: fc.Arbitrary<TypeTable> = fc
  .tuple(...schemaNames.map(() => fc.tuple(schema, fc.option(text, { nil: undefined }))))
  .map((all) => {
    return Object.fromEntries(
      all.map(([type, doc], at) => [schemaNames[at], doc === undefined ? { type } : { type, doc }]),
    )
  })

/** A type as the language can write it, with the schemas that it refers to (recursive ones too). */
export const arbitraryType: fc.Arbitrary<TypeInTable> = fc.record({ type: typeWith(reference), types: table })

/** Two types over the same schemas. */
export const arbitraryTypes: fc.Arbitrary<{ a: Type; b: Type; types: TypeTable }> = fc.record({
  a: typeWith(reference),
  b: typeWith(reference),
  types: table,
})

// ------------------------------------------------------------------------------------------------------------ values

export interface Random {
  /** A whole number from 0 to below `limit`. */
  below(limit: number): number
  pick<T>(items: readonly T[]): T
}

/** Repeatable chance (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed | 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    below,
    pick: <T>(items: readonly T[]): T => {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error("nothing to pick from")
      return item
    },
  }
}

const numbers = [0, -0, 1, -1, 2, 1.5, -0.25, 1e-7, 1e15, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER]
const scalars: readonly JsonValue[] = [null, true, false, ...numbers, ...strings]

/** Any JSON value of a modest size. */
export function randomValue(random: Random, fuel = 3): JsonValue {
  if (fuel <= 0 || random.below(3) === 0) return scalars[random.below(scalars.length)] ?? null
  const parts = Array.from({ length: random.below(4) }, () => randomValue(random, fuel - 1))
  return random.below(2) === 0 ? parts : Object.fromEntries(parts.map((part) => [random.pick(fieldNames), part]))
}

/** A value of the type. */
export function validValue({ type, types }: TypeInTable, random: Random, fuel = 5): JsonValue {
  const inner = (part: Type): JsonValue => validValue({ type: part, types }, random, fuel - 1)
  const resolved = resolve(type, types)
  switch (resolved.kind) {
    case "string":
      return random.pick(strings)
    case "boolean":
      return random.below(2) === 0
    case "null":
      return null
    case "number":
      return random.pick(numbers)
    case "integer":
      return random.pick(numbers.filter(Number.isInteger))
    case "file":
      return { file_id: "file_0", name: "a.txt", media_type: "text/plain", bytes: random.below(9), sha256: "00" }
    case "literal":
      return resolved.value
    case "enum":
      return random.pick(resolved.values)
    case "object": {
      const fields = Array.from({ length: random.below(3) }, () => [random.pick(fieldNames), randomValue(random, 2)])
      return Object.fromEntries(fields) as JsonObject
    }
    case "map": {
      const count = fuel <= 0 ? 0 : random.below(3)
      return Object.fromEntries(Array.from({ length: count }, () => [random.pick(fieldNames), inner(resolved.value)]))
    }
    case "array": {
      const length = resolved.length ?? (fuel <= 0 ? 0 : random.below(4))
      return Array.from({ length }, () => inner(resolved.element))
    }
    case "tuple":
      return resolved.elements.map(inner)
    case "record":
      return shuffled(
        resolved.fields.map((field): [string, JsonValue] => [field.name, inner(field.type)]),
        random,
      )
    case "union": {
      const easy = resolved.members.filter((member) => member.kind !== "ref")
      return inner(random.pick(fuel <= 0 && easy.length > 0 ? easy : resolved.members))
    }
    case "variant": {
      const one = fuel <= 0 ? resolved.cases[0] : random.pick(resolved.cases)
      const record = one === undefined ? undefined : caseRecord(resolved, one.name)
      if (record === undefined) throw new Error("a variant without cases")
      return inner(record)
    }
    case "any":
    case "asset":
    case "error":
      return randomValue(random, 2)
  }
}

/** The order of an object's keys never matters. */
function shuffled(entries: [string, JsonValue][], random: Random): JsonObject {
  if (random.below(2) === 0) entries.reverse()
  return Object.fromEntries(entries)
}

/** The same value with one thing changed somewhere: often wrong in one place only, which is where mistakes hide. */
export function mutated(value: JsonValue, random: Random): JsonValue {
  const root: { value: JsonValue } = { value: structuredClone(value) }
  const places: { holder: JsonObject | JsonValue[]; key: string | number }[] = []
  const visit = (holder: JsonObject | JsonValue[]): void => {
    for (const key of Object.keys(holder)) {
      const index = Array.isArray(holder) ? Number(key) : key
      places.push({ holder, key: index })
      const inner = (holder as JsonObject)[key]
      if (typeof inner === "object" && inner !== null) visit(inner)
    }
  }
  visit(root)
  const { holder, key } = random.pick(places)
  const slots = holder as JsonObject
  const old = slots[key] ?? null
  switch (random.below(6)) {
    case 0:
      if (holder !== root) {
        if (Array.isArray(holder)) holder.splice(Number(key), 1)
        else delete holder[key]
      }
      break
    case 1:
      if (Array.isArray(old))
        old.push(old.length > 0 && random.below(2) === 0 ? structuredClone(old[0] ?? null) : randomValue(random, 1))
      else if (typeof old === "object" && old !== null) old[random.pick(fieldNames)] = randomValue(random, 1)
      else slots[key] = [old]
      break
    case 2:
      if (holder !== root && !Array.isArray(holder)) {
        delete slots[key]
        slots[random.pick(fieldNames)] = old
      }
      break
    case 3:
      slots[key] =
        typeof old === "number" && Math.abs(old) < 1e6
          ? old + 0.5
          : typeof old === "string"
            ? random.pick(strings)
            : null
      break
    case 4:
      slots[key] = scalars[random.below(scalars.length)] ?? null
      break
    default:
      slots[key] = randomValue(random, 2)
  }
  return root.value
}
