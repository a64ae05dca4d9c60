/** A half-open range of UTF-16 units in a source text. */
export interface Span {
  readonly start: number
  readonly end: number
}
