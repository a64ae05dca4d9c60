import type { Price } from "../plan/price-of-model.ts"
import type { TokenUsage } from "./events.ts"

/** An amount of the workflow's currency, in units of 1e-18: sums of amounts are exact. */
export type Money = bigint

const digits = 18
const shownUnit = 10n ** BigInt(digits - 6)

/** A number as it is written, without the error of its binary form. */
export function toMoney(amount: number): Money {
  return scaled(amount, digits)
}

/** Rounded to 1e-6. */
export function showMoney(amount: Money): number {
  return Number((amount + shownUnit / 2n) / shownUnit) / 1e6
}

/** The amount as a number where `showMoney` loses some of it. */
export function unrounded(amount: Money | null): number | undefined {
  return amount === null || amount % shownUnit === 0n ? undefined : Number(amount) / 10 ** digits
}

interface TokenPrice {
  readonly input: Money
  readonly cached: Money
  readonly written: Money
  readonly output: Money
}

const tokenPrices = new WeakMap<Price, TokenPrice>()

/** The price of one token, from that of a million. */
function perToken(price: Price): TokenPrice {
  let known = tokenPrices.get(price)
  if (known === undefined) {
    const each = (amount: number): Money => scaled(amount, digits - 6)
    const { input, cached, written, output } = price
    known = { input: each(input), cached: each(cached), written: each(written), output: each(output) }
    tokenPrices.set(price, known)
  }
  return known
}

/** Older logs lack the count. */
export function writtenTokens(usage: Partial<TokenUsage>): number {
  return usage.written_tokens ?? 0
}

/** The cost of the tokens. Reasoning tokens are among the output tokens. */
export function costOf(usage: TokenUsage, price: Price): Money {
  const { input_tokens, cached_tokens, output_tokens } = usage
  const each = perToken(price)
  const cached = Math.min(cached_tokens, input_tokens)
  const written = Math.min(writtenTokens(usage), input_tokens - cached)
  const plain = input_tokens - cached - written
  const input = tokens(plain) * each.input + tokens(cached) * each.cached + tokens(written) * each.written
  return input + tokens(output_tokens) * each.output + hostedCost(usage, price)
}

/** Uses cost the same in a batch. */
function hostedCost({ hosted = {} }: { readonly hosted?: HostedCounts | undefined }, price: Price): Money {
  return Object.entries(hosted).reduce((sum, [type, count]) => {
    const each = Object.hasOwn(price.hosted, type) ? (price.hosted[type] ?? 0) : 0
    return sum + tokens(count) * toMoney(each)
  }, 0n)
}

/** Uses of hosted tools by type. */
export type HostedCounts = NonNullable<TokenUsage["hosted"]>

/** The most that a call can cost: any part of its input may be cached or written, which may be dearer. `hosted`: uses that are expected of it. */
export function worstCost(input: number, output: number, price: Price, hosted?: HostedCounts): Money {
  return tokens(input) * inputPrice(price) + tokens(output) * perToken(price).output + hostedCost({ hosted }, price)
}

/** The most output tokens that the rest of an amount pays for. */
export function outputFor(amount: Money, input: number, price: Price, hosted?: HostedCounts): number {
  const rest = amount - tokens(input) * inputPrice(price) - hostedCost({ hosted }, price)
  if (rest < 0n) return -1
  const each = perToken(price).output
  return each === 0n ? Number.POSITIVE_INFINITY : Number(rest / each)
}

function inputPrice(price: Price): Money {
  const { input, cached, written } = perToken(price)
  return [cached, written].reduce((most, one) => (one > most ? one : most), input)
}

function tokens(count: number): bigint {
  return Number.isFinite(count) && count > 0 ? BigInt(Math.ceil(count)) : 0n
}

function scaled(value: number, by: number): bigint {
  const [, whole = "0", fraction = "", exponent = "0"] = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? []
  const written = BigInt(whole + fraction)
  const shift = by - fraction.length + Number(exponent)
  if (shift >= 0) return written * 10n ** BigInt(shift)
  const divisor = 10n ** BigInt(-shift)
  return (written + divisor / 2n) / divisor
}
