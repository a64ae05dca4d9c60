import type { JsonValue } from "../../../base/json-value.ts"
import { exact } from "../operate.ts"
import type { FunctionCall } from "./function-call.ts"

/** A number that a value may be; fails where it is not. */
function result(call: FunctionCall, value: number, integer: boolean): number {
  const found = exact(value, integer)
  return typeof found === "number" ? found : call.fail(found)
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

export function numberOf(call: FunctionCall): JsonValue {
  const text = call.text(0)
  call.spend(text.length)
  const trimmed = text.trim()
  if (!jsonNumber.test(trimmed)) return null
  const value = Number(trimmed)
  if (!Number.isFinite(value)) return null
  return value === 0 ? 0 : value
}

const maxDigits = 15

function digitsOf(call: FunctionCall): number {
  const digits = call.integerAt(1)
  return digits >= 0 && digits <= maxDigits ? digits : call.fail(`digits go from 0 to ${maxDigits}`)
}

/** A number with so many digits after the point, rounded as it prints: halves away from zero, no exponent, no `-0`. */
function fixedText(value: number, places: number): string {
  const [mantissa = "0", exponent = "0"] = String(Math.abs(value)).split("e")
  const [whole = "0", fraction = ""] = mantissa.split(".")
  const digits = whole + fraction
  const kept = whole.length + Number(exponent) + places
  const head = kept <= 0 ? "0" : digits.slice(0, kept).padEnd(kept, "0")
  const isUp = kept >= 0 && (digits.codePointAt(kept) ?? 0) >= 0x35
  const rounded = BigInt(head) + (isUp ? 1n : 0n)
  const written = String(rounded).padStart(places + 1, "0")
  const sign = value < 0 && rounded > 0n ? "-" : ""
  const point = written.length - places
  return `${sign}${written.slice(0, point)}${places === 0 ? "" : `.${written.slice(point)}`}`
}

export function fixed(call: FunctionCall): JsonValue {
  return call.madeText(rounded(call, call.number(0), digitsOf(call)))
}

/** `fixedText`, counted: the largest numbers have more than 300 digits. */
function rounded(call: FunctionCall, value: number, places: number): string {
  call.spend(Math.abs(value) < 1e21 ? 256 : 8192)
  return fixedText(value, places)
}

export function abs(call: FunctionCall): JsonValue {
  return Math.abs(call.number(0))
}

export function round(call: FunctionCall): JsonValue {
  const value = call.number(0)
  if (call.count > 1) return result(call, Number(rounded(call, value, digitsOf(call))), false)
  return result(call, Number(rounded(call, value, 0)), true)
}

export function floor(call: FunctionCall): JsonValue {
  return result(call, Math.floor(call.number(0)), true)
}

export function ceil(call: FunctionCall): JsonValue {
  return result(call, Math.ceil(call.number(0)), true)
}

export function sum(call: FunctionCall): JsonValue {
  const values = call.numbers(0)
  let total = 0
  for (const value of values) {
    total += value
    // On the way there, too, an integer must be exact.
    if (call.integer && !Number.isSafeInteger(total)) return result(call, exactSum(values), true)
  }
  return result(call, total, call.integer)
}

function exactSum(values: readonly number[]): number {
  let total = 0n
  for (const value of values) total += BigInt(value)
  return Number(total)
}

export function average(call: FunctionCall): JsonValue {
  const values = call.numbers(0)
  if (values.length === 0) return null
  let total = 0
  for (const value of values) total += value
  if (Number.isFinite(total)) return result(call, total / values.length, false)
  let mean = 0
  for (const value of values) mean += value / values.length
  return result(call, mean, false)
}
