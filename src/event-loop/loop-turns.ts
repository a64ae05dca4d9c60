/** Bytes that all work on large values together takes on in one turn of the event loop. A larger piece has a turn of its own. */
const turnBytes = 256 * 1024
/** What a piece of work costs besides its bytes, in bytes. */
const pieceBytes = 1024
/** Work on this many bytes always waits for its turn. */
const large = 64 * 1024
/** Whether work on this many bytes always waits for its turn. */
export function isLarge(bytes: number): boolean {
  return bytes >= large
}

/** Milliseconds for which new connections go first. */
const longestDelay = 50

interface Waiting {
  readonly cost: number
  readonly go: () => void
}

/**
 * Shares the turns of the event loop among all that handle large values: answers of models, parts of logs, events of streams, bodies of
 * requests. Each of them takes a few milliseconds; many of them in one turn would keep everybody else's requests from being looked at.
 *
 * The loop accepts one connection a turn, so that a new one waits for as many turns as there are connections before it. While
 * connections come, large values wait.
 */
export class LoopTurns {
  #bytes = 0
  #waiting: Waiting[] = []
  #isScheduled = false
  #hasAccepted = false
  /** Since when new connections have gone first; null when they do not. */
  #delayedSince: number | null = null
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Await it before work on this many bytes. Resolves immediately while the turn has room for a small one. */
  async spend(bytes: number): Promise<void> {
    const cost = bytes + pieceBytes
    this.#schedule()
    if (!isLarge(bytes) && this.#waiting.length === 0 && this.#hasRoom(cost)) this.#bytes += cost
    else await new Promise<void>((go) => this.#waiting.push({ cost, go }))
  }

  /** The same for work that is nearly always small: null where nothing has to be awaited. */
  forLarge(bytes: number): Promise<void> | null {
    return isLarge(bytes) ? this.spend(bytes) : null
  }

  /** A connection was accepted: others may be waiting behind it. */
  accepted(): void {
    this.#hasAccepted = true
  }

  #hasRoom(cost: number): boolean {
    return this.#bytes === 0 || this.#bytes + cost <= turnBytes
  }

  #turn(): void {
    this.#bytes = 0
    this.#isScheduled = false
    const hasAccepted = this.#hasAccepted
    this.#hasAccepted = false
    if (this.#waiting.length === 0) return
    this.#schedule()
    if (hasAccepted && this.#mayDelay()) return
    this.#delayedSince = null
    let going = 0
    for (const { cost } of this.#waiting) {
      if (!this.#hasRoom(cost)) break
      this.#bytes += cost
      going++
    }
    for (const { go } of this.#waiting.splice(0, going)) go()
  }

  #mayDelay(): boolean {
    this.#delayedSince ??= this.#now()
    return this.#now() - this.#delayedSince < longestDelay
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#turn())
  }
}

/** Those of this thread's event loop. */
export const loopTurns = new LoopTurns()
