import type { RatePlan } from "../../plan/plan-shape.ts"
import type { Clock } from "../../ports/clock.ts"

const minuteMs = 60_000

/** A call that is counted. */
export interface Counted {
  /** The call is over: what it used takes the place of what it might have used. */
  end(tokens: number | null): void
}

/** What a call lacks, and when that may be there. A call that ends makes room earlier. */
export interface Lack {
  readonly because: "requests" | "tokens" | "concurrency"
  readonly at: number
}

interface Entry {
  readonly at: number
  tokens: number
  isCounted: boolean
}

/** Counts the calls of the last minute against a rate. */
export class RateWindow {
  rate: RatePlan = {}
  readonly #clock: Clock
  #entries: Entry[] = []
  /** Where the entries begin that still count. */
  #first = 0
  #tokens = 0
  #open = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isUsed(): boolean {
    return Object.keys(this.rate).length > 0
  }

  get isIdle(): boolean {
    this.#forget(minuteMs)
    return this.#open === 0 && this.#count === 0
  }

  get #count(): number {
    return this.#entries.length - this.#first
  }

  /** What one more call lacks; null: nothing. Each of the processes has an equal share of the rate. */
  lacks(tokens: () => number, processes: number): Lack | null {
    const { requests_per_minute, tokens_per_minute, concurrency } = this.rate
    if (concurrency !== undefined && this.#open >= Math.max(1, Math.floor(concurrency / processes))) {
      return { because: "concurrency", at: Number.POSITIVE_INFINITY }
    }
    const { most, spanMs } = shareOf(requests_per_minute, processes)
    this.#forget(spanMs)
    if (this.#count >= most) {
      return { because: "requests", at: (this.#entries[this.#entries.length - most]?.at ?? 0) + spanMs }
    }
    if (tokens_per_minute === undefined || this.#tokens === 0) return null
    const room = tokens_per_minute / processes - tokens()
    // A call that is larger than the rate goes alone.
    let used = this.#tokens
    for (let at = this.#first; used > 0 && used > room; at++) {
      const entry = this.#entries[at]
      if (entry === undefined) break
      used -= entry.tokens
      if (used <= 0 || used <= room) return { because: "tokens", at: entry.at + minuteMs }
    }
    return null
  }

  begin(tokens: () => number): Counted {
    const counts = this.rate.tokens_per_minute !== undefined
    const entry: Entry = { at: this.#clock.monotonic(), tokens: counts ? tokens() : 0, isCounted: true }
    this.#entries.push(entry)
    this.#tokens += entry.tokens
    this.#open++
    return {
      end: (used) => {
        this.#open--
        if (used === null || !counts || !entry.isCounted) return
        this.#tokens += used - entry.tokens
        entry.tokens = used
      },
    }
  }

  /** Tokens count for a minute, requests for the span that holds one of them. */
  #forget(spanMs: number): void {
    const now = this.#clock.monotonic()
    for (let at = this.#first; at < this.#entries.length; at++) {
      const entry = this.#entries[at]
      if (entry === undefined || entry.at > now - minuteMs) break
      if (entry.isCounted) this.#tokens -= entry.tokens
      entry.isCounted = false
      if (entry.at <= now - spanMs) this.#first = at + 1
    }
    if (this.#first < 1000 && this.#first < this.#entries.length) return
    this.#entries = this.#entries.slice(this.#first)
    this.#first = 0
  }
}

/** Less than one request a minute is one in a longer time. */
function shareOf(perMinute: number | undefined, processes: number): { readonly most: number; readonly spanMs: number } {
  if (perMinute === undefined) return { most: Number.POSITIVE_INFINITY, spanMs: minuteMs }
  const share = perMinute / processes
  return share >= 1 ? { most: Math.floor(share), spanMs: minuteMs } : { most: 1, spanMs: minuteMs / share }
}
