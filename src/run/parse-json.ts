import { isTooMuchJson } from "../base/json-work.ts"
import type { JsonValue } from "../base/json-value.ts"
import { isJson } from "../types/value-fits.ts"

/**
 * JSON that someone else wrote, or undefined. Text that is no JSON is not taken for it, nor is what nobody writes in good
 * faith: values nested hundreds of levels deep, keys named `__proto__`, and more values than can be read in a moment.
 */
export function parseJson(text: string): JsonValue | undefined {
  if (isTooMuchJson(text)) return undefined
  try {
    const value = JSON.parse(text) as JsonValue
    return isJson(value, 0) ? value : undefined
  } catch {
    return undefined
  }
}
