import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"

/**
 * The same document; schemas of objects of any fields say so. Without that, generators of clients make a type that no field
 * fits.
 */
export function openObjects(document: JsonObject): JsonObject {
  const visited = visit(document)
  return isJsonObject(visited) ? visited : document
}

function visit(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(visit)
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]): [string, JsonValue] =>
    key === "example" || key === "examples" ? [key, inner] : [key, visit(inner)],
  )
  const { type } = value
  const isObject = type === "object" || (Array.isArray(type) && type.includes("object"))
  const says = ["properties", "additionalProperties", "patternProperties"].some((key) => Object.hasOwn(value, key))
  return Object.fromEntries(isObject && !says ? [...entries, ["additionalProperties", true]] : entries)
}
