import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { Field, NamedType, Type, TypeTable, VariantCase } from "./types.ts"

export interface ReadSchema {
  readonly type: Type
  /** What `$defs` holds, by name. */
  readonly types: TypeTable
}

/**
 * The type that `toJsonSchema` wrote as this schema: for forms and prompts of those who have an answer's schema, and not the
 * workflow. What it never writes becomes `any`, which takes every value.
 */
export function fromJsonSchema(schema: JsonObject): ReadSchema {
  const definitions = isJsonObject(schema["$defs"]) ? schema["$defs"] : {}
  const types = Object.create(null) as Record<string, NamedType>
  for (const [name, definition] of Object.entries(definitions)) types[name] = { type: typeOf(definition, 0) }
  return { type: typeOf(schema, 0), types }
}

const any: Type = { kind: "any" }
const deepest = 200
const references = "#/$defs/"

function typeOf(schema: JsonValue | undefined, depth: number): Type {
  if (!isJsonObject(schema) || depth > deepest) return any
  const { $ref, anyOf, const: constant, enum: values } = schema
  if (typeof $ref === "string") {
    return $ref.startsWith(references) ? { kind: "ref", name: $ref.slice(references.length) } : any
  }
  if (Array.isArray(anyOf)) return unionOf(anyOf, depth)
  if (typeof constant === "string") return { kind: "literal", value: constant }
  if (Array.isArray(values)) return { kind: "enum", values: values.filter((value) => typeof value === "string") }
  switch (schema["type"]) {
    case "string":
    case "boolean":
    case "null":
    case "number":
    case "integer":
      return { kind: schema["type"] }
    case "object":
      if (isJsonObject(schema["properties"])) return { kind: "record", fields: fieldsOf(schema["properties"], depth) }
      return isJsonObject(schema["additionalProperties"])
        ? { kind: "map", value: typeOf(schema["additionalProperties"], depth + 1) }
        : { kind: "object" }
    case "array":
      return arrayOf(schema, depth)
    default:
      return any
  }
}

function fieldsOf(properties: JsonObject, depth: number): Field[] {
  return Object.entries(properties).map(([name, schema]): Field => {
    const doc = docOf(schema)
    return { name, type: typeOf(schema, depth + 1), ...(doc === undefined ? {} : { doc }) }
  })
}

function docOf(schema: JsonValue): string | undefined {
  return isJsonObject(schema) && typeof schema["description"] === "string" ? schema["description"] : undefined
}

function arrayOf({ prefixItems, items, minItems }: JsonObject, depth: number): Type {
  if (items === false) {
    const elements = Array.isArray(prefixItems) ? prefixItems.map((item) => typeOf(item, depth + 1)) : []
    return { kind: "tuple", elements }
  }
  const element = typeOf(items, depth + 1)
  return typeof minItems === "number" ? { kind: "array", element, length: minItems } : { kind: "array", element }
}

/** Objects whose first field is a constant are the cases of a variant; the others are members of their own. */
function unionOf(members: readonly JsonValue[], depth: number): Type {
  const found: Type[] = []
  const variants = new Map<string, VariantCase[]>()
  for (const member of members) {
    const [tag, name] = tagOf(member) ?? []
    if (tag === undefined || name === undefined || !isJsonObject(member)) {
      found.push(typeOf(member, depth + 1))
      continue
    }
    const { [tag]: _, ...properties } = isJsonObject(member["properties"]) ? member["properties"] : {}
    const doc = docOf(member)
    const one: VariantCase = { name, fields: fieldsOf(properties, depth + 1), ...(doc === undefined ? {} : { doc }) }
    const cases = variants.get(tag)
    // Another case of the same name belongs to another variant.
    if (cases !== undefined && !cases.some((other) => other.name === name)) cases.push(one)
    else {
      const first = [one]
      variants.set(tag, first)
      found.push({ kind: "variant", tag, cases: first })
    }
  }
  const flat = found.flatMap((type) => (type.kind === "union" ? type.members : [type]))
  const [only] = flat
  return only !== undefined && flat.length === 1 ? only : { kind: "union", members: flat }
}

function tagOf(schema: JsonValue): readonly [string, string] | undefined {
  const properties = isJsonObject(schema) ? schema["properties"] : undefined
  const required = isJsonObject(schema) ? schema["required"] : undefined
  // The order of `required` is that of the fields; keys that look like numbers come first among `properties`.
  const [tag] = Array.isArray(required) ? required : []
  if (!isJsonObject(properties) || typeof tag !== "string") return undefined
  const first = Object.hasOwn(properties, tag) ? properties[tag] : undefined
  return isJsonObject(first) && typeof first["const"] === "string" ? [tag, first["const"]] : undefined
}
