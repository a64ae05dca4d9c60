import type { Price } from "../plan/plan-shape.ts"
import type { EventData, ModelCallRecord, TokenUsage } from "./events.ts"
import type { PriceOf } from "./usage.ts"

import type { Money } from "./money.ts"
import { costOf, toMoney } from "./money.ts"

/** What was used so far, by the run or by one agent. */
export interface Used {
  tokens: number
  cost: Money
  model_calls: number
  tool_calls: number
}

export interface UsedByAll {
  readonly run: Used
  readonly agents: ReadonlyMap<string, Used>
}

export function nothingUsed(): Used {
  return { tokens: 0, cost: 0n, model_calls: 0, tool_calls: 0 }
}

interface OpenCall {
  readonly agent: string
  readonly model: string
  readonly tokens: number
  readonly cost: Money | null
}

/** Adds up what a run with limits has used. */
export class UsedSum {
  readonly #priceOf: PriceOf
  readonly #run = nothingUsed()
  readonly #agents = new Map<string, Used>()
  readonly #open = new Map<string, OpenCall>()

  constructor(priceOf: PriceOf) {
    this.#priceOf = priceOf
  }

  modelCallBegan({ agent, iteration, turn, attempt, model, reserved }: EventData["model_call_started"]): void {
    this.#count(agent, "model_calls", 1)
    const cost = reserved.cost === null ? null : toMoney(reserved.cost)
    this.#open.set(callKey(agent, iteration, turn, attempt), { agent, model, tokens: reserved.tokens, cost })
  }

  modelCallsEnded(
    about: { readonly agent: string; readonly iteration?: number | undefined },
    calls: readonly ModelCallRecord[],
  ): void {
    for (const { turn, attempt, usage, format } of calls) {
      const key = callKey(about.agent, about.iteration, turn, attempt)
      const open = this.#open.get(key)
      if (open === undefined) continue
      this.#open.delete(key)
      const spent = spentOf(usage ?? null, format !== undefined, open, this.#priceOf(open.model))
      for (const used of this.#both(about.agent)) {
        used.tokens += spent.tokens
        used.cost += spent.cost
      }
    }
  }

  toolCalls(agent: string | undefined, by: 1 | -1): void {
    this.#count(agent ?? null, "tool_calls", by)
  }

  /** Calls without an outcome count with what they had reserved. */
  total(): UsedByAll {
    const run = { ...this.#run }
    const agents = new Map([...this.#agents].map(([name, used]) => [name, { ...used }]))
    for (const { agent, tokens, cost } of this.#open.values()) {
      for (const used of [run, agents.get(agent)]) {
        if (used === undefined) continue
        used.tokens += tokens
        used.cost += cost ?? 0n
      }
    }
    return { run, agents }
  }

  #count(agent: string | null, key: "model_calls" | "tool_calls", by: 1 | -1): void {
    for (const used of this.#both(agent)) used[key] += by
  }

  #both(agent: string | null): Used[] {
    if (agent === null) return [this.#run]
    let used = this.#agents.get(agent)
    if (used === undefined) {
      used = nothingUsed()
      this.#agents.set(agent, used)
    }
    return [this.#run, used]
  }
}

function callKey(agent: string, iteration: number | undefined, turn: number, attempt: number): string {
  return `${agent}#${iteration ?? ""}#${turn}#${attempt}`
}

/** What a call counts for when it is over. */
export function spentOf(
  usage: TokenUsage | null,
  answered: boolean,
  reserved: { readonly tokens: number; readonly cost: Money | null },
  price: Price | null,
): { readonly tokens: number; readonly cost: Money } {
  // A usage that counts nothing is not one: every call sends something.
  if (usage !== null && usage.input_tokens + usage.output_tokens > 0) {
    return {
      tokens: usage.input_tokens + usage.output_tokens,
      cost: price === null ? 0n : costOf(usage, price),
    }
  }
  return answered ? { tokens: reserved.tokens, cost: reserved.cost ?? 0n } : { tokens: 0, cost: 0n }
}
