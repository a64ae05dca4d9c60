import type { Price } from "../plan/price-of-model.ts"
import type { EventData, ModelCallRecord, TokenUsage } from "./events.ts"
import { priceOfCall, totalTokens, type PriceOf } from "./usage.ts"
import type { Money } from "./money.ts"
import { costOf, toMoney } from "./money.ts"

/** Consumption so far, of the run or of one agent. */
export interface Consumption {
  tokens: number
  cost: Money
  model_calls: number
  tool_calls: number
}

export interface ConsumptionByAll {
  readonly run: Consumption
  readonly agents: ReadonlyMap<string, Consumption>
}

export function noConsumption(): Consumption {
  return { tokens: 0, cost: 0n, model_calls: 0, tool_calls: 0 }
}

interface CallPlace {
  readonly agent: string
  readonly iteration?: number | undefined
  readonly turn: number
  readonly attempt: number
}

interface OpenCall {
  /** All that it counts for. */
  readonly sums: readonly Consumption[]
  readonly model: string
  readonly tokens: number
  readonly cost: Money | null
}

/** The sum that one of a called workflow is a part of, with the agent that calls it. */
interface SumAround {
  readonly sum: ConsumptionSum
  readonly scope: string
  readonly agent: string | null
}

/** Adds up what a run with limits, or a workflow that it calls, has used. */
export class ConsumptionSum {
  readonly #priceOf: PriceOf
  readonly #around: SumAround | null
  readonly #run = noConsumption()
  readonly #agents = new Map<string, Consumption>()
  /** Open calls, shared by all sums of a run. */
  readonly #open: Map<string, OpenCall>

  constructor(priceOf: PriceOf, around: SumAround | null = null) {
    this.#priceOf = priceOf
    this.#around = around
    this.#open = around === null ? new Map<string, OpenCall>() : around.sum.#open
  }

  modelCallBegan({ agent, iteration, turn, attempt, model, reserved }: EventData["model_call_started"]): void {
    this.#count(agent, "model_calls", 1)
    const cost = reserved.cost === null ? null : toMoney(reserved.cost)
    const sums = this.#all(agent)
    this.#open.set(this.#callKey(agent, iteration, turn, attempt), { sums, model, tokens: reserved.tokens, cost })
  }

  modelCallsEnded(
    about: { readonly agent: string; readonly iteration?: number | undefined },
    calls: readonly ModelCallRecord[],
  ): void {
    for (const call of calls) {
      const { turn, attempt, usage, format, cut_off } = call
      const key = this.#callKey(about.agent, about.iteration, turn, attempt)
      const open = this.#open.get(key)
      if (open === undefined) continue
      this.#open.delete(key)
      const answered = format !== undefined || cut_off === true
      const price = priceOfCall({ ...call, model: open.model }, this.#priceOf, this.#around?.scope)
      const spent = spentOf(usage ?? null, answered, open, price)
      for (const used of open.sums) {
        used.tokens += spent.tokens
        used.cost += spent.cost
      }
    }
  }

  /** The call was not made. */
  modelCallDropped({ agent, iteration, turn, attempt }: CallPlace): void {
    if (this.#open.delete(this.#callKey(agent, iteration, turn, attempt))) this.#count(agent, "model_calls", -1)
  }

  toolCalls(agent: string | undefined, by: 1 | -1): void {
    this.#count(agent ?? null, "tool_calls", by)
  }

  /** Calls without an outcome count with what they had reserved. */
  total(): ConsumptionByAll {
    const withOpen = (own: Consumption): Consumption => {
      const used = { ...own }
      for (const { sums, tokens, cost } of this.#open.values()) {
        if (!sums.includes(own)) continue
        used.tokens += tokens
        used.cost += cost ?? 0n
      }
      return used
    }
    return { run: withOpen(this.#run), agents: new Map([...this.#agents].map(([name, own]) => [name, withOpen(own)])) }
  }

  #count(agent: string | null, key: "model_calls" | "tool_calls", by: 1 | -1): void {
    for (const used of this.#all(agent)) used[key] += by
  }

  /** The sums that something of an agent counts for, those around a called workflow included. */
  #all(agent: string | null): Consumption[] {
    const outer = this.#around === null ? [] : this.#around.sum.#all(this.#around.agent)
    if (agent === null) return [this.#run, ...outer]
    let used = this.#agents.get(agent)
    if (used === undefined) {
      used = noConsumption()
      this.#agents.set(agent, used)
    }
    return [this.#run, used, ...outer]
  }

  #callKey(agent: string, iteration: number | undefined, turn: number, attempt: number): string {
    return `${this.#around?.scope ?? ""}/${agent}#${iteration ?? ""}#${turn}#${attempt}`
  }
}

/** The consumption of a call that has ended. */
export function spentOf(
  usage: TokenUsage | null,
  answered: boolean,
  reserved: { readonly tokens: number; readonly cost: Money | null },
  price: Price | null,
): { readonly tokens: number; readonly cost: Money } {
  // A usage that counts nothing is not one: every call sends something.
  if (usage !== null && totalTokens(usage) > 0) {
    return { tokens: totalTokens(usage), cost: price === null ? 0n : costOf(usage, price) }
  }
  return answered ? { tokens: reserved.tokens, cost: reserved.cost ?? 0n } : { tokens: 0, cost: 0n }
}
