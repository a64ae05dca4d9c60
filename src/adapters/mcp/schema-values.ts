import { canonicalJson } from "../../base/canonical-json.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { StepBudget } from "./step-budget.ts"

/** Equal for equal values, in whatever order their keys come. The steps are counted first: a value that takes too many is not written. */
export function comparableText(value: JsonValue, steps: StepBudget): string {
  countSteps(value, steps, 0)
  return canonicalJson(value)
}

function countSteps(value: JsonValue, steps: StepBudget, depth: number): void {
  steps.enter(depth)
  if (typeof value === "string") return steps.spend(value.length / 16)
  if (typeof value !== "object" || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) countSteps(item, steps, depth + 1)
    return
  }
  const entries = Object.values(value)
  steps.spend(4 * entries.length)
  for (const entry of entries) countSteps(entry, steps, depth + 1)
}

/** Exact, where the remainder of a division is not: 0.3 is a multiple of 0.1. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (!Number.isFinite(value) || !(divisor > 0) || divisor === Infinity) return false
  const [a, aPower] = decimal(value)
  const [b, bPower] = decimal(divisor)
  const least = Math.min(aPower, bPower)
  return (a * 10n ** BigInt(aPower - least)) % (b * 10n ** BigInt(bPower - least)) === 0n
}

/** A number as a whole one times a power of ten. */
function decimal(value: number): [digits: bigint, power: number] {
  const [digits = "0", power = "0"] = Math.abs(value).toString().split("e")
  const [whole = "0", fraction = ""] = digits.split(".")
  return [BigInt(whole + fraction), Number(power) - fraction.length]
}
