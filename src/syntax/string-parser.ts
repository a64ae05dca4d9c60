import { general } from "../source/hint.ts"
import { missing } from "./chain-parser.ts"
import { blockTexts, unescape } from "./string-value.ts"
import { isBlockString, type Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Expression, StringNode } from "./tree.ts"

/** `parseExpression` of value-parser.ts, which needs this file. */
export type ParseExpression = (reader: TokenReader) => Expression

/** String = string | head expression (middle expression)* tail */
export function parseString(reader: TokenReader, parse: ParseExpression): StringNode {
  const first = reader.take()
  const block = isBlockString(reader.text, first)
  const quotes = block ? 3 : 1
  const raws = [rawText(reader, first, quotes, first.kind === "head" ? 2 : first.unclosed ? 0 : quotes)]
  const interpolations = first.kind === "head" ? parseInterpolations(reader, raws, quotes, parse) : noInterpolations
  const texts = block ? blockTexts(raws) : raws.map(unescape)
  return { kind: "string", block, texts, interpolations, start: first.start, end: reader.previous.end }
}

const noInterpolations: readonly Expression[] = []

/** From behind the `head` to the `tail`; adds what is written between. */
function parseInterpolations(
  reader: TokenReader,
  raws: string[],
  quotes: number,
  parse: ParseExpression,
): readonly Expression[] {
  const interpolations: Expression[] = []
  let hasBlocks = false
  const read = (): void => {
    hasBlocks ||= refuseTemplateBlock(reader)
    if (hasBlocks) while (!atEndOfInterpolation(reader)) reader.skipBalanced()
    const value = hasBlocks ? missing(reader) : reader.outsideElements(() => parseInterpolation(reader, parse))
    interpolations.push(value)
  }
  read()
  let next = reader.take()
  for (; next.kind === "middle"; next = reader.take()) {
    raws.push(rawText(reader, next, 2, 2))
    read()
  }
  raws.push(next.kind === "end" ? "" : rawText(reader, next, 2, next.unclosed ? 0 : quotes))
  return interpolations
}

/** `{{#each list}}` of Handlebars: reported. The rest of the string is written for it, and is not read. */
function refuseTemplateBlock(reader: TokenReader): boolean {
  if (!reader.is("#")) return false
  const [, word = "", list = ""] = /^#(\w+) ?([\w.]*)/.exec(reader.text.slice(reader.token.start).slice(0, 100)) ?? []
  const message = `Texts have no blocks such as \`{{#${word}}}\``
  const isLoop = word === "each" && list !== ""
  const hint = isLoop ? `Write \`{{ ${list} }}\` for the whole list.` : "Compute the part in `dynamic`, with `match`."
  reader.report(reader.token, message, hint)
  return true
}

function atEndOfInterpolation(reader: TokenReader): boolean {
  return reader.is("middle") || reader.is("tail") || reader.is("end")
}

/** The text of a string's token, without its delimiters. */
function rawText(reader: TokenReader, token: Token, before: number, after: number): string {
  const start = token.start + before
  return reader.text.slice(start, Math.max(start, token.end - after))
}

/** Reads up to the `}}`, which is left for the string. */
function parseInterpolation(reader: TokenReader, parse: ParseExpression): Expression {
  if (reader.is("middle") || reader.is("tail")) {
    if (!reader.token.unclosed) {
      const open = reader.previous.end - 2
      reader.report({ start: open, end: reader.token.start + 2 }, "Expected an expression between `{{` and `}}`")
    }
    return missing(reader)
  }
  if (reader.is("{") && reader.isAdjacent && !reader.peek().unclosed) {
    reader.report(reader.token, "A value in a text stands between two braces", "Write `{{ value }}`.")
    reader.skipBalanced()
    return missing(reader)
  }
  const expression = parse(reader)
  if (!atEndOfInterpolation(reader) || reader.is("end")) {
    const hint = reader.is("|") ? general("There are no filters: values are written as they are.") : undefined
    if (!isUnclosed(reader)) reader.expected("`}}` after the expression", hint)
    while (!atEndOfInterpolation(reader)) reader.skipBalanced()
  }
  reader.endLeaving()
  return expression
}

/** Whether the interpolation around the reader was never closed, which the lexer has reported already. */
function isUnclosed(reader: TokenReader): boolean {
  let depth = 0
  for (let ahead = 0; ; ahead++) {
    const token = reader.peek(ahead)
    if (token.kind === "end") return true
    if (token.kind === "head") depth++
    else if (token.kind === "tail" && depth > 0) depth--
    else if ((token.kind === "tail" || token.kind === "middle") && depth === 0) return token.unclosed
  }
}
