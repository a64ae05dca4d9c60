import type { Clock } from "../../ports/clock.ts"

/** How long backends keep what they are asked to keep. */
const keptMs = 5 * 60_000
const most = 10_000

/** The beginnings of prompts that this process has sent in the last five minutes. */
export class SentBeginnings {
  readonly #clock: Clock
  readonly #sentAt = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** One is sent now. Whether it was before. */
  send(beginning: string): boolean {
    const now = this.#clock.monotonic()
    const before = this.#sentAt.get(beginning)
    this.#sentAt.delete(beginning)
    this.#sentAt.set(beginning, now)
    const [oldest] = this.#sentAt.keys()
    if (this.#sentAt.size > most && oldest !== undefined) this.#sentAt.delete(oldest)
    return before !== undefined && before > now - keptMs
  }
}
