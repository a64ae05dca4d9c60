import { shortestSearched } from "./secret-forms.ts"

/** Four characters in a row are looked at, in steps of five: wherever a text of eight begins, one of its fours is met. */
const gram = 4
const step = shortestSearched - gram + 1
/** One bit for each value of so many bits of a hash: few secrets, a small table, which every run makes anew. */
const leastBits = 10
const mostBits = 15

/** Says quickly of almost every text that it holds none of the given ones. Wrong only in one direction: "maybe". */
export class GramFilter {
  readonly #shift: number
  readonly #words: number[] = []
  /** Whole hashes. The table above says of one in a hundred that it may be among them. */
  readonly #hashes = new Set<number>()

  /** The texts have eight characters or more. */
  constructor(texts: readonly string[]) {
    let bits = leastBits
    while (bits < mostBits && 1 << bits < texts.length * step * 64) bits++
    this.#shift = 32 - bits
    for (const text of texts) {
      for (let at = 0; at < step; at++) {
        const hash = hashAt(text, at)
        const place = hash >>> this.#shift
        this.#words[place >>> 5] = (this.#words[place >>> 5] ?? 0) | (1 << (place & 31))
        this.#hashes.add(hash)
      }
    }
  }

  mayHold(text: string): boolean {
    for (let at = 0; at + gram <= text.length; at += step) {
      const hash = hashAt(text, at)
      const place = hash >>> this.#shift
      if (((this.#words[place >>> 5] ?? 0) >>> (place & 31)) & 1 && this.#hashes.has(hash)) return true
    }
    return false
  }
}

function hashAt(text: string, at: number): number {
  let hash = 0
  for (let place = at; place < at + gram; place++) {
    const unit = text.charCodeAt(place)
    // The search takes a space and a plus for the same.
    hash = Math.imul(hash ^ (unit === 0x20 ? 0x2b : unit), 0x9e3779b1)
  }
  return hash
}
