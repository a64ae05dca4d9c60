/** A half-open range of UTF-16 units in a source text. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Index of the first span that begins at an offset or after it; the spans are in source order. */
export function firstFrom(spans: readonly Span[], offset: number): number {
  let low = 0
  let high = spans.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((spans[middle]?.start ?? 0) < offset) low = middle + 1
    else high = middle
  }
  return low
}
