/**
 * Text that is made mostly of stretches of another: what is written as it stands there is not copied piece by piece but
 * cut out in one go.
 */
export class SourceWriter {
  readonly #source: string
  readonly #parts: string[] = []
  /** The stretch of the source that is written next. */
  #from = 0
  #to = 0
  #column = 0

  constructor(source: string) {
    this.#source = source
  }

  /** Where the last line ends, counted from 0. */
  get column(): number {
    return this.#column
  }

  get isEmpty(): boolean {
    return this.#to === this.#from && this.#parts.length === 0
  }

  /** Writes a stretch of the source that has no line breaks. */
  copy(start: number, end: number): void {
    if (start !== this.#to) {
      this.#flush()
      this.#from = start
    }
    this.#to = end
    this.#column += end - start
  }

  /** Writes a text without line breaks. */
  put(text: string): void {
    this.#write(text)
    this.#column += text.length
  }

  /** Writes a text whose last line has `column` columns. */
  putLines(text: string, column: number): void {
    this.#write(text)
    this.#column = column
  }

  text(): string {
    this.#flush()
    return this.#parts.join("")
  }

  #write(text: string): void {
    if (this.#source.startsWith(text, this.#to)) {
      this.#to += text.length
      return
    }
    this.#flush()
    this.#parts.push(text)
  }

  #flush(): void {
    if (this.#to > this.#from) this.#parts.push(this.#source.slice(this.#from, this.#to))
    this.#from = this.#to
  }
}
