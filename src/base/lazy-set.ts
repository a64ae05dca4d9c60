const nothing: ReadonlySet<never> = new Set<never>()

/** A set that takes no memory until it has an element: a run has many, and most runs use few of them. */
export class LazySet<Element> {
  #set: Set<Element> | null = null

  get size(): number {
    return this.#set === null ? 0 : this.#set.size
  }

  has(element: Element): boolean {
    return this.#set !== null && this.#set.has(element)
  }

  add(element: Element): this {
    this.#set ??= new Set()
    this.#set.add(element)
    return this
  }

  delete(element: Element): boolean {
    return this.#set !== null && this.#set.delete(element)
  }

  [Symbol.iterator](): SetIterator<Element> {
    const elements: ReadonlySet<Element> = this.#set ?? nothing
    return elements.values()
  }
}
