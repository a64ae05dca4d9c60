import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { makeString } from "./make-string.ts"
import { Seeded } from "./seeded.ts"
import type { Topic } from "./topic.ts"

/** Values found before (results of tools), which a field of the same name takes over where they fit its type. */
export type Known = ReadonlyMap<string, JsonValue>

/** The schema asks for more than the demo model makes. */
export class DemoLimitExceeded extends Error {
  constructor() {
    super("The schema asks for a larger value than the demo model makes.")
    this.name = "DemoLimitExceeded"
  }
}

/** What one answer may cost, all of its values together. Throws `DemoLimitExceeded` when it is used up. */
export class Budget {
  /** Schemas, properties and alternatives that are looked at. */
  #steps = 25_000
  #characters = 1024 * 1024

  step(count = 1): void {
    this.#steps -= count
    if (this.#steps < 0) throw new DemoLimitExceeded()
  }

  /** Refuses at once what would need more steps than there are. */
  must(count: number): void {
    if (count > this.#steps) throw new DemoLimitExceeded()
  }

  text(length: number): void {
    this.#characters -= length
    if (this.#characters < 0) throw new DemoLimitExceeded()
  }
}

/**
 * A value that fits a JSON Schema: made up, but plausible. Throws
 * `DemoLimitExceeded` for a schema that only large values fit.
 */
export function makeValue(
  schema: JsonValue,
  topic: Topic,
  known: Known,
  seed: string,
  budget: Budget = new Budget(),
): JsonValue {
  return new ValueMaker(schema, topic, known, seed, budget).make(schema, { name: "", index: 0, depth: 0 })
}

interface Place {
  readonly name: string
  readonly index: number
  readonly depth: number
}

/** Beyond it arrays are empty and alternatives the shortest, so that recursive schemas come to an end. */
const deep = 5
const deepest = 60

/** A reference that leads to further references, or `allOf` inside of `allOf`, is followed so far. */
const maxHops = 20

/** Members of an `enum` that are looked for in the instruction. */
const maxMentioned = 200

class ValueMaker {
  readonly #root: JsonValue
  readonly #topic: Topic
  readonly #known: Known
  readonly #seed: Seeded
  readonly #budget: Budget
  /** Makes left before only the least is made: a schema that fans out at each level stays small. */
  #easy = 3000
  /** What was found out about a part of the schema: each is looked at once, however many values it makes. */
  readonly #resolved = new Map<JsonValue, JsonObject>()
  readonly #required = new Map<JsonValue, ReadonlySet<JsonValue>>()
  readonly #members = new Map<JsonValue, readonly JsonValue[]>()
  readonly #alternatives = new Map<JsonValue, Alternatives>()
  readonly #referring = new Map<JsonValue, boolean>()
  readonly #lengths = new Map<JsonValue, number>()

  constructor(root: JsonValue, topic: Topic, known: Known, seed: string, budget: Budget) {
    this.#root = root
    this.#topic = topic
    this.#known = known
    this.#seed = new Seeded(seed)
    this.#budget = budget
  }

  make(given: JsonValue, place: Place): JsonValue {
    const schema = this.#resolve(given)
    this.#budget.step()
    this.#easy--
    if (place.depth > deepest) return null
    if (schema["const"] !== undefined) return this.#given(schema["const"])
    const { enum: members, examples } = schema
    if (Array.isArray(members) && members.length > 0) return this.#given(this.#member(members))
    if (schema["default"] !== undefined && place.depth > 0) return this.#given(schema["default"])
    if (Array.isArray(examples) && examples[0] !== undefined && place.depth > 0) return this.#given(examples[0])
    const alternatives = schema["anyOf"] ?? schema["oneOf"]
    if (Array.isArray(alternatives) && alternatives.length > 0) return this.#alternative(alternatives, place)
    const type = typeOf(schema)
    const known = place.depth > 0 ? this.#known.get(place.name) : undefined
    if (known !== undefined && isPlainly(type, known)) return this.#given(known)
    switch (type) {
      case "object":
        return this.#object(schema, place)
      case "array":
        return this.#array(schema, place)
      case "string":
        return this.#string(schema, place)
      case "integer":
      case "number":
        return this.#number(schema, place, type)
      case "boolean":
        return this.#boolean(place)
      case "null":
        return null
      default:
        return this.#string(schema, place)
    }
  }

  /** A value that the schema gives counts with its length. */
  #given(value: JsonValue): JsonValue {
    if (typeof value === "string") this.#budget.text(value.length)
    else if (typeof value === "object" && value !== null) {
      const length = this.#lengths.get(value) ?? JSON.stringify(value).length
      this.#lengths.set(value, length)
      this.#budget.text(length)
    }
    return value
  }

  #object(schema: JsonObject, place: Place): JsonObject {
    const made: [string, JsonValue][] = []
    const required = this.#requiredOf(schema["required"])
    const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {}
    for (const name in properties) {
      this.#budget.step()
      // Leaves optional fields out where values get long.
      if (!required.has(name) && (place.depth > 1 || this.#easy < 0)) continue
      this.#budget.text(name.length)
      const value = this.make(properties[name] ?? null, { name, index: place.index, depth: place.depth + 1 })
      made.push([name, value])
    }
    return Object.fromEntries(made)
  }

  #requiredOf(names: JsonValue | undefined): ReadonlySet<JsonValue> {
    if (!Array.isArray(names)) return nothing
    let known = this.#required.get(names)
    if (known === undefined) this.#required.set(names, (known = new Set(names)))
    return known
  }

  #array(schema: JsonObject, place: Place): JsonValue[] {
    const prefix = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : []
    const made = prefix.map((item, index) => this.make(item, { name: place.name, index, depth: place.depth + 1 }))
    if (schema["items"] === false) return made
    const least = Math.max(asNumber(schema["minItems"]) ?? 0, made.length)
    const most = asNumber(schema["maxItems"]) ?? Number.POSITIVE_INFINITY
    const wanted = place.depth > deep || this.#easy < 0 ? least : Math.max(least, made.length + 1 + this.#seed.below(2))
    const length = Math.min(wanted, most)
    this.#budget.must(length - made.length)
    for (let index = made.length; index < length; index++) {
      made.push(this.make(schema["items"] ?? {}, { name: place.name, index, depth: place.depth + 1 }))
    }
    return made
  }

  #string(schema: JsonObject, place: Place): string {
    // Words take longer to find than other values.
    this.#budget.step(2)
    const made = makeString({
      name: place.name.slice(0, maxRead),
      description: asText(schema["description"]).slice(0, maxRead),
      index: place.index,
      format: asText(schema["format"]),
      topic: this.#topic,
      seed: this.#seed,
    })
    const least = asNumber(schema["minLength"]) ?? 0
    const most = asNumber(schema["maxLength"]) ?? Number.POSITIVE_INFINITY
    this.#budget.text(Math.max(made.length, least))
    return made.padEnd(least, ".").slice(0, Math.max(0, most))
  }

