import { refuse } from "./http-error.ts"

/** Requests per second for each caller: a bucket that holds one second's worth. */
export class RateLimit {
  readonly #perSecond: number
  readonly #buckets = new Map<string, { tokens: number; at: number }>()

  /** 0 is no limit. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  take(caller: string, now: number): void {
    if (this.#perSecond === 0) return
    const most = Math.max(1, this.#perSecond)
    let bucket = this.#buckets.get(caller)
    if (bucket === undefined) {
      this.#forget(now)
      bucket = { tokens: most, at: now }
      this.#buckets.set(caller, bucket)
    }
    bucket.tokens = Math.min(most, bucket.tokens + ((now - bucket.at) / 1000) * this.#perSecond)
    bucket.at = now
    if (bucket.tokens < 1) {
      const seconds = Math.ceil((1 - bucket.tokens) / this.#perSecond)
      throw refuse(
        "rate_limited",
        `More than ${this.#perSecond} requests in a second: slow down, or raise WIRE_RATE_LIMIT`,
        [],
        {
          "retry-after": String(Math.max(1, seconds)),
        },
      )
    }
    bucket.tokens -= 1
  }

  /** A bucket that has had time to fill up says nothing any more. */
  #forget(now: number): void {
    if (this.#buckets.size < 10_000) return
    for (const [caller, { at }] of this.#buckets) if (now - at > 1000) this.#buckets.delete(caller)
  }
}
