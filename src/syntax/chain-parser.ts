import type { Token, TokenKind } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Chain, ChainStep, Expression, Name } from "./tree.ts"
import { parseOperandName, parseSegment, parseWordKey } from "./key-parser.ts"
import { closeBracket, endsBracket } from "./close-bracket.ts"
import { numberNode } from "./number-parser.ts"
import { isIdentifier } from "../base/identifier.ts"
import { sourceNesting } from "../base/limits.ts"

/** A name and its steps, where nothing else may stand. */
export function parseReference(reader: TokenReader, isOperand = false): Chain {
  if (!reader.is("name")) {
    reader.expected("a reference")
    const nothing = missing(reader)
    return { kind: "chain", base: nothing, steps: [], start: nothing.start, end: nothing.end }
  }
  const base = isOperand ? parseOperandName(reader) : parseWordKey(reader)
  const steps = parseSteps(reader, isOperand)
  return { kind: "chain", base, steps, start: base.start, end: reader.previous.end }
}

/** For authors who look for environment variables. */
export const environmentHint =
  "Declare it in `secrets { api_key: string }` and write `secrets.api_key`: the request brings it, or the server has it."

/** Stands for an expression that is not there, behind the last token. */
export function missing(reader: TokenReader): Expression {
  return { kind: "missing-expression", start: reader.previous.end, end: reader.previous.end }
}

/** Step = "." key | "?." key | ("." | "?.") ("*" | "**" | "***") "." key | "?."? "[" number "]" | "#" key */
export function parseSteps(reader: TokenReader, isOperand = false): readonly ChainStep[] {
  const steps: ChainStep[] = []
  let tooMany: ChainStep | undefined
  for (let step = parseStep(reader, isOperand); step !== undefined; step = parseStep(reader, isOperand)) {
    if (steps.length < sourceNesting) steps.push(step)
    else tooMany ??= step
  }
  if (tooMany !== undefined) {
    reader.report(tooMany, `More than ${sourceNesting} steps follow each other`, "Split it, with a `dynamic` value.")
  }
  return steps
}

export function startsStep({ kind }: Token): boolean {
  return kind === "." || kind === "?." || kind === "[" || kind === "#"
}

function parseStep(reader: TokenReader, isOperand: boolean): ChainStep | undefined {
  const first = reader.token
  const { start } = first
  switch (first.kind) {
    case ".":
    case "?.": {
      if (isOperand && startsMethod(reader)) return undefined
      reader.take()
      const optional = first.kind === "?."
      if (optional && reader.is("[")) return parseIndex(reader, first, true)
      if (reader.is("*") || reader.is("**") || reader.is("***")) return parsePluck(reader, first, optional, isOperand)
      const hint = reader.is("number") ? "An element is chosen by its number in brackets: `[0]`." : undefined
      const name = parseSegment(reader, optional ? "a name after `?.`" : "a name after `.`", hint, isOperand)
      if (name !== undefined && reader.is("(") && reader.isAdjacent) refuseCall(reader, name)
      return name && { kind: "field", name, optional, start, end: name.end }
    }
    case "[":
      return parseIndex(reader, first, false)
    case "#": {
      reader.take()
      const name = parseSegment(reader, "the name of a case after `#`", undefined, isOperand)
      return name && { kind: "case", name, optional: false, start, end: name.end }
    }
    default:
      return undefined
  }
}

/** `agent.x()` where only a reference may stand. */
function refuseCall(reader: TokenReader, { start, end }: Name): void {
  const open = reader.token
  reader.skipBalanced()
  const [, target] = /\bcall\s+((?:tool|workflow)\.)$/.exec(reader.text.slice(Math.max(0, start - 40), start)) ?? []
  // `call tool.f(id: "1")`, `call tool.f({ id: "1" })`
  const written = reader.quote({ start: open.end, end: reader.previous.start }).replace(/^\{ ?| ?\}$/g, "")
  const fields = written.replace(/\b(\w+) ?= ?/g, "$1: ")
  const shown = /^\w+: /.test(fields) ? fields : "…"
  const hint =
    target === undefined
      ? "Remove the brackets."
      : `Write \`call ${target}${reader.textOf({ start, end })} { input { ${shown} } }\`.`
  reader.report({ start, end: reader.previous.end }, "A reference is not called", hint)
}

/** Whether the reader is at the dot of `.name(`, with the bracket right after the name. */
export function startsMethod(reader: TokenReader): boolean {
  if (!reader.is(".") && !reader.is("?.")) return false
  const [name, open] = [reader.peek(), reader.peek(2)]
  return name.kind === "name" && open.kind === "(" && open.start === name.end
}

/** What follows the stars, for a message. */
const pluckedName: Partial<Record<TokenKind, string>> = {
  "*": "a field name after `.*.`",
  "**": "a field name after `.**.`",
  "***": "a field name after `.***.`",
}

function parsePluck(reader: TokenReader, first: Token, optional: boolean, isOperand: boolean): ChainStep | undefined {
  const stars = reader.take()
  if (reader.accept(".") === undefined) {
    reader.expected(`\`.\` and a field name after \`.${stars.kind}\``)
    return undefined
  }
  const name = parseSegment(reader, pluckedName[stars.kind] ?? "a field name", undefined, isOperand)
  if (name === undefined) return undefined
  const count = stars.kind === "*" ? 1 : stars.kind === "**" ? 2 : 3
  return { kind: "pluck", stars: count, name, optional, start: first.start, end: name.end }
}

/** `input["name"]`: with the dot, and with the quotes where the name needs them. */
function fieldHint(reader: TokenReader, open: Token): string {
  let start = open.start
  while (open.start - start < 80 && /[\w.]/.test(reader.text.charAt(start - 1))) start--
  const before = reader.text.slice(start, open.start)
  if (before === "" || !reader.isPlainString(reader.token)) return "A field is read with `.` and its name."
  const { text } = reader.quotedName(reader.token)
  return `Write \`${before}.${isIdentifier(text) ? text : reader.quote(reader.token)}\`.`
}

function parseIndex(reader: TokenReader, first: Token, optional: boolean): ChainStep {
  const open = reader.take()
  const number = reader.accept("number")
  const index = number === undefined ? undefined : numberNode(reader, number)
  if (index === undefined) {
    const isName = reader.is("string") || reader.is("head")
    const isEnvironment = /\benv(?:iron)?\[$/.test(reader.text.slice(Math.max(0, open.end - 12), open.end))
    const hint = isEnvironment ? environmentHint : fieldHint(reader, open)
    reader.expected("the number of an element after `[`", isName ? hint : undefined, "element")
    while (!reader.is("]") && !reader.token.afterBreak && !endsBracket(reader.token)) reader.skipBalanced()
    reader.accept("]")
  } else {
    if (!Number.isInteger(index.value) || index.value < 0) {
      reader.report(index, "An element is chosen by a whole number from 0", undefined, "element")
    }
    closeBracket(reader, open, "]", "`]`", "]")
  }
  return { kind: "index", index, optional, start: first.start, end: reader.endFrom(first) }
}
