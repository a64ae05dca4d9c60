/**
 * Reports something that may happen thousands of times: the first time at once, and after that at most once in a while, with how often it has happened since
 * and with the facts of the last time.
 */
export class ThrottledLog<Facts> {
  readonly #everyMs: number
  readonly #report: (facts: Facts, times: number) => void
  #unreported: { readonly facts: Facts; readonly times: number } | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(everyMs: number, report: (facts: Facts, times: number) => void) {
    this.#everyMs = everyMs
    this.#report = report
  }

  happened(facts: Facts): void {
    if (this.#timer !== null) {
      this.#unreported = { facts, times: (this.#unreported?.times ?? 0) + 1 }
      return
    }
    this.#report(facts, 1)
    this.#wait()
  }

  /** Reports what has not been reported yet. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#flush()
  }

  #wait(): void {
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (this.#flush()) this.#wait()
    }, this.#everyMs).unref()
  }

  #flush(): boolean {
    if (this.#unreported === null) return false
    const { facts, times } = this.#unreported
    this.#unreported = null
    this.#report(facts, times)
    return true
  }
}
