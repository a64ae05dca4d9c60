import type { ApiName } from "../check/provider-kinds.ts"
import type { Plan, StatedPrice } from "./plan-shape.ts"

/** Prices of a million tokens, without gaps. */
export interface Price extends StatedPrice {
  readonly written: number
}

/** Anthropic charges more for what it keeps for five minutes. */
const anthropicWrites = 1.25

const resolved = new WeakMap<StatedPrice, Price>()

/** The price of a declared model; null where its file has none. */
export function priceOfModel({ models, providers }: Plan, name: string): Price | null {
  const model = Object.hasOwn(models, name) ? models[name] : undefined
  if (model === undefined || model.price === null) return null
  return wholePrice(model.price, model.api ?? providers[model.provider]?.api)
}

/** With the API's own price of writing where none is stated. */
export function wholePrice(stated: StatedPrice, api: ApiName | undefined): Price {
  let price = resolved.get(stated)
  if (price === undefined) {
    price = { ...stated, written: stated.written ?? stated.input * (api === "anthropic" ? anthropicWrites : 1) }
    resolved.set(stated, price)
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
