import type { Span } from "../../source/span.ts"
import type { Edit } from "../edit.ts"

/** A change that fixes a mistake. */
export interface Fix {
  /** What it does, in the imperative. */
  readonly title: string
  readonly edits: readonly Edit[]
  /** The author almost surely wants this fix. */
  readonly preferred: boolean
}

export function replaceWith(span: Span, text: string): Edit {
  return { span: { start: span.start, end: span.end }, text }
}

export function insertAt(offset: number, text: string): Edit {
  return { span: { start: offset, end: offset }, text }
}

/** The blanks that the line of an offset begins with. */
export function indentAt(text: string, offset: number): string {
  let start = offset
  while (start > 0 && text[start - 1] !== "\n" && text[start - 1] !== "\r") start--
  let end = start
  while (text[end] === " " || text[end] === "\t") end++
  return text.slice(start, end)
}
