import { FairQueue } from "./fair-queue.ts"

/** Does so many pieces of work at a time. Those that wait take turns by caller. */
export class FairTurns {
  readonly #most: number
  readonly #waiting = new FairQueue<() => void>()
  #busy = 0
  #asked = 0

  constructor(most: number) {
    this.#most = most
  }

  async do<T>(caller: string, work: () => Promise<T>): Promise<T> {
    if (this.#busy < this.#most) this.#busy++
    else await new Promise<void>((go) => this.#waiting.add(caller, String(this.#asked++), go))
    try {
      return await work()
    } finally {
      this.#passOn()
    }
  }

  /** The place goes to the next that waits, so that a newcomer cannot take it. */
  #passOn(): void {
    const next = this.#waiting.next(() => true)
    const go = next === undefined ? undefined : this.#waiting.remove(next)
    if (go === undefined) this.#busy--
    else go()
  }
}
