import type { Price } from "../../plan/price-of-model.ts"
import { RunEnding, wireError } from "../../ports/run-failure.ts"
import type { LimitKey, ShownRunLimits, TokenUsage } from "../../log/events.ts"
import type { Limit, LimitSet, RunLimitSet } from "./limit-scopes.ts"
import { hasLimits, showLimits } from "./limit-scopes.ts"
import { noConsumption, spentOf, type Consumption, type ConsumptionByAll } from "../../log/consumption.ts"
import { outputFor, showMoney, toMoney, worstCost, type HostedCounts, type Money } from "../../log/money.ts"

/** The worst case of a model call. */
export interface ModelNeed {
  readonly kind: "model"
  /** Estimated tokens of all that is sent. */
  readonly input: number
  /** Most output tokens, where there is room for all of them. */
  readonly output: number
  /** The fewest output tokens that are of use: an answer with fewer was cut off. Absent: 1. */
  readonly least?: number | undefined
  readonly price: Price | null
  /** Uses of hosted tools that are expected of it. */
  readonly hosted?: HostedCounts | undefined
}

/** What a call may use at most. */
export interface Reserved {
  readonly tokens: number
  readonly cost: Money | null
}

export type Need = ModelNeed | { readonly kind: "tool" }

/** A call that may be made now. It holds what it may use at most until it is settled. */
export interface Grant {
  /** Most output tokens of a model call. */
  readonly output: number
  readonly tokens: number
  readonly cost: Money | null
  /**
   * The call is over: what it used takes the place of the reservation. Without usage, an answer has used its reservation,
   * as has a call that was cut off, and a failure nothing.
   */
  settle(usage: TokenUsage | null, answered: boolean): void
}

/** Output tokens of a call whose model sets no `max_tokens`. */
export const defaultOutput = 8192

/** The run or an agent: its limits, what it has used, and what its open calls may still use. */
interface Account {
  readonly budget: Budget
  readonly limits: LimitSet
  readonly used: Consumption
  tokens: number
  cost: Money
  open: number
}

interface Waiting {
  readonly budget: Budget
  readonly need: Need
  readonly accounts: readonly Account[]
  readonly resolve: (grant: Grant) => void
  readonly reject: (error: unknown) => void
}

/** The budget of the workflow around a called one, and the agent there that calls. */
interface BudgetAround {
  readonly budget: Budget
  readonly agent: string | null
}

/** The calls of a run, those of the workflows that it calls included. */
interface Ledger {
  queue: Waiting[]
  open: number
}

/**
 * What calls may still use, in a run with limits or in a workflow that it calls. Calls reserve their worst case before they are made: those
 * that do not fit wait in the order of their arrival, and when no call is open that could give something back, the first of them fails the
 * run, or the called workflow that has the limit.
 */
export class Budget {
  readonly #limits: RunLimitSet
  readonly #around: BudgetAround | null
  readonly #ledger: Ledger
  readonly #run: Account
  readonly #agents = new Map<string, Account>()
  readonly #signal: AbortSignal
  /** Its workflow, or an agent of it, has limits. */
  readonly hasOwnLimits: boolean
  /** Its calls are counted, for its own limits or for those around it. */
  readonly limited: boolean
  /** Calls send their most output tokens to the backend. */
  readonly boundsOutput: boolean
  /** A call has failed for its limits: it grants nothing more. */
  #exceeded = false

