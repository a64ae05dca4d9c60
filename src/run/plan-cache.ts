/**
 * Compiles each source once and keeps what came of it, the least recently used going first: a service runs the same few
 * workflows all day. Bounded by the number of entries and by the characters of their sources: a plan takes up to 20 bytes for
 * each of them.
 */
export class PlanCache<T extends object> {
  readonly #compile: (source: string, share: string) => Promise<T>
  readonly #most: number
  readonly #mostCharacters: number
  /** By source; the most recently used last. */
  readonly #entries = new Map<string, T>()
  /** Those that are being compiled. */
  readonly #pending = new Map<string, Promise<T>>()
  #characters = 0

  constructor(compile: (source: string, share: string) => Promise<T>, most = 500, mostCharacters = 4_000_000) {
    this.#compile = compile
    this.#most = most
    this.#mostCharacters = mostCharacters
  }

  async get(source: string, share: string): Promise<T> {
    const known = this.#entries.get(source)
    if (known !== undefined) {
      this.#entries.delete(source)
      this.#entries.set(source, known)
      return known
    }
    let pending = this.#pending.get(source)
    if (pending === undefined) {
      pending = this.#compileAndKeep(source, share).finally(() => this.#pending.delete(source))
      this.#pending.set(source, pending)
    }
    return pending
  }

  async #compileAndKeep(source: string, share: string): Promise<T> {
    const value = await this.#compile(source, share)
    this.#entries.set(source, value)
    this.#characters += source.length
    for (const [oldest] of this.#entries) {
      if (this.#entries.size <= this.#most && this.#characters <= this.#mostCharacters) break
      this.#entries.delete(oldest)
      this.#characters -= oldest.length
    }
    return value
  }
}
