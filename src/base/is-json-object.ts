import type { JsonObject } from "./json-value.ts"

/** Whether a value is an object, not an array or null. Only for values that came from JSON. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
