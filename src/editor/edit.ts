import type { Span } from "../source/span.ts"

/** A piece of the text and what takes its place. Edits of one change do not overlap, and speak of the text before it. */
export interface Edit {
  readonly span: Span
  readonly text: string
  /** The same text with `$0` where the cursor goes, for editors that take snippets. */
  readonly snippet?: string
}

export function applyEdits(text: string, edits: readonly Edit[]): string {
  let result = ""
  let from = 0
  for (const { span, text: inserted } of inOrder(edits)) {
    result += text.slice(from, span.start) + inserted
    from = span.end
  }
  return result + text.slice(from)
}

/**
 * Where offsets of the text before the edits are after them; one inside a replaced piece moves to its start. The edits are sorted once, and
 * searched for each offset: a text may have thousands of both.
 */
export function offsetsAfter(edits: readonly Edit[]): (offset: number) => number {
  const sorted = inOrder(edits)
  /** How far what comes after the first so many edits has moved. */
  const moved = [0]
  for (const { span, text } of sorted) moved.push((moved.at(-1) ?? 0) + text.length - (span.end - span.start))
  return (offset) => {
    // An insertion at the offset itself comes after it.
    const isBefore = ({ span }: Edit): boolean => span.end <= offset && (span.start < offset || span.end > span.start)
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const edit = sorted[middle]
      if (edit !== undefined && isBefore(edit)) low = middle + 1
      else high = middle
    }
    const next = sorted[low]
    const within = next !== undefined && next.span.start < offset ? next.span.start : offset
    return within + (moved[low] ?? 0)
  }
}

/** Where the text of each edit begins after all of them. */
export function startsAfter(edits: readonly Edit[]): readonly number[] {
  const starts = new Map<Edit, number>()
  let moved = 0
  for (const edit of inOrder(edits)) {
    starts.set(edit, edit.span.start + moved)
    moved += edit.text.length - (edit.span.end - edit.span.start)
  }
  return edits.map((edit) => starts.get(edit) ?? edit.span.start)
}

function inOrder(edits: readonly Edit[]): Edit[] {
  return [...edits].sort((a, b) => a.span.start - b.span.start || a.span.end - b.span.end)
}
