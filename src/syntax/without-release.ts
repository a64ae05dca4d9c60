import { parse } from "./parser.ts"

/**
 * The text of a candidate as it is once it has become the current file: without its `release` block and the blank lines beside it,
 * every other byte as it was.
 */
export function withoutRelease(text: string): string {
  // Parsing takes its time: most texts have none.
  if (!/\brelease\b/.test(text)) return text
  const blocks = parse(text).tree.declarations.filter(({ kind }) => kind === "release")
  return blocks.reduceRight((rest, { keyword, end }) => cut(rest, keyword.start, end), text)
}

function cut(text: string, start: number, end: number): string {
  const before = text.slice(0, withComments(text, start))
  const after = text.slice(end)
  const isOwnLine = before === "" || before.endsWith("\n")
  // Something else is on its line.
  if (!isOwnLine || !/^[ \t]*(?:\r?\n|$)/.test(after)) return before + after.replace(/^[ \t]+/, "")
  const rest = after.replace(/^(?:[ \t]*\r?\n)+/, "").replace(/^[ \t]+$/, "")
  return rest === "" ? withoutBlankEnd(before) : before + rest
}

/** Where the comments begin that stand on the lines before a declaration; the declaration's own place where it shares its line. */
function withComments(text: string, start: number): number {
  let first = lineStart(text, start)
  if (!/^[ \t]*$/.test(text.slice(first, start))) return start
  while (first > 0) {
    const before = lineStart(text, first - 1)
    if (!/^[ \t]*\/\/\//.test(text.slice(before, first))) break
    first = before
  }
  return first
}

function lineStart(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf("\n", at - 1) + 1
}

/** `text` ends with a line break, or is empty. */
function withoutBlankEnd(text: string): string {
  let end = text.length
  while (end > 0) {
    const start = lineStart(text, end - 1)
    if (!/^[ \t\r\n]*$/.test(text.slice(start, end))) break
    end = start
  }
  return text.slice(0, end)
}
