import type { Price } from "../../src/plan/price-of-model.ts"

/** Prices of a million tokens: input, input that was cached, output, and input that is written to the cache. */
export function price(input: number, cached: number, output: number, written = input): Price {
  return { input, cached, written, output, batch: 1, hosted: {} }
}
