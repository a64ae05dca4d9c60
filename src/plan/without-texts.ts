import type { JsonValue } from "../base/json-value.ts"

/** A part of a plan without what changes nothing: how expressions are written, and the names of functions. */
export function withoutTexts(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(withoutTexts)
  const isNode = "op" in value || "condition" in value
  const isOwnFunction = value["op"] === "own-function"
  const entries = Object.entries(value).filter(([key]) => {
    return !(isNode && (key === "text" || key === "site")) && !(isOwnFunction && key === "name")
  })
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutTexts(item)]))
}
