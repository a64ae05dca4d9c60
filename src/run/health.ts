import type { Clock } from "../ports/clock.ts"

/** What keeps the service from doing its work. */
export type TroubleKind = "store" | "descriptors"

interface Trouble {
  sentence: string
  readonly since: number
  count: number
  /** Events since the last line in the log. */
  unlogged: number
  loggedAt: number
}

export interface HealthLog {
  info(about: Readonly<Record<string, unknown>>, message: string): void
  error(about: Readonly<Record<string, unknown>>, message: string): void
}

/** A trouble that lasts is logged this often, however many requests it meets. */
const logEveryMs = 60_000

/**
 * The troubles that the service has right now. While there is one, no run is admitted or taken up and readiness is off. The
 * log has a line when one begins, one a minute while it lasts, and one when it is over.
 */
export class Health {
  readonly #clock: Clock
  readonly #log: HealthLog
  readonly #troubles = new Map<TroubleKind, Trouble>()

  constructor(clock: Clock, log: HealthLog) {
    this.#clock = clock
    this.#log = log
  }

  /** The trouble that began first; null when all is well. */
  get trouble(): { readonly kind: TroubleKind; readonly sentence: string } | null {
    for (const [kind, { sentence }] of this.#troubles) return { kind, sentence }
    return null
  }

  failed(kind: TroubleKind, sentence: string): void {
    const now = this.#clock.monotonic()
    const known = this.#troubles.get(kind)
    if (known === undefined) {
      this.#troubles.set(kind, { sentence, since: now, count: 1, unlogged: 0, loggedAt: now })
      this.#log.error({ trouble: kind }, sentence)
      return
    }
    known.sentence = sentence
    known.count++
    known.unlogged++
    if (now - known.loggedAt < logEveryMs) return
    this.#log.error({ trouble: kind, failures: known.unlogged }, sentence)
    known.unlogged = 0
    known.loggedAt = now
  }

  worked(kind: TroubleKind): void {
    const known = this.#troubles.get(kind)
    if (known === undefined) return
    this.#troubles.delete(kind)
    const seconds = Math.round((this.#clock.monotonic() - known.since) / 1000)
    this.#log.info({ trouble: kind, failures: known.count, seconds }, over[kind])
  }
}

const over: Readonly<Record<TroubleKind, string>> = {
  store: "the store can be written to again",
  descriptors: "there are file descriptors again",
}
