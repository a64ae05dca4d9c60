import { childPath } from "../base/child-path.ts"
import { didYouMean } from "../base/did-you-mean.ts"
import { bestMember } from "./best-member.ts"
import { caseRecord, resolve } from "./relations.ts"
import { shorten, showExpected, showFound } from "./show-misfit.ts"
import { showName } from "./show-type.ts"
import type { RecordType, TupleType, Type, TypeTable, UnionType, VariantType } from "./types.ts"
import { Fitting, isJson, isObject, type JsonLikeObject } from "./value-fits.ts"
import { runValueLevels } from "../base/limits.ts"

/** One thing about a value that its type does not allow. */
export interface Misfit {
  /** `input.files[2].path`, `input["X-Trace"]`. */
  readonly path: string
  /** A sentence that names the place: `input.files[2].path: expected string, found number 12`. */
  readonly message: string
  readonly expected: string
  readonly found: string
  /** The name or value that was probably meant. */
  readonly hint?: string
}

export interface ValidateOptions {
  /** `hidden` keeps every value out of the texts (names of fields stay): they may be secret. */
  readonly values?: "shown" | "hidden"
  /** The rest of a value is not looked at after so many. */
  readonly most?: number
}

/** A path longer than this is cut: more is not read, and a hostile value may be a thousand levels deep. */
const longestPath = 40

/**
 * Everything about the value that does not fit the type, in the order of the type's fields; empty when all is well.
 * `path` is what the value itself is called (`input`).
 */
export function validateValue(
  value: unknown,
  type: Type,
  types: TypeTable,
  path: string,
  options: ValidateOptions = {},
): Misfit[] {
  // Most values fit, and to know that takes a fraction of the time that it takes to say why one does not.
  const fitting = new Fitting(types)
  if (fitting.fits(value, type, 0)) return []
  const validation = new Validation(types, path, options)
  if (!fitting.isTooMuch) validation.walk(value, type, 0)
  return fitting.isTooMuch || validation.isTooMuch ? [tooMuch(path)] : validation.misfits
}

/** For a value that takes more work than is allowed. */
export function tooMuch(path: string): Misfit {
  const expected = "fewer values, or a type with fewer alternatives"
  const found = "too many values to try every alternative of a union on"
  return { path, message: `${path}: expected ${expected}, found ${found}`, expected, found }
}

class Validation {
  readonly misfits: Misfit[] = []
  readonly #types: TypeTable
  readonly #fitting: Fitting
  readonly #root: string
  readonly #keys: (string | number)[] = []
  readonly #shown: boolean
  readonly #most: number

  constructor(types: TypeTable, root: string, options: ValidateOptions) {
    this.#types = types
    this.#fitting = new Fitting(types)
    this.#root = root
    this.#shown = options.values !== "hidden"
    this.#most = options.most ?? 100
  }

  get isTooMuch(): boolean {
    return this.#fitting.isTooMuch
  }

  walk(value: unknown, type: Type, depth: number): void {
    if (this.misfits.length >= this.#most || this.isTooMuch) return
    if (depth > runValueLevels && typeof value === "object" && value !== null) return this.#tooDeep(value)
    switch (type.kind) {
      case "ref":
        return this.walk(value, resolve(type, this.#types), depth)
      case "record":
        return isObject(value) ? this.#walkRecord(value, type, depth) : this.#mistyped(value, type)
      case "map":
        return isObject(value) ? this.#walkMap(value, type.value, depth) : this.#mistyped(value, type)
      case "variant":
        return isObject(value) ? this.#walkVariant(value, type, depth) : this.#mistyped(value, type)
      case "array":
        if (!Array.isArray(value)) return this.#mistyped(value, type)
        this.#checkLength(value, type.length, type)
        return this.#walkElements(value, type.element, depth)
      case "tuple":
        if (!Array.isArray(value)) return this.#mistyped(value, type)
        this.#checkLength(value, type.elements.length, type)
        return this.#walkPositions(value, type, depth)
      case "union":
        return this.#walkUnion(value, type, depth)
      case "object":
        return isObject(value) ? this.#walkJson(value, depth) : this.#mistyped(value, type)
      case "any":
      case "asset":
      case "error":
        return this.#walkJson(value, depth)
      default:
        if (!this.#fitting.fits(value, type, depth)) this.#mistyped(value, type)
    }
  }

  #walkRecord(value: JsonLikeObject, type: RecordType, depth: number): void {
    const missing: string[] = []
    for (const field of type.fields) {
      this.#keys.push(field.name)
      if (!Object.hasOwn(value, field.name)) {
        missing.push(field.name)
        if (field.hasDefault !== true || field.default !== undefined) this.#missing(field.type)
      } else if (field.name !== "__proto__") this.walk(value[field.name], field.type, depth + 1)
      this.#keys.pop()
    }
    const keys = Object.keys(value)
    if (keys.length === type.fields.length - missing.length && !Object.hasOwn(value, "__proto__")) return
    const names = type.fields.map((field) => field.name)
    const known = new Set(names)
    for (const key of keys) {
      if (this.misfits.length >= this.#most) return
      this.#keys.push(key)
      if (key === "__proto__") this.#forbidden(value[key])
      else if (!known.has(key)) this.#extra(key, value[key], missing, names)
      this.#keys.pop()
    }
  }

  #walkMap(value: JsonLikeObject, type: Type, depth: number): void {
    for (const key of Object.keys(value)) {
      if (this.misfits.length >= this.#most) return
      this.#keys.push(key)
      if (key === "__proto__") this.#forbidden(value[key])
      else this.walk(value[key], type, depth + 1)
      this.#keys.pop()
    }
  }

  #walkVariant(value: JsonLikeObject, type: VariantType, depth: number): void {
    const tag = Object.hasOwn(value, type.tag) ? value[type.tag] : undefined
    const record = typeof tag === "string" ? caseRecord(type, tag) : undefined
    if (record !== undefined) return this.#walkRecord(value, record, depth)
    // Which fields belong there depends on the tag, so that nothing more can be said.
    const cases: Type = { kind: "enum", values: type.cases.map((one) => one.name) }
    this.#keys.push(type.tag)
    if (tag === undefined) this.#missing(cases)
    else this.#mistyped(tag, cases)
    this.#keys.pop()
  }

  #walkElements(value: readonly unknown[], type: Type, depth: number): void {
    for (let at = 0; at < value.length && this.misfits.length < this.#most; at++) {
      this.#keys.push(at)
      this.walk(value[at], type, depth + 1)
      this.#keys.pop()
    }
  }

  #walkPositions(value: readonly unknown[], type: TupleType, depth: number): void {
    for (const [at, element] of type.elements.entries()) {
      if (at >= value.length) return
      this.#keys.push(at)
      this.walk(value[at], element, depth + 1)
      this.#keys.pop()
    }
  }

  #checkLength(value: readonly unknown[], length: number | undefined, type: Type): void {
    if (length === undefined || value.length === length) return
    const elements = `${length} ${length === 1 ? "element" : "elements"}`
    this.#report(`: expected ${elements}, found ${value.length}`, showExpected(type), `array of ${value.length}`)
  }

