import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { makeString } from "./make-string.ts"
import { Seeded } from "./seeded.ts"
import type { Topic } from "./topic.ts"

/** Values found before (results of tools), which a field of the same name takes over where they fit its type. */
export type Known = ReadonlyMap<string, JsonValue>

/** A value that fits a JSON Schema: not a true one, but one that looks as if somebody had thought about it. */
export function makeValue(schema: JsonValue, topic: Topic, known: Known, seed: string): JsonValue {
  return new ValueMaker(schema, topic, known, seed).make(schema, { name: "", index: 0, depth: 0 })
}

interface Place {
  readonly name: string
  readonly index: number
  readonly depth: number
}

/** Beyond it arrays are empty and alternatives the shortest, so that recursive schemas come to an end. */
const deep = 5
const deepest = 60

class ValueMaker {
  readonly #root: JsonValue
  readonly #topic: Topic
  readonly #known: Known
  readonly #seed: Seeded
  /** Makes left: a schema that fans out at each level stays small. */
  #budget = 3000

  constructor(root: JsonValue, topic: Topic, known: Known, seed: string) {
    this.#root = root
    this.#topic = topic
    this.#known = known
    this.#seed = new Seeded(seed)
  }

  make(given: JsonValue, place: Place): JsonValue {
    const schema = this.#resolve(given)
    this.#budget--
    if (place.depth > deepest) return null
    if (schema["const"] !== undefined) return schema["const"]
    const { enum: members, examples } = schema
    if (Array.isArray(members) && members.length > 0) return this.#member(members)
    if (schema["default"] !== undefined && place.depth > 0) return schema["default"]
    if (Array.isArray(examples) && examples[0] !== undefined && place.depth > 0) return examples[0]
    const alternatives = schema["anyOf"] ?? schema["oneOf"]
    if (Array.isArray(alternatives) && alternatives.length > 0) return this.#alternative(alternatives, place)
    const type = typeOf(schema)
    const known = place.depth > 0 ? this.#known.get(place.name) : undefined
    if (known !== undefined && isPlainly(type, known)) return known
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

  #object(schema: JsonObject, place: Place): JsonObject {
    const made: [string, JsonValue][] = []
    const required = Array.isArray(schema["required"]) ? schema["required"] : []
    const properties = isObject(schema["properties"]) ? schema["properties"] : {}
    for (const [name, property] of Object.entries(properties)) {
      // What is optional is left out where things get long.
      if (!required.includes(name) && (place.depth > 1 || this.#budget < 0)) continue
      made.push([name, this.make(property, { name, index: place.index, depth: place.depth + 1 })])
    }
    return Object.fromEntries(made)
  }

  #array(schema: JsonObject, place: Place): JsonValue[] {
    const prefix = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : []
    const made = prefix.map((item, index) => this.make(item, { name: place.name, index, depth: place.depth + 1 }))
    if (schema["items"] === false) return made
    const least = Math.max(asNumber(schema["minItems"]) ?? 0, made.length)
    const most = asNumber(schema["maxItems"]) ?? Number.POSITIVE_INFINITY
    const wanted =
      place.depth > deep || this.#budget < 0 ? least : Math.max(least, made.length + 1 + this.#seed.below(2))
    const length = Math.min(wanted, most, 10_000)
    for (let index = made.length; index < length; index++) {
      made.push(this.make(schema["items"] ?? {}, { name: place.name, index, depth: place.depth + 1 }))
    }
    return made
  }

  #string(schema: JsonObject, place: Place): string {
    const made = makeString({
      name: place.name,
      description: asText(schema["description"]),
      index: place.index,
      format: asText(schema["format"]),
      topic: this.#topic,
      seed: this.#seed,
    })
    const least = asNumber(schema["minLength"]) ?? 0
    const most = asNumber(schema["maxLength"]) ?? Number.POSITIVE_INFINITY
    return made.padEnd(Math.min(least, 100_000), ".").slice(0, most)
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
    if (/\b(not|never|no|without|fail|failed|bug|broken|refuse)\b/i.test(this.#topic.instruction)) return false
    return this.#seed.below(4) > 0 || place.name.startsWith("is_demo")
  }

  #member(members: readonly JsonValue[]): JsonValue {
    const text = this.#topic.instruction.toLowerCase()
    const mentioned = members.filter((member) => {
      return typeof member === "string" && member !== "" && text.includes(member.toLowerCase().replaceAll("_", " "))
    })
    const from = mentioned.length > 0 ? mentioned : members
    return from[this.#seed.below(from.length)] ?? null
  }

  #alternative(alternatives: readonly JsonValue[], place: Place): JsonValue {
    const full = alternatives.filter((one) => typeOf(this.#resolve(one)) !== "null")
    // Null, or the alternative without anything below it, ends a recursion.
    if (place.depth > deep || this.#budget < 0) {
      if (full.length < alternatives.length) return null
      const flat = full.find((one) => !JSON.stringify(one).includes('"$ref"'))
      return this.make(flat ?? full[0] ?? {}, { ...place, depth: place.depth + 1 })
    }
    return this.make(full[this.#seed.below(full.length)] ?? { type: "null" }, { ...place, depth: place.depth + 1 })
  }

  #resolve(given: JsonValue): JsonObject {
    let schema = isObject(given) ? given : {}
    for (let hops = 0; typeof schema["$ref"] === "string" && hops < 20; hops++) {
      const target = follow(this.#root, schema["$ref"])
      schema = isObject(target) ? target : {}
    }
    if (!Array.isArray(schema["allOf"])) return schema
    const parts = schema["allOf"].map((part) => this.#resolve(part))
    return parts.reduce<JsonObject>((whole, part) => ({ ...whole, ...part }), { ...schema, allOf: null })
  }
}

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
  if (isObject(schema["properties"])) return "object"
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
    if (!isObject(at) || !Object.hasOwn(at, key)) return null
    at = at[key] ?? null
  }
  return at
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function asNumber(value: JsonValue | undefined): number | null {
  return typeof value === "number" ? value : null
}

function asText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : ""
}
