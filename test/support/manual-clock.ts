import type { Clock } from "../../src/ports/clock.ts"

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #now: number
  #monotonic = 0
  #sleepers: { readonly until: number; readonly wake: () => void }[] = []

  constructor(now = Date.UTC(2026, 10, 15)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#monotonic
  }

  /** Sets the wall clock forward (or back), as an administrator or NTP may; no time passes. */
  jump(ms: number): void {
    this.#now += ms
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper)
        reject(signal.reason as Error)
      }
      const sleeper = {
        until: this.#monotonic + ms,
        wake: () => {
          signal.removeEventListener("abort", stop)
          resolve()
        },
      }
      if (signal.aborted) return stop()
      signal.addEventListener("abort", stop, { once: true })
      this.#sleepers.push(sleeper)
    })
  }

  /** Time passes while the process stands still: no sleeper wakes up yet. */
  pass(ms: number): void {
    this.#now += ms
    this.#monotonic += ms
  }

  advance(ms: number): void {
    this.pass(ms)
    const due = this.#sleepers.filter(({ until }) => until <= this.#monotonic)
    this.#sleepers = this.#sleepers.filter(({ until }) => until > this.#monotonic)
    for (const { wake } of due) wake()
  }
}
