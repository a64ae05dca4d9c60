/** Fewer items that are asked would wait longer than they save. */
const leastItems = 8

/**
 * Parallel twins of a prompt all pay for what they share, because a backend reads its cache only after the first has begun to be answered: in a loop one
 * item is sent ahead, and the others wait for the beginning of its answer. Items that ask nobody do not count.
 */
export class FirstWarms {
  #left: number
  /** Positions of items that have asked, or wait to. */
  readonly #asked = new Set<number>()
  /** By model: the others wait for this. */
  readonly #ahead = new Map<string, Ahead>()

  constructor(items: number) {
    this.#left = items
  }

  /** Null: the item may be asked at once. Else whoever is first goes ahead, and must end it; the others wait. */
  enter(item: number, model: string): Ahead | Promise<void> | null {
    this.#asked.add(item)
    const before = this.#ahead.get(model)
    if (before !== undefined) return before.isDone ? null : before.done
    if (this.#left < leastItems) return null
    const ahead = new Ahead()
    this.#ahead.set(model, ahead)
    return ahead
  }

  /** The item is done with. */
  leave(item: number): void {
    if (this.#asked.has(item) || --this.#left >= leastItems) return
    for (const ahead of this.#ahead.values()) ahead.end()
  }
}

/** The item that is sent ahead. */
export class Ahead {
  isDone = false
  readonly done: Promise<void>
  readonly #end: () => void

  constructor() {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.done = promise
    this.#end = () => resolve(undefined)
  }

  /** It has begun to be answered, or has failed. */
  end(): void {
    this.isDone = true
    this.#end()
  }
}
