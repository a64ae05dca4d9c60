/**
 * Bounds how many calls of a run are open at once, first come, first served, and knows when none is. A call that waits is
 * not open: when the signal aborts it leaves the queue with the signal's reason.
 */
export class Permits {
  readonly #most: number
  readonly #signal: AbortSignal
  #listens = false
  #open = 0
  #queue: Waiter[] = []
  #next = 0
  #idle: (() => void)[] = []

  constructor(most: number, signal: AbortSignal) {
    this.#most = most
    this.#signal = signal
  }

  get open(): number {
    return this.#open
  }

  /** Runs the call when there is room for it: at once in a `held` place that is still free. */
  async use<T>(call: () => Promise<T>, held?: Place): Promise<T> {
    const place = held?.claim() === true ? held : await this.take()
    try {
      this.#signal.throwIfAborted()
      return await call()
    } finally {
      place.release()
    }
  }

  /** Takes a place when one is free. The caller must release it, or pass it to `use`. */
  async take(): Promise<Place> {
    this.#signal.throwIfAborted()
    if (this.#open < this.#most) this.#open++
    else await this.#turn()
    return new Place(() => this.#release())
  }

  /** Resolves when no call is open. */
  idle(): Promise<void> {
    if (this.#open === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #turn(): Promise<void> {
    if (!this.#listens) this.#signal.addEventListener("abort", () => this.#refuseWaiting(), { once: true })
    this.#listens = true
    return new Promise((resolve, reject) => this.#queue.push({ resolve, reject }))
  }

  #release(): void {
    const next = this.#queue[this.#next]
    if (next !== undefined) {
      // The place passes to the next in the queue, so that a newcomer cannot take it.
      this.#next++
      if (this.#next > 1024 || this.#next === this.#queue.length) {
        this.#queue = this.#queue.slice(this.#next)
        this.#next = 0
      }
      // After the promises of this turn: what came of the call that made room is in the log before the next one begins.
      setImmediate(next.resolve)
      return
    }
    this.#open--
    if (this.#open === 0) {
      const idle = this.#idle
      this.#idle = []
      for (const resolve of idle) resolve()
    }
  }

  #refuseWaiting(): void {
    const waiting = this.#queue.slice(this.#next)
    this.#queue = []
    this.#next = 0
    for (const { reject } of waiting) reject(this.#signal.reason)
  }
}

/** A place among the open calls of a run. One call after another may use it: the next one claims it while it is held. */
export class Place {
  readonly #onRelease: () => void
  #state: "held" | "claimed" | "released" = "held"

  constructor(onRelease: () => void) {
    this.#onRelease = onRelease
  }

  /** False when another call has it, or had it. */
  claim(): boolean {
    if (this.#state !== "held") return false
    this.#state = "claimed"
    return true
  }

  release(): void {
    if (this.#state === "released") return
    this.#state = "released"
    this.#onRelease()
  }

  releaseUnclaimed(): void {
    if (this.#state === "held") this.release()
  }
}

interface Waiter {
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}
