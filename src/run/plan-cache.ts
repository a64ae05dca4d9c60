import { hash } from "node:crypto"

/**
 * Compiles each source once and keeps what came of it, the least recently used going first: a service runs the same few
 * workflows all day. Bounded by the number of entries and by the characters of their sources.
 */
export class PlanCache<T> {
  readonly #compile: (source: string) => T
  readonly #most: number
  readonly #mostCharacters: number
  /** By hash of the source; the most recently used last. */
  readonly #entries = new Map<string, { readonly value: T; readonly characters: number }>()
  #characters = 0

  constructor(compile: (source: string) => T, most = 500, mostCharacters = 16_000_000) {
    this.#compile = compile
    this.#most = most
    this.#mostCharacters = mostCharacters
  }

  get(source: string): T {
    const key = hash("sha256", source, "base64")
    const known = this.#entries.get(key)
    if (known !== undefined) {
      this.#entries.delete(key)
      this.#entries.set(key, known)
      return known.value
    }
    const value = this.#compile(source)
    this.#entries.set(key, { value, characters: source.length })
    this.#characters += source.length
    for (const [oldest, { characters }] of this.#entries) {
      if (this.#entries.size <= this.#most && this.#characters <= this.#mostCharacters) break
      this.#entries.delete(oldest)
      this.#characters -= characters
    }
    return value
  }
}
