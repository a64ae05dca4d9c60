import { isJsonObject } from "./is-json-object.ts"
import type { JsonValue } from "./json-value.ts"

/** The value with the parts replaced that `to` has something for, wherever they stand. */
export function rewriteJson(value: JsonValue, to: (part: JsonValue) => JsonValue | undefined): JsonValue {
  const found = to(value)
  if (found !== undefined) return found
  if (Array.isArray(value)) return value.map((one) => rewriteJson(one, to))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, rewriteJson(one, to)]))
}
