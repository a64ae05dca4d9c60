import type { Span } from "../source/span.ts"
import { indentation, isLineBreak, lineStart } from "./line-start.ts"
import type { Token } from "./token.ts"

/** A block string that most likely lacks its closing quotes: its first token, and where it should end. */
export interface UnclosedBlockString extends Span {
  readonly index: number
}

/**
 * The culprit, when the last block string of a text has no end: the first one that is closed by what looks like the
 * opening quotes of another (`instruction: """`), else the last one itself. Undefined when no better end than that of the
 * text is in sight.
 */
export function unclosedBlockString(text: string, tokens: readonly Token[]): UnclosedBlockString | undefined {
  const open: number[] = []
  let last: UnclosedBlockString | undefined
  for (const [index, token] of tokens.entries()) {
    if (token.kind === "head") open.push(index)
    if (token.kind !== "string" && token.kind !== "tail") continue
    const first = token.kind === "tail" ? open.pop() : index
    const start = first === undefined ? undefined : tokens[first]?.start
    if (first === undefined || start === undefined || open.length > 0 || !text.startsWith('"""', start)) continue
    // Without the `}}` of an interpolation a token counts as unclosed too, and has its quotes.
    if (text.startsWith('"""', token.end - 3) && looksLikeOpening(text, token.end - 3)) {
      return { index: first, start, end: endOfUnclosed(text, start, endOfLineBefore(text, token.end - 3)) }
    }
    if (token.unclosed) last = { index: first, start, end: text.length }
  }
  if (last === undefined) return undefined
  const end = endOfUnclosed(text, last.start, text.length)
  return end < text.length ? { ...last, end } : undefined
}

export function hasLineBreak(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (isLineBreak(text.charCodeAt(at))) return true
  return false
}

/**
 * Where a one-line string without its closing quotes ends: with the line, or before the brackets at the end of it that
 * close nothing inside the string (`{ name: "a }`).
 */
export function beforeForeignBrackets(text: string, from: number, lineEnd: number): number {
  let tail = lineEnd
  while (tail > from && /[\s,})\]]/.test(text[tail - 1] ?? "")) tail--
  const open: string[] = []
  for (let at = from; at < lineEnd; at++) {
    const character = text[at] ?? ""
    const closer = brackets.get(character)
    if (closer !== undefined) open.push(closer)
    else if (character === open.at(-1)) open.pop()
    else if (at >= tail && /[})\]]/.test(character)) return at
  }
  return lineEnd
}

/** A text of more lines than this in plain quotes is not looked for. */
const maxLines = 20

/**
 * Behind the quotes that end a string which goes on over the next lines, as it may in other languages; undefined where one
 * of those lines looks like code, or goes on after the quotes.
 */
export function endOverLines(text: string, lineEnd: number): number | undefined {
  let at = lineEnd
  for (let line = 0; line < maxLines && at < text.length; line++) {
    const from = afterBreak(text, at)
    const to = endOfLine(text, from)
    const written = text.slice(from, to)
    if (/^\s*(?:[})\]]|\/\/|\w+[ \t]*[:{=]|\w+ \w+ (?:\{|from\b|for\b))/.test(written)) return undefined
    const quote = written.indexOf('"')
    if (quote >= 0) return /^[\s,})\]]*$/.test(written.slice(quote + 1)) ? from + quote + 1 : undefined
    at = to
  }
  return undefined
}

const brackets = new Map([
  ["{", "}"],
  ["[", "]"],
  ["(", ")"],
])

/** A line longer than this before the quotes does not look like anything. */
const longestKey = 200

/** Whether the quotes stand at the end of a line, after a name and a colon. */
function looksLikeOpening(text: string, quotes: number): boolean {
  if (!/^"""[ \t]*(?:$|[\r\n])/.test(text.slice(quotes, quotes + longestKey))) return false
  return /[\r\n][ \t]*(?:[A-Za-z_][\w-]*|"[^"\r\n]*")[ \t]*:[ \t]*$/.test(
    text.slice(Math.max(0, quotes - longestKey), quotes),
  )
}

/**
 * Where an unclosed block string ends: before the first line that is code by its look and no deeper than the line of the
 * opening quotes; at `limit` where there is no such line, or if the author does not indent.
 */
function endOfUnclosed(text: string, start: number, limit: number): number {
  const margin = indentation(text, lineStart(text, start))
  let isFirst = true
  let at = endOfLine(text, start)
  while (at < limit) {
    const from = afterBreak(text, at)
    const to = endOfLine(text, from)
    const depth = indentation(text, from)
    if (from + depth < to) {
      if (depth <= margin) {
        if (isFirst) return limit
        if (/^(?:\}|\w+[ \t]*[:{]|\w+ \w+ (?:\{|from\b|for\b))/.test(text.slice(from + depth, to))) return at
      }
      isFirst = false
    }
    at = to
  }
  return limit
}

function endOfLineBefore(text: string, at: number): number {
  const start = lineStart(text, at)
  return text.startsWith("\r\n", start - 2) ? start - 2 : start - 1
}

function endOfLine(text: string, at: number): number {
  while (at < text.length && !isLineBreak(text.charCodeAt(at))) at++
  return at
}

function afterBreak(text: string, at: number): number {
  return text.startsWith("\r\n", at) ? at + 2 : at + 1
}
