import { startsDeclaration } from "./declaration-start.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Name } from "./tree.ts"

// Names: of fields, of declarations, and after a `.`.

/** Key = identifier | string */
export function parseKey(reader: TokenReader): Name | undefined {
  const { token } = reader
  if (token.kind === "name") return parseWordKey(reader, "Write it with `_`, or in quotes.")
  if (token.kind !== "string" && token.kind !== "head") return undefined
  if (reader.isPlainString(token)) return reader.quotedName(reader.take())
  reader.report(token, "A field name is a word or a plain string")
  reader.skipBalanced()
  if (reader.is(":")) reader.skipToNextItem()
  return undefined
}

/** An identifier; one with `-` or a foreign letter in it is reported and taken as a whole. */
export function parseWordKey(reader: TokenReader, hint = "Write it with `_`."): Name {
  const first = reader.take()
  const { token } = reader
  if (token.start !== first.end) return reader.identifier(first)
  const isForeign = isForeignLetters(reader, token)
  return isForeign || isDash(reader, token) ? refuseName(reader, first, isForeign, hint) : reader.identifier(first)
}

/** An identifier in an expression, where `a-1` and `a-input.b` are differences. */
export function parseOperandName(reader: TokenReader, hint?: string): Name {
  const dash = reader.peek()
  if (dash.kind !== "-" || dash.start !== reader.token.end || !isDifference(reader)) return parseWordKey(reader, hint)
  return reader.identifier(reader.take())
}

/** Whether what follows a name and a `-` that touches it is another value, and not the rest of a name such as `first-name`. */
function isDifference(reader: TokenReader): boolean {
  const next = reader.peek(2)
  if (next.start !== reader.peek().end) return true
  const { start } = reader.token
  const joined = /^\w+(?:-\w+)+/.exec(reader.text.slice(start, start + 200))?.[0]
  if (joined !== undefined && reader.mistakes.wasNoted(joined)) return false
  if (next.kind !== "name") return true
  const after = reader.peek(3)
  const word = reader.textOf(next)
  if ((after.kind === "(" && after.start === next.end) || roots.has(word)) return true
  return reader.isVariable(word)
}

/** What a value may begin with besides a variable of a loop. */
const roots: ReadonlySet<string> = new Set([
  "input",
  "secrets",
  "agent",
  "ask",
  "wait",
  "dynamic",
  "run",
  "result",
  "true",
  "false",
  "null",
])

/** `first-name`, `größe`: a function of its own, so that reading a plain name makes no closure. */
function refuseName(reader: TokenReader, first: Token, isForeign: boolean, hint: string): Name {
  const name = joinedName(reader, first, (token) => isDashOrWord(token) || isForeignLetters(reader, token))
  const wrong = `\`${reader.show(name)}\` is not a name`
  // Each use of the name would be the same mistake again.
  if (!reader.mistakes.note(name.text)) return name
  if (isForeign) reader.report(name, wrong, "A name is made of the letters A to Z, digits and `_`.")
  else reader.report(name, wrong, { text: hint, data: { kind: "dashed-name" } })
  return name
}

function isForeignLetters(reader: TokenReader, token: Token): boolean {
  return token.kind === "bad" && /^[\p{L}\p{N}\p{M}]+$/u.test(reader.textOf(token))
}

function isDash(reader: TokenReader, token: Token): boolean {
  return token.kind === "-" || (token.kind === "number" && reader.text.charCodeAt(token.start) === 45)
}

export function isDashOrWord(token: Token): boolean {
  return token.kind === "name" || token.kind === "-" || token.kind === "number"
}

/** Takes the tokens that touch `first`, which is taken, and each other as one name. */
export function joinedName(reader: TokenReader, first: Token, joins: (token: Token) => boolean): Name {
  while (reader.isAdjacent && joins(reader.token)) reader.take()
  const span = { start: first.start, end: reader.previous.end }
  return { kind: "name", text: reader.textOf(span), quoted: false, start: span.start, end: span.end }
}

/** Segment = identifier | string, after a `.` or `#`; reports when there is none. */
export function parseSegment(reader: TokenReader, what: string, hint?: string, isOperand = false): Name | undefined {
  const { token } = reader
  // `a: input.` and on the next line `b: 1`: the `b` is not a segment.
  const isNextField = token.afterBreak && isFieldOrDeclaration(reader)
  if (!isNextField && token.kind === "name") {
    const parse = isOperand ? parseOperandName : parseWordKey
    return parse(reader, "Write it with `_`, or in quotes.")
  }
  if (!isNextField && reader.isPlainString(token)) return reader.quotedName(reader.take())
  reader.expected(what, hint)
  return undefined
}

function isFieldOrDeclaration(reader: TokenReader): boolean {
  const next = reader.peek().kind
  if (next === ":" || !reader.isCareful) return next === ":"
  return next === "{" || reader.context.inShortBranch || (startsDeclaration(reader) && reader.lacksBrace)
}
