import type { Span } from "../source/span.ts"

/** A piece of the text and what takes its place. Edits of one change do not overlap, and speak of the text before it. */
export interface Edit {
  readonly span: Span
  readonly text: string
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

/** Where an offset of the text before the edits is after them; one inside a replaced piece moves to its start. */
export function offsetAfter(edits: readonly Edit[], offset: number): number {
  let moved = offset
  for (const { span, text } of inOrder(edits)) {
    if (span.end <= offset && (span.start < offset || span.end > span.start))
      moved += text.length - (span.end - span.start)
    else if (span.start < offset) moved += span.start - offset
  }
  return moved
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
