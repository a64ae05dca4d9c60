import { givenFile } from "./file-value.ts"
import { caseRecord, resolve } from "./relations.ts"
import type { EnumType, PrimitiveKind, RecordType, Type, TypeTable, UnionType } from "./types.ts"
import { indexOfUnion } from "./union-index.ts"
import { runValueLevels, sourceUnionTrials } from "../base/limits.ts"

/**
 * One look at one value: yes or no, without saying why. A value that fits is JSON throughout, even where the type is
 * open: finite numbers, no key `__proto__` (which would not survive being copied), bounded depth.
 */
export class Fitting {
  readonly #types: TypeTable
  /**
   * What is known of objects that may be of several members of a union. Without it each level of a nested value would be
   * looked at once for every member, and the next level once for each of those looks.
   */
  #known: Map<object, Map<Type, boolean>> | undefined
  /** How many unions, each inside the one before, are just trying one member after the other. */
  #trials = 0
  /** The work on unions that is still allowed. Below zero, nothing fits any more. */
  readonly #steps = { left: sourceUnionTrials }

  constructor(types: TypeTable) {
    this.#types = types
  }

  /** The value takes more work than is allowed: whether it fits is not known. */
  get isTooMuch(): boolean {
    return this.#steps.left < 0
  }

  /** Counts work on a union. */
  spend(steps: number): void {
    this.#steps.left -= steps
  }

