const nothing: ReadonlyMap<never, never> = new Map<never, never>()

/** A map that takes no memory until it has an entry: a run has many, and most runs use few of them. */
export class LazyMap<Key, Value> implements ReadonlyMap<Key, Value> {
  #map: Map<Key, Value> | null = null

  get size(): number {
    return this.#map === null ? 0 : this.#map.size
  }

  get(key: Key): Value | undefined {
    return this.#map?.get(key)
  }

  has(key: Key): boolean {
    return this.#map !== null && this.#map.has(key)
  }

  set(key: Key, value: Value): this {
    this.#map ??= new Map()
    this.#map.set(key, value)
    return this
  }

  delete(key: Key): boolean {
    return this.#map !== null && this.#map.delete(key)
  }

  clear(): void {
    this.#map?.clear()
  }

  forEach(visit: (value: Value, key: Key, map: ReadonlyMap<Key, Value>) => void): void {
    this.#map?.forEach((value, key) => visit(value, key, this))
  }

  keys(): MapIterator<Key> {
    return this.#entries.keys()
  }

  values(): MapIterator<Value> {
    return this.#entries.values()
  }

  entries(): MapIterator<[Key, Value]> {
    return this.#entries.entries()
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.#entries.entries()
  }

  get #entries(): ReadonlyMap<Key, Value> {
    return this.#map ?? nothing
  }
}
