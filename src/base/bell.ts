/** Wakes the one that waits for it. A ring before the wait is kept, so that none is missed. */
export class Bell {
  #formatLevel = false
  #wake: (() => void) | null = null

  ring(): void {
    this.#formatLevel = true
    this.#wake?.()
  }

  /** Resolves once it has been rung since the last time. */
  async formatLevel(): Promise<void> {
    if (!this.#formatLevel) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = null
    }
    this.#formatLevel = false
  }
}
