import { isJsonObject } from "../../base/is-json-object.ts"
import { childPath } from "../../base/child-path.ts"
import { cutText } from "../../base/cut-text.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { ValueProblem } from "../../ports/tools.ts"
import { ecmaPattern, type EcmaPattern } from "../../base/ecma-pattern.ts"
import { canonicalJson } from "../../base/canonical-json.ts"
import { SchemaIndex } from "../../base/schema-index.ts"
import type { StepBudget } from "./step-budget.ts"
import { innerSchemas } from "../../base/walk-schema.ts"

const maxProblems = 50

/**
 * Validates values against a schema from a server, in drafts 4 to 2020-12. Every step is counted, so that a hostile schema ends at
 * the same place on every machine: with `OverBudget`. `format` is a remark in the newest dialects, and `$id` is for those who
 * fetch schemas: both are ignored. So is a `pattern` that cannot be matched in linear time.
 */
export class SchemaValidator {
  readonly #schema: JsonObject
  readonly #index: SchemaIndex
  readonly #patterns = new Map<string, EcmaPattern | null>()
  readonly #refOnly: boolean
  readonly #tracks: boolean

  /** `schema` has been accepted by `publishedSchema`. */
  constructor(schema: JsonObject) {
    this.#schema = schema
    this.#index = new SchemaIndex(schema)
    // Up to draft 7, what stands beside a reference means nothing.
    this.#refOnly = typeof schema["$schema"] === "string" && /draft-0?[3-7]/.test(schema["$schema"])
    this.#tracks = mentions(schema, ["unevaluatedProperties", "unevaluatedItems"])
  }

  check(value: JsonValue, steps: StepBudget): readonly ValueProblem[] {
    const validation = new Validation(this.#index, this.#patterns, this.#refOnly, this.#tracks, steps)
    const fits = validation.fits(this.#schema, value, null, 0, null)
    return fits ? [] : [...validation.problems.values()]
  }
}

/** Where in a value: spelled out only when something is wrong there. */
interface Place {
  readonly above: Place | null
  readonly key: string | number
}

/** Which parts of an object or array a schema has looked at. */
interface Seen {
  readonly names: Set<string>
  readonly items: Set<number>
}

class Validation {
  readonly problems = new Map<string, ValueProblem>()
  readonly #index: SchemaIndex
  readonly #patterns: Map<string, EcmaPattern | null>
  readonly #refOnly: boolean
  readonly #tracks: boolean
  readonly #steps: StepBudget
  /** Over 0 while a branch is tried: its problems are not reported. */
  #trials = 0

  constructor(
    index: SchemaIndex,
    patterns: Map<string, EcmaPattern | null>,
    refOnly: boolean,
    tracks: boolean,
    steps: StepBudget,
  ) {
    this.#index = index
    this.#patterns = patterns
    this.#refOnly = refOnly
    this.#tracks = tracks
    this.#steps = steps
  }

  /** What the schema looks at in a value that fits is added to `above`. */
  fits(schema: JsonValue | undefined, value: JsonValue, at: Place | null, depth: number, above: Seen | null): boolean {
    this.#steps.enter(depth)
    if (schema === false) return this.#wrong(at, "is not allowed")
    // A value that is not a schema demands nothing.
    if (!isJsonObject(schema)) return true
    const seen: Seen | null = this.#tracks ? { names: new Set(), items: new Set() } : null
    const next = depth + 1
    let fits = this.#references(schema, value, at, next, seen)
    if (!this.#refOnly || typeof schema["$ref"] !== "string") {
      fits = this.#general(schema, value, at) && fits
      fits = this.#branches(schema, value, at, next, seen) && fits
      if (typeof value === "string") fits = this.#string(schema, value, at) && fits
      else if (typeof value === "number") fits = this.#number(schema, value, at) && fits
      else if (Array.isArray(value)) fits = this.#array(schema, value, at, next, seen) && fits
      else if (isJsonObject(value)) fits = this.#object(schema, value, at, next, seen) && fits
    }
    if (fits && seen !== null && above !== null) this.#add(seen, above)
    return fits
  }

  #add(seen: Seen, above: Seen): void {
    this.#steps.spend(seen.names.size + seen.items.size)
    for (const name of seen.names) above.names.add(name)
    for (const item of seen.items) above.items.add(item)
  }

  #wrong(at: Place | null, message: string): false {
    if (this.#trials > 0 || this.problems.size >= maxProblems) return false
    const path = pathOf(at)
    this.problems.set(`${path}\n${message}`, { path, message })
    return false
  }

  /** Whether a value fits, without saying why not. */
  #tries(schema: JsonValue, value: JsonValue, at: Place | null, depth: number, seen: Seen | null): boolean {
    this.#trials++
    const fits = this.fits(schema, value, at, depth, seen)
    this.#trials--
    return fits
  }

