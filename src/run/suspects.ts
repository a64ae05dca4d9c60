import type { Clock } from "../ports/clock.ts"
import type { RandomSource } from "../ports/random-source.ts"

/** A run that its process survives for so long, alone, is not a suspect any more. */
export const aloneMs = 30_000

/**
 * How long a suspect rests before it is resumed alone, by the number of processes that died then; up to twice as long at random. A process that
 * somebody kills for another reason dies in the rest, or long after the run began, and hardly ever in the seconds after it.
 */
const restsMs = [0, 120_000, 1_800_000]

/** The turn of a run that may have killed its process. */
export interface SuspectTurn {
  /** Aborts when the turn has ended. */
  readonly over: AbortSignal
  /** The run got further, has ended or did no harm: the next one may begin. */
  readonly end: () => void
}

/**
 * Runs that made no progress before their process died. Each of them may have killed it, so a process resumes one at a time: the next one
 * begins when this one has made progress, has ended, or did no harm for a while. So a run that kills its process is blamed alone, and not those
 * beside it that waited for an answer.
 */
export class Suspects {
  readonly #clock: Clock
  readonly #random: Pick<RandomSource, "fraction">
  #last: Promise<void> = Promise.resolve()

  constructor(clock: Clock, random: Pick<RandomSource, "fraction">) {
    this.#clock = clock
    this.#random = random
  }

  /** Resolves when it is the run's turn. `deaths`: how often its process died while it ran alone. Rejects when the signal aborts first. */
  async turn(deaths: number, signal: AbortSignal): Promise<SuspectTurn> {
    const restMs = restsMs[Math.min(deaths, restsMs.length - 1)] ?? 0
    if (restMs > 0) await this.#clock.sleep(restMs * (1 + this.#random.fraction()), signal)
    signal.throwIfAborted()
    const before = this.#last
    const over = new AbortController()
    const end = (): void => over.abort(new Error("The turn is over"))
    this.#last = before.then(() => aborted(over.signal))
    await Promise.race([before, aborted(signal)])
    if (signal.aborted) end()
    signal.throwIfAborted()
    return { over: over.signal, end }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })
}
