import { missing } from "./chain-parser.ts"
import { isPatternPart, leavesNames, startsPattern } from "./declaration-start.ts"
import type { Start } from "./head-parser.ts"
import { parseBlock, parseName, skipToBrace } from "./head-parser.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Declaration, Loop, Pattern, PatternField, StepDeclaration, When } from "./tree.ts"
import { parseKey, parseWordKey } from "./key-parser.ts"
import { parseExpression, parseProperties } from "./value-parser.ts"

/** Step = ("agent" | "ask") name ("for" pattern "in" expression)? ("when" expression)? properties */
export function parseStep(start: Start, kind: StepDeclaration["kind"]): Declaration | undefined {
  const { reader, keyword, doc } = start
  const name = parseName(start)
  if (!startsHead(reader)) {
    reader.expected(`\`{\` after ${showHead(start)}`)
    while (!startsHead(reader) && !reader.is("end") && !reader.token.afterBreak) reader.skipBalanced()
  }
  let isLooped = startsLoop(reader)
  let loop = isLooped ? parseLoop(start) : undefined
  const when = parseWhen(reader)
  if (when !== undefined && !isLooped && reader.isWord("for")) {
    reader.report(reader.token, "`for` comes before `when`", `Write \`${kind} name for item in list when condition\`.`)
    isLooped = true
    loop = parseLoop(start)
  }
  const after = when !== undefined ? "the condition" : loop === undefined ? undefined : "the loop's list"
  const body = parseBlock(start, (reader) => parseProperties(reader, kind), after)
  if (name === undefined || body === undefined) return undefined
  const brokenLoop = isLooped && loop === undefined
  return { kind, keyword, doc, name, loop, brokenLoop, when, body, start: keyword.start, end: body.end }
}

/** What was read so far, for a message: `agent writer`. */
function showHead({ path }: Start): string {
  return `\`${path.replace(".", " ")}\``
}

function startsHead(reader: TokenReader): boolean {
  return startsLoop(reader) || reader.isWord("when") || reader.isWord("if") || reader.is("{")
}

function startsLoop(reader: TokenReader): boolean {
  return reader.isWord("for") || startsPattern(reader, 0) || (reader.is("name") && startsPattern(reader, 1))
}

/** When = "when" expression. A broken one ends at the step's body. */
function parseWhen(reader: TokenReader): When | undefined {
  const keyword = reader.token
  if (reader.isWord("if")) reader.report(keyword, "A condition is not written with `if`", "Write `when condition`.")
  else if (!reader.isWord("when")) return undefined
  reader.take()
  if (reader.is("{")) reader.expected("a condition after `when`")
  reader.inHead = true
  const condition = reader.is("{") ? missing(reader) : parseExpression(reader)
  reader.inHead = false
  if (condition.kind === "missing-expression") skipToBrace(reader)
  return { keyword, condition, start: keyword.start, end: reader.endFrom(keyword) }
}

/** Loop = "for" pattern "in" expression. A broken one ends at the step's body, so that what is in it is still read. */
function parseLoop(start: Start): Loop | undefined {
  const { reader } = start
  const first = reader.token
  if (reader.acceptWord("for") === undefined) {
    reader.expected(`\`for\` after ${showHead(start)}`)
    // `foreach x in`
    if (!startsPattern(reader, 0)) reader.take()
  }
  if (reader.isWord("each") && reader.peek().kind === "name" && !reader.isWord("in", reader.peek())) {
    reader.report(reader.token, "A loop has no `each`", "Write `for item in list`.")
    reader.take()
  }
  const pattern = parsePattern(reader)
  if (pattern === undefined) {
    // What follows is still read, so that a condition is found.
    if (reader.acceptWord("in") === undefined) skipToBrace(reader)
    else parseExpression(reader)
    return undefined
  }
  if (reader.acceptWord("in") === undefined) {
    reader.expected("`in` after the loop's variable")
    const next = reader.peek().kind
    if (!reader.is("name") || reader.token.afterBreak || (next !== "name" && next !== ".")) {
      skipToBrace(reader)
      return undefined
    }
    // `for x of input.list`: the word is a slip. `for x input.list`: it is left out.
    if (next === "name") reader.take()
  }
  const items = parseExpression(reader)
  return { pattern, items, start: first.start, end: reader.endFrom(first) }
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
  const body = reader.block(parsePatternField, leavesNames, "a field name")
  if (body === undefined) {
    reader.expected("a variable, or `{ field, field }`, after `for`")
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
