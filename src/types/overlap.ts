import { remembered } from "../base/remembered.ts"
import { caseRecord, isLenient, recordsOf, resolve } from "./relations.ts"
import type { EnumType, RecordType, Type, TypeTable, UnionType, VariantType } from "./types.ts"
import { indexOfUnion } from "./union-index.ts"

/** Further than this two types are taken to overlap: no author writes such types by hand. */
const deepest = 400
const maxPairs = 20_000

/** Whether there is a value that both types have. `any` and `error` overlap with everything. */
export function overlaps(a: Type, b: Type, types: TypeTable): boolean {
  return new Overlap(types).some(a, b, 0)
}

/** One question about two types. A pair that comes up inside its own answer adds no value: values are finite. */
class Overlap {
  readonly #types: TypeTable
  readonly #open = new Map<Type, Set<Type>>()
  #pairs = 0

  constructor(types: TypeTable) {
    this.#types = types
  }

  some(one: Type, other: Type, depth: number): boolean {
    const a = resolve(one, this.#types)
    const b = resolve(other, this.#types)
    if (a === b || isLenient(a) || isLenient(b) || depth > deepest || ++this.#pairs > maxPairs) return true
    const inside = remembered(this.#open, a, () => new Set())
    if (inside.has(b)) return false
    inside.add(b)
    const found = this.#byKind(a, b, depth + 1)
    inside.delete(b)
    return found
  }

  #byKind(a: Type, b: Type, depth: number): boolean {
    if (a.kind === "union") return this.#members(a, b, depth)
    if (b.kind === "union") return this.#members(b, a, depth)
    switch (a.kind) {
      case "string":
      case "literal":
      case "enum":
        return stringsOverlap(a, b)
      case "number":
      case "integer":
        return b.kind === "number" || b.kind === "integer"
      case "array":
      case "tuple":
        return (b.kind === "array" || b.kind === "tuple") && this.#elements(a, b, depth)
      case "object":
      // Two maps may both be empty.
      case "map":
        return b.kind === "object" || b.kind === "map" || b.kind === "record" || b.kind === "variant"
      case "record":
        if (b.kind === "record") return this.#records(a, b, depth)
        return b.kind === "object" || b.kind === "map" || (b.kind === "variant" && this.#cases(b, a, depth))
      case "variant":
        if (b.kind === "record") return this.#cases(a, b, depth)
        return b.kind === "object" || b.kind === "map" || (b.kind === "variant" && this.#variants(a, b, depth))
      default:
        return a.kind === b.kind
    }
  }

  #members(union: UnionType, other: Type, depth: number): boolean {
    if (other.kind === "literal") {
      const { kinds, strings } = indexOfUnion(union)
      if (kinds.has("string") || strings.has(other.value)) return true
    }
    return union.members.some((member) =>
      member.kind !== "literal" || other.kind !== "literal" ? this.some(member, other, depth) : false,
    )
  }

  #elements(a: Type & { kind: "array" | "tuple" }, b: Type & { kind: "array" | "tuple" }, depth: number): boolean {
    const lengthA = a.kind === "tuple" ? a.elements.length : a.length
    const lengthB = b.kind === "tuple" ? b.elements.length : b.length
    if (lengthA !== undefined && lengthB !== undefined && lengthA !== lengthB) return false
    // Two empty arrays are equal, whatever they might hold.
    const length = lengthA ?? lengthB ?? 0
    if (a.kind === "array" && b.kind === "array") return length === 0 || this.some(a.element, b.element, depth)
    for (let at = 0; at < length; at++) {
      const one = a.kind === "tuple" ? a.elements[at] : a.element
      const other = b.kind === "tuple" ? b.elements[at] : b.element
      if (one !== undefined && other !== undefined && !this.some(one, other, depth)) return false
    }
    return true
  }

  /** Both closed: the same fields, in any order. */
  #records(a: RecordType, b: RecordType, depth: number): boolean {
    if (a.fields.length !== b.fields.length) return false
    const types = new Map(b.fields.map((field) => [field.name, field.type]))
    return a.fields.every((field) => {
      const other = types.get(field.name)
      return other !== undefined && this.some(field.type, other, depth)
    })
  }

  #cases(variant: VariantType, record: RecordType, depth: number): boolean {
    return [...recordsOf(variant).values()].some((known) => this.#records(known, record, depth))
  }

  #variants(a: VariantType, b: VariantType, depth: number): boolean {
    return [...recordsOf(b)].some(([name, record]) => {
      if (a.tag !== b.tag) return this.#cases(a, record, depth)
      const other = caseRecord(a, name)
      return other !== undefined && this.#records(other, record, depth)
    })
  }
}

function stringsOverlap(a: Type, b: Type): boolean {
  if (a.kind === "string" || b.kind === "string") return isText(a) && isText(b)
  if (a.kind === "literal")
    return b.kind === "literal" ? a.value === b.value : b.kind === "enum" && valuesOf(b).has(a.value)
  if (a.kind !== "enum") return false
  if (b.kind === "literal") return valuesOf(a).has(b.value)
  return b.kind === "enum" && a.values.some((value) => valuesOf(b).has(value))
}

function isText({ kind }: Type): boolean {
  return kind === "string" || kind === "literal" || kind === "enum"
}

const setsOfEnums = new WeakMap<EnumType, ReadonlySet<string>>()

function valuesOf(type: EnumType): ReadonlySet<string> {
  return remembered(setsOfEnums, type, ({ values }) => new Set(values))
}
