import type { Position, TextEdit } from "vscode-languageserver-protocol"

// What an editor does with the positions of the protocol, in UTF-16.

export function offsetOf(text: string, { line, character }: Position): number {
  const lines = text.split("\n").slice(0, line)
  return lines.reduce((sum, one) => sum + one.length + 1, 0) + character
}

export function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset).split("\n")
  return { line: before.length - 1, character: before.at(-1)?.length ?? 0 }
}

/** The text with the edits, which do not overlap. */
export function edited(text: string, edits: readonly TextEdit[]): string {
  const sorted = edits.toSorted((a, b) => offsetOf(text, b.range.start) - offsetOf(text, a.range.start))
  let result = text
  for (const { range, newText } of sorted) {
    result = result.slice(0, offsetOf(text, range.start)) + newText + result.slice(offsetOf(text, range.end))
  }
  return result
}
