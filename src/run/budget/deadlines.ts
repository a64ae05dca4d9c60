import { nextTurn } from "../../event-loop/in-turns.ts"
import type { Clock } from "../../ports/clock.ts"

interface Entry {
  /** By the monotonic clock. */
  readonly at: number
  readonly passed: () => void
}

/** Calls back when times have come, for all runs of a process with one wait: most runs end long before theirs. */
export class Deadlines {
  readonly #clock: Clock
  readonly #entries = new Set<Entry>()
  #waitsUntil = Number.POSITIVE_INFINITY
  #wait: AbortController | null = null
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls back after this many milliseconds, immediately if there are none. The result cancels the deadline. */
  add(ms: number, passed: () => void): () => void {
    // No deadline is left: a timer would keep the process alive.
    if (this.#closed) return () => undefined
    if (ms <= 0) {
      passed()
      return () => undefined
    }
    const at = this.#clock.monotonic() + ms
    const entry = { at, passed }
    this.#entries.add(entry)
    if (at < this.#waitsUntil) this.#waitUntil(at)
    return () => {
      this.#entries.delete(entry)
    }
  }

  close(): void {
    this.#closed = true
    this.#entries.clear()
    this.#wait?.abort(earlier)
  }

  #waitUntil(at: number): void {
    this.#wait?.abort(earlier)
    const wait = new AbortController()
    this.#wait = wait
    this.#waitsUntil = at
    this.#clock.sleep(at - this.#clock.monotonic(), wait.signal).then(
      () => this.#wake(),
      () => undefined,
    )
  }

  async #wake(): Promise<void> {
    this.#wait = null
    this.#waitsUntil = Number.POSITIVE_INFINITY
    const now = this.#clock.monotonic()
    const due = [...this.#entries].filter(({ at }) => at <= now)
    for (const [nth, entry] of due.entries()) {
      // A run that ends stops all that it does: each has a turn of its own.
      if (nth > 0) await nextTurn()
      if (this.#entries.delete(entry)) entry.passed()
    }
    if (this.#closed) return
    let next = Number.POSITIVE_INFINITY
    for (const { at } of this.#entries) next = Math.min(next, at)
    if (next < this.#waitsUntil) this.#waitUntil(next)
  }
}

const earlier = new Error("Another deadline comes first, or no deadline is awaited any more")