  #number(schema: JsonObject, place: Place, type: "integer" | "number"): number {
    const step = asNumber(schema["multipleOf"]) ?? (type === "integer" ? 1 : 0)
    const above = asNumber(schema["exclusiveMinimum"])
    const below = asNumber(schema["exclusiveMaximum"])
    const gap = step === 0 ? 0.01 : step
    const least = asNumber(schema["minimum"]) ?? (above === null ? null : above + gap)
    const most = asNumber(schema["maximum"]) ?? (below === null ? null : below - gap)
    let value = guessNumber(place.name, this.#topic, this.#seed, type)
    if (least !== null && value < least) value = most === null ? least : least + (most - least) / 2
    if (most !== null && value > most) value = least === null ? most : least + (most - least) / 2
    if (step === 0) return value
    const down = Math.floor(value / step) * step
    return least !== null && down < least ? Math.ceil(value / step) * step : down
  }

  #boolean(place: Place): boolean {
    // An instruction that speaks of doubt is answered with no: an approval should not come out of thin air.
    if (this.#topic.doubts) return false
    return this.#seed.below(4) > 0 || place.name.startsWith("is_demo")
  }

  #member(members: readonly JsonValue[]): JsonValue {
    let from = this.#members.get(members as JsonValue[])
    if (from === undefined) {
      const looked = members.slice(0, maxMentioned)
      const mentioned = looked.filter((member) => typeof member === "string" && this.#mentions(member))
      from = mentioned.length > 0 ? mentioned : members
      this.#budget.step(looked.length)
      this.#members.set(members as JsonValue[], from)
    }
    return from[this.#seed.below(from.length)] ?? null
  }

  #mentions(member: string): boolean {
    const { lower } = this.#topic
    return member !== "" && member.length < 200 && lower.includes(member.toLowerCase().replaceAll("_", " "))
  }

