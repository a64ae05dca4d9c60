import { FairQueue } from "../base/fair-queue.ts"
import { requestInOneTurn } from "../base/limits.ts"

/** After so long no further request begins in the same turn of the event loop. */
const turnMs = 5

/**
 * Decides when a request begins. A caller with hundreds of connections could have hundreds of requests handled in one turn of the event loop,
 * and everybody else would wait for the end of that turn. So each turn begins a few of them, and callers take turns.
 */
export class RequestTurns {
  readonly #waiting = new FairQueue<() => void>()
  readonly #now: () => number
  readonly #perTurn: number
  #lastId = 0
  #begun = 0
  #since = 0
  #isScheduled = false

  constructor(now: () => number = () => performance.now(), perTurn = requestInOneTurn) {
    this.#now = now
    this.#perTurn = perTurn
  }

  /** Calls `begin` at once while there is room in this turn of the loop, else when it is the caller's turn. */
  take(caller: string, begin: () => void): void {
    if (!this.#isScheduled) this.#open()
    if (this.#waiting.size === 0 && this.#hasRoom()) {
      this.#begun++
      begin()
    } else this.#waiting.add(caller, String(++this.#lastId), begin)
  }

  #open(): void {
    this.#begun = 0
    this.#since = this.#now()
    this.#isScheduled = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    this.#isScheduled = false
    if (this.#waiting.size === 0) return
    this.#open()
    while (this.#hasRoom()) {
      const id = this.#waiting.next(() => true)
      const begin = id === undefined ? undefined : this.#waiting.remove(id)
      if (begin === undefined) return
      this.#begun++
      begin()
    }
  }

  #hasRoom(): boolean {
    return this.#begun < this.#perTurn && (this.#begun === 0 || this.#now() - this.#since < turnMs)
  }
}
