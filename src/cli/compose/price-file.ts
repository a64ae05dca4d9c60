import { readFileSync } from "node:fs"
import { stampOf } from "../../workflows/file-stamp.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { readBudgetList, type BudgetList } from "../../run/budget/budget-list.ts"
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

/** How often the file of budgets is looked at. */
const lookMs = 1_000

/** The operator's budgets, read again when their file changes. */
export class BudgetFile {
  readonly #file: string
  readonly #tell: (sentence: string) => void
  #stamp: string
  #list: BudgetList
  #timer: NodeJS.Timeout | null = null

  /** `tell` hears of a file that has become wrong. Throws a `StartRefusal` where it is wrong now. */
  constructor(file: string, tell: (sentence: string) => void) {
    this.#file = file
    this.#tell = tell
    this.#stamp = stampOf(file)
    this.#list = readFile("WIRE_BUDGETS", file, readBudgetList)
  }

  get list(): BudgetList {
    return this.#list
  }

  /** `changed` is given the paths of budgets that may allow more. */
  watch(changed: (paths: readonly string[]) => void): void {
    this.#timer = setInterval(() => {
      const before = this.#list
      this.#refresh()
      if (this.#list !== before) changed(before.changedIn(this.#list))
    }, lookMs).unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  #refresh(): void {
    const stamp = stampOf(this.#file)
    if (stamp === this.#stamp) return
    this.#stamp = stamp
    try {
      this.#list = readFile("WIRE_BUDGETS", this.#file, readBudgetList)
    } catch (error) {
      if (!(error instanceof StartRefusal)) throw error
      this.#tell(`${error.message} Until then the budgets stay as they were`)
    }
  }
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
