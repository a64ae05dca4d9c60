import { shortestSearched } from "./secret-forms.ts"

/** Four characters in a row are looked at, in steps of five: wherever a text of eight begins, one of its fours is met. */
const gram = 4
const step = shortestSearched - gram + 1
/** One bit for each value of so many bits of a hash: few secrets, a small table, which every run makes anew. */
const leastBits = 10
const maxBits = 15

/** Says quickly of almost every text that it holds none of the given ones. Wrong only in one direction: "maybe". */
export class GramFilter {
  readonly #shift: number
  /** One bit for each four that is met. One in a hundred others has such a bit, too. */
  readonly #words: Int32Array
  /** Hashes of the first eight characters of each text. Fours of a secret also stand in other texts: `http`, a name. */
  readonly #beginnings = new Set<number>()

  /** The texts have eight characters or more. */
  constructor(texts: readonly string[]) {
    let bits = leastBits
    while (bits < maxBits && 1 << bits < texts.length * step * 64) bits++
    this.#shift = 32 - bits
    this.#words = new Int32Array(1 << (bits - 5))
    for (const text of texts) {
      for (let at = 0; at < step; at++) {
        const place = hashAt(text, at, gram) >>> this.#shift
        this.#words[place >>> 5] = (this.#words[place >>> 5] ?? 0) | (1 << (place & 31))
      }
      this.#beginnings.add(hashAt(text, 0, shortestSearched))
    }
  }

  mayHold(text: string): boolean {
    for (let at = 0; at + gram <= text.length; at += step) {
      const place = hashAt(text, at, gram) >>> this.#shift
      if (((this.#words[place >>> 5] ?? 0) >>> (place & 31)) & 1 && this.#mayBeginBefore(text, at)) return true
    }
    return false
  }

  /** Whether one of the texts may begin so near before a place that its four there is among those that are known. */
  #mayBeginBefore(text: string, at: number): boolean {
    const last = Math.min(at, text.length - shortestSearched)
    for (let from = Math.max(0, at - step + 1); from <= last; from++) {
      if (this.#beginnings.has(hashAt(text, from, shortestSearched))) return true
    }
    return false
  }
}

function hashAt(text: string, at: number, length: number): number {
  let hash = 0
  for (let place = at; place < at + length; place++) {
    const unit = text.charCodeAt(place)
    // The search takes a space and a plus for the same.
    hash = Math.imul(hash ^ (unit === 0x20 ? 0x2b : unit), 0x9e3779b1)
  }
  return hash
}
