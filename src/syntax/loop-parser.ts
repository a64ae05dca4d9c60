import { isPatternPart, leavesNames, startsPattern } from "./declaration-start.ts"
import { parseKey, parseWordKey } from "./key-parser.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Expression, Loop, Name, Pattern, PatternField } from "./tree.ts"

/**
 * Loop = "for" pattern ("," name)? "in" expression. A broken one is reported and undefined: `skip` then goes to where what follows it can
 * be read.
 */
export function parseLoop(
  reader: TokenReader,
  parseExpression: (reader: TokenReader) => Expression,
  skip: (reader: TokenReader) => void,
): Loop | undefined {
  const first = reader.token
  if (reader.acceptWord("for") === undefined && !startsPattern(reader, 0)) {
    // `foreach x in`
    reader.take()
  }
  if (reader.isWord("each") && reader.peek().kind === "name" && !reader.isWord("in", reader.peek())) {
    reader.report(reader.token, "A loop has no `each`", "Write `for item in list`.")
    reader.take()
  }
  const pattern = parsePattern(reader)
  if (pattern === undefined) {
    // What follows is still read, so that a condition is found.
    if (reader.acceptWord("in") === undefined) skip(reader)
    else parseExpression(reader)
    return undefined
  }
  const index = parseIndex(reader)
  if (reader.acceptWord("in") === undefined) {
    reader.expected("`in` after the loop's variable", undefined, "in")
    const next = reader.peek().kind
    if (!reader.is("name") || reader.token.afterBreak || (next !== "name" && next !== ".")) {
      skip(reader)
      return undefined
    }
    // `for x of input.list`: the word is a slip. `for x input.list`: it is left out.
    if (next === "name") reader.take()
  }
  const items = reader.within({ inLoop: true }, () => parseExpression(reader))
  return { pattern, index, items, start: first.start, end: reader.endFrom(first) }
}

/** ("," name)?, before `in` */
export function parseIndex(reader: TokenReader): Name | undefined {
  if (!reader.is(",") || reader.peek().kind !== "name" || !reader.isWord("in", reader.peek(2))) return undefined
  reader.take()
  return parseWordKey(reader)
}

/** Pattern = name | "{" (name (":" name)? ","?)* "}" */
function parsePattern(reader: TokenReader): Pattern | undefined {
  if (reader.is("name")) {
    if (reader.isWord("in") && !reader.isWord("in", reader.peek())) {
      reader.expected("a variable after `for`")
      return undefined
    }
    const name = parseWordKey(reader)
    return { kind: "item", name, start: name.start, end: name.end }
  }
  if (reader.is("{") && reader.lacksBrace && isUnclosed(reader)) return undefined
  const body = reader.block(parsePatternField, leavesNames, "a field name", "field")
  if (body === undefined) {
    reader.expected("a variable, or `{ field, field }`, after `for`", undefined, "variable")
    return undefined
  }
  return { kind: "fields", body, start: body.start, end: body.end }
}

/** `{ path, patch in`: reports the brace, and skips to `in`. */
function isUnclosed(reader: TokenReader): boolean {
  let ahead = 1
  while (!reader.isWord("in", reader.peek(ahead)) || reader.peek(ahead + 1).kind !== "name") {
    if (!isPatternPart(reader.peek(ahead))) return false
    ahead++
  }
  reader.report(reader.token, "This `{` is not closed", "Add `}` before `in`.")
  for (; ahead > 0; ahead--) reader.take()
  return true
}

function parsePatternField(reader: TokenReader): PatternField | undefined {
  const first = reader.token
  const field = parseKey(reader)
  if (field === undefined) return undefined
  let variable = field
  if (reader.accept(":") !== undefined) {
    const token = reader.expect("name", "a variable after `:`")
    if (token !== undefined) variable = reader.identifier(token)
  } else if (field.quoted) {
    reader.report(field, "A quoted field needs a variable", `Write \`${reader.textOf(field)}: name\`.`)
  }
  return { kind: "pattern-field", field, variable, start: first.start, end: reader.endFrom(first) }
}
