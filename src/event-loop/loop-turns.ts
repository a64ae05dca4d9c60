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

/** The line of all that is small, whoever it is for. */
const small = Symbol("small")

/**
 * Shares the turns of the event loop among all that handle large values: answers of models, parts of logs, events of streams, bodies of
 * requests. Each of them takes a few milliseconds; many of them in one turn would keep everybody else's requests from being looked at.
 * Callers take turns, and small work does not wait behind large work.
 *
 * The loop accepts one connection a turn, so that a new one waits for as many turns as there are connections before it. While
 * connections come, large values wait.
 */
export class LoopTurns {
  #bytes = 0
  /** The line whose turn is next comes first. */
  readonly #waiting = new Map<string | typeof small, Waiting[]>()
  #isScheduled = false
  #hasAccepted = false
  /** Since when new connections have gone first; null when they do not. */
  #delayedSince: number | null = null
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Await it before work on this many bytes. Resolves immediately while the turn has room for a small one. */
  async spend(bytes: number, caller = ""): Promise<void> {
    const cost = bytes + pieceBytes
    this.#schedule()
    const line = isLarge(bytes) ? caller : small
    if (line === small && !this.#waiting.has(small) && this.#hasRoom(cost)) this.#bytes += cost
    else await new Promise<void>((go) => this.#add(line, { cost, go }))
  }

  #add(line: string | typeof small, waiting: Waiting): void {
    const found = this.#waiting.get(line)
    if (found === undefined) this.#waiting.set(line, [waiting])
    else found.push(waiting)
  }

  /** The same for work that is nearly always small: null where nothing has to be awaited. */
  forLarge(bytes: number, caller?: string): Promise<void> | null {
    return isLarge(bytes) ? this.spend(bytes, caller) : null
  }

  /** Nothing waits for a turn, and no turn is scheduled. */
  get isIdle(): boolean {
    return !this.#isScheduled
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
    if (this.#waiting.size === 0) return
    this.#schedule()
    if (hasAccepted && this.#mayDelay()) return
    this.#delayedSince = null
    for (const go of this.#next()) go()
  }

  /** What goes on in this turn. A line that had something goes to the end; one whose first piece does not fit keeps its place. */
  #next(): (() => void)[] {
    const going: (() => void)[] = []
    for (const [line, waiting] of this.#waiting) {
      let count = 0
      for (const { cost } of waiting) {
        if (!this.#hasRoom(cost)) break
        this.#bytes += cost
        count++
        if (line !== small) break
      }
      if (count === 0) continue
      going.push(...waiting.splice(0, count).map(({ go }) => go))
      this.#waiting.delete(line)
      if (waiting.length > 0) this.#waiting.set(line, waiting)
    }
    return going
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

/** The turns of this thread's event loop. */
export const loopTurns = new LoopTurns()
