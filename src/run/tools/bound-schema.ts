import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { SchemaIndex } from "../../base/schema-index.ts"
import { rewriteSchema } from "../../base/walk-schema.ts"
import { nullable } from "../../types/relations.ts"
import type { Type, TypeTable } from "../../types/types.ts"

/** A declared input type without the arguments that the workflow sets. */
export function withoutFields(type: Type, bound: JsonObject): Type {
  if (type.kind !== "record") return type
  const fields = type.fields.filter((field) => !Object.hasOwn(bound, field.name))
  return fields.length === type.fields.length ? type : { kind: "record", fields }
}

/** A declared input type without the arguments that a call leaves out because they may be null. */
export function withoutAbsent(type: Type, given: JsonObject, types: TypeTable): Type {
  if (type.kind !== "record") return type
  const fields = type.fields.filter((field) => Object.hasOwn(given, field.name) || !nullable(field.type, types))
  return fields.length === type.fields.length ? type : { kind: "record", fields }
}

/**
 * A JSON Schema of arguments without those that the workflow sets: a model is not to know of them. It may allow more than the
 * original does: a call's arguments are validated against the original.
 */
export function withoutProperties(schema: JsonObject, bound: readonly string[]): JsonObject {
  const left = bound.length === 0 ? schema : new Removal(schema, bound).removed()
  return {
    type: "object",
    ...left,
    properties: isJsonObject(left["properties"] ?? null) ? (left["properties"] ?? {}) : {},
  }
}

/** The arguments that a schema names, also in its branches. Those behind a reference are not among them. */
export function namedProperties(schema: JsonObject): Set<string> {
  const names = new Set<string>()
  const open: JsonValue[] = [schema]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (!isJsonObject(at)) continue
    if (isJsonObject(at["properties"])) for (const name of Object.keys(at["properties"])) names.add(name)
    for (const key of branches) for (const part of Array.isArray(at[key]) ? at[key] : []) open.push(part)
    for (const key of ["if", "then", "else"]) if (at[key] !== undefined) open.push(at[key])
  }
  return names
}

/** Schemas of the same object stand under these. */
const branches = ["allOf", "anyOf", "oneOf"]

/** Left out. The first ones hold whole objects of arguments, or count them: bound ones included. Definitions are added as needed. */
const leftOut = new Set(
  "default examples example enum const minProperties maxProperties $defs definitions $id __proto__".split(" "),
)

/** More schemas than this are not worth copying, nor deeper ones; references to themselves have no end. */
const maxCopies = 500
const deepestCopy = 40

/** Thrown where the rest cannot be copied. */
class TooMany extends Error {}

class Removal {
  readonly #schema: JsonObject
  readonly #bound: ReadonlySet<string>
  readonly #index: SchemaIndex
  /** Schemas of the arguments, wherever they stand. */
  readonly #ofArguments = new Set<JsonValue>()
  #copies = 0

  constructor(schema: JsonObject, bound: readonly string[]) {
    this.#schema = schema
    this.#bound = new Set(bound)
    this.#index = new SchemaIndex(schema)
  }

  removed(): JsonObject {
    try {
      return this.#withDefinitions(this.#without(this.#schema, 0))
    } catch (error) {
      if (error instanceof TooMany) return this.#named()
      throw error
    }
  }

