import { cutText } from "../base/cut-text.ts"
import { write } from "../source/hint.ts"
import { missing } from "./chain-parser.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Expression } from "./tree.ts"

// Text as other languages write it: with a prefix (`f"…"`), or without quotes.

export const textInQuotes = "Text is written in quotes"

/** `f"…"`: the prefix is reported and taken, the string is left to be read. */
export function refusePrefix(reader: TokenReader): void {
  const { token } = reader
  const next = reader.peek()
  if (token.kind !== "name" || (next.kind !== "string" && next.kind !== "head") || next.start !== token.end) return
  const prefix = reader.textOf(token)
  if (!/^(?:[fFrRbBuU]|[rR][fFbB]|[fFbB][rR])$/.test(prefix)) return
  reader.report(token, `A string has no prefix \`${prefix}\``, "Write `{{ input.name }}` in a plain string.")
  reader.take()
}

/** Words before a value, and what to do about them. */
const foreignWords: ReadonlyMap<string, string> = new Map([
  ["await", "Remove it: a step waits for what it refers to."],
  ["typeof", "Remove it: types are known before the run."],
  ["new", "Write the value itself: an object is `{ name: value }`, the time of the start `run.started_at`."],
  ["lambda", "Functions are not values: write a list, `[… for item in list]`."],
])

/** `await agent.a`, `new Date()`: true where what follows is read over, too. */
export function refuseWord(reader: TokenReader): boolean {
  const { token } = reader
  const next = reader.peek()
  const word = reader.textOf(token)
  const isLoop = word === "for" && reader.isWord("in", reader.peek(2))
  const hint = isLoop ? "Write a list: `[… for item in list]`." : foreignWords.get(word)
  if (hint === undefined || next.kind !== "name" || next.afterBreak || reader.isVariable(word)) return false
  reader.report(token, `There is no \`${word}\``, hint)
  reader.take()
  if (word === "await" || word === "typeof") return false
  reader.skipToNextItem()
  return true
}

/** Words that may follow a value in its line. */
const connecting = new Set(["_", "and", "or", "in", "is", "not", "then", "else", "for", "when", "if", "as", "contains"])

/** Words of settings, which the items of a batch of imports may follow in their line. */
const settings = new Set(["required", "none", "trusted", "untrusted", "private", "send"])

/** `Greet the person.` or `Greet {{ input.name }}.` where a value belongs: reported as a whole, and read over. */
export function refuseUnquoted(reader: TokenReader): Expression | undefined {
  const { token, previous } = reader
  if (
    reader.context.observe !== null ||
    previous.kind !== ":" ||
    previous === reader.context.branchColon ||
    token.kind !== "name"
  )
    return undefined
  const isUrl = reader.peek().kind === ":" && reader.text.startsWith("//", reader.peek().end)
  if (!isUrl && !isProse(reader)) return undefined
  do reader.skipBalanced()
  while (!reader.token.afterBreak && !reader.endsBlock(reader.token) && (!reader.is("{") || opensTwice(reader)))
  // What follows the `:` of an address is a comment.
  const [comment] = isUrl ? reader.token.comments : []
  const span = { start: token.start, end: comment?.end ?? reader.previous.end }
  const written = cutText(reader.textOf(span), 60)
  const quoted = `"${written}"`
  const hint = write(quoted, undefined, `Write it in quotes: \`${quoted}\`.`)
  reader.report(span, textInQuotes, /["\r\n]/.test(written) ? undefined : hint)
  return missing(reader)
}

function opensTwice(reader: TokenReader): boolean {
  return reader.peek().kind === "{" && reader.peek().start === reader.token.end
}

/** Two words alone in a line, three words, a word and `{{`, or `gpt-4.1-mini`: no expression looks like that. */
function isProse(reader: TokenReader): boolean {
  if (settings.has(reader.textOf(reader.token))) return false
  const second = reader.peek()
  const third = reader.peek(2)
  if (second.start === reader.token.end) {
    const isJoined =
      second.kind === "-" && /^[\d_.-]*[A-Za-z]/.test(reader.text.slice(second.start, second.start + 100))
    // `row-1` and `a-b` are computed where a loop has such a variable.
    return isJoined && !reader.isVariable(reader.textOf(reader.token))
  }
  // Only a text with mistakes is prose: one without has two fields in a line, however they are laid out.
  if (second.afterBreak || !reader.isCareful) return false
  if (third.afterBreak) return second.kind === "name" && !connecting.has(reader.textOf(second))
  if (second.kind === "{") return third.kind === "{" && third.start === second.end
  if (second.kind !== "name" || connecting.has(reader.textOf(second))) return false
  const fourth = reader.peek(3)
  if (third.kind === ".") return fourth.afterBreak || fourth.kind === "end"
  return third.kind === "name" && third.start !== second.end && !connecting.has(reader.textOf(third))
}
