import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { Type } from "../../types/types.ts"

/** A declared input type without the arguments that the workflow sets. */
export function withoutFields(type: Type, bound: JsonObject): Type {
  if (type.kind !== "record") return type
  const fields = type.fields.filter((field) => !Object.hasOwn(bound, field.name))
  return fields.length === type.fields.length ? type : { kind: "record", fields }
}

/** A JSON Schema of arguments without those that the workflow sets: a model is not to know of them. */
export function withoutProperties(schema: JsonObject, bound: readonly string[]): JsonObject {
  const left = bound.length === 0 ? schema : withoutBound(schema, bound)
  return {
    type: "object",
    ...left,
    properties: isJsonObject(left["properties"] ?? null) ? (left["properties"] ?? {}) : {},
  }
}

/** Schemas of the same object stand under these. */
const alternatives = ["allOf", "anyOf", "oneOf"]
const conditions = ["if", "then", "else", "not"]

function withoutBound(schema: JsonObject, bound: readonly string[]): JsonObject {
  const left: JsonObject = {}
  const inner = (value: JsonValue): JsonValue => (isJsonObject(value) ? withoutBound(value, bound) : value)
  for (const [key, value] of Object.entries(schema)) {
    if (key === "properties" && isJsonObject(value)) left[key] = omit(value, bound)
    else if (key === "required" && Array.isArray(value)) {
      left[key] = value.filter((name) => typeof name !== "string" || !bound.includes(name))
    } else if (alternatives.includes(key) && Array.isArray(value)) left[key] = value.map(inner)
    else if (conditions.includes(key)) left[key] = inner(value)
    else if (["dependentSchemas", "dependentRequired", "dependencies"].includes(key) && isJsonObject(value)) {
      const others = Object.entries(omit(value, bound))
      left[key] = Object.fromEntries(others.map(([name, needs]) => [name, withoutNeeds(needs, bound, inner)]))
    }
    // Whole objects of arguments, bound ones included.
    else if (key !== "default" && key !== "examples" && key !== "example") left[key] = value
  }
  return left
}

function withoutNeeds(needs: JsonValue, bound: readonly string[], inner: (value: JsonValue) => JsonValue): JsonValue {
  return Array.isArray(needs) ? needs.filter((name) => typeof name !== "string" || !bound.includes(name)) : inner(needs)
}

function omit(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}
