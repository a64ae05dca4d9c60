import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"

/**
 * A JSON Schema in the subset of OpenAPI that `responseSchema` takes: references are written out, `null` becomes `nullable`, and what the
 * subset does not have is left out, because the answer is validated anyway. Null where the schema is recursive.
 */
export function toOpenApiSchema(schema: JsonObject): JsonObject | null {
  try {
    return convert(schema, schema, 0)
  } catch (error) {
    if (error instanceof TooDeep) return null
    throw error
  }
}

class TooDeep extends Error {}

const deepest = 30

const kept = new Set([
  "type",
  "format",
  "title",
  "description",
  "enum",
  "minItems",
  "maxItems",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "pattern",
  "required",
])
const formats = new Set(["date-time", "enum", "int32", "int64", "float", "double"])

function convert(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  if (depth > deepest) throw new TooDeep()
  const reference = schema["$ref"]
  if (typeof reference === "string") return convert(target(reference, root), root, depth + 1)
  const branches = schema["anyOf"] ?? schema["oneOf"]
  if (Array.isArray(branches)) return union(branches.filter(isJsonObject), schema, root, depth)
  const result: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    if (key === "format" && !(typeof value === "string" && formats.has(value))) continue
    if (kept.has(key)) result[key] = value
  }
  const { type, const: only, items, properties } = schema
  if (Array.isArray(type)) {
    const types = type.filter((one) => one !== "null")
    if (types.length < type.length) result["nullable"] = true
    if (types.length === 1 && types[0] !== undefined) result["type"] = types[0]
    else {
      delete result["type"]
      result["anyOf"] = types.map((one) => ({ type: one }))
    }
  }
  if (only !== undefined) {
    result["enum"] = [only]
    result["type"] = typeof only === "string" ? "string" : (result["type"] ?? typeof only)
  }
  // The subset knows enums of strings only.
  const values = result["enum"]
  if (Array.isArray(values) && values.some((value) => typeof value !== "string")) delete result["enum"]
  else if (Array.isArray(values) && result["type"] === undefined) result["type"] = "string"
  if (isJsonObject(items)) result["items"] = convert(items, root, depth + 1)
  if (isJsonObject(properties)) {
    result["properties"] = Object.fromEntries(
      Object.entries(properties).map(([name, value]): [string, JsonValue] => [
        name,
        isJsonObject(value) ? convert(value, root, depth + 1) : {},
      ]),
    )
    result["propertyOrdering"] = Object.keys(properties)
  }
  return result
}

function union(branches: readonly JsonObject[], schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  const others = branches.filter(({ type }) => type !== "null")
  const nullable = others.length < branches.length ? { nullable: true } : {}
  const description = typeof schema["description"] === "string" ? { description: schema["description"] } : {}
  const [only, ...more] = others.map((branch) => convert(branch, root, depth + 1))
  if (only !== undefined && more.length === 0) return { ...only, ...nullable, ...description }
  return { anyOf: only === undefined ? [] : [only, ...more], ...nullable, ...description }
}

function target(reference: string, root: JsonObject): JsonObject {
  let found: JsonValue | undefined = root
  for (const name of reference.replace(/^#\/?/, "").split("/").filter(Boolean)) {
    found = isJsonObject(found)
      ? found[decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")]
      : undefined
  }
  if (!isJsonObject(found)) throw new TooDeep()
  return found
}
