import { boundedJson, isDeeper, isTooMuchJson, jsonOf } from "../../base/bounded-json.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { runValueLevels } from "../../base/limits.ts"
import { isJson } from "../../types/value-fits.ts"

/**
 * JSON that someone else wrote, or undefined. Text that is no JSON is not taken for it, nor is what nobody writes in good
 * faith: values nested hundreds of levels deep, keys named `__proto__`, and more values than can be read in a moment.
 */
export function parseJson(text: string): JsonValue | undefined {
  const value = boundedJson(text)
  return isJson(value, 0) ? value : undefined
}

/** Why `parseJson` gives nothing for a text; `isLimit`: it is JSON, and more than is read. */
export function whyUnread(text: string): { readonly problem: string; readonly isLimit: boolean } {
  const limit = (problem: string): ReturnType<typeof whyUnread> => ({ problem, isLimit: true })
  if (isTooMuchJson(text)) return limit("holds more values than can be read at once")
  const value = jsonOf(text)
  if (value === undefined) return { problem: "is not JSON", isLimit: false }
  if (isDeeper(value, runValueLevels)) return limit(`is nested deeper than ${runValueLevels} levels`)
  return { problem: "has a key `__proto__`, or a number that is too large", isLimit: false }
}
