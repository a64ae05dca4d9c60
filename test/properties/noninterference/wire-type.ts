import type { JsonObject, JsonValue } from "../../../src/base/json-value.ts"
import { Random } from "../../support/random.ts"

// The types of random programs, in the words of the language page, and values of them. Nothing here is taken from the checker.

export type Mark = "untrusted" | "private"

interface Marked {
  readonly mark?: Mark
}

export type WireType = Marked &
  (
    | { readonly kind: "string" | "number" | "integer" | "boolean" | "null" | "object" }
    | { readonly kind: "literal"; readonly value: string }
    | { readonly kind: "enum"; readonly values: readonly string[] }
    | { readonly kind: "array"; readonly of: WireType; readonly length?: number }
    | { readonly kind: "tuple"; readonly of: readonly WireType[] }
    | { readonly kind: "record"; readonly fields: Fields }
    | { readonly kind: "maybe"; readonly of: WireType }
    | { readonly kind: "map"; readonly of: WireType }
    | { readonly kind: "union"; readonly of: readonly WireType[] }
    | {
        readonly kind: "variant"
        readonly tag: string
        readonly cases: readonly (readonly [string, Fields])[]
      }
    /** `schema.name`, or a path into one. */
    | { readonly kind: "ref"; readonly path: string; readonly to: () => WireType }
    /** Untyped; `like`: the values that it has in these programs. */
    | { readonly kind: "any"; readonly like: WireType }
  )

export type Fields = readonly (readonly [string, WireType])[]
export type Kind = WireType["kind"]

export const string: WireType = { kind: "string" }
export const number: WireType = { kind: "number" }
export const integer: WireType = { kind: "integer" }
export const boolean: WireType = { kind: "boolean" }
export const record = (...fields: Fields): WireType => ({ kind: "record", fields })
export const arrayOf = (of: WireType): WireType => ({ kind: "array", of })
export const mapOf = (of: WireType): WireType => ({ kind: "map", of })
export const maybe = (of: WireType): WireType =>
  of.kind === "maybe" || of.kind === "null" || of.kind === "any" ? of : { kind: "maybe", of }

/** A value that has nothing to say of its type. */
export const untyped: WireType = {
  kind: "any",
  like: record(["a", string], ["n", integer], ["items", arrayOf(record(["a", string]))]),
}

/** What a reference stands for. */
export function resolved(type: WireType): WireType {
  return type.kind === "ref" ? resolved(type.to()) : type
}

export function written(type: WireType): string {
  const text = unmarked(type)
  return type.mark === undefined ? text : `${type.mark} ${type.kind === "union" ? `(${text})` : text}`
}

function unmarked(type: WireType): string {
  switch (type.kind) {
    case "literal":
      return JSON.stringify(type.value)
    case "enum":
      return `enum { ${type.values.join(", ")} }`
    case "array":
      return `[${written(type.of)}${type.length === undefined ? "" : `; ${type.length}`}]`
    case "tuple":
      return `(${type.of.map(written).join(", ")})`
    case "record":
      return `{ ${writtenFields(type.fields)} }`
    case "maybe":
      return `maybe ${type.of.kind === "union" ? `(${written(type.of)})` : written(type.of)}`
    case "map":
      return `map ${type.of.kind === "union" ? `(${written(type.of)})` : written(type.of)}`
    case "union":
      return type.of.map(written).join(" | ")
    case "variant":
      return `variant ${type.tag} { ${type.cases.map(([name, fields]) => `${name} { ${writtenFields(fields)} }`).join(" ")} }`
    case "ref":
      return type.path
    case "any":
      throw new Error("An untyped value has no type to write")
    default:
      return type.kind
  }
}

export function writtenFields(fields: Fields): string {
  return fields.map(([name, type]) => `${name}: ${written(type)}`).join(", ")
}

/** The same values, whoever wrote them. */
export function sameType(a: WireType, b: WireType): boolean {
  return signature(a) === signature(b)
}

const signatures = new WeakMap<WireType, string>()

function signature(type: WireType): string {
  const known = signatures.get(type)
  if (known !== undefined) return known
  const made = sign(type)
  signatures.set(type, made)
  return made
}

function sign(type: WireType): string {
  switch (type.kind) {
    case "literal":
      return JSON.stringify(type.value)
    case "enum":
      return `enum(${type.values.join()})`
    case "array":
      return `[${signature(type.of)};${type.length ?? ""}]`
    case "tuple":
      return `(${type.of.map(signature).join()})`
    case "record":
      return `{${type.fields.map(([name, one]) => `${name}:${signature(one)}`).join()}}`
    case "maybe":
      return `maybe ${signature(type.of)}`
    case "map":
      return `map ${signature(type.of)}`
    case "union":
      return `union(${type.of.map(signature).join()})`
    case "variant":
      return `variant(${type.tag},${type.cases.map(([name, fields]) => `${name}{${fields.map(([f, t]) => `${f}:${signature(t)}`).join()}}`).join()})`
    case "ref":
      return type.path
    default:
      return type.kind
  }
}

