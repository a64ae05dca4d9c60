import { readFileSync } from "node:fs"
import type { JsonValue } from "../../base/json-value.ts"
import { PriceList, readPriceList } from "../../run/budget/price-list.ts"
import { StartRefusal } from "./open-store.ts"
import type { Settings } from "./settings.ts"

/** The operator's prices, as a part of the ports. Throws a `StartRefusal` where the file is wrong. */
export function openPrices({ prices: file }: Settings): { readonly prices?: PriceList } {
  if (file === undefined) return {}
  const refuse = (problem: string): never => {
    throw new StartRefusal(`WIRE_PRICES is "${file}": the file ${problem}.`)
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
  const prices = readPriceList(value)
  return prices instanceof PriceList ? { prices } : refuse(prices)
}