  #references(schema: JsonObject, value: JsonValue, at: Place | null, depth: number, seen: Seen | null): boolean {
    let fits = true
    for (const key of ["$ref", "$dynamicRef", "$recursiveRef"]) {
      const reference = schema[key]
      if (typeof reference !== "string") continue
      this.#steps.spend(1 + reference.length / 16)
      fits = this.fits(this.#index.resolve(reference), value, at, depth, seen) && fits
    }
    return fits
  }

  #general(schema: JsonObject, value: JsonValue, at: Place | null): boolean {
    const { type, enum: values } = schema
    let fits = true
    const types =
      typeof type === "string" ? [type] : Array.isArray(type) ? type.filter((one) => typeof one === "string") : null
    if (types !== null) {
      this.#steps.spend(types.length)
      const kind = kindOf(value)
      const isOne = types.includes(kind) || (Number.isInteger(value) && types.includes("integer"))
      if (!isOne) fits = this.#wrong(at, `expected ${cutText(types.join(" or "), 200)}, found ${kind}`)
    }
    if (schema["const"] !== undefined && !this.#same(schema["const"], value)) {
      fits = this.#wrong(at, `does not match ${this.#quote(schema["const"])}`)
    }
    if (Array.isArray(values)) {
      this.#steps.spend(values.length)
      if (!values.some((one) => this.#same(one, value))) {
        fits = this.#wrong(at, `does not match any of ${this.#quote(values)}`)
      }
    }
    return fits
  }

  #same(a: JsonValue, b: JsonValue): boolean {
    if (typeof a !== typeof b) return false
    if (typeof a === "string" && typeof b === "string" && a.length === b.length) this.#steps.spend(a.length / 64)
    if (typeof a !== "object" || a === null || b === null) return a === b
    return comparableText(a, this.#steps) === comparableText(b, this.#steps)
  }

  #quote(value: JsonValue): string {
    if (this.#trials > 0) return ""
    const text = JSON.stringify(value)
    this.#steps.spend(text.length / 16)
    return cutText(text, 500)
  }

  #branches(schema: JsonObject, value: JsonValue, at: Place | null, depth: number, seen: Seen | null): boolean {
    const { allOf, anyOf, oneOf, not, if: condition } = schema
    let fits = true
    if (Array.isArray(allOf)) {
      for (const part of allOf) fits = this.fits(part, value, at, depth, seen) && fits
    }
    if (Array.isArray(anyOf)) {
      let any = false
      for (const part of anyOf) {
        any = this.#tries(part, value, at, depth, seen) || any
        // The others matter only for what they look at.
        if (any && seen === null) break
      }
      if (!any) fits = this.#wrong(at, "fits none of the schemas that it may have")
    }
    if (Array.isArray(oneOf)) {
      let count = 0
      for (const part of oneOf) if (this.#tries(part, value, at, depth, seen)) count++
      if (count === 0) fits = this.#wrong(at, "fits none of the schemas that it may have")
      else if (count > 1) fits = this.#wrong(at, `fits ${count} schemas of which it must fit exactly one`)
    }
    if (not !== undefined && this.#tries(not, value, at, depth, null)) {
      fits = this.#wrong(at, "fits a schema that it must not have")
    }
    if (condition !== undefined) {
      const chosen = this.#tries(condition, value, at, depth, seen) ? schema["then"] : schema["else"]
      if (chosen !== undefined) fits = this.fits(chosen, value, at, depth, seen) && fits
    }
    return fits
  }