  #alternative(all: readonly JsonValue[], place: Place): JsonValue {
    const { full, nullable, flat } = this.#alternativesOf(all)
    // Null, or the alternative without anything below it, ends a recursion.
    if (place.depth > deep || this.#easy < 0) {
      if (nullable) return null
      return this.make(flat ?? full[0] ?? {}, { ...place, depth: place.depth + 1 })
    }
    return this.make(full[this.#seed.below(full.length)] ?? { type: "null" }, { ...place, depth: place.depth + 1 })
  }

  #alternativesOf(all: readonly JsonValue[]): Alternatives {
    const before = this.#alternatives.get(all as JsonValue[])
    if (before !== undefined) return before
    this.#budget.step(all.length)
    const full = all.filter((one) => typeOf(this.#resolve(one)) !== "null")
    const flat = full.find((one) => !this.#refers(one))
    const found: Alternatives = { full, nullable: full.length < all.length, flat }
    this.#alternatives.set(all as JsonValue[], found)
    return found
  }

  /** Whether there is a reference anywhere in a schema. */
  #refers(schema: JsonValue): boolean {
    if (typeof schema !== "object" || schema === null) return false
    let known = this.#referring.get(schema)
    if (known === undefined) {
      this.#budget.step()
      known = Object.hasOwn(schema, "$ref") || Object.values(schema).some((part) => this.#refers(part))
      this.#referring.set(schema, known)
    }
    return known
  }

  /** A schema without `$ref` and `allOf`. */
  #resolve(given: JsonValue, hops = 0): JsonObject {
    if (!isJsonObject(given)) return {}
    const before = this.#resolved.get(given)
    if (before !== undefined) return before
    // A reference to itself describes no value.
    this.#resolved.set(given, {})
    const found = this.#resolveOnce(given, hops)
    this.#resolved.set(given, found)
    return found
  }

  #resolveOnce(schema: JsonObject, hops: number): JsonObject {
    this.#budget.step()
    if (hops > maxHops) return {}
    const { $ref, allOf } = schema
    if (typeof $ref === "string") return this.#resolve(follow(this.#root, $ref), hops + 1)
    if (!Array.isArray(allOf)) return schema
    const whole: JsonObject = { ...schema, allOf: null }
    for (const part of allOf) {
      const found = this.#resolve(part, hops + 1)
      this.#budget.step(Object.keys(found).length)
      Object.assign(whole, found)
    }
    return whole
  }
}

/** Facts about the schemas of `anyOf`. */
interface Alternatives {
  /** Values that are not null. */
  readonly full: readonly JsonValue[]
  readonly nullable: boolean
  /** One without references. */
  readonly flat: JsonValue | undefined
}

const nothing: ReadonlySet<JsonValue> = new Set()

/** Characters of a name or a description that are read. */
const maxRead = 300

function guessNumber(name: string, topic: Topic, seed: Seeded, type: "integer" | "number"): number {
  const lower = name.toLowerCase()
  if (/year/.test(lower)) return topic.numbers.find((number) => number > 1900 && number < 2100) ?? 2026
  if (/percent/.test(lower)) return 40 + seed.below(60)
  if (type === "number" && /confiden|probab|score|similar|weight|ratio|likel/.test(lower))
    return (60 + seed.below(40)) / 100
  if (type === "number" && /price|cost|amount|total|sum/.test(lower))
    return topic.numbers[0] ?? 10 + seed.below(9000) / 100
  if (/rating|score|priority|stars|level/.test(lower)) return 3 + seed.below(3)
  const small = topic.numbers.filter((number) => Math.abs(number) < 1000)
  const found = small[seed.below(Math.max(1, small.length))]
  if (found !== undefined && (type === "number" || Number.isSafeInteger(found))) return found
  return type === "integer" ? 1 + seed.below(9) : 1 + seed.below(900) / 100
}

function typeOf(schema: JsonObject): string {
  const { type } = schema
  if (typeof type === "string") return type
  if (Array.isArray(type)) return asText(type.find((one) => one !== "null") ?? "null")
  if (isJsonObject(schema["properties"])) return "object"
  if (schema["items"] !== undefined || schema["prefixItems"] !== undefined) return "array"
  return ""
}

/** Whether a value can stand for a scalar of this type as it is. */
function isPlainly(type: string, value: JsonValue): boolean {
  if (type === "integer") return Number.isSafeInteger(value)
  return (type === "string" || type === "number" || type === "boolean") && typeof value === type
}

/** A pointer within the document: `#/$defs/name`. */
function follow(root: JsonValue, ref: string): JsonValue {
  if (!ref.startsWith("#")) return null
  let at: JsonValue = root
  for (const part of ref.slice(1).split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~")
    if (!isJsonObject(at) || !Object.hasOwn(at, key)) return null
    at = at[key] ?? null
  }
  return at
}

function asNumber(value: JsonValue | undefined): number | null {
  return typeof value === "number" ? value : null
}

function asText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : ""
}
