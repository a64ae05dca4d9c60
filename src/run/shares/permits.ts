/** The open calls of a run, those of the workflows that it calls included. */
interface Pool {
  open: number
  queue: Waiter[]
  next: number
  idle: (() => void)[]
}

/**
 * Bounds how many calls of a run are open at once, first come, first served, and knows when none is. A call that waits is
 * not open: when the signal aborts it leaves the queue with the signal's reason.
 */
export class Permits {
  readonly #most: number
  readonly #signal: AbortSignal
  readonly #pool: Pool
  #listens = false
  /** Its own, of those in the pool. */
  #open = 0
  readonly #idle: (() => void)[] = []

  constructor(most: number, signal: AbortSignal, pool: Pool = { open: 0, queue: [], next: 0, idle: [] }) {
    this.#most = most
    this.#signal = signal
    this.#pool = pool
  }

  /** Those of a workflow that the run calls, which share the places of the run. */
  within(signal: AbortSignal): Permits {
    return new Permits(this.#most, signal, this.#pool)
  }

  /** Of the whole run. */
  get open(): number {
    return this.#pool.open
  }

  /** Runs the call when there is room for it: at once in a `held` place that is still free. */
  async use<T>(call: () => Promise<T>, held?: Place): Promise<T> {
    const taken = held?.claim() === true ? held : this.take()
    const place = taken instanceof Place ? taken : await taken
    try {
      this.#signal.throwIfAborted()
      return await call()
    } finally {
      place.release()
    }
  }

  /** Takes a place when one is free, which usually is at once. The caller must release it, or pass it to `use`. */
  take(): Place | Promise<Place> {
    this.#signal.throwIfAborted()
    if (this.#pool.open >= this.#most) return this.#turn().then(() => this.#place())
    this.#pool.open++
    this.#open++
    return this.#place()
  }

  #place(): Place {
    return new Place(() => this.#release())
  }

  /** Resolves when no call is open here; those of called workflows are not counted. Null when none is. */
  idle(): Promise<void> | null {
    if (this.#open === 0) return null
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  /** Resolves when no call of the whole run is open. */
  allIdle(): Promise<void> {
    if (this.#pool.open === 0) return Promise.resolve()
    return new Promise((resolve) => this.#pool.idle.push(resolve))
  }

  #turn(): Promise<void> {
    if (!this.#listens) this.#signal.addEventListener("abort", () => this.#refuseWaiting(), { once: true })
    this.#listens = true
    return new Promise((resolve, reject) => this.#pool.queue.push({ owner: this, resolve, reject }))
  }

  #release(): void {
    const pool = this.#pool
    this.#open--
    const next = pool.queue[pool.next]
    if (next === undefined) {
      pool.open--
      if (pool.open === 0) for (const resolve of pool.idle.splice(0)) resolve()
    } else {
      // The place passes to the next in the queue, so that a newcomer cannot take it.
      pool.next++
      if (pool.next > 1024 || pool.next === pool.queue.length) {
        pool.queue = pool.queue.slice(pool.next)
        pool.next = 0
      }
      next.owner.#open++
      // After the promises of this turn: what came of the call that made room is in the log before the next one begins.
      setImmediate(next.resolve)
    }
    if (this.#open > 0) return
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  #refuseWaiting(): void {
    const pool = this.#pool
    const waiting = pool.queue.slice(pool.next)
    pool.queue = waiting.filter(({ owner }) => owner !== this)
    pool.next = 0
    for (const { owner, reject } of waiting) if (owner === this) reject(this.#signal.reason)
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
  readonly owner: Permits
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}
