import { readFileSync } from "node:fs"
import type { JsonValue } from "../../base/json-value.ts"
import { readPriceList, type PriceList } from "../../run/budget/price-list.ts"
import { readRateList, type RateList } from "../../run/budget/rate-list.ts"
import { StartRefusal } from "./open-store.ts"
import type { Settings } from "./settings.ts"

/** The operator's prices, as a part of the ports. Throws a `StartRefusal` where the file is wrong. */
export function openPrices({ prices }: Settings): { readonly prices?: PriceList } {
  return prices === undefined ? {} : { prices: readFile("WIRE_PRICES", prices, readPriceList) }
}

/** The operator's rates; null without any. Throws a `StartRefusal` where the file is wrong. */
export function openRates({ rates }: Settings): RateList | null {
  return rates === undefined ? null : readFile("WIRE_RATES", rates, readRateList)
}

/** `read` gives what the file holds, or what is wrong with it. */
function readFile<T extends object>(setting: string, file: string, read: (value: JsonValue) => T | string): T {
  const refuse = (problem: string): never => {
    throw new StartRefusal(`${setting} is "${file}": the file ${problem}.`)
  }
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    return refuse(`cannot be read (${error instanceof Error && "code" in error ? String(error.code) : "unknown"})`)
  }
  let value: JsonValue
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    return refuse("is not JSON")
  }
  const found = read(value)
  return typeof found === "string" ? refuse(found) : found
}