  /** The arguments that the schema names itself; of those that refer to something, the name alone. */
  #named(): JsonObject {
    const { properties, required } = this.#schema
    const named = isJsonObject(properties) ? Object.entries(this.#omit(properties)) : []
    return {
      type: "object",
      properties: Object.fromEntries(named.map(([name, value]) => [name, refers(value) ? {} : value])),
      ...(Array.isArray(required) ? { required: this.#unbound(required) } : {}),
    }
  }

  /** A schema of the arguments, without those that are bound. What it refers to is copied into it. */
  #without(schema: JsonObject, depth: number): JsonObject {
    if (++this.#copies > maxCopies || depth > deepestCopy) throw new TooMany()
    this.#ofArguments.add(schema)
    const left: JsonObject = {}
    for (const [key, value] of Object.entries(schema)) {
      if (leftOut.has(key)) continue
      if (key === "properties" && isJsonObject(value)) left[key] = this.#omit(value)
      else if (key === "required" && Array.isArray(value)) left[key] = this.#unbound(value)
      else if (branches.includes(key) && Array.isArray(value)) {
        const parts = value.map((part) => this.#inner(part, depth))
        // Branches that differed only in a bound argument may now all fit.
        const changed = key === "oneOf" && value.some((part) => this.#speaksOfBound(part))
        if (!changed) left[key] = parts
        else if (schema["anyOf"] === undefined) left["anyOf"] = parts
      } else if (key === "not") {
        if (!this.#speaksOfBound(value)) left[key] = value
      } else if (key === "if" || key === "then" || key === "else") {
        if (schema["if"] !== undefined && !this.#speaksOfBound(schema["if"])) left[key] = this.#inner(value, depth)
      } else if (key === "propertyNames" || key === "patternProperties" || key === "unevaluatedProperties") {
        if (!this.#holdsName(value)) left[key] = value
      } else if (["dependentSchemas", "dependentRequired", "dependencies"].includes(key) && isJsonObject(value)) {
        const others = Object.entries(this.#omit(value))
        left[key] = Object.fromEntries(
          others.map(([name, needs]) => [
            name,
            Array.isArray(needs) ? this.#unbound(needs) : this.#inner(needs, depth),
          ]),
        )
      } else if (!isReference(key)) left[key] = value
    }
    const copied = ["$ref", "$dynamicRef", "$recursiveRef"].flatMap((key) => {
      const reference = schema[key]
      const target = typeof reference === "string" ? this.#index.resolve(reference) : undefined
      return isJsonObject(target) ? [this.#without(target, depth + 1)] : []
    })
    return copied.length === 0 ? left : merged(left, copied)
  }

  #inner(value: JsonValue, depth: number): JsonValue {
    return isJsonObject(value) ? this.#without(value, depth + 1) : value
  }

  #unbound(names: readonly JsonValue[]): JsonValue[] {
    return names.filter((name) => typeof name !== "string" || !this.#bound.has(name))
  }

  #omit(table: JsonObject): JsonObject {
    return Object.fromEntries(Object.entries(table).filter(([name]) => !this.#bound.has(name)))
  }

  /** Whether a schema of the arguments says anything about a bound one, itself or behind a reference. */
  #speaksOfBound(schema: JsonValue): boolean {
    if (!isJsonObject(schema)) return false
    return Object.keys(schema).some(isReference) || this.#holdsName(schema)
  }

  /** Whether the name of a bound argument stands anywhere in it. */
  #holdsName(value: JsonValue): boolean {
    const open = [value]
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (typeof at === "string" && this.#bound.has(at)) return true
      if (typeof at !== "object" || at === null) continue
      if (!Array.isArray(at) && Object.keys(at).some((key) => this.#bound.has(key))) return true
      for (const item of Array.isArray(at) ? at : Object.values(at)) open.push(item)
    }
    return false
  }

  /** With the definitions that values of arguments refer to, under names of our own: nothing else is shown. */
  #withDefinitions(left: JsonObject): JsonObject {
    const names = new Map<string, string>()
    const rename = (schema: JsonObject): JsonObject => {
      const { $anchor: _anchor, $dynamicAnchor: _dynamic, $recursiveAnchor: _recursive, ...rest } = schema
      for (const key of Object.keys(rest).filter(isReference)) {
        const reference = rest[key]
        delete rest[key]
        if (typeof reference !== "string") continue
        if (!names.has(reference)) names.set(reference, `d${names.size + 1}`)
        rest["$ref"] = `#/$defs/${names.get(reference)}`
      }
      return rest
    }
    const whole = rewriteSchema(left, rename)
    const $defs: JsonObject = {}
    // It grows while it is gone through.
    for (const [reference, name] of names) {
      if (++this.#copies > maxCopies) throw new TooMany()
      const target = this.#index.resolve(reference) ?? true
      // A value may be like the arguments: it is shown without the bound ones, too.
      const copy = isJsonObject(target) && this.#ofArguments.has(target) ? this.#without(target, 0) : target
      $defs[name] = isJsonObject(copy) ? rewriteSchema(copy, rename) : copy
    }
    return names.size === 0 ? whole : { ...whole, $defs }
  }
}

/** Whether a reference stands in it. */
function refers(value: JsonValue): boolean {
  const open = [value]
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (typeof at !== "object" || at === null) continue
    if (!Array.isArray(at) && Object.keys(at).some(isReference)) return true
    for (const item of Array.isArray(at) ? at : Object.values(at)) open.push(item)
  }
  return false
}

function isReference(key: string): boolean {
  return key === "$ref" || key === "$dynamicRef" || key === "$recursiveRef"
}

/** All of these at once: as one schema where they share no keyword, because some models read only what stands at the top. */
function merged(left: JsonObject, copied: readonly JsonObject[]): JsonObject {
  const plain = copied.map(({ $schema: _schema, title: _title, description: _description, ...rest }) => rest)
  const keys = [left, ...plain].flatMap((one) => Object.keys(one).filter((key) => key !== "type"))
  if (new Set(keys).size === keys.length) return Object.assign({}, left, ...plain) as JsonObject
  const parts = Array.isArray(left["allOf"]) ? left["allOf"] : []
  return { ...left, allOf: [...parts, ...plain] }
}
