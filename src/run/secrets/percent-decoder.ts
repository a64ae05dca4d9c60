/** Takes bytes of a text, each with the range of the source that it stands for. */
export type TakeByte = (byte: number, from: number, to: number) => void

const percent = 0x25

/**
 * Decodes percent-escapes of a text that comes byte by byte. An escape that was encoded again (`%2541`, `%252541`) is
 * decoded up to `levels` times. What is not an escape passes as it is.
 */
export class PercentDecoder {
  readonly #take: TakeByte
  readonly #levels: number
  /** How often the escape that is being read has been decoded so far; -1: none is being read. */
  #level = -1
  #from = 0
  #to = 0
  /** The first digit of two; -1: not there yet. */
  #digit = -1
  #digitFrom = 0

  constructor(take: TakeByte, levels: number) {
    this.#take = take
    this.#levels = levels
  }

  /** Where the escape that is being read begins; null: none is being read. */
  get openFrom(): number | null {
    return this.#level < 0 ? null : this.#from
  }

  push(byte: number, from: number, to: number): void {
    if (this.#level >= 0) {
      const digit = hexDigit(byte)
      if (digit >= 0) {
        this.#readDigit(byte, digit, from, to)
        return
      }
      this.end()
    }
    if (byte !== percent) {
      this.#take(byte, from, to)
      return
    }
    this.#level = 0
    this.#from = from
    this.#to = to
  }

  /** Nothing follows: what was read so far is not an escape. */
  end(): void {
    if (this.#level < 0) return
    this.#level = -1
    // Both a plain percent sign and one that was decoded.
    this.#take(percent, this.#from, this.#to)
    if (this.#digit >= 0) this.#take(this.#digit, this.#digitFrom, this.#digitFrom + 1)
    this.#digit = -1
  }

  #readDigit(byte: number, digit: number, from: number, to: number): void {
    if (this.#digit < 0) {
      this.#digit = byte
      this.#digitFrom = from
      return
    }
    const value = hexDigit(this.#digit) * 16 + digit
    this.#digit = -1
    this.#to = to
    this.#level++
    if (value === percent && this.#level < this.#levels) return
    this.#level = -1
    this.#take(value, this.#from, to)
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
