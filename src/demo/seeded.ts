/** A small deterministic source of choices: the same text always leads to the same choices. */
export class Seeded {
  #state: number

  constructor(text: string) {
    this.#state = hashText(text)
  }

  /** A whole number from 0 to `below` - 1. */
  below(below: number): number {
    // A step of mulberry32.
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0]
  }
}

/** 32 bits of FNV-1a over UTF-16 units. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
