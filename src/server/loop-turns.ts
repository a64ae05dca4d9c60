/** Bytes that all streams together write before the event loop goes round. */
const turnBytes = 512 * 1024
/** Streams that go on in one turn, when more than that was to be written. */
const turnStreams = 4
/** What an event costs besides its bytes, in bytes. */
const eventBytes = 1024

/**
 * Shares the event loop's turns among streams. Reading and writing an event takes no waiting as long as the client's connection has
 * room, so that many streams of large events could keep everybody else's requests from being looked at.
 */
export class LoopTurns {
  #bytes = 0
  #waiting: (() => void)[] = []
  #isScheduled = false

  /** To be awaited after an event of so many bytes, and before the first. Resolves at once while the turn has room. */
  async spend(bytes: number): Promise<void> {
    this.#bytes += bytes + eventBytes
    this.#schedule()
    if (this.#bytes > turnBytes) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #turn(): void {
    this.#bytes = 0
    this.#isScheduled = false
    const going = this.#waiting.splice(0, turnStreams)
    if (this.#waiting.length > 0) this.#schedule()
    for (const go of going) go()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#turn())
  }
}
