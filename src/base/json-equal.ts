import { isJsonObject } from "./is-json-object.ts"
import type { JsonValue } from "./json-value.ts"

/** Comparing two elements takes about as long as comparing this many characters. */
export const elementWork = 32

/**
 * Whether two values are the same JSON: the order of keys does not matter, `1` is `1.0`. `look` hears how much work is about
 * to be done: one for each character, `elementWork` for each element or field.
 */
export function jsonEqual(a: JsonValue, b: JsonValue, look: (work: number) => void = () => undefined): boolean {
  if (typeof a === "string" && typeof b === "string" && a.length === b.length) look(a.length)
  if (a === b) return true
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    look(a.length * elementWork)
    return a.every((item, at) => jsonEqual(item, b[at] ?? null, look))
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  const keys = Object.keys(a)
  look(keys.length * elementWork)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && jsonEqual(a[key] ?? null, b[key] ?? null, look))
  )
}
