import { write } from "../source/hint.ts"
import { missing } from "./chain-parser.ts"
import { endsBracket } from "./close-bracket.ts"
import { startsPattern } from "./declaration-start.ts"
import { ifHint } from "./field-colon.ts"
import { parseLoop } from "./loop-parser.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Expression, Loop, SortKey, When } from "./tree.ts"

// Lists from lists: `[value for item in list when condition by key descending]`.

/** `parseExpression` of value-parser.ts, which needs this file. */
type Parse = (reader: TokenReader) => Expression

/** What follows the value. A loop that could not be read is undefined. */
export interface ListRest {
  readonly loop: Loop | undefined
  readonly when: When | undefined
  readonly by: SortKey | undefined
}

/** Whether the reader is at a word directly before `for name in` or `for { … } in`: a name, whatever else it may be. */
export function isItemName(reader: TokenReader): boolean {
  return reader.isWord("for", reader.peek()) && startsPattern(reader, 2)
}

/** `[for x in list]`: reports the value that is left out. */
export function lacksValue(reader: TokenReader): boolean {
  if (!reader.isWord("for") || !startsPattern(reader, 1)) return false
  const variable = reader.peek().kind === "name" ? reader.textOf(reader.peek()) : "value"
  reader.unexpected("a value before `for`", `Write what each element becomes: \`[${variable} for … in …]\`.`)
  return true
}

/** ListRest = "for" pattern "in" expression ("when" expression)? ("by" expression "descending"?)? */
export function parseListRest(reader: TokenReader, values: readonly Expression[], parseExpression: Parse): ListRest {
  if (values.length > 1) {
    const hint = "Put them into one value: `[[a, b] for item in list]`, or `[{ a: a, b: b } for item in list]`."
    reader.report(reader.token, "One value stands before `for`", hint)
  }
  return reader.outsideElements(() => parseClauses(reader, parseExpression))
}

function parseClauses(reader: TokenReader, parseExpression: Parse): ListRest {
  const loop = parseLoop(reader, parseExpression, skipToClause)
  let when = parseWhen(reader, parseExpression)
  const by = parseBy(reader, parseExpression)
  if (by !== undefined && when === undefined && startsWhen(reader)) {
    const { token } = reader
    when = parseWhen(reader, parseExpression)
    const hint = when && `Write \`${reader.quote(when)} ${reader.quote(by)}\`.`
    reader.report(token, "`when` comes before `by`", hint)
  }
  // The value may use the variables of a second `for`.
  return refuseMore(reader) ? { loop: undefined, when, by } : { loop, when, by }
}

const conditionWords = ["when", "if", "where"] as const

function startsWhen(reader: TokenReader): boolean {
  return conditionWords.some((word) => reader.isWord(word))
}

/** When = "when" expression */
function parseWhen(reader: TokenReader, parseExpression: Parse): When | undefined {
  if (!startsWhen(reader)) return undefined
  const keyword = reader.take()
  const word = reader.textOf(keyword)
  const condition = parseOwn(reader, `a condition after \`${word}\``, parseExpression)
  if (word !== "when") {
    const hint = write("when", undefined, `Write \`when ${reader.quote(condition)}\`.`)
    reader.report(keyword, `The condition of a list is not written with \`${word}\``, hint)
  }
  // `[a for x in xs if c else b]`
  if (reader.isWord("else")) {
    reader.report(reader.token, "A condition has no `else`", ifHint)
    skipToClause(reader)
  }
  return { keyword, condition, start: keyword.start, end: reader.endFrom(keyword) }
}

/** By = "by" expression "descending"? */
function parseBy(reader: TokenReader, parseExpression: Parse): SortKey | undefined {
  const keyword = reader.token
  const isForeign = ["order", "sort", "sorted"].some((word) => reader.isWord(word))
  if (!reader.isWord("by", isForeign ? reader.peek() : keyword)) return undefined
  reader.take()
  const words = { start: keyword.start, end: isForeign ? reader.take().end : keyword.end }
  const key = parseOwn(reader, "a key after `by`", parseExpression)
  if (isForeign) {
    const hint = write("by", undefined, `Write \`by ${reader.quote(key)}\`.`)
    reader.report(words, `A list is not sorted with \`${reader.quote(words)}\``, hint)
  }
  return { keyword, key, descending: parseDirection(reader), start: keyword.start, end: reader.endFrom(keyword) }
}

function parseDirection(reader: TokenReader): SortKey["descending"] {
  const { token } = reader
  if (token.kind !== "name") return undefined
  const word = reader.textOf(token)
  switch (word.toLowerCase()) {
    case "descending":
      break
    case "desc":
      reader.report(token, `\`${word}\` is not a direction`, write("descending"))
      break
    case "asc":
    case "ascending":
      reader.report(token, "A list is sorted ascending without a word", {
        text: `Remove \`${word}\`.`,
        data: { kind: "remove", span: { start: reader.previous.end, end: token.end } },
      })
      reader.take()
      return undefined
    default:
      return undefined
  }
  return reader.take()
}

/** An expression, or a report that there is none. */
function parseOwn(reader: TokenReader, what: string, parseExpression: Parse): Expression {
  const isAbsent = reader.is("]") || reader.is(",") || endsBracket(reader.token) || isAfterCondition(reader)
  if (!isAbsent) return parseExpression(reader)
  reader.expected(what)
  return missing(reader)
}

/** `when by key`: the condition is left out, unless `by` is the name of a variable. */
function isAfterCondition(reader: TokenReader): boolean {
  return reader.isWord("by") && reader.peek().kind === "name" && !reader.isVariable("by")
}

/** A second `for`, or `descending` without `by`: reported, and skipped. True for a second `for`. */
function refuseMore(reader: TokenReader): boolean {
  const { token } = reader
  const isLoop = reader.isWord("for")
  if (isLoop) {
    const hint = "Write a list inside the value, and `flatten`: `flatten([[b for b in a.list] for a in list])`."
    reader.report(token, "A list has one `for`", hint)
  } else if (reader.isWord("descending")) {
    reader.report(token, "`descending` belongs to `by`", "Write `by key descending`.")
  } else return false
  while (!reader.is("]") && !endsBracket(reader.token)) reader.skipBalanced()
  return isLoop
}

/** Skips to what a list may go on with. */
function skipToClause(reader: TokenReader): void {
  while (!reader.is("]") && !endsBracket(reader.token) && !reader.isWord("when") && !reader.isWord("by")) {
    reader.skipBalanced()
  }
}