  #string({ minLength, maxLength, pattern }: JsonObject, value: string, at: Place | null): boolean {
    let fits = true
    if (typeof minLength === "number" || typeof maxLength === "number") {
      this.#steps.spend(value.length / 16)
      let length = 0
      for (const _ of value) length++
      if (typeof minLength === "number" && length < minLength) {
        fits = this.#wrong(at, `string is too short (${length} < ${minLength})`)
      }
      if (typeof maxLength === "number" && length > maxLength) {
        fits = this.#wrong(at, `string is too long (${length} > ${maxLength})`)
      }
    }
    if (typeof pattern === "string" && this.#pattern(pattern)?.test(value, this.#steps) === false) {
      fits = this.#wrong(at, "string does not match pattern")
    }
    return fits
  }

  #pattern(text: string): EcmaPattern | null {
    let pattern = this.#patterns.get(text)
    if (pattern === undefined) {
      this.#steps.spend(100 + text.length)
      pattern = ecmaPattern(text)
      this.#patterns.set(text, pattern)
    }
    return pattern
  }

  #number(schema: JsonObject, value: number, at: Place | null): boolean {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
    let fits = true
    // In draft 4 the exclusive ones are flags.
    const over = exclusiveMinimum === true ? minimum : exclusiveMinimum
    const under = exclusiveMaximum === true ? maximum : exclusiveMaximum
    if (typeof minimum === "number" && value < minimum) fits = this.#wrong(at, `${value} is less than ${minimum}`)
    if (typeof maximum === "number" && value > maximum) fits = this.#wrong(at, `${value} is greater than ${maximum}`)
    if (typeof over === "number" && value <= over) fits = this.#wrong(at, `${value} is not greater than ${over}`)
    if (typeof under === "number" && value >= under) fits = this.#wrong(at, `${value} is not less than ${under}`)
    if (typeof multipleOf === "number" && !isMultipleOf(value, multipleOf)) {
      fits = this.#wrong(at, `${value} is not a multiple of ${multipleOf}`)
    }
    return fits
  }

  #array(schema: JsonObject, value: readonly JsonValue[], at: Place | null, depth: number, seen: Seen | null): boolean {
    const { minItems, maxItems, uniqueItems, items, unevaluatedItems } = schema
    let fits = true
    if (typeof minItems === "number" && value.length < minItems) {
      fits = this.#wrong(at, `array has too few items (${value.length} < ${minItems})`)
    }
    if (typeof maxItems === "number" && value.length > maxItems) {
      fits = this.#wrong(at, `array has too many items (${value.length} > ${maxItems})`)
    }
    const first = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : Array.isArray(items) ? items : []
    const rest = Array.isArray(items) ? schema["additionalItems"] : items
    for (const [index, item] of value.entries()) {
      const inner = index < first.length ? first[index] : rest
      if (inner === undefined) break
      seen?.items.add(index)
      fits = this.fits(inner, item, { above: at, key: index }, depth, null) && fits
    }
    fits = this.#contains(schema, value, at, depth, seen) && fits
    if (uniqueItems === true) {
      const known = new Set(value.map((item) => comparableText(item, this.#steps)))
      if (known.size < value.length) fits = this.#wrong(at, "has an item twice")
    }
    if (unevaluatedItems !== undefined && seen !== null) {
      for (const [index, item] of value.entries()) {
        if (seen.items.has(index)) continue
        seen.items.add(index)
        fits = this.fits(unevaluatedItems, item, { above: at, key: index }, depth, null) && fits
      }
    }
    return fits
  }

  #contains(
    schema: JsonObject,
    value: readonly JsonValue[],
    at: Place | null,
    depth: number,
    seen: Seen | null,
  ): boolean {
    const { contains, minContains, maxContains } = schema
    if (contains === undefined) return true
    const least = typeof minContains === "number" ? minContains : 1
    let count = 0
    for (const [index, item] of value.entries()) {
      if (!this.#tries(contains, item, at, depth, null)) continue
      seen?.items.add(index)
      count++
    }
    if (count < least) return this.#wrong(at, `has ${count} of the items that it must have (${least} at least)`)
    if (typeof maxContains === "number" && count > maxContains) {
      return this.#wrong(at, `contains ${count} matching items (at most ${maxContains} are allowed)`)
    }
    return true
  }

  #object(schema: JsonObject, value: JsonObject, at: Place | null, depth: number, seen: Seen | null): boolean {
    const { required, minProperties, maxProperties, propertyNames } = schema
    const names = Object.keys(value)
    this.#steps.spend(names.length)
    let fits = true
    if (Array.isArray(required)) {
      this.#steps.spend(required.length)
      for (const name of required) {
        if (typeof name === "string" && !Object.hasOwn(value, name)) {
          fits = this.#wrong(at, `${cutText(name, 64)} is missing`)
        }
      }
    }
    if (typeof minProperties === "number" && names.length < minProperties) {
      fits = this.#wrong(at, `has too few properties (${names.length} < ${minProperties})`)
    }
    if (typeof maxProperties === "number" && names.length > maxProperties) {
      fits = this.#wrong(at, `has too many properties (${names.length} > ${maxProperties})`)
    }
    if (propertyNames !== undefined) {
      for (const name of names) fits = this.fits(propertyNames, name, { above: at, key: name }, depth, null) && fits
    }
    fits = this.#dependencies(schema, value, at, depth, seen) && fits
    return this.#properties(schema, value, names, at, depth, seen) && fits
  }

  #dependencies(schema: JsonObject, value: JsonObject, at: Place | null, depth: number, seen: Seen | null): boolean {
    let fits = true
    for (const key of ["dependentRequired", "dependentSchemas", "dependencies"]) {
      const table = schema[key]
      if (!isJsonObject(table)) continue
      for (const [name, needs] of Object.entries(table)) {
        this.#steps.spend()
        if (!Object.hasOwn(value, name)) continue
        if (!Array.isArray(needs)) {
          fits = this.fits(needs, value, at, depth, seen) && fits
          continue
        }
        this.#steps.spend(needs.length)
        for (const need of needs) {
          if (typeof need === "string" && !Object.hasOwn(value, need)) {
            fits = this.#wrong(at, `has ${cutText(name, 64)} but not ${cutText(need, 64)}`)
          }
        }
      }
    }
    return fits
  }

  #properties(
    schema: JsonObject,
    value: JsonObject,
    names: readonly string[],
    at: Place | null,
    depth: number,
    seen: Seen | null,
  ): boolean {
    const { properties, patternProperties, additionalProperties, unevaluatedProperties } = schema
    const patterns = isJsonObject(patternProperties) ? Object.entries(patternProperties) : []
    let fits = true
    for (const name of names) {
      const here: Place = { above: at, key: name }
      const item = value[name] ?? null
      let known = false
      if (isJsonObject(properties) && Object.hasOwn(properties, name)) {
        known = true
        fits = this.fits(properties[name], item, here, depth, null) && fits
      }
      for (const [text, inner] of patterns) {
        this.#steps.spend()
        const pattern = this.#pattern(text)
        if (pattern?.test(name, this.#steps) === false) continue
        known = true
        // A pattern that cannot be matched here might match: nothing is demanded of what it speaks of.
        if (pattern !== null) fits = this.fits(inner, item, here, depth, null) && fits
      }
      if (!known && additionalProperties !== undefined) {
        known = true
        fits = this.fits(additionalProperties, item, here, depth, null) && fits
      }
      if (seen === null) continue
      if (!known && unevaluatedProperties !== undefined && !seen.names.has(name)) {
        known = true
        fits = this.fits(unevaluatedProperties, item, here, depth, null) && fits
      }
      if (known) seen.names.add(name)
    }
    return fits
  }
}

/** Whether a schema, or one in it, has one of the keywords. */
function mentions(schema: JsonObject, keywords: readonly string[]): boolean {
  const open = [schema]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const keyword of keywords) if (Object.hasOwn(at, keyword)) return true
    for (const inner of innerSchemas(at)) open.push(inner.schema)
  }
  return false
}

