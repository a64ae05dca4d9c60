import { boundedJson } from "../../base/bounded-json.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { isJson } from "../../types/value-fits.ts"

/**
 * JSON that someone else wrote, or undefined. Text that is no JSON is not taken for it, nor is what nobody writes in good
 * faith: values nested hundreds of levels deep, keys named `__proto__`, and more values than can be read in a moment.
 */
export function parseJson(text: string): JsonValue | undefined {
  const value = boundedJson(text)
  return isJson(value, 0) ? value : undefined
}
