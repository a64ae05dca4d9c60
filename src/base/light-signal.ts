/** A signal that is given once: that a run has to leave its process, that a client is gone. Every run has some: an `AbortSignal` takes ten times the memory. */
export class LightSignal {
  readonly #listeners = new Set<() => void>()
  #isGiven = false

  get isGiven(): boolean {
    return this.#isGiven
  }

  /** Calls back when it is given. The result ends the listening. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  give(): void {
    if (this.#isGiven) return
    this.#isGiven = true
    for (const listener of this.#listeners) listener()
  }
}