function kindOf(value: JsonValue): string {
  if (value === null) return "null"
  return Array.isArray(value) ? "array" : typeof value
}

function pathOf(at: Place | null): string {
  const keys: (string | number)[] = []
  for (let place = at; place !== null; place = place.above) keys.push(place.key)
  return keys.reduceRight<string>(childPath, "")
}

/** Equal for equal values, in whatever order their keys come. The steps are counted first: a value that takes too many is not written. */
function comparableText(value: JsonValue, steps: StepBudget): string {
  countSteps(value, steps, 0)
  return canonicalJson(value)
}

function countSteps(value: JsonValue, steps: StepBudget, depth: number): void {
  steps.enter(depth)
  if (typeof value === "string") return steps.spend(value.length / 16)
  if (typeof value !== "object" || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) countSteps(item, steps, depth + 1)
    return
  }
  const entries = Object.values(value)
  steps.spend(4 * entries.length)
  for (const entry of entries) countSteps(entry, steps, depth + 1)
}

/** Exact, where the remainder of a division is not: 0.3 is a multiple of 0.1. */
function isMultipleOf(value: number, divisor: number): boolean {
  if (!Number.isFinite(value) || !(divisor > 0) || divisor === Infinity) return false
  const [a, aPower] = decimal(value)
  const [b, bPower] = decimal(divisor)
  const least = Math.min(aPower, bPower)
  return (a * 10n ** BigInt(aPower - least)) % (b * 10n ** BigInt(bPower - least)) === 0n
}

/** A number as a whole one times a power of ten. */
function decimal(value: number): [digits: bigint, power: number] {
  const [digits = "0", power = "0"] = Math.abs(value).toString().split("e")
  const [whole = "0", fraction = ""] = digits.split(".")
  return [BigInt(whole + fraction), Number(power) - fraction.length]
}
