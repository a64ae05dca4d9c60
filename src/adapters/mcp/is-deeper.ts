import type { JsonValue } from "../../base/json-value.ts"

/** Whether a value is nested more than so many levels deep. Itself it goes no deeper. */
export function isDeeper(value: JsonValue | undefined, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  const items = Array.isArray(value) ? value : Object.values(value)
  return items.some((item) => isDeeper(item, levels - 1))
}
