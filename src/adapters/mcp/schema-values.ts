import type { JsonValue } from "../../base/json-value.ts"
import type { StepBudget } from "./step-budget.ts"

/** Equal for equal values, in whatever order their keys come. */
export function canonicalJson(value: JsonValue, steps: StepBudget, depth = 0): string {
  steps.enter(depth)
  if (typeof value === "string") steps.spend(value.length / 16)
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, steps, depth + 1)).join(",")}]`
  const keys = Object.keys(value).toSorted()
  steps.spend(4 * keys.length)
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null, steps, depth + 1)}`).join(",")}}`
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
