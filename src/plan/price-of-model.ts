import type { ApiName } from "../check/provider-kinds.ts"
import type { Plan, PromptCacheWord, StatedPrice } from "./plan-shape.ts"

/** Prices of a million tokens, without gaps. */
export interface Price extends StatedPrice {
  readonly written: number
}

/** Anthropic charges more for what it keeps: for five minutes, and for an hour. */
const anthropicWrites = { short: 1.25, long: 2 } as const

const resolved = { short: new WeakMap<StatedPrice, Price>(), long: new WeakMap<StatedPrice, Price>() }

/** The price of a declared model; null where its file has none. */
export function priceOfModel({ models, providers }: Plan, name: string): Price | null {
  const model = Object.hasOwn(models, name) ? models[name] : undefined
  if (model === undefined || model.price === null) return null
  return wholePrice(model.price, model.api ?? providers[model.provider]?.api, model.prompt_cache)
}

/** With the API's own price of writing where none is stated. `cache`: how long the backend is asked to keep it. */
export function wholePrice(stated: StatedPrice, api: ApiName | undefined, cache?: PromptCacheWord | null): Price {
  const keeps = cache === "1h" ? "long" : "short"
  let price = resolved[keeps].get(stated)
  if (price === undefined) {
    const factor = api === "anthropic" ? anthropicWrites[keeps] : 1
    price = { ...stated, written: stated.written ?? stated.input * factor }
    resolved[keeps].set(stated, price)
  }
  return price
}

const inBatches = new WeakMap<Price, Price>()

/** The price of a call that is made in a batch. */
export function batchPrice(price: Price): Price {
  if (price.batch === 1) return price
  let found = inBatches.get(price)
  if (found === undefined) {
    // Without the error of the binary form.
    const of = (amount: number): number => Number((amount * price.batch).toPrecision(15))
    const { input, cached, written, output } = price
    found = { ...price, input: of(input), cached: of(cached), written: of(written), output: of(output), batch: 1 }
    inBatches.set(price, found)
  }
  return found
}
