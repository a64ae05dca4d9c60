import { createHash } from "node:crypto"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"

/**
 * The hash of a tool's definition as its server publishes it: name, title, descriptions, schemas, annotations, in whatever
 * order its keys come. `_meta` is left out: it may be another one with each answer.
 */
export function toolPin(definition: JsonObject): string {
  const { _meta: _, ...published } = definition
  return `sha256:${createHash("sha256").update(canonical(published)).digest("hex")}`
}

function canonical(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  const keys = Object.keys(value).toSorted()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`).join(",")}}`
}
