import { isJsonObject } from "./is-json-object.ts"
import type { JsonObject, JsonValue } from "./json-value.ts"

/** Where a JSON Schema holds others: under these keywords one, a list of them, or a table of them. */
const single = new Set([
  "items",
  "additionalItems",
  "unevaluatedItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "not",
  "if",
  "then",
  "else",
])
const several = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "items"])
const tables = new Set(["properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"])

/** A copy of a schema, each schema in it rewritten: inner ones first. Only schemas are visited, not what looks like one. */
export function rewriteSchema(schema: JsonObject, rewrite: (schema: JsonObject) => JsonObject): JsonObject {
  const copy: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    Object.defineProperty(copy, key, {
      value: rewriteUnder(key, value, rewrite),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  }
  return rewrite(copy)
}

function rewriteUnder(key: string, value: JsonValue, rewrite: (schema: JsonObject) => JsonObject): JsonValue {
  const inner = (item: JsonValue): JsonValue => (isJsonObject(item) ? rewriteSchema(item, rewrite) : item)
  if (several.has(key) && Array.isArray(value)) return value.map(inner)
  if (single.has(key)) return inner(value)
  if (tables.has(key) && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, inner(item)]))
  }
  return value
}

/** The schemas that a schema holds, each with how it is reached. */
export function innerSchemas(schema: JsonObject): { readonly key: string; readonly schema: JsonObject }[] {
  return Object.entries(schema).flatMap(([key, value]) => {
    const found: JsonValue[] =
      several.has(key) && Array.isArray(value)
        ? value
        : single.has(key)
          ? [value]
          : tables.has(key) && isJsonObject(value)
            ? Object.values(value)
            : []
    return found.filter(isJsonObject).map((inner) => ({ key, schema: inner }))
  })
}

/** Decodes one part of a JSON Pointer in a URL's fragment. */
export function unescape(part: string): string {
  let decoded = part
  try {
    decoded = decodeURIComponent(part)
  } catch {
    // Not encoded, then.
  }
  return decoded.replaceAll("~1", "/").replaceAll("~0", "~")
}
