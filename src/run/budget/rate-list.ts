import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { RatePlan } from "../../plan/plan-shape.ts"
import { propertyTable } from "../../syntax/property-table.ts"
import { isUnderPrefix } from "./price-list.ts"

/** The operator's rates, by the beginning of an endpoint: for all calls there, whatever their credentials. */
export class RateList {
  /** The longest first. */
  readonly entries: readonly (readonly [string, RatePlan])[]

  constructor(entries: ReadonlyMap<string, RatePlan>) {
    this.entries = [...entries].sort(([a], [b]) => b.length - a.length)
  }

  prefixOf(endpoint: string): string | undefined {
    return this.entries.find(([prefix]) => isUnderPrefix(endpoint, prefix))?.[0]
  }
}

/** The list that a parsed file has, or what is wrong with it: the end of a sentence that begins with the file's name. */
export function readRateList(value: JsonValue): RateList | string {
  if (!isJsonObject(value)) return "must be an object with an entry for each endpoint"
  const entries = new Map<string, RatePlan>()
  for (const [endpoint, rate] of Object.entries(value)) {
    const problem = problemOf(rate)
    if (problem !== null) return `has a wrong rate at "${endpoint}": ${problem}`
    entries.set(endpoint, rate as RatePlan)
  }
  return new RateList(entries)
}

function problemOf(value: JsonValue): string | null {
  if (!isJsonObject(value)) return 'it must be an object such as { "requests_per_minute": 500 }'
  const { rate: rows } = propertyTable
  for (const [key, one] of Object.entries(value)) {
    const row = Object.hasOwn(rows, key) ? rows[key as keyof typeof rows] : undefined
    if (row === undefined) return `"${key}" is unknown; known are ${Object.keys(rows).join(", ")}`
    if (typeof one !== "number" || row.constant.fits?.(one) === false)
      return `"${key}" must be ${row.constant.expected}`
  }
  return Object.keys(value).length === 0 ? `it must have one of ${Object.keys(rows).join(", ")}` : null
}
