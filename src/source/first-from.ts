import type { Span } from "./span.ts"

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
