import type { JsonValue } from "../base/json-value.ts"

/** What a property that is set before the workflow runs may be. */
export interface ConstantRule {
  /** In words: `a number from 0 to 1`. */
  readonly expected: string
  readonly type: "string" | "number" | "boolean" | "object" | "strings"
  /** Whether a value of that type is allowed. */
  readonly fits?: (value: JsonValue) => boolean
  /** The code for a value that is not written out or not in range; without it each has its own code. */
  readonly code?: "type-mismatch"
}

/** A number within bounds. */
export function numberFrom(least: number, most = Number.POSITIVE_INFINITY, what = "number"): ConstantRule {
  return {
    expected: `a ${what} from ${least}${most < Number.POSITIVE_INFINITY ? ` to ${most}` : ""}`,
    type: "number",
    fits: (value) => Number(value) >= least && Number(value) <= most,
  }
}

/** A whole number within bounds. */
export function wholeFrom(least: number, most?: number): ConstantRule {
  const rule = numberFrom(least, most, "whole number")
  return { ...rule, fits: (value) => Number.isSafeInteger(value) && rule.fits?.(value) === true }
}
