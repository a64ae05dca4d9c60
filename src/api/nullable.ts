import type { JsonObject } from "../base/json-value.ts"

/** A JSON Schema of a type, or null. */
export const nullable = (type: string, more: JsonObject = {}): JsonObject => ({ type: [type, "null"], ...more })
