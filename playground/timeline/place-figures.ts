/** What of a bar's figures is shown, and where in its track. */
export interface PlacedFigures {
  readonly text: string
  readonly style: Readonly<Record<"left" | "right", string>>
}

/** A letter, and the space beside a bar, in pixels. */
const letterWidth = 7
const beside = 6

/**
 * The figures of a bar from one percentage of its track to another: after its end, before its beginning, or over it. `texts`: the longest first; a shorter
 * one beside the bar is better than a longer one over it.
 */
export function placeFigures(texts: readonly string[], from: number, to: number, width: number): PlacedFigures {
  for (const text of texts) {
    const needed = text.length * letterWidth + 2 * beside
    if (((100 - to) / 100) * width >= needed)
      return { text, style: { left: `calc(${to}% + ${beside}px)`, right: "auto" } }
    if ((from / 100) * width >= needed)
      return { text, style: { left: "auto", right: `calc(${100 - from}% + ${beside}px)` } }
  }
  return { text: texts.at(-1) ?? "", style: { left: "auto", right: "0" } }
}
