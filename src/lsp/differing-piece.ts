import type { Edit } from "../editor/edit.ts"

/** The one edit that makes a text another, without the lines at the start and the end that stay the same. */
export function differingPiece(before: string, after: string): Edit | undefined {
  if (before === after) return undefined
  const old = linesOf(before)
  const now = linesOf(after)
  const most = Math.min(old.length, now.length)
  let first = 0
  while (first < most && old[first] === now[first]) first++
  let last = 0
  while (last < most - first && old.at(-1 - last) === now.at(-1 - last)) last++
  const start = lengthOf(old.slice(0, first))
  const end = before.length - lengthOf(old.slice(old.length - last))
  return { span: { start, end }, text: now.slice(first, now.length - last).join("") }
}

/** With their line breaks. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]+\n?|\n/g) ?? []
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length, 0)
}
