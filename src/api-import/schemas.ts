import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { Field, Type, VariantCase } from "../types/types.ts"
import { FreeNames } from "./free-names.ts"

/** Bodies have no `readOnly` fields, answers no `writeOnly` ones. */
export type Side = "body" | "answer"

export interface DeclaredSchema {
  readonly name: string
  readonly fields: Field[]
  readonly doc: string | undefined
}

/** Deeper schemas are not read: nobody writes them by hand. */
const deepest = 30
/** Schemas that are read in all, and those that become declarations. */
const most = 100_000
const maxDeclared = 2_000

/** The schemas of a document as types. Objects with a name of their own become declarations, so that they may contain themselves. */
export class Schemas {
  readonly declared: DeclaredSchema[] = []
  readonly #document: JsonObject
  readonly #names = new FreeNames()
  readonly #known = new Map<string, Type | null>()
  readonly #merged = new Map<JsonObject, Merged | null>()
  readonly #leave: (what: string) => void
  /** The fields of declared schemas are read one after the other, not within each other. */
  readonly #waiting: (() => void)[] = []
  #left = most

  /** `leave` is called with a sentence for everything that no type can say. */
  constructor(document: JsonObject, leave: (what: string) => void) {
    this.#document = document
    this.#leave = leave
  }

  /** What a local reference leads to, through others; undefined where it leads nowhere, or elsewhere. */
  resolve(value: JsonValue | undefined): JsonValue | undefined {
    let at = value
    for (let hops = 0; isJsonObject(at) && typeof at["$ref"] === "string"; hops++) {
      if (hops > 20) return undefined
      at = this.#pointed(at["$ref"])
    }
    return at
  }

  /** Null where no type says the same. */
  typeOf(value: JsonValue | undefined, side: Side, place: string): Type | null {
    const type = this.#typeOf(value, side, place, 0)
    this.#readDeclared()
    return type
  }

