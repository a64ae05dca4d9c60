/** Counts by name. A name that is back at zero takes no memory. */
export class Tally {
  readonly #counts = new Map<string, number>()

  /** Names that are not at zero. */
  get size(): number {
    return this.#counts.size
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  add(name: string, amount = 1): void {
    const now = this.of(name) + amount
    if (now > 0) this.#counts.set(name, now)
    else this.#counts.delete(name)
  }

  remove(name: string): void {
    this.add(name, -1)
  }

  entries(): Iterable<readonly [string, number]> {
    return this.#counts.entries()
  }
}
