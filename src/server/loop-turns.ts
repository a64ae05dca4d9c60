/** Bytes that all streams together write in one turn of the event loop. A larger event has a turn of its own. */
const turnBytes = 256 * 1024
/** What an event costs besides its bytes, in bytes. */
const eventBytes = 1024

/**
 * Shares the event loop's turns among streams. Reading and writing an event takes no waiting as long as the client's connection has
 * room, so that many streams of large events could keep everybody else's requests from being looked at. A new connection waits for
 * as many turns as there are connections before it, so turns have to be short.
 */
export class LoopTurns {
  #bytes = 0
  #waiting: { readonly cost: number; readonly go: () => void }[] = []
  #isScheduled = false

  /** To be awaited before so many bytes are written. Resolves at once while the turn has room. */
  async spend(bytes: number): Promise<void> {
    const cost = bytes + eventBytes
    this.#schedule()
    if (this.#waiting.length === 0 && this.#hasRoom(cost)) this.#bytes += cost
    else await new Promise<void>((go) => this.#waiting.push({ cost, go }))
  }

  #hasRoom(cost: number): boolean {
    return this.#bytes === 0 || this.#bytes + cost <= turnBytes
  }

  #turn(): void {
    this.#bytes = 0
    this.#isScheduled = false
    if (this.#waiting.length === 0) return
    this.#schedule()
    let going = 0
    for (const { cost } of this.#waiting) {
      if (!this.#hasRoom(cost)) break
      this.#bytes += cost
      going++
    }
    for (const { go } of this.#waiting.splice(0, going)) go()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#turn())
  }
}
