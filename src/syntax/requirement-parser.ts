import { write } from "../source/hint.ts"
import { closeBracket } from "./close-bracket.ts"
import { valueIsAbsent } from "./field-colon.ts"
import { parseString, type ParseExpression } from "./string-parser.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Expression, Name, PropertyValue, StringNode } from "./tree.ts"

/** What other languages call a requirement. */
export const foreignRequirements: ReadonlySet<string> = new Set(["assert", "ensure"])

/** Requirement = condition ("else" string)? */
export function parseRequirement(reader: TokenReader, name: Name, parse: ParseExpression): PropertyValue {
  if (isCall(reader)) return refuseCall(reader, name, parse)
  const colon = reader.accept(":")
  if (colon !== undefined || foreignRequirements.has(name.text)) {
    const written = { start: name.start, end: (colon ?? name).end }
    reader.report(written, `There is no \`${reader.quote(written)}\``, write("require"))
  }
  if (valueIsAbsent(reader, "a condition") || reader.token.kind === "}") return { kind: "missing" }
  const condition = parse(reader)
  if (condition.kind === "missing-expression") return { kind: "missing" }
  if (reader.acceptWord("else") !== undefined) {
    return { kind: "requirement", condition, otherwise: parseText(reader, parse) }
  }
  return { kind: "requirement", condition, otherwise: parseLate(reader, name, condition, parse) }
}

function parseText(reader: TokenReader, parse: ParseExpression): StringNode | undefined {
  if (startsText(reader.token)) return parseString(reader, parse)
  reader.expected("a text after `else`", 'Write the text in quotes: `else "Too long."`.')
  return undefined
}

/** `require condition, "text"` */
function parseLate(
  reader: TokenReader,
  name: Name,
  condition: Expression,
  parse: ParseExpression,
): StringNode | undefined {
  const next = reader.peek()
  if (!reader.is(",") || next.afterBreak || !startsText(next)) return undefined
  reader.take()
  const otherwise = parseString(reader, parse)
  report(reader, name, "There is no `,` in a requirement", condition, otherwise)
  return otherwise
}

function report(
  reader: TokenReader,
  name: Name,
  message: string,
  condition: Expression,
  otherwise: StringNode | undefined,
): void {
  const span = { start: name.start, end: reader.previous.end }
  const text = otherwise === undefined ? "" : ` else ${reader.quote(otherwise)}`
  reader.report(span, message, write(`require ${reader.quote(condition)}${text}`))
}

/** Tokens of a condition that are looked over for its comma. */
const longest = 200

/** Whether `(condition, "text")` follows, as for a function. A condition in parentheses is none. */
function isCall(reader: TokenReader): boolean {
  if (!reader.is("(")) return false
  let depth = 1
  for (let ahead = 1; ahead < longest; ahead++) {
    const { kind } = reader.peek(ahead)
    if (kind === "(" || kind === "[" || kind === "{") depth++
    else if (kind === ")" || kind === "]" || kind === "}") depth--
    if (depth === 0 || kind === "end") return false
    if (depth === 1 && kind === "," && startsText(reader.peek(ahead + 1))) return true
  }
  return false
}

/** `require(condition, "text")` */
function refuseCall(reader: TokenReader, name: Name, parse: ParseExpression): PropertyValue {
  const open = reader.take()
  const condition = parse(reader)
  reader.accept(",")
  const otherwise = startsText(reader.token) ? parseString(reader, parse) : undefined
  reader.accept(",")
  closeBracket(reader, open, ")", "`)`")
  report(reader, name, `There is no \`${name.text}(…)\``, condition, otherwise)
  return { kind: "requirement", condition, otherwise }
}

function startsText({ kind }: Token): boolean {
  return kind === "string" || kind === "head"
}