  fits(value: unknown, type: Type, depth: number): boolean {
    if (this.#trials > 0 && --this.#steps.left < 0) return false
    switch (type.kind) {
      case "string":
        return typeof value === "string"
      case "record":
        return isObject(value) && this.#fitsRecord(value, type, depth)
      case "array": {
        if (!Array.isArray(value) || depth > runValueLevels) return false
        if (type.length !== undefined && value.length !== type.length) return false
        for (let at = 0; at < value.length; at++) if (!this.fits(value[at], type.element, depth + 1)) return false
        return true
      }
      case "union":
        return this.#fitsUnion(value, type, depth)
      case "ref":
        return this.fits(value, resolve(type, this.#types), depth)
      case "boolean":
        return typeof value === "boolean"
      case "null":
        return value === null
      case "number":
        return Number.isFinite(value)
      case "integer":
        return Number.isSafeInteger(value)
      case "literal":
        return value === type.value
      case "enum":
        return typeof value === "string" && isAmong(value, type)
      case "variant": {
        if (!isObject(value) || !Object.hasOwn(value, type.tag)) return false
        const tag = value[type.tag]
        const record = typeof tag === "string" ? caseRecord(type, tag) : undefined
        return record !== undefined && this.#fitsRecord(value, record, depth)
      }
      case "tuple": {
        const { elements } = type
        if (!Array.isArray(value) || value.length !== elements.length || depth > runValueLevels) return false
        for (const [at, element] of elements.entries()) if (!this.fits(value[at], element, depth + 1)) return false
        return true
      }
      case "map": {
        if (!isObject(value) || depth > runValueLevels) return false
        for (const key of Object.keys(value)) {
          if (key === "__proto__" || !this.fits(value[key], type.value, depth + 1)) return false
        }
        return true
      }
      case "object":
        return isObject(value) && this.#isJson(value, depth)
      case "file":
        return givenFile(value) !== null
      case "any":
      case "asset":
      case "error":
        return this.#isJson(value, depth)
    }
  }

  #isJson(value: unknown, depth: number): boolean {
    return isJson(value, depth, this.#trials > 0 ? this.#steps : undefined)
  }

  #fitsRecord(value: JsonLikeObject, type: RecordType, depth: number): boolean {
    if (depth > runValueLevels) return false
    const { fields } = type
    for (const { name, type: fieldType } of fields) {
      if (!Object.hasOwn(value, name) || name === "__proto__") return false
      if (!this.fits(value[name], fieldType, depth + 1)) return false
    }
    // All fields are there, so any other key makes one too many.
    return Object.keys(value).length === fields.length
  }

  #fitsUnion(value: unknown, type: UnionType, depth: number): boolean {
    const { kinds, strings, others } = indexOfUnion(type)
    if (typeof value !== "object" || value === null) return fitsSimple(value, kinds, strings)
    if (isOpen(kinds)) return this.#isJson(value, depth)
    if (kinds.has("object") && !Array.isArray(value)) return this.#isJson(value, depth)
    if (kinds.has("file") && givenFile(value) !== null) return true
    const keys = others.length > 1 && !Array.isArray(value) ? Object.keys(value).length : null
    let at = this.#candidate(value, keys, others, 0)
    if (at < 0) return false
    let next = this.#candidate(value, keys, others, at + 1)
    if (next < 0) return this.fits(value, resolve(others[at] as Type, this.#types), depth)
    const known = this.#known?.get(value)
    this.#trials++
    let fits = false
    while (at >= 0 && !fits) {
      const member = resolve(others[at] as Type, this.#types)
      fits = known?.get(member) ?? this.#remember(value, member, this.fits(value, member, depth))
      at = next
      if (!fits && at >= 0) next = this.#candidate(value, keys, others, at + 1)
    }
    this.#trials--
    return fits
  }

  /** Only inside another trial can the question come again. */
  #remember(value: object, member: Type, fits: boolean): boolean {
    if (this.#trials < 2) return fits
    this.#known ??= new Map()
    const known = this.#known.get(value)
    if (known === undefined) this.#known.set(value, new Map([[member, fits]]))
    else known.set(member, fits)
    return fits
  }

  /** The place of the next member that a look at the outside of an object or array does not rule out; -1 if there is none. */
  #candidate(value: object, keys: number | null, members: readonly Type[], from: number): number {
    for (let at = from; at < members.length; at++) {
      if (at > 0 && at % 4 === 0 && --this.#steps.left < 0) return -1
      const type = resolve(members[at] as Type, this.#types)
      if (type.kind === "record" && keys !== null && type.fields.length !== keys) continue
      if (mayBe(value, type)) return at
    }
    return -1
  }
}

/** A value that is neither object nor array, and the simple members of a union. */
function fitsSimple(value: unknown, kinds: ReadonlySet<PrimitiveKind>, strings: ReadonlySet<string>): boolean {
  if (typeof value === "string") {
    const isFile = kinds.has("file") && givenFile(value) !== null
    return kinds.has("string") || strings.has(value) || isFile || isOpen(kinds)
  }
  if (value === null) return kinds.has("null") || isOpen(kinds)
  if (typeof value === "boolean") return kinds.has("boolean") || isOpen(kinds)
  if (!Number.isFinite(value)) return false
  return kinds.has("number") || (kinds.has("integer") && Number.isSafeInteger(value)) || isOpen(kinds)
}

function isOpen(kinds: ReadonlySet<PrimitiveKind>): boolean {
  return kinds.has("any") || kinds.has("error") || kinds.has("asset")
}

const setsOfEnums = new WeakMap<EnumType, ReadonlySet<string>>()

/** A set pays from some twenty values on, and only when the enum is met again. */
function isAmong(value: string, type: EnumType): boolean {
  if (type.values.length < 20) return type.values.includes(value)
  let set = setsOfEnums.get(type)
  if (set === undefined) setsOfEnums.set(type, (set = new Set(type.values)))
  return set.has(value)
}

export type JsonLikeObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonLikeObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** Whether an object or array is of the right sort for a (resolved) type, whatever it contains. */
export function mayBe(value: object, type: Type): boolean {
  switch (type.kind) {
    case "array":
    case "tuple":
      return Array.isArray(value)
    case "record":
    case "map":
    case "variant":
    case "object":
    case "file":
      return !Array.isArray(value)
    case "any":
    case "asset":
    case "error":
    case "union":
      return true
    default:
      return false
  }
}

/** Whether the value is JSON that can be handled safely, whatever its type. With `steps`: as far as they last. */
export function isJson(value: unknown, depth: number, steps?: { left: number }): boolean {
  if (steps !== undefined && --steps.left < 0) return false
  switch (typeof value) {
    case "string":
    case "boolean":
      return true
    case "number":
      return Number.isFinite(value)
    case "object": {
      if (value === null) return true
      if (depth > runValueLevels) return false
      if (Array.isArray(value)) {
        for (let at = 0; at < value.length; at++) if (!isJson(value[at], depth + 1, steps)) return false
        return true
      }
      return isObject(value) && isJsonObject(value, depth, steps)
    }
    default:
      return false
  }
}

function isJsonObject(value: JsonLikeObject, depth: number, steps: { left: number } | undefined): boolean {
  for (const key of Object.keys(value)) if (key === "__proto__" || !isJson(value[key], depth + 1, steps)) return false
  return true
}
