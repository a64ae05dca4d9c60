import type { JsonObject } from "../base/json-value.ts"
import type { Type } from "../check/types.ts"
import { isObject } from "./evaluate.ts"

/** A declared input type without the arguments that the workflow sets. */
export function withoutFields(type: Type, bound: JsonObject): Type {
  if (type.kind !== "record") return type
  const fields = type.fields.filter((field) => !Object.hasOwn(bound, field.name))
  return fields.length === type.fields.length ? type : { kind: "record", fields }
}

/** A JSON Schema of arguments without those that the workflow sets. */
export function withoutProperties(schema: JsonObject, bound: readonly string[]): JsonObject {
  const properties = isObject(schema["properties"] ?? null) ? (schema["properties"] as JsonObject) : {}
  const left: JsonObject = { type: "object", ...schema, properties: omit(properties, bound) }
  const required = schema["required"]
  if (Array.isArray(required)) {
    left["required"] = required.filter((name) => typeof name !== "string" || !bound.includes(name))
  }
  return left
}

function omit(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}