/** How many values a type has that the author wrote down; `Infinity` where strangers may write. */
export function closedCount(type: WireType): number {
  switch (type.kind) {
    case "null":
    case "literal":
      return 1
    case "boolean":
      return 2
    case "enum":
      return type.values.length
    case "array":
      return type.length === undefined ? Infinity : closedCount(type.of) ** type.length
    case "tuple":
      return product(type.of)
    case "record":
      return product(type.fields.map(([, one]) => one))
    case "maybe":
      return 1 + closedCount(type.of)
    case "union":
      return type.of.reduce((sum, one) => sum + closedCount(one), 0)
    case "variant":
      return type.cases.reduce((sum, [, fields]) => sum + product(fields.map(([, one]) => one)), 0)
    // Those of these programs contain open fields or themselves.
    case "ref":
      return closedRef(type.path, type.to)
    default:
      return Infinity
  }
}

const open = new Set<string>()

function closedRef(path: string, to: () => WireType): number {
  if (open.has(path)) return Infinity
  open.add(path)
  try {
    return closedCount(to())
  } finally {
    open.delete(path)
  }
}

function product(types: readonly WireType[]): number {
  return types.reduce((all, one) => all * closedCount(one), 1)
}

/** All choices that an output leaves, in its closed parts: those of its closed fields together. */
export function choicesIn(type: WireType): number {
  const count = closedCount(type)
  if (count !== Infinity) return count
  switch (type.kind) {
    case "record":
      return type.fields.reduce((all, [, one]) => all * choicesIn(one), 1)
    case "tuple":
      return type.of.reduce((all, one) => all * choicesIn(one), 1)
    case "maybe":
      return 1 + choicesIn(type.of)
    case "variant":
      return type.cases.reduce((sum, [, fields]) => sum + fields.reduce((all, [, one]) => all * choicesIn(one), 1), 0)
    case "ref":
      return open.has(type.path) ? 1 : choicesOfRef(type.path, type.to)
    case "array":
      return type.length === undefined ? 1 : choicesIn(type.of) ** type.length
    default:
      return 1
  }
}

function choicesOfRef(path: string, to: () => WireType): number {
  open.add(path)
  try {
    return choicesIn(to())
  } finally {
    open.delete(path)
  }
}

// -------------------------------------------------------------------------------------------------------------- values

/** Makes the parts of a value: each part is made from a seed, which says all that the part depends on. */
export interface Maker {
  /** The seed of a part. `isOpen`: whoever makes it writes it; otherwise it is a choice. */
  seedAt(path: string, marks: ReadonlySet<Mark>, isOpen: boolean): string
  /** What a text of the value says. */
  text(seed: string, marks: ReadonlySet<Mark>): string
}

export function makeValue(
  type: WireType,
  maker: Maker,
  path = "",
  above: ReadonlySet<Mark> = new Set(),
  inOpen = false,
  depth = 0,
): JsonValue {
  const marks = type.mark === undefined || above.has(type.mark) ? above : new Set([...above, type.mark])
  const random = (isOpen: boolean): Random => randomOf(maker.seedAt(path, marks, isOpen || inOpen))
  const part = (name: string, of: WireType, isOpen = inOpen): JsonValue =>
    makeValue(of, maker, `${path}.${name}`, marks, isOpen, depth + 1)
  switch (type.kind) {
    case "string":
      return maker.text(maker.seedAt(path, marks, true), marks)
    case "integer":
      return random(true).below(7)
    case "number":
      return random(true).below(20) / 2
    case "boolean":
      return random(false).chance(0.6)
    case "null":
      return null
    case "object":
      return { made: maker.text(maker.seedAt(path, marks, true), marks) }
    case "literal":
      return type.value
    case "enum":
      return random(false).pick(type.values)
    case "array": {
      const length = type.length ?? (depth > 3 ? 0 : random(true).pick([0, 1, 2, 2, 3]))
      const isOpen = inOpen || type.length === undefined
      return Array.from({ length }, (_, index) => part(String(index), type.of, isOpen))
    }
    case "tuple":
      return type.of.map((one, index) => part(String(index), one))
    case "record":
      return fieldsOf(type.fields, part)
    case "maybe":
      return depth > 4 || random(false).chance(0.3) ? null : part("some", type.of)
    case "map": {
      // Whoever makes it writes the keys.
      const keys = depth > 3 ? [] : random(true).pick([[], ["k"], ["k", "2"], ["b", "k", "1"]])
      return Object.fromEntries(keys.map((key) => [key, part(key, type.of, true)]))
    }
    case "union":
      // A union with an open member is open.
      return part("one", random(closedCount(type) === Infinity).pick(type.of), inOpen || closedCount(type) === Infinity)
    case "variant": {
      const [name, fields] = depth > 3 ? first(type.cases) : random(false).pick(type.cases)
      return {
        [type.tag]: name,
        ...fieldsOf(fields, (field, one) => part(`${name}.${field}`, one)),
      }
    }
    case "ref":
      return makeValue(type.to(), maker, path, marks, inOpen, depth)
    case "any":
      return makeValue(type.like, maker, path, marks, true, depth)
  }
}

function first<T>(items: readonly T[]): T {
  const [one] = items
  if (one === undefined) throw new Error("There is none")
  return one
}

function fieldsOf(fields: Fields, part: (name: string, type: WireType) => JsonValue): JsonObject {
  return Object.fromEntries(fields.map(([name, type]) => [name, part(name, type)]))
}

/** 53 bits of a text: two texts that differ have different ones, but for chance. */
export function hashOf(text: string): number {
  let high = 0xdeadbeef
  let low = 0x41c6ce57
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    high = Math.imul(high ^ unit, 2_654_435_761)
    low = Math.imul(low ^ unit, 1_597_334_677)
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909)
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909)
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0)
}

export function randomOf(seed: string): Random {
  return new Random(hashOf(seed))
}
