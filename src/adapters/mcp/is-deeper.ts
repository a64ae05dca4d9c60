import type { JsonValue } from "../../base/json-value.ts"

/** Whether a value is nested more than so many levels deep. Itself it goes no deeper. */
export function isDeeper(value: JsonValue | undefined, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  // Plain loops that do not enter scalars: a value may have millions of them.
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item === "object" && isDeeper(item, levels - 1)) return true
    }
    return false
  }
  for (const key in value) {
    const item = value[key]
    if (typeof item === "object" && isDeeper(item, levels - 1)) return true
  }
  return false
}
