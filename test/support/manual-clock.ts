import type { Clock } from "../../src/ports/clock.ts"

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #now: number
  #sleepers: { readonly until: number; readonly wake: () => void }[] = []

  constructor(now = Date.UTC(2026, 10, 15)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper)
        reject(signal.reason as Error)
      }
      const sleeper = {
        until: this.#now + ms,
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

  advance(ms: number): void {
    this.#now += ms
    const due = this.#sleepers.filter(({ until }) => until <= this.#now)
    this.#sleepers = this.#sleepers.filter(({ until }) => until > this.#now)
    for (const { wake } of due) wake()
  }
}
