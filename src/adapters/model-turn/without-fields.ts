const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const space = 0x20
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

const nothing = Buffer.from("null")

/** The fields are those of an object in an array of the answer: a choice, a candidate. Deeper ones may be arguments of a tool. */
const fieldDepth = 3

/**
 * Replaces the values of some fields of an answer's choices with `null`, in JSON that comes in pieces of UTF-8, without parsing it. Log
 * probabilities are a hundred times as large as the answer that they belong to, and nobody here reads them.
 */
export class WithoutFields {
  readonly #names: readonly Buffer[]
  #inString = false
  #escaped = false
  /** Names that the string which is being read, or was read last, may still be; the bytes of it that were compared. */
  #candidates: readonly Buffer[] = []
  #length = 0
  /** The last string is one of the names, and nothing has come after it. */
  #afterName = false
  /** Arrays and objects that are open outside of values that are left out. */
  #open = 0
  /** Arrays and objects that are open within a value that is left out; -1 outside of one. */
  #depth = -1

  constructor(names: readonly string[]) {
    this.#names = names.map((name) => Buffer.from(name))
  }

  /** Filters the next piece. */
  take(piece: Uint8Array): Uint8Array {
    const kept: Uint8Array[] = []
    let from = this.#depth < 0 ? 0 : piece.length
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at] ?? 0
      if (this.#inString) {
        this.#inside(byte)
        continue
      }
      if (this.#depth >= 0) {
        if (this.#isOver(byte)) {
          this.#depth = -1
          from = at
        } else {
          this.#leaveOut(byte)
          continue
        }
      }
      if (byte === quote) this.#begin()
      else if (this.#afterName && byte === colon) {
        kept.push(piece.subarray(from, at + 1), nothing)
        from = piece.length
        this.#afterName = false
        this.#depth = 0
      } else if (byte > space) {
        this.#afterName = false
        if (byte === openBrace || byte === openBracket) this.#open++
        else if (byte === closeBrace || byte === closeBracket) this.#open--
      }
    }
    if (kept.length === 0) return piece.subarray(from)
    kept.push(piece.subarray(from))
    return Buffer.concat(kept)
  }

  #begin(): void {
    this.#inString = true
    this.#afterName = false
    this.#candidates = this.#depth < 0 && this.#open === fieldDepth ? this.#names : []
    this.#length = 0
  }

  #inside(byte: number): void {
    if (this.#escaped) this.#escaped = false
    else if (byte === backslash) this.#escaped = true
    else if (byte === quote) {
      this.#inString = false
      this.#afterName = this.#candidates.some((name) => name.length === this.#length)
      return
    }
    if (this.#candidates.length === 0) return
    this.#candidates = this.#candidates.filter((name) => name[this.#length] === byte)
    this.#length++
  }

  /** Whether the value that is left out ends before this byte. */
  #isOver(byte: number): boolean {
    return this.#depth === 0 && (byte === comma || byte === closeBrace || byte === closeBracket)
  }

  #leaveOut(byte: number): void {
    if (byte === quote) this.#begin()
    else if (byte === openBrace || byte === openBracket) this.#depth++
    else if (byte === closeBrace || byte === closeBracket) this.#depth--
  }
}
