import { planAt } from "../plan/call-scope.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { batchPrice, priceOfModel, type Price } from "../plan/price-of-model.ts"
import type { Money } from "./money.ts"
import { costOf, showMoney, writtenTokens } from "./money.ts"
import type { ModelCallRecord, TokenUsage, Usage } from "./events.ts"

const noTokens: TokenUsage = {
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
}

export const noUsage: Usage = { ...noTokens, cost: 0 }

/** The sum of two, its cost not rounded: `showUsage` does that. Sums of many costs are exact with `addSpent` only. */
export function addUsage(a: Usage, b: Usage): Usage {
  return { ...addTokens(a, b), cost: a.cost === null || b.cost === null ? null : a.cost + b.cost }
}

/** With its cost rounded to 1e-6. */
export function showUsage(usage: Usage): Usage {
  return usage.cost === null ? usage : { ...usage, cost: Math.round(usage.cost * 1e6) / 1e6 }
}

/** The sum of input and output tokens. */
export function totalTokens({
  input_tokens,
  output_tokens,
}: Pick<TokenUsage, "input_tokens" | "output_tokens">): number {
  return input_tokens + output_tokens
}

function addTokens(a: TokenUsage, b: TokenUsage): TokenUsage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cached_tokens: a.cached_tokens + b.cached_tokens,
    written_tokens: writtenTokens(a) + writtenTokens(b),
    reasoning_tokens: a.reasoning_tokens + b.reasoning_tokens,
    ...hostedUses(a.hosted, b.hosted, 1),
  }
}

const noHosted: Pick<TokenUsage, "hosted"> = {}

/** The uses of hosted tools of both, or those of the first without those of the second. */
export function hostedUses(a: TokenUsage["hosted"], b: TokenUsage["hosted"], sign: 1 | -1): Pick<TokenUsage, "hosted"> {
  // Most calls use none.
  if (b === undefined) return a === undefined ? noHosted : { hosted: a }
  const all = new Map(Object.entries(a ?? {}))
  for (const [type, count] of Object.entries(b)) all.set(type, (all.get(type) ?? 0) + sign * count)
  const left = [...all].filter(([, count]) => count !== 0)
  return left.length === 0 ? noHosted : { hosted: Object.fromEntries(left) }
}

/** The usage of the calls whose backend reported it, as shown. */
export function usageOf(calls: readonly ModelCallRecord[]): Usage {
  return showUsage(calls.reduce((sum, { usage }) => (usage === undefined ? sum : addUsage(sum, usage)), noUsage))
}

/** The usage of one call as shown; the cost is null where its model has no price. */
export function pricedUsage(tokens: TokenUsage, price: Price | null): Usage {
  return { ...tokens, cost: price === null ? null : showMoney(costOf(tokens, price)) }
}

/** What the record of a call says about its price. */
export function ownPrice(call: {
  readonly price: Price | null
  readonly isOwnPrice?: boolean
}): Pick<ModelCallRecord, "price"> {
  return call.isOwnPrice === true && call.price !== null ? { price: call.price } : {}
}

/** Tokens, and their cost exactly: null once a call had no price. */
export interface Spent {
  readonly tokens: TokenUsage
  readonly cost: Money | null
}

export const nothingSpent: Spent = { tokens: noTokens, cost: 0n }

export function addSpent(a: Spent, b: Spent): Spent {
  return {
    tokens: addTokens(a.tokens, b.tokens),
    cost: a.cost === null || b.cost === null ? null : a.cost + b.cost,
  }
}

/** The price of a declared model of the run's file, or of the one that is called in a scope; null where it has none. */
export type PriceOf = (model: string, scope?: string) => Price | null

/** Prices of the declared models; without a plan none are known. */
export function pricesOf(plan: Plan | null): PriceOf {
  return (model, scope) => {
    const own = plan === null ? undefined : planAt(plan, scope)
    return own === undefined ? null : priceOfModel(own, model)
  }
}

export function spentBy(calls: readonly ModelCallRecord[], priceOf: PriceOf, scope?: string): Spent {
  return calls.reduce((sum, call) => addSpent(sum, spentByOne(call, priceOf, scope)), nothingSpent)
}

function spentByOne(call: ModelCallRecord, priceOf: PriceOf, scope: string | undefined): Spent {
  const { cost: _, ...tokens } = call.usage ?? noUsage
  const price = priceOfCall(call, priceOf, scope)
  return { tokens, cost: price === null ? null : costOf(tokens, price) }
}

/** The price that counted for a call: the one in its record, else that of its model's declaration. */
export function priceOfCall({ model, price, batch }: ModelCallRecord, priceOf: PriceOf, scope?: string): Price | null {
  const found = price ?? (model === undefined ? null : priceOf(model, scope))
  return found === null || batch === undefined ? found : batchPrice(found)
}

export function showSpent({ tokens, cost }: Spent): Usage {
  return { ...tokens, cost: cost === null ? null : showMoney(cost) }
}
