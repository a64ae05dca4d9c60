/** Listeners that are called each time, until they stop listening. */
export class Listeners<A extends readonly unknown[] = []> {
  readonly #all = new Set<(...values: A) => void>()

  get size(): number {
    return this.#all.size
  }

  /** The result stops listening. */
  add(listener: (...values: A) => void): () => void {
    const registered = (...values: A): void => {
      if (this.#all.has(registered)) listener(...values)
    }
    this.#all.add(registered)
    return () => this.#all.delete(registered)
  }

  /** They are called after this has returned. */
  tell(...values: A): void {
    for (const registered of this.#all) queueMicrotask(() => registered(...values))
  }

  clear(): void {
    this.#all.clear()
  }
}

/** Listeners by name, each of which is called once. */
export class OnceListeners {
  readonly #byName = new Map<string, Set<() => void>>()

  /** How many names have listeners. */
  get size(): number {
    return this.#byName.size
  }

  names(): Iterable<string> {
    return this.#byName.keys()
  }

  /** The result stops listening. */
  add(name: string, listener: () => void): () => void {
    const listeners = this.#byName.get(name) ?? new Set()
    const stop = (): boolean => {
      const was = listeners.delete(registered)
      if (listeners.size === 0 && this.#byName.get(name) === listeners) this.#byName.delete(name)
      return was
    }
    const registered = (): void => {
      if (stop()) listener()
    }
    this.#byName.set(name, listeners.add(registered))
    return stop
  }

  /** They are called after this has returned. */
  tell(name: string): void {
    for (const registered of this.#byName.get(name) ?? []) queueMicrotask(registered)
  }

  clear(): void {
    for (const listeners of this.#byName.values()) listeners.clear()
    this.#byName.clear()
  }
}
