import type { Clock } from "../ports/clock.ts"

/** After this time a run that its process survives no longer keeps others waiting, in milliseconds. */
const longestTurnMs = 60_000

/**
 * Runs that made no progress before their process died. Each of them may have killed it, so a process resumes one at a time: the next one
 * begins when this one has made progress or has ended. So a run that kills its process is blamed alone, and not those beside it that
 * waited for an answer.
 */
export class Suspects {
  readonly #clock: Clock
  #last: Promise<void> = Promise.resolve()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves when it is the run's turn, with what ends the turn. Rejects when the signal aborts first. */
  async turn(signal: AbortSignal): Promise<() => void> {
    const before = this.#last
    const over = new AbortController()
    const end = (): void => over.abort()
    const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))
    this.#last = before.then(() => this.#clock.sleep(longestTurnMs, over.signal).catch(() => undefined))
    await Promise.race([before, aborted])
    if (signal.aborted) end()
    signal.throwIfAborted()
    return end
  }
}