  #readDeclared(): void {
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) next()
  }

  #typeOf(value: JsonValue | undefined, side: Side, place: string, depth: number): Type | null {
    if (--this.#left < 0 || depth > deepest || !isJsonObject(value)) return null
    const ref = value["$ref"]
    if (typeof ref !== "string") return this.#plain(value, side, place, depth)
    const key = `${side} ${ref}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const target = this.resolve(value)
    if (!isJsonObject(target)) return null
    const merged = this.#isRecord(target) ? this.#merge(target) : null
    if (merged === null) {
      // Until it is known: what contains itself without an object in between has no type.
      this.#known.set(key, null)
      const type = this.#plain(target, side, place, depth + 1)
      this.#known.set(key, type)
      return type
    }
    if (this.declared.length >= maxDeclared) return null
    const name = this.#names.of(ref.split("/").at(-1) ?? "")
    const fields: Field[] = []
    const declared = orNull({ kind: "ref", name }, isNullable(target))
    this.#known.set(key, declared)
    this.declared.push({ name, fields, doc: docOf(target) })
    this.#waiting.push(() => fields.push(...this.#fields(merged, side, `schema.${name}`, 1)))
    return declared
  }

  /** The fields of an object, also of one that has a name; null for anything else. */
  fieldsOf(value: JsonValue | undefined, side: Side, place: string): Field[] | null {
    const target = this.resolve(value)
    if (!isJsonObject(target) || !this.#isRecord(target)) return null
    const merged = this.#merge(target)
    const fields = merged === null ? null : this.#fields(merged, side, place, 1)
    this.#readDeclared()
    return fields
  }

  #plain(schema: JsonObject, side: Side, place: string, depth: number): Type | null {
    const type = this.#withoutNull(schema, side, place, depth)
    return type === null ? null : orNull(type, isNullable(schema))
  }

  #withoutNull(schema: JsonObject, side: Side, place: string, depth: number): Type | null {
    const { enum: values, const: constant, oneOf, anyOf, allOf } = schema
    if (typeof constant === "string") return { kind: "literal", value: constant }
    const listed = constant === undefined ? values : [constant]
    if (Array.isArray(listed) && listed.length > 0) return this.#listed(listed, place)
    const choices = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : undefined
    if (choices !== undefined && !isJsonObject(schema["properties"])) {
      return this.#choice(schema, choices, side, place, depth)
    }
    if (this.#isRecord(schema)) {
      const merged = this.#merge(schema)
      const fields = merged === null ? [] : this.#fields(merged, side, place, depth)
      return fields.length === 0 ? { kind: "object" } : { kind: "record", fields }
    }
    if (Array.isArray(allOf)) return allOf.length === 1 ? this.#typeOf(allOf[0], side, place, depth + 1) : null
    const names = typeNames(schema)
    const types = names.map((name): Type | null => {
      switch (name) {
        case "string":
        case "number":
        case "integer":
        case "boolean":
        case "object":
          return { kind: name }
        case "array": {
          if (Array.isArray(schema["prefixItems"]))
            return this.#tuple(schema, schema["prefixItems"], side, place, depth)
          const element = this.#typeOf(schema["items"], side, place, depth + 1)
          return element === null ? null : { kind: "array", element }
        }
        default:
          return null
      }
    })
    return unionOf(types)
  }

  /** `enum` and `const`: the types of numbers and booleans say less than the list. */
  #listed(values: readonly JsonValue[], place: string): Type | null {
    const others = values.filter((one) => one !== null)
    const texts = others.filter((one) => typeof one === "string")
    const hasNull = others.length < values.length
    if (texts.length > 0 && texts.length === others.length) {
      return orNull({ kind: "enum", values: [...new Set(texts)] }, hasNull)
    }
    const type = unionOf(kindsOf(others))
    if (type === null) return null
    const isAll = type.kind === "boolean" && new Set(others).size === 2
    if (!isAll) this.#leave(`${place}: which values it may have, since only texts can be listed`)
    return orNull(type, hasNull)
  }

  /** Only where there are as many elements as types. One that is sent may have no more. */
  #tuple(schema: JsonObject, places: readonly JsonValue[], side: Side, place: string, depth: number): Type | null {
    const { items, minItems, maxItems } = schema
    const isClosed = items === false || maxItems === places.length
    const isLonger = typeof minItems === "number" && minItems > places.length
    if (places.length === 0 || isLonger || (side === "answer" && !isClosed)) return null
    const elements: Type[] = []
    for (const one of places) {
      const element = this.#typeOf(one, side, place, depth + 1)
      if (element === null) return null
      elements.push(element)
    }
    return { kind: "tuple", elements }
  }

  /** `oneOf` and `anyOf`: only where a value tells which one it is. */
  #choice(schema: JsonObject, members: readonly JsonValue[], side: Side, place: string, depth: number): Type | null {
    const isNull = (member: JsonValue): boolean => isJsonObject(member) && member["type"] === "null"
    const others = members.filter((member) => !isNull(member))
    const hasNull = others.length < members.length
    const [only] = others
    const wrap = (type: Type | null): Type | null => (type === null ? null : orNull(type, hasNull))
    if (others.length === 1) return wrap(this.#typeOf(only, side, place, depth + 1))
    const objects = others.filter((member) => {
      const target = this.resolve(member)
      return isJsonObject(target) && this.#isRecord(target)
    })
    if (objects.length > 1) {
      return objects.length < others.length ? null : wrap(this.#variant(schema, objects, side, place, depth))
    }
    return wrap(unionOf(others.map((member) => this.#typeOf(member, side, place, depth + 1))))
  }

  #variant(schema: JsonObject, members: readonly JsonValue[], side: Side, place: string, depth: number): Type | null {
    const { discriminator } = schema
    const tag = isJsonObject(discriminator) ? discriminator["propertyName"] : undefined
    if (typeof tag !== "string" || tag === "__proto__") return null
    const mapping =
      isJsonObject(discriminator) && isJsonObject(discriminator["mapping"]) ? discriminator["mapping"] : {}
    const cases: VariantCase[] = []
    for (const member of members) {
      const target = this.resolve(member)
      const ref = isJsonObject(member) ? member["$ref"] : undefined
      const merged = isJsonObject(target) ? this.#merge(target) : null
      if (typeof ref !== "string" || merged === null) return null
      const last = ref.split("/").at(-1) ?? ""
      const named = Object.keys(mapping).filter((name) => mapping[name] === ref || mapping[name] === last)
      for (const name of named.length === 0 ? [last] : named) {
        if (name === "" || name === "__proto__" || cases.some((one) => one.name === name)) return null
        const fields = this.#fields(merged, side, place, depth + 1).filter((field) => field.name !== tag)
        cases.push({ name, fields })
      }
    }
    return cases.length === 0 ? null : { kind: "variant", tag, cases }
  }

  #fields({ properties, required }: Merged, side: Side, place: string, depth: number): Field[] {
    const fields: Field[] = []
    for (const [name, schema] of properties) {
      const found = this.resolve(schema)
      const target = isJsonObject(found) ? found : {}
      if (target[side === "body" ? "readOnly" : "writeOnly"] === true) continue
      const own = `${place}.${name}`
      if (name === "__proto__") {
        this.#leave(`${own}: a field cannot have this name`)
        continue
      }
      const type = this.#typeOf(schema, side, own, depth + 1)
      if (type === null) {
        this.#leave(`${own}: ${this.whyNot(schema)}`)
        if (side === "answer" || !required.has(name)) continue
      }
      const doc = docOf(isJsonObject(schema) && typeof schema["description"] === "string" ? schema : target)
      fields.push({
        name,
        type: orNull(type ?? { kind: "object" }, !required.has(name)),
        ...(doc === undefined ? {} : { doc }),
      })
    }
    return fields
  }

  /** Why no type says what a schema says. */
  whyNot(value: JsonValue | undefined, depth = 0): string {
    const schema = this.resolve(value)
    if (schema === undefined && isJsonObject(value)) {
      const ref = value["$ref"]
      return typeof ref === "string" && !ref.startsWith("#")
        ? "its type is in another document, and nothing is fetched"
        : "its type is a reference that leads nowhere"
    }
    if (!isJsonObject(schema)) return anything
    if (schema["oneOf"] !== undefined || schema["anyOf"] !== undefined) {
      return "one of several types, and nothing in the value tells which"
    }
    if (schema["const"] !== undefined || schema["enum"] !== undefined) return "fixed values that no type can say"
    if (Array.isArray(schema["allOf"])) return "several types at once that are not all objects"
    if (!typeNames(schema).includes("array")) return anything
    if (depth > 2) return "arrays within arrays"
    const { prefixItems, items } = schema
    if (!Array.isArray(prefixItems)) return `an array, and of its elements: ${this.whyNot(items, depth + 1)}`
    return "an array with a type for each place, which may be longer or has a place without a type"
  }

  #isRecord(schema: JsonObject): boolean {
    if (isJsonObject(schema["properties"])) return Object.keys(schema["properties"]).length > 0
    const { allOf } = schema
    return Array.isArray(allOf) && this.#merge(schema) !== null
  }

  /** The properties of an object, with those of everything that `allOf` names. Null where there are none. */
  #merge(schema: JsonObject, depth = 0): Merged | null {
    const known = this.#merged.get(schema)
    if (known !== undefined) return known
    // One that contains itself adds nothing to itself.
    this.#merged.set(schema, null)
    const properties = new Map<string, JsonValue>()
    const required = new Set<string>()
    for (const part of Array.isArray(schema["allOf"]) ? schema["allOf"] : []) {
      if (--this.#left < 0 || depth > deepest) break
      const target = this.resolve(part)
      const merged = isJsonObject(target) ? this.#merge(target, depth + 1) : null
      for (const [name, property] of merged?.properties ?? []) properties.set(name, property)
      for (const name of merged?.required ?? []) required.add(name)
    }
    if (isJsonObject(schema["properties"])) {
      for (const [name, property] of Object.entries(schema["properties"])) properties.set(name, property)
    }
    for (const name of Array.isArray(schema["required"]) ? schema["required"] : []) {
      if (typeof name === "string") required.add(name)
    }
    const merged = properties.size === 0 ? null : { properties, required }
    this.#merged.set(schema, merged)
    return merged
  }

  /** `#/components/schemas/Contact`. Nothing is fetched. */
  #pointed(ref: string): JsonValue | undefined {
    if (!ref.startsWith("#/")) return undefined
    let at: JsonValue | undefined = this.#document
    for (const part of ref.slice(2).split("/")) {
      const key = decode(part).replaceAll("~1", "/").replaceAll("~0", "~")
      if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return undefined
      at = Array.isArray(at) ? at[Number(key)] : at[key]
    }
    return at
  }
}

