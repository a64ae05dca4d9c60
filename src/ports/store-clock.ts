import type { Clock } from "./clock.ts"

/** How often the store is asked for its time, and how often a clock that is wrong is reported. */
const learnMs = 60_000
/** How often this process compares its own clocks, which costs nothing. */
const lookMs = 5_000
/** A clock that is wrong by more than this is reported. Two processes never differ by so much in what they take for the store's time. */
export const wrongMs = 2_000
/** A jump of the store's time counts once it has held for so long: one that is taken back before does no harm. */
const heldMs = 60_000
/** An answer that was longer on its way says too little. */
const slowMs = 1_000
/** How often a process that starts asks, for an answer that was quick, or at least not slow. */
const attempts = { quick: 3, most: 10 }

export interface ClockReports {
  /** The wall clock of this process is ahead of the store's time by so much, or behind it. Comes once a minute while that lasts. */
  wrong(aheadMs: number): void
  /** The store's time has jumped by so much, and has stayed there. */
  jumped(byMs: number): void
}

/** Where a store takes its time from. */
export interface TimeSource {
  /** Milliseconds since the epoch. Rejects while the store fails. */
  readonly time: () => Promise<number>
  /** What processes on this machine have learned: the store's time minus the monotonic clock; null where none has. Absent where the store's clock is another machine's. */
  readonly learned?: { read(): number | null; write(offset: number): void } | undefined
}

/**
 * The time of the store, which decides whatever has a date: expiry, schedules, waits, retention. It follows the monotonic clock of this process from
 * what the store last said, so that setting the wall clock of a process changes nothing.
 */
export class StoreClock implements Clock {
  readonly #machine: Clock
  /** Store time minus the monotonic clock. */
  #offset: number
  /** Another offset that the store has spoken of, and since when. */
  #doubt: { readonly offset: number; readonly since: number } | null = null

  /** Until the store was asked, the wall clock of this process counts. */
  constructor(machine: Clock) {
    this.#machine = machine
    this.#offset = machine.now() - machine.monotonic()
  }

  now(): number {
    return Math.floor(this.#offset + this.#machine.monotonic())
  }

  monotonic(): number {
    return this.#machine.monotonic()
  }

  wall(): number {
    return this.#machine.now()
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#machine.sleep(ms, signal)
  }

  /** How far the wall clock of this process is ahead of the store's time. */
  get aheadMs(): number {
    return this.wall() - this.now()
  }

  /** To be awaited before anything is decided by this clock. Rejects where the store fails. */
  async learn(source: TimeSource): Promise<void> {
    const known = source.learned?.read() ?? null
    let best = await this.#sample(source)
    for (let attempt = 1; attempt < attempts.most && best.tookMs > slowMs / 10; attempt++) {
      if (attempt >= attempts.quick && best.tookMs <= slowMs) break
      const sample = await this.#sample(source)
      if (sample.tookMs < best.tookMs) best = sample
    }
    this.#offset = known ?? best.offset
    this.#take(best.offset, source)
  }

  /** Asks again every minute, until the signal. */
  async keep(source: TimeSource, reports: ClockReports, signal: AbortSignal): Promise<void> {
    let [reportedAt, askedAt] = [Number.NEGATIVE_INFINITY, this.monotonic()]
    let ahead = this.aheadMs
    for (;;) {
      if (Math.abs(this.aheadMs) > wrongMs && this.monotonic() - reportedAt >= learnMs) {
        reportedAt = this.monotonic()
        reports.wrong(this.aheadMs)
      }
      try {
        await this.sleep(lookMs, signal)
        // Also where a wall clock was set, or the machine has slept: the store knows which.
        const isStrange = this.#doubt !== null || Math.abs(this.aheadMs - ahead) > wrongMs
        if (!isStrange && this.monotonic() - askedAt < learnMs) continue
        askedAt = this.monotonic()
        ahead = this.aheadMs
        const { offset, tookMs } = await this.#sample(source)
        if (tookMs <= slowMs) this.#take(offset, source, reports)
      } catch {
        // The store is watched elsewhere. What was learned before goes on.
        if (signal.aborted) return
      }
    }
  }

  async #sample(source: TimeSource): Promise<{ readonly offset: number; readonly tookMs: number }> {
    const asked = this.monotonic()
    const time = await source.time()
    const tookMs = this.monotonic() - asked
    return { offset: time - asked - tookMs / 2, tookMs }
  }

  #take(offset: number, source: TimeSource, reports?: ClockReports): void {
    const now = this.monotonic()
    const byMs = offset - this.#offset
    const isSame = Math.abs(byMs) <= wrongMs
    const isDoubted = this.#doubt !== null && Math.abs(offset - this.#doubt.offset) <= wrongMs
    if (!isSame && !isDoubted) this.#doubt = { offset, since: now }
    if (!isSame && now - (this.#doubt?.since ?? now) < heldMs) return
    this.#offset = offset
    this.#doubt = null
    source.learned?.write(offset)
    if (!isSame) reports?.jumped(byMs)
  }
}
