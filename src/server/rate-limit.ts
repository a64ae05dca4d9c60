import { refuse } from "./http-error.ts"

/** How many callers are remembered at least; the others are forgotten in time, and early if there are more. */
const mostCallers = 100_000

interface Bucket {
  readonly tokens: number
  readonly at: number
}

/** Requests per second for each caller: a bucket that holds one second's worth. */
export class RateLimit {
  readonly #perSecond: number
  // Two generations, so that old callers are dropped without a search: those seen since the last switch, and those before it.
  #young = new Map<string, Bucket>()
  #old: ReadonlyMap<string, Bucket> = new Map()
  #changedAt = -Infinity

  /** 0 means no limit. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  take(caller: string, now: number): void {
    if (this.#perSecond === 0) return
    this.#forget(now)
    const most = Math.max(1, this.#perSecond)
    const bucket = this.#young.get(caller) ?? this.#old.get(caller) ?? { tokens: most, at: now }
    const tokens = Math.min(most, bucket.tokens + ((now - bucket.at) / 1000) * this.#perSecond)
    const granted = tokens >= 1
    this.#young.set(caller, { tokens: granted ? tokens - 1 : tokens, at: now })
    if (granted) return
    const seconds = Math.ceil((1 - tokens) / this.#perSecond)
    throw refuse(
      "rate_limited",
      `More than ${this.#perSecond} requests in a second: slow down, or raise WIRE_RATE_LIMIT`,
      [],
      { "retry-after": String(Math.max(1, seconds)) },
    )
  }

  /** A bucket that was not used for a second is full again and can be dropped. */
  #forget(now: number): void {
    if (now - this.#changedAt < 1000 && this.#young.size < mostCallers) return
    this.#old = this.#young
    this.#young = new Map()
    this.#changedAt = now
  }
}
