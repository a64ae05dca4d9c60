import type { Span } from "./span.ts"

/** Lines and columns count from 1; columns and offsets count UTF-16 units. */
export interface Position {
  readonly line: number
  readonly column: number
  readonly offset: number
}

export interface Range {
  readonly start: Position
  readonly end: Position
}

/** Turns offsets of one text into lines and columns. LF, CRLF and a lone CR each end a line. */
export class LineMap {
  readonly #lineStarts: number[] = [0]
  readonly #length: number

  constructor(text: string) {
    this.#length = text.length
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at)
      if (unit === 10 || (unit === 13 && text.charCodeAt(at + 1) !== 10)) this.#lineStarts.push(at + 1)
    }
  }

  get lineCount(): number {
    return this.#lineStarts.length
  }

  /** Offset at which a line (counted from 1) starts. */
  lineStart(line: number): number {
    return this.#lineStarts[line - 1] ?? this.#length
  }

  position(offset: number): Position {
    const clamped = Math.max(0, Math.min(offset, this.#length))
    let low = 0
    let high = this.#lineStarts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#lineStarts[middle] ?? 0) <= clamped) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: clamped - (this.#lineStarts[low] ?? 0) + 1, offset: clamped }
  }

  range(span: Span): Range {
    return { start: this.position(span.start), end: this.position(span.end) }
  }
}
