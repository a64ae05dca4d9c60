/** Waiting items in one line for each caller. The lines take turns, and within a line the first comes first. */
export class FairQueue<Item> {
  /** By caller, then by id. The caller whose turn is next comes first. */
  readonly #lines = new Map<string, Map<string, Item>>()
  readonly #callers = new Map<string, string>()

  get size(): number {
    return this.#callers.size
  }

  ids(): string[] {
    return [...this.#callers.keys()]
  }

  callerOf(id: string): string | undefined {
    return this.#callers.get(id)
  }

  add(caller: string, id: string, item: Item): void {
    const line = this.#lines.get(caller) ?? new Map<string, Item>()
    line.set(id, item)
    this.#lines.set(caller, line)
    this.#callers.set(id, caller)
  }

  remove(id: string): Item | undefined {
    const caller = this.#callers.get(id)
    const line = caller === undefined ? undefined : this.#lines.get(caller)
    if (caller === undefined || line === undefined) return undefined
    const item = line.get(id)
    line.delete(id)
    this.#callers.delete(id)
    if (line.size === 0) this.#lines.delete(caller)
    return item
  }

  /** The id whose turn it is among callers that may have one more, if there is any. Its caller's next turn comes after all others'. */
  next(mayHave: (caller: string) => boolean): string | undefined {
    for (const [caller, line] of this.#lines) {
      if (!mayHave(caller)) continue
      this.#lines.delete(caller)
      this.#lines.set(caller, line)
      for (const id of line.keys()) return id
    }
    return undefined
  }
}
