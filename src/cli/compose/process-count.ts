import type { OpenedStore } from "./open-store.ts"

/** How often a shared store is asked. */
const everyMs = 10_000

/** How many processes share the rates: those that have the same store open. */
export class ProcessCount {
  readonly #own: () => number
  readonly #timer: NodeJS.Timeout | null = null
  #shared: number | null = null

  /** `own`: processes of this service, where its store is shared with nobody else. */
  constructor({ processes }: Pick<OpenedStore, "processes">, own: () => number) {
    this.#own = own
    if (processes === undefined) return
    // While the store is away the last number counts.
    const ask = (): void =>
      void processes().then(
        (count) => (this.#shared = count),
        () => undefined,
      )
    ask()
    this.#timer = setInterval(ask, everyMs).unref()
  }

  get count(): number {
    return Math.max(1, this.#shared ?? this.#own())
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }
}