interface Merged {
  readonly properties: ReadonlyMap<string, JsonValue>
  readonly required: ReadonlySet<string>
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function isNullable(schema: JsonObject): boolean {
  const { nullable, type } = schema
  return nullable === true || type === "null" || (Array.isArray(type) && type.includes("null"))
}

function typeNames(schema: JsonObject): string[] {
  const { type } = schema
  const names = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === "string" && name !== "null")
  if (names.length > 0) return names as string[]
  return schema["items"] === undefined && schema["prefixItems"] === undefined ? [] : ["array"]
}

function docOf({ description }: JsonObject): string | undefined {
  return typeof description === "string" && description.trim() !== "" ? description : undefined
}

/** Members that a value tells apart by its JSON type. */
function unionOf(types: readonly (Type | null)[]): Type | null {
  const members: Type[] = []
  for (const type of types) {
    if (type === null) return null
    members.push(...(type.kind === "union" ? type.members : [type]))
  }
  const [only] = members
  if (only === undefined) return null
  if (members.length === 1) return only
  const alike: Partial<Record<Type["kind"], Type["kind"]>> = { integer: "number", ref: "record", tuple: "array" }
  const kinds = members.map(({ kind }) => alike[kind] ?? kind)
  const isClear = new Set(kinds).size === kinds.length && !(kinds.includes("record") && kinds.includes("object"))
  return isClear && !kinds.includes("variant") ? { kind: "union", members } : null
}

export function orNull(type: Type, isNullable: boolean): Type {
  if (!isNullable || type.kind === "null") return type
  if (type.kind !== "union") return { kind: "union", members: [type, { kind: "null" }] }
  return type.members.some(({ kind }) => kind === "null")
    ? type
    : { kind: "union", members: [...type.members, { kind: "null" }] }
}

const anything = "any value, which no type can say"

/** The types of these values, each once; null among them for one that is an object or an array. */
function kindsOf(values: readonly JsonValue[]): (Type | null)[] {
  const isWhole = values.every((value) => typeof value !== "number" || Number.isInteger(value))
  const kinds = new Set(
    values.map((value) => {
      if (typeof value === "string") return "string"
      if (typeof value === "boolean") return "boolean"
      if (typeof value !== "number") return null
      return isWhole ? "integer" : "number"
    }),
  )
  return [...kinds].map((kind) => (kind === null ? null : { kind }))
}
