/** Wakes the one that waits for it. A signal before the wait is kept, so that none is missed. */
export class WakeUp {
  #signalled = false
  #wake: (() => void) | null = null

  signal(): void {
    this.#signalled = true
    this.#wake?.()
  }

  /** Resolves once it has been signalled since the last time. */
  async signalled(): Promise<void> {
    if (!this.#signalled) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = null
    }
    this.#signalled = false
  }
}
