import type { Price } from "../../plan/plan-shape.ts"
import { RunEnding, wireError } from "../../ports/run-failure.ts"
import type { LimitKey, ShownRunLimits, TokenUsage } from "../../log/events.ts"
import type { Limit, LimitSet, RunLimitSet } from "./limit-scopes.ts"
import { hasLimits, showLimits } from "./limit-scopes.ts"
import { nothingUsed, spentOf, type Used, type UsedByAll } from "../../log/used.ts"
import type { Money } from "../../log/money.ts"
import { outputFor, showMoney, toMoney, worstCost } from "../../log/money.ts"

/** The worst case of a model call. */
export interface ModelNeed {
  readonly kind: "model"
  /** Estimated tokens of all that is sent. */
  readonly input: number
  /** Most output tokens, where there is room for all of them. */
  readonly output: number
  readonly price: Price | null
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
   * and a failure nothing.
   */
  settle(usage: TokenUsage | null, answered: boolean): void
}

/** Output tokens of a call whose model sets no `max_tokens`. */
export const usualOutput = 8192

/** The run or an agent: its limits, what it has used, and what its open calls may still use. */
interface Account {
  readonly limits: LimitSet
  readonly used: Used
  tokens: number
  cost: Money
  open: number
}

interface Waiting {
  readonly need: Need
  readonly accounts: readonly Account[]
  readonly resolve: (grant: Grant) => void
  readonly reject: (error: unknown) => void
}

/**
 * The ledger of a run with limits. Calls reserve their worst case before they are made: those that do not fit wait in the
 * order of their arrival, and when no call is open that could give something back, the first of them fails the run.
 */
export class Budget {
  readonly #limits: RunLimitSet
  readonly #run: Account
  readonly #agents = new Map<string, Account>()
  readonly #signal: AbortSignal
  readonly limited: boolean
  /** Calls send their most output tokens to the backend. */
  readonly boundsOutput: boolean
  #queue: Waiting[] = []
  #open = 0
  #exceeded = false

  constructor(limits: RunLimitSet, past: UsedByAll, signal: AbortSignal) {
    this.#limits = limits
    this.#signal = signal
    this.#run = account(limits.run, past.run)
    for (const [name, set] of limits.agents) {
      this.#agents.set(name, account(set, past.agents.get(name) ?? nothingUsed()))
    }
    this.limited = hasLimits(limits)
    this.boundsOutput = [limits.run, ...limits.agents.values()].some(
      ({ tokens, cost }) => tokens !== undefined || cost !== undefined,
    )
    if (this.limited) signal.addEventListener("abort", () => this.#refuseWaiting(), { once: true })
  }

  /** Resolves when the call may be made; rejects when it does not fit any more, or the run stops. */
  reserve(agent: string | null, need: Need): Promise<Grant> {
    this.#signal.throwIfAborted()
    const own = agent === null ? undefined : this.#agents.get(agent)
    const accounts = own === undefined ? [this.#run] : [this.#run, own]
    return new Promise((resolve, reject) => {
      this.#queue.push({ need, accounts, resolve, reject })
      this.#serve()
    })
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
    if (this.#exceeded) return
    // A call that waits holds up later ones only where both need room in the same account.
    const blocked = new Set<Account>()
    const left: Waiting[] = []
    for (const waiting of this.#queue) {
      const grant = waiting.accounts.some((one) => blocked.has(one)) ? null : this.#try(waiting, blocked)
      if (grant === null) left.push(waiting)
      else waiting.resolve(grant)
    }
    this.#queue = left
    const [first] = left
    if (first === undefined || this.#open > 0) return
    // Nothing is open that could make room.
    this.#exceeded = true
    this.#queue = left.slice(1)
    first.reject(exceeded(first.need, first.accounts))
  }

  #try({ need, accounts }: Waiting, blocked: Set<Account>): Grant | null {
    const output = need.kind === "model" ? need.output : 0
    const tight = accounts.filter((one) => missing(one, need, output) !== null)
    if (tight.length === 0) return this.#grant(need, accounts, output)
    // Where an account has no open call, nothing comes back to it: the call makes do with what is left.
    if (need.kind === "model" && tight.every(({ open }) => open === 0)) {
      const rest = Math.min(output, ...accounts.map((one) => outputLeft(one, need)))
      if (rest >= 1 && accounts.every((one) => missing(one, need, rest) === null)) {
        return this.#grant(need, accounts, rest)
      }
    }
    for (const one of tight) blocked.add(one)
    return null
  }

  #grant(need: Need, accounts: readonly Account[], output: number): Grant {
    const isModel = need.kind === "model"
    const tokens = isModel ? need.input + output : 0
    const cost = isModel && need.price !== null ? worstCost(need.input, output, need.price) : null
    this.#open++
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
      this.#open--
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
    for (const { reject } of this.#queue.splice(0)) reject(this.#signal.reason)
  }
}

function account(limits: LimitSet, used: Used): Account {
  return { limits, used: { ...used }, tokens: 0, cost: 0n, open: 0 }
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
  return rest.cost < worstCost(need.input, output, need.price) ? "cost" : null
}

function outputLeft(one: Account, { input, price }: ModelNeed): number {
  const rest = left(one)
  const byCost = rest.cost === null || price === null ? Number.POSITIVE_INFINITY : outputFor(rest.cost, input, price)
  return Math.floor(Math.min(rest.tokens - input, byCost))
}

/** Says what the smallest call would have needed, what is left, and the limit. */
function exceeded(need: Need, accounts: readonly Account[]): RunEnding {
  for (const one of accounts) {
    const key = missing(one, need, 1)
    const limit = key === null ? undefined : one.limits[key]
    if (key === null || limit === undefined) continue
    const rest = left(one)
    const message = `${sentence(key, need, rest)} of the limit of ${limit.most} (${limit.path})`
    return new RunEnding(wireError("limit_exceeded", [{ path: limit.path, message }]))
  }
  throw new Error("A call was refused that fits")
}

function sentence(key: LimitKey, need: Need, rest: ReturnType<typeof left>): string {
  if (need.kind === "tool") return `A tool call needs 1, and ${count(rest.tool_calls)} are left`
  switch (key) {
    case "model_calls":
      return `A model call needs 1, and ${count(rest.model_calls)} are left`
    case "cost": {
      const needed = need.price === null ? 0n : worstCost(need.input, need.output, need.price)
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
