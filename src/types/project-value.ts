import { ObjectInOrder } from "../base/ordered-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { bestMember } from "./best-member.ts"
import { caseRecord, nullable, resolve } from "./relations.ts"
import type { RecordType, Type, TypeTable, UnionType } from "./types.ts"
import { tooMuch, validateValue, type Misfit } from "./validate-value.ts"
import { Fitting, isObject, mayBe } from "./value-fits.ts"
import { runValueLevels, sourceUnionTrials } from "../base/limits.ts"

/**
 * A value that comes from elsewhere as its declared type sees it, at every level: fields that the type does not declare are
 * left out, a missing field that may be null is null, and of a union the member that fits best is taken. What does not fit
 * for other reasons stays as it is, and is among the misfits.
 */
export function projectValue(
  value: JsonValue,
  type: Type,
  types: TypeTable,
  path: string,
): { readonly value: JsonValue; readonly misfits: readonly Misfit[] } {
  if (new Fitting(types).fits(value, type, 0)) return { value, misfits: [] }
  const projection = new Projection(types)
  const projected = projection.project(value, type, 0)
  if (projection.isTooMuch) return { value, misfits: [tooMuch(path)] }
  const misfits = projected.fits ? [] : validateValue(projected.value, type, types, path)
  return { value: projected.value, misfits }
}

interface Projected {
  readonly value: JsonValue
  readonly fits: boolean
  /** Fields that were left out or filled in. */
  readonly changes: number
}

class Projection {
  readonly #types: TypeTable
  readonly #fitting: Fitting
  /** Results of values that are tried on several members: otherwise each level would multiply the work of the one below. */
  readonly #known = new Map<JsonValue, Map<Type, Projected>>()
  #trials = 0
  #left = sourceUnionTrials

  constructor(types: TypeTable) {
    this.#types = types
    this.#fitting = new Fitting(types)
  }

  get isTooMuch(): boolean {
    return this.#left < 0
  }

  project(value: JsonValue, type: Type, depth: number): Projected {
    if (this.#trials > 0) this.#left--
    if (depth > runValueLevels || this.isTooMuch) return { value, fits: false, changes: 0 }
    const resolved = resolve(type, this.#types)
    if (resolved.kind === "union") return this.#union(value, resolved, depth)
    if (isObject(value)) {
      if (resolved.kind === "record") return this.#record(value, resolved, depth)
      if (resolved.kind === "map") {
        // Each of its keys is a field.
        const fields = Object.keys(value).map((name) => ({ name, type: resolved.value }))
        return this.#record(value, { kind: "record", fields }, depth)
      }
      if (resolved.kind === "variant") {
        const tag = Object.hasOwn(value, resolved.tag) ? value[resolved.tag] : undefined
        const record = typeof tag === "string" ? caseRecord(resolved, tag) : undefined
        if (record !== undefined) return this.#record(value, record, depth)
      }
    }
    if (Array.isArray(value)) {
      if (resolved.kind === "array") {
        const { element, length } = resolved
        return this.#elements(value, () => element, length ?? value.length, depth)
      }
      if (resolved.kind === "tuple") {
        return this.#elements(value, (at) => resolved.elements[at], resolved.elements.length, depth)
      }
    }
    return { value, fits: this.#fitting.fits(value, resolved, depth), changes: 0 }
  }

  #record(value: JsonObject, type: RecordType, depth: number): Projected {
    const kept = new ObjectInOrder()
    let fits = true
    let changes = Object.keys(value).length
    let isSame = true
    for (const { name, type: fieldType } of type.fields) {
      if (!Object.hasOwn(value, name)) {
        if (nullable(fieldType, this.#types)) {
          kept.set(name, null)
          changes++
        } else fits = false
        continue
      }
      const before = value[name] ?? null
      const field = this.project(before, fieldType, depth + 1)
      kept.set(name, field.value)
      fits &&= field.fits
      isSame &&= field.value === before
      // This one is not left out.
      changes += field.changes - 1
    }
    return { value: isSame && changes === 0 ? value : kept.object, fits, changes }
  }

  #elements(
    value: readonly JsonValue[],
    typeAt: (at: number) => Type | undefined,
    length: number,
    depth: number,
  ): Projected {
    let fits = value.length === length
    let changes = 0
    let isSame = true
    const elements = value.map((element, at) => {
      const type = typeAt(at)
      if (type === undefined) return element
      const projected = this.project(element, type, depth + 1)
      fits &&= projected.fits
      changes += projected.changes
      isSame &&= projected.value === element
      return projected.value
    })
    return { value: isSame ? (value as JsonValue[]) : elements, fits, changes }
  }

  #union(value: JsonValue, type: UnionType, depth: number): Projected {
    if (typeof value !== "object" || value === null) {
      return { value, fits: this.#fitting.fits(value, type, depth), changes: 0 }
    }
    this.#left -= type.members.length
    const members = type.members.map((member) => resolve(member, this.#types)).filter((one) => mayBe(value, one))
    const likely = members.filter((member) => this.#hasFields(value, member))
    const [only, ...others] = likely.length > 0 ? likely : members
    if (only !== undefined && others.length === 0) return this.project(value, only, depth)
    this.#trials++
    let best: Projected | undefined
    for (const member of likely) {
      const tried = this.#tried(value, member, depth)
      if (tried.fits && (best === undefined || tried.changes < best.changes)) best = tried
      if (best?.changes === 0) break
    }
    if (best === undefined) {
      const likeliest = bestMember(value, type, this.#types)
      best = likeliest.kind === "none" ? undefined : this.#tried(value, likeliest.member, depth)
    }
    this.#trials--
    return best ?? { value, fits: false, changes: 0 }
  }

  /** Whether an object has all fields of a record that may not be missing, and the literals among them: cheaper than a trial. */
  #hasFields(value: JsonObject | readonly JsonValue[], member: Type): boolean {
    if (member.kind !== "record" || !isObject(value)) return true
    return member.fields.every(({ name, type }) => {
      if (!Object.hasOwn(value, name)) return nullable(type, this.#types)
      return type.kind !== "literal" || value[name] === type.value
    })
  }

  #tried(value: JsonValue, member: Type, depth: number): Projected {
    const known = this.#known.get(value) ?? new Map<Type, Projected>()
    this.#known.set(value, known)
    const before = known.get(member)
    if (before !== undefined) return before
    const tried = this.project(value, member, depth)
    known.set(member, tried)
    return tried
  }
}
