import { refuse } from "./http-error.ts"

/** How many callers are remembered at least; the others are forgotten in time, and early if there are more. */
const maxCallers = 100_000

interface Bucket {
  readonly tokens: number
  readonly at: number
}

/** Requests that other processes of the service count for the same callers. They hear of each other a moment later: a caller's average is exact, and a burst is not. */
export interface SharedSpending {
  spent(caller: string): void
  onSpent(listener: (spent: readonly (readonly [string, number])[]) => void): void
}

/** Requests per second for each caller: a bucket that holds one second's worth. */
export class RateLimit {
  readonly #perSecond: number
  // Two generations, so that old callers are dropped without a search: those seen since the last switch, and those before it.
  #young = new Map<string, Bucket>()
  #old: ReadonlyMap<string, Bucket> = new Map()
  #changedAt = -Infinity
  readonly #shared: SharedSpending | null

  /** 0 means no limit. */
  constructor(perSecond: number, shared: SharedSpending | null = null) {
    this.#perSecond = perSecond
    this.#shared = perSecond === 0 ? null : shared
    this.#shared?.onSpent((spent) => {
      const now = performance.now()
      for (const [caller, requests] of spent) this.#spendElsewhere(caller, requests, now)
    })
  }

  take(caller: string, now: number): void {
    if (this.#perSecond === 0) return
    this.#forget(now)
    const tokens = this.#tokensOf(caller, now)
    const granted = tokens >= 1
    this.#young.set(caller, { tokens: granted ? tokens - 1 : tokens, at: now })
    if (granted) return this.#shared?.spent(caller)
    const seconds = Math.ceil((1 - tokens) / this.#perSecond)
    throw refuse(
      "rate_limited",
      `More than ${this.#perSecond} requests in a second: slow down, or raise WIRE_RATE_LIMIT`,
      [],
      { "retry-after": String(Math.max(1, seconds)) },
    )
  }

  #tokensOf(caller: string, now: number): number {
    const most = Math.max(1, this.#perSecond)
    const bucket = this.#young.get(caller) ?? this.#old.get(caller) ?? { tokens: most, at: now }
    return Math.min(most, bucket.tokens + ((now - bucket.at) / 1000) * this.#perSecond)
  }

  #spendElsewhere(caller: string, requests: number, now: number): void {
    this.#forget(now)
    this.#young.set(caller, { tokens: this.#tokensOf(caller, now) - requests, at: now })
  }

  /** A bucket that was not used for a second is full again and can be dropped. */
  #forget(now: number): void {
    if (now - this.#changedAt < 1000 && this.#young.size < maxCallers) return
    this.#old = this.#young
    this.#young = new Map()
    this.#changedAt = now
  }
}
