/** The places of a run, those of the workflows that it calls included. */
interface Pool {
  /** Places that are taken: by open calls, and by called workflows that run in one. */
  taken: number
  open: number
  queue: Waiter[]
  next: number
  idle: (() => void)[]
}

/**
 * Bounds how many calls of a run are open at once, first come, first served, and knows when none is. A call that waits is
 * not open: when the signal aborts it leaves the queue with the signal's reason.
 *
 * A called workflow takes a place, too. Its calls use that place one after the other, and others of the run where some are free. So
 * each workflow that has begun can go on, however few places there are and however deep it is.
 */
export class Permits {
  readonly #most: number
  readonly #signal: AbortSignal
  readonly #pool: Pool
  readonly #around: Permits | null
  /** The place that a called workflow runs in; null for the run itself, and for a workflow that has given it up. */
  #own: { readonly place: Place; free: boolean } | null
  #givesUp = false
  /** Calls here that wait, of those in the queue. */
  #waiting: Waiter[] = []
  #listens = false
  /** Open calls here, of those in the pool. */
  #open = 0
  readonly #idle: (() => void)[] = []

  constructor(
    most: number,
    signal: AbortSignal,
    around: { readonly permits: Permits; readonly place: Place } | null = null,
  ) {
    this.#most = most
    this.#signal = signal
    this.#around = around?.permits ?? null
    this.#own = around === null ? null : { place: around.place, free: true }
    this.#pool = this.#around === null ? { taken: 0, open: 0, queue: [], next: 0, idle: [] } : this.#around.#pool
  }

  /** Permits of a called workflow, which runs in this place. */
  within(signal: AbortSignal, place: Place): Permits {
    return new Permits(this.#most, signal, { permits: this, place })
  }

  /** Open calls of the whole run. */
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
    if (this.#own?.free === true) {
      this.#own.free = false
      return this.#place(() => this.#backToOwn())
    }
    if (this.#pool.taken < this.#most) {
      this.#pool.taken++
      return this.#place(() => this.#backToPool())
    }
    if (!this.#listens) this.#signal.addEventListener("abort", () => this.#refuseWaiting(), { once: true })
    this.#listens = true
    return new Promise((resolve, reject) => {
      const waiter = { owner: this, resolve, reject, served: false }
      this.#pool.queue.push(waiter)
      if (this.#own !== null) this.#waiting.push(waiter)
    })
  }

  /** Takes a place for a called workflow, a `held` one where it is still free. It is no open call: those inside are. */
  enter(held?: Place): Place | Promise<Place> {
    const taken = held?.claim() === true ? held : this.take()
    return taken instanceof Place ? taken.lent() : taken.then((place) => place.lent())
  }

  /** Something here waits for a person. The place of the workflow is free for others: calls here take those of the run. */
  giveUp(): void {
    this.#givesUp = true
    if (this.#own?.free === true) this.#leaveOwn()
    this.#around?.giveUp()
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

  #place(giveBack: () => void): Place {
    this.#open++
    this.#pool.open++
    return new Place(giveBack, () => this.#closed())
  }

  #closed(): void {
    this.#open--
    this.#pool.open--
    if (this.#pool.open === 0) for (const resolve of this.#pool.idle.splice(0)) resolve()
    if (this.#open === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  #backToOwn(): void {
    const next = this.#waiting.find(({ served }) => !served)
    this.#waiting = this.#waiting.filter((waiter) => waiter !== next && !waiter.served)
    if (next !== undefined) this.#pass(next, () => this.#backToOwn())
    else if (this.#givesUp) this.#leaveOwn()
    else if (this.#own !== null) this.#own.free = true
  }

  #leaveOwn(): void {
    const own = this.#own
    this.#own = null
    this.#waiting = []
    own?.place.release()
  }

  #backToPool(): void {
    const pool = this.#pool
    while (pool.queue[pool.next]?.served === true) pool.next++
    const next = pool.queue[pool.next]
    if (pool.next > 1024 || pool.next === pool.queue.length) {
      pool.queue = pool.queue.slice(pool.next)
      pool.next = 0
    }
    // The place passes to the next in the queue, so that a newcomer cannot take it.
    if (next === undefined) pool.taken--
    else this.#pass(next, () => this.#backToPool())
  }

  #pass(next: Waiter, giveBack: () => void): void {
    next.served = true
    const place = next.owner.#place(giveBack)
    // After the promises of this turn: what came of the call that made room is in the log before the next one begins.
    setImmediate(() => next.resolve(place))
  }

  #refuseWaiting(): void {
    const pool = this.#pool
    const waiting = pool.queue.slice(pool.next).filter(({ served }) => !served)
    pool.queue = waiting.filter(({ owner }) => owner !== this)
    pool.next = 0
    this.#waiting = []
    for (const waiter of waiting) if (waiter.owner === this) waiter.reject(this.#signal.reason)
  }
}

/** A place among the open calls of a run. One call after another may use it: the next one claims it while it is held. */
export class Place {
  readonly #giveBack: () => void
  readonly #onClosed: () => void
  #state: "held" | "claimed" | "released" = "held"
  #isOpen = true

  constructor(giveBack: () => void, onClosed: () => void) {
    this.#giveBack = giveBack
    this.#onClosed = onClosed
  }

  /** False when another call has it, or had it. */
  claim(): boolean {
    if (this.#state !== "held") return false
    this.#state = "claimed"
    return true
  }

  /** A called workflow runs in it: the place is taken, and no call is open in it. */
  lent(): this {
    this.#close()
    return this
  }

  release(): void {
    if (this.#state === "released") return
    this.#state = "released"
    this.#giveBack()
    this.#close()
  }

  releaseUnclaimed(): void {
    if (this.#state === "held") this.release()
  }

  #close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#onClosed()
  }
}

interface Waiter {
  readonly owner: Permits
  readonly resolve: (place: Place) => void
  readonly reject: (reason: unknown) => void
  served: boolean
}