  #walkUnion(value: unknown, type: UnionType, depth: number): void {
    if (typeof value === "object") this.#fitting.spend(this.#sizeOf(type))
    if (this.isTooMuch) return
    const best = bestMember(value, type, this.#types)
    if (best.kind === "only") return this.walk(value, best.member, depth)
    if (this.#fitting.fits(value, type, depth)) return
    if (best.kind === "none") this.#mistyped(value, type)
    else this.walk(value, best.member, depth)
  }

  /** About how much the search for the best member looks at. */
  #sizeOf(type: UnionType): number {
    let size = 0
    for (const member of type.members) {
      const resolved = resolve(member, this.#types)
      size += resolved.kind === "record" ? resolved.fields.length : 1
    }
    return size
  }

  /** A value of any type has to be JSON all the same. */
  #walkJson(value: unknown, depth: number): void {
    if (this.misfits.length >= this.#most) return
    if (typeof value !== "object" || value === null) {
      if (!isJson(value, depth)) this.#mistyped(value, { kind: "any" })
    } else if (depth > runValueLevels) this.#tooDeep(value)
    else if (isObject(value)) {
      for (const key of Object.keys(value)) {
        this.#keys.push(key)
        if (key === "__proto__") this.#forbidden(value[key])
        else this.#walkJson(value[key], depth + 1)
        this.#keys.pop()
      }
    } else if (Array.isArray(value)) this.#walkElements(value, { kind: "any" }, depth)
  }

  #mistyped(value: unknown, type: Type): void {
    // Not JSON, but what a form holds for a number field that is still empty.
    if (value === undefined) return this.#missing(type)
    const expected = showExpected(type)
    const found = showFound(value, this.#shown)
    const note = Number.isInteger(value) && !Number.isSafeInteger(value) && type.kind === "integer"
    const message = `: expected ${expected}, found ${found}${note ? ", which is beyond 9007199254740991" : ""}`
    this.#report(message, expected, found, this.#shown ? nearValue(value, type) : undefined)
  }

  #missing(type: Type): void {
    const expected = showExpected(type)
    this.#report(` is missing: expected ${expected}`, expected, "nothing")
  }

  #extra(key: string, value: unknown, missing: readonly string[], names: readonly string[]): void {
    const near = nearest(key, missing) ?? nearest(key, names)
    const known = names.length === 0 ? "no fields" : `the fields ${shorten(names, showName)}`
    const hint = near === undefined ? undefined : `Did you mean ${near}?`
    this.#report(` is not a field here: expected ${known}`, known, showFound(value, this.#shown), hint)
  }

  #forbidden(value: unknown): void {
    this.#report(" is not allowed: no field may have this name", "no such field", showFound(value, this.#shown))
  }

  #tooDeep(value: object): void {
    const expected = `at most ${runValueLevels} levels of nesting`
    this.#report(`: expected ${expected}`, expected, showFound(value, this.#shown))
  }

  #report(message: string, expected: string, found: string, hint?: string): void {
    if (this.misfits.length >= this.#most) return
    let path = this.#root
    for (const key of this.#keys.slice(0, longestPath)) path = childPath(path, key)
    if (this.#keys.length > longestPath) path += "…"
    this.misfits.push({ path, message: path + message, expected, found, ...(hint === undefined ? {} : { hint }) })
  }
}

/** Among thousands of names one is always similar, and the search for it is slow. */
function nearest(name: string, candidates: readonly string[]): string | undefined {
  return candidates.length > 1_000 ? undefined : didYouMean(name, candidates)
}

/** A hint where a string is almost one of those that are allowed. */
function nearValue(value: unknown, type: Type): string | undefined {
  if (typeof value !== "string") return undefined
  const members = type.kind === "union" ? type.members : [type]
  const allowed = members.flatMap((member) => {
    return member.kind === "literal" ? [member.value] : member.kind === "enum" ? member.values : []
  })
  const near = nearest(value, allowed)
  return near === undefined ? undefined : `Did you mean ${JSON.stringify(near)}?`
}