  constructor(limits: RunLimitSet, past: ConsumptionByAll, signal: AbortSignal, around: BudgetAround | null = null) {
    this.#limits = limits
    this.#signal = signal
    this.#around = around
    this.#ledger = around === null ? { queue: [], open: 0 } : around.budget.#ledger
    this.#run = account(this, limits.run, past.run)
    for (const [name, set] of limits.agents) {
      this.#agents.set(name, account(this, set, past.agents.get(name) ?? noConsumption()))
    }
    this.hasOwnLimits = hasLimits(limits)
    this.limited = this.hasOwnLimits || around?.budget.limited === true
    const bounds = (): boolean =>
      [limits.run, ...limits.agents.values()].some(({ tokens, cost }) => tokens !== undefined || cost !== undefined)
    this.boundsOutput = (this.hasOwnLimits && bounds()) || around?.budget.boundsOutput === true
    if (this.limited) signal.addEventListener("abort", () => this.#refuseWaiting(), { once: true })
  }

  /** Resolves when the call may be made; rejects when it does not fit any more, or the run stops. */
  reserve(agent: string | null, need: Need): Promise<Grant> {
    this.#signal.throwIfAborted()
    const accounts = this.#accountsOf(agent)
    return new Promise((resolve, reject) => {
      this.#ledger.queue.push({ budget: this, need, accounts, resolve, reject })
      this.#serve()
    })
  }

  /** The reservation of a call that the log counts as used: it is under way, and what it uses takes the place of that. */
  resume(agent: string | null, need: ModelNeed, reserved: Reserved): Grant {
    const accounts = this.#accountsOf(agent)
    for (const one of accounts) {
      one.used.tokens -= reserved.tokens
      one.used.cost -= reserved.cost ?? 0n
      one.used.model_calls--
    }
    return this.#grant(need, accounts, need.output, reserved)
  }

  /** Counts tool calls that nobody could reserve: a provider has made them. Throws where they exceed a limit. */
  countTools(agent: string | null, count: number): void {
    const accounts = this.#accountsOf(agent)
    for (const one of accounts) one.used.tool_calls += count
    for (const { limits, used, budget } of accounts) {
      const limit = limits.tool_calls
      if (limit === undefined || used.tool_calls <= limit.most) continue
      budget.#exceeded = true
      const message = `${used.tool_calls} tool calls were made, those of the provider's own tools among them, of the limit of ${limit.most} (${limit.path})`
      throw new RunEnding(wireError("limit_exceeded", [{ path: limit.path, message }]))
    }
  }

  /** All that a call counts for, the outermost first. */
  #accountsOf(agent: string | null): Account[] {
    const outer = this.#around === null ? [] : this.#around.budget.#accountsOf(this.#around.agent)
    const own = agent === null ? undefined : this.#agents.get(agent)
    return own === undefined ? [...outer, this.#run] : [...outer, this.#run, own]
  }

  /** `elapsed` is in seconds, of the run or of an agent. */
  shown(elapsed: (agent: string | null) => number): ShownRunLimits {
    return showLimits(this.#limits, (agent, key) => {
      if (key === "time_seconds") return elapsed(agent)
      const { used } = agent === null ? this.#run : (this.#agents.get(agent) ?? this.#run)
      return key === "cost" ? showMoney(used.cost) : used[key]
    })
  }

  #serve(): void {
    const ledger = this.#ledger
    for (;;) {
      // A call that waits holds up later ones only where both need room in the same account.
      const blocked = new Set<Account>()
      const left: Waiting[] = []
      for (const waiting of ledger.queue) {
        const waits = waiting.accounts.some((one) => one.budget.#exceeded || blocked.has(one))
        const grant = waits ? null : this.#try(waiting, blocked)
        if (grant === null) left.push(waiting)
        else waiting.resolve(grant)
      }
      ledger.queue = left
      const first = left.find(({ accounts }) => accounts.every(({ budget }) => !budget.#exceeded))
      if (first === undefined || ledger.open > 0) return
      // Nothing is open that could make room.
      const { error, budget } = exceeded(first.need, first.accounts)
      budget.#exceeded = true
      ledger.queue = left.filter((one) => one !== first)
      first.reject(error)
    }
  }

  #try({ need, accounts }: Waiting, blocked: Set<Account>): Grant | null {
    const output = need.kind === "model" ? need.output : 0
    const tight = accounts.filter((one) => missing(one, need, output) !== null)
    if (tight.length === 0) return this.#grant(need, accounts, output)
    // Where an account has no open call, nothing comes back to it: the call makes do with what is left.
    if (need.kind === "model" && tight.every(({ open }) => open === 0)) {
      const rest = Math.min(output, ...accounts.map((one) => outputLeft(one, need)))
      if (rest >= leastOf(need) && accounts.every((one) => missing(one, need, rest) === null)) {
        return this.#grant(need, accounts, rest)
      }
    }
    for (const one of tight) blocked.add(one)
    return null
  }

  #grant(need: Need, accounts: readonly Account[], output: number, reserved = reservedBy(need, output)): Grant {
    const isModel = need.kind === "model"
    const { tokens, cost } = reserved
    this.#ledger.open++
    for (const one of accounts) {
      one.open++
      one.tokens += tokens
      one.cost += cost ?? 0n
      one.used[isModel ? "model_calls" : "tool_calls"]++
    }
    let settled = false
    const settle = (usage: TokenUsage | null, answered: boolean): void => {
      if (settled) return
      settled = true
      this.#ledger.open--
      const spent = spentOf(usage, answered, { tokens, cost }, isModel ? need.price : null)
      for (const one of accounts) {
        one.open--
        one.tokens -= tokens
        one.cost -= cost ?? 0n
        one.used.tokens += spent.tokens
        one.used.cost += spent.cost
      }
      this.#serve()
    }
    return { output, tokens, cost, settle }
  }

