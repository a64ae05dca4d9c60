import { type Hint, write } from "../source/hint.ts"
import { startsDeclaration } from "./declaration-start.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Name } from "./tree.ts"

// Between the name of a field and its value: the colon, and whether a value follows at all.

/** Reports a colon that is not there; goes on as if it were when a value follows on the same line. */
export function parseColon(reader: TokenReader, name: Name): Token | undefined | "missing-value" {
  const colon = reader.accept(":")
  if (colon !== undefined) return colon
  const { token } = reader
  if (reader.previous.unclosed) return "missing-value"
  if (token.kind === "bad" && !token.afterBreak) {
    // `a = 1`, `a?: string`
    reader.expected("`:`")
    const isEquals = reader.text.charCodeAt(token.start) === 61
    reader.take()
    const late = reader.accept(":")
    if (late !== undefined || valueFollows(reader) || (isEquals && reader.is("bad"))) return late
    reader.skipToNextItem()
    return "missing-value"
  }
  const what = `\`:\` after the field name \`${reader.show(name)}\``
  if (valueFollows(reader)) {
    if (refuseOperator(reader, name)) return "missing-value"
    // The field before it lacks it, too: one mistake.
    const between = reader.text.slice(reader.colonlessField, name.start)
    if (reader.colonlessField >= 0 && between.length < longestBetween && between.split("\n").length <= 2)
      reader.passOver()
    else reader.expected(what, undefined, "colon")
    reader.colonlessField = name.start
    return undefined
  }
  if (token.unclosed) reader.expected(what)
  else
    reader.report(
      name,
      `Expected ${what}`,
      name.text.includes(" ") ? "A description is written above: `/// text`." : undefined,
    )
  return "missing-value"
}

/** Characters between two fields that lack their colons, in one line or in two. */
const longestBetween = 200

/** `a is b`, `a in b`, `a if b`: what follows a value in its line is not the next field. `let a = b`: nor does a line begin so. */
function refuseOperator(reader: TokenReader, { text, start, end }: Name): boolean {
  const isFirst = reader.previous.afterBreak
  const hint = isFirst ? foreignStarts.get(text) : operatorHints.get(text)
  if (hint === undefined) return false
  reader.report({ start, end }, isFirst ? `There is no \`${text}\`` : `\`${text}\` is not an operator`, hint)
  reader.skipToNextItem()
  return true
}

export const ifHint = "Write `match condition { true: …, false: … }`, or give an agent a condition with `when`."

const operatorHints: ReadonlyMap<string, Hint> = new Map<string, Hint>([
  ["is", write("==")],
  ["if", ifHint],
  ["unless", "Write `match` with the branches `true:` and `false:`."],
  ["as", "Remove it."],
  ["not", "Write `!(… in …)`, with the whole test in the parentheses."],
])

const foreignStarts = new Map(["let", "const", "var", "return"].map((word) => [word, "Write `name: value`."]))

function valueFollows(reader: TokenReader): boolean {
  return !reader.token.afterBreak && startsValue(reader.token)
}

/**
 * Whether what follows the reader's last token is the next field, or nothing, instead of a value; then that is reported.
 * `a:` and on the next line `b: 1`: the `b` is not the value of `a`. Nor with `b { … }`, unless a name and a block may
 * stand there.
 */
export function valueIsAbsent(reader: TokenReader, what: string, mayEndWithBlock = false): boolean {
  const { token } = reader
  if (!token.afterBreak && startsValue(token) && !reader.startsBody) return false
  const ends = token.kind === "," || reader.endsBlock(token) || reader.startsBody
  if (!ends && !(token.afterBreak && isNextField(reader, mayEndWithBlock))) return false
  if (token.unclosed) reader.expected(what)
  else reader.report(reader.previous, `Expected ${what} after \`${reader.textOf(reader.previous)}\``)
  return true
}

/** Words that may stand before the brace of a type. */
const beforeType = ["enum", "maybe", "untrusted", "private"]

/** `_ value`: the last branch of a match. */
function startsRest(reader: TokenReader): boolean {
  const next = reader.peek()
  if (!reader.isWord("_") || next.afterBreak || reader.isVariable("_")) return false
  return reader.isCareful ? next.kind !== "." : startsValue(next) && next.kind !== "-" && reader.peek(2).kind !== ":"
}

function isNextField(reader: TokenReader, mayEndWithBlock: boolean): boolean {
  if (startsRest(reader)) return true
  if (startsDeclaration(reader) && reader.lacksBrace) return true
  const isBlock = reader.peek().kind === "{"
  return reader.atKey && !(isBlock && (mayEndWithBlock || beforeType.some((word) => reader.isWord(word))))
}

function startsValue(token: Token): boolean {
  switch (token.kind) {
    case "name":
    case "string":
    case "head":
    case "number":
    case "{":
    case "[":
    case "(":
    case "!":
    case "-":
      return true
    default:
      return false
  }
}
