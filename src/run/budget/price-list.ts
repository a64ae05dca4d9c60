import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { propertyTable } from "../../syntax/property-table.ts"
import type { PromptCacheWord, StatedPrice } from "../../plan/plan-shape.ts"
import { wholePrice, type Price } from "../../plan/price-of-model.ts"
import type { Backend } from "../../ports/model.ts"

type Models = ReadonlyMap<string, StatedPrice>

/** What a workflow's file says of a model and its cache. */
export interface FileFacts {
  readonly price: Pick<StatedPrice, "batch"> | null
  readonly prompt_cache: PromptCacheWord | null
}

/** The operator's prices, by the beginning of an endpoint and the id of a model. */
export class PriceList {
  /** The longest first. */
  readonly #endpoints: readonly (readonly [string, Models])[]

  constructor(endpoints: ReadonlyMap<string, Models>) {
    this.#endpoints = [...endpoints].sort(([a], [b]) => b.length - a.length)
  }

  /** `file`: what the workflow says of the model, whose factor for batches counts. */
  of(
    { api, endpoint }: Pick<Backend, "api" | "endpoint">,
    id: string,
    file: FileFacts = { price: null, prompt_cache: null },
  ): Price | null {
    for (const [prefix, models] of this.#endpoints) {
      const stated = isUnderPrefix(endpoint, prefix) ? models.get(id) : undefined
      if (stated === undefined) continue
      const price = wholePrice(stated, api, file.prompt_cache)
      const { batch = 1 } = file.price ?? {}
      return batch === 1 ? price : { ...price, batch }
    }
    return null
  }
}

/** A prefix ends where a segment does: `https://a.example` is not the beginning of `https://a.example.org`. A slash at its end says nothing. */
export function isUnderPrefix(endpoint: string, prefix: string): boolean {
  const own = prefix.endsWith("/") ? prefix.slice(0, -1) : prefix
  return endpoint.startsWith(own) && ["", "/", "?"].includes(endpoint.charAt(own.length))
}

/** The list that a parsed file has, or what is wrong with it: the end of a sentence that begins with the file's name. */
export function readPriceList(value: JsonValue): PriceList | string {
  if (!isJsonObject(value)) return "must be an object with an entry for each endpoint"
  const endpoints = new Map<string, Models>()
  for (const [endpoint, models] of Object.entries(value)) {
    if (!isJsonObject(models)) return `must have an object of models at "${endpoint}"`
    const found = new Map<string, StatedPrice>()
    for (const [id, price] of Object.entries(models)) {
      const read = readPrice(price)
      if (typeof read === "string") return `has a wrong price at "${endpoint}", "${id}": ${read}`
      found.set(id, read)
    }
    endpoints.set(endpoint, found)
  }
  return new PriceList(endpoints)
}

function readPrice(value: JsonValue): StatedPrice | string {
  if (!isJsonObject(value)) return 'it must be an object such as { "input": 0.4, "output": 1.6 }'
  const { batch: _, ...rows } = propertyTable.price
  if (Object.hasOwn(value, "batch")) return '"batch" is stated in the workflow, and counts here, too'
  for (const [key, one] of Object.entries(value)) {
    const row = Object.hasOwn(rows, key) ? rows[key as keyof typeof rows] : undefined
    if (row === undefined) return `"${key}" is unknown; known are ${Object.keys(rows).join(", ")}`
    const isOfType = row.constant.type === "object" ? isJsonObject(one) : typeof one === "number"
    if (!isOfType || row.constant.fits?.(one) === false) return `"${key}" must be ${row.constant.expected}`
  }
  const { input, cached = input, written = null, output, hosted = {} } = value as Partial<StatedPrice>
  if (input === undefined || cached === undefined || output === undefined) return "input and output are required"
  return { input, cached, written, output, batch: 1, hosted }
}
