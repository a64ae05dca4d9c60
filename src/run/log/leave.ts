import { LateSet } from "../../base/late-set.ts"

/** Tells a run to stop and to leave its log as it is. Every run has one: an `AbortSignal` takes ten times the memory. */
export class Leave {
  readonly #listeners = new LateSet<() => void>()
  #isAsked = false

  get isAsked(): boolean {
    return this.#isAsked
  }

  /** Calls back once, when the run has to leave. The result ends the listening. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  ask(): void {
    if (this.#isAsked) return
    this.#isAsked = true
    for (const listener of this.#listeners) listener()
  }
}