  #refuseWaiting(): void {
    const waiting = this.#ledger.queue.filter(({ budget }) => budget === this)
    this.#ledger.queue = this.#ledger.queue.filter(({ budget }) => budget !== this)
    for (const { reject } of waiting) reject(this.#signal.reason)
    if (this.#around !== null) this.#serve()
  }
}

function reservedBy(need: Need, output: number): Reserved {
  if (need.kind === "tool") return { tokens: 0, cost: null }
  const { input, price, hosted } = need
  return { tokens: input + output, cost: price === null ? null : worstCost(input, output, price, hosted) }
}

function account(budget: Budget, limits: LimitSet, used: Consumption): Account {
  return { budget, limits, used: { ...used }, tokens: 0, cost: 0n, open: 0 }
}

/** The rest of an account that one more call may use. */
function left({ limits, used, tokens, cost }: Account): Record<"tokens" | "model_calls" | "tool_calls", number> & {
  cost: Money | null
} {
  const rest = (limit: Limit | undefined, taken: number): number =>
    limit === undefined ? Number.POSITIVE_INFINITY : limit.most - taken
  return {
    tokens: rest(limits.tokens, used.tokens + tokens),
    cost: limits.cost === undefined ? null : toMoney(limits.cost.most) - used.cost - cost,
    model_calls: rest(limits.model_calls, used.model_calls),
    tool_calls: rest(limits.tool_calls, used.tool_calls),
  }
}

/** The first limit of an account that the call does not fit in; null when it fits. */
function missing(one: Account, need: Need, output: number): LimitKey | null {
  const rest = left(one)
  if (need.kind === "tool") return rest.tool_calls < 1 ? "tool_calls" : null
  if (rest.model_calls < 1) return "model_calls"
  if (rest.tokens < need.input + output) return "tokens"
  if (rest.cost === null || need.price === null) return null
  return rest.cost < worstCost(need.input, output, need.price, need.hosted) ? "cost" : null
}

/** The fewest output tokens that a call is worth making for. */
function leastOf(need: Need): number {
  return need.kind === "model" ? Math.min(need.least ?? 1, need.output) : 0
}

function outputLeft(one: Account, { input, price, hosted }: ModelNeed): number {
  const rest = left(one)
  const byCost =
    rest.cost === null || price === null ? Number.POSITIVE_INFINITY : outputFor(rest.cost, input, price, hosted)
  return Math.floor(Math.min(rest.tokens - input, byCost))
}

/** Says what the smallest call would have needed, what is left, and the limit. */
function exceeded(need: Need, accounts: readonly Account[]): { readonly error: RunEnding; readonly budget: Budget } {
  for (const one of accounts) {
    const key = missing(one, need, leastOf(need))
    const limit = key === null ? undefined : one.limits[key]
    if (key === null || limit === undefined) continue
    const rest = left(one)
    const message = `${sentence(key, need, rest)} of the limit of ${limit.most} (${limit.path})`
    return { error: new RunEnding(wireError("limit_exceeded", [{ path: limit.path, message }])), budget: one.budget }
  }
  throw new Error("A call was refused that fits")
}

function sentence(key: LimitKey, need: Need, rest: ReturnType<typeof left>): string {
  if (need.kind === "tool") return `A tool call needs 1, and ${count(rest.tool_calls)} are left`
  switch (key) {
    case "model_calls":
      return `A model call needs 1, and ${count(rest.model_calls)} are left`
    case "cost": {
      const needed = need.price === null ? 0n : worstCost(need.input, need.output, need.price, need.hosted)
      return `The next model call may cost ${showMoney(needed)}, and ${showMoney(atLeastZero(rest.cost ?? 0n))} is left`
    }
    default:
      return `The next model call needs ${need.input + need.output} tokens, and ${count(rest.tokens)} are left`
  }
}

function count(rest: number): number {
  return Math.max(0, Math.floor(rest))
}

function atLeastZero(amount: Money): Money {
  return amount < 0n ? 0n : amount
}
