import { timerMs } from "../base/timer-ms.ts"
import type { CallTimer, Waits } from "./egress.ts"

/** Sums the time in which a call waits for this service: for memory, for a connection or for its turn. Waits that overlap count once. */
export class WaitedTime implements Waits {
  readonly #now: () => number
  #waits = 0
  #since = 0
  #sumMs = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  get ms(): number {
    return this.#waits > 0 ? this.#sumMs + this.#now() - this.#since : this.#sumMs
  }

  async during<T>(wait: Promise<T>): Promise<T> {
    if (this.#waits++ === 0) this.#since = this.#now()
    try {
      return await wait
    } finally {
      if (--this.#waits === 0) this.#sumMs += this.#now() - this.#since
    }
  }

  timer(ms: number, late: (waitedMs: number | null) => void): CallTimer {
    return new WaitingTimer(this, ms, late, this.#now)
  }
}

/** Milliseconds after which a timer looks again whether its call still waits. */
const lookMs = 50

class WaitingTimer implements CallTimer {
  readonly #waited: WaitedTime
  readonly #ms: number
  readonly #late: (waitedMs: number | null) => void
  readonly #now: () => number
  #startedAt = 0
  #waitedBefore = 0
  #timer: NodeJS.Timeout | undefined

  constructor(waited: WaitedTime, ms: number, late: (waitedMs: number | null) => void, now: () => number) {
    this.#waited = waited
    this.#ms = ms
    this.#late = late
    this.#now = now
    this.restart()
  }

  restart(): void {
    this.#startedAt = this.#now()
    this.#waitedBefore = this.#waited.ms
    this.#wait(this.#ms)
  }

  clear(): void {
    clearTimeout(this.#timer)
  }

  #wait(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#look(), timerMs(ms))
  }

  #look(): void {
    const waitedMs = this.#waited.ms - this.#waitedBefore
    const leftMs = this.#ms - (this.#now() - this.#startedAt - waitedMs)
    if (waitedMs >= this.#ms) this.#late(Math.round(waitedMs))
    else if (waitedMs === 0 || leftMs < 1) this.#late(null)
    else this.#wait(Math.max(leftMs, lookMs))
  }
}
