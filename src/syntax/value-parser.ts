import { write } from "../source/hint.ts"
import type { Span } from "../source/span.ts"
import { missing, parseReference, parseSteps, startsStep } from "./chain-parser.ts"
import { closeBracket, closeList, endsBracket } from "./close-bracket.ts"
import { leavesNames } from "./declaration-start.ts"
import { ifHint, valueIsAbsent } from "./field-colon.ts"
import { refusePrefix, refuseUnquoted, refuseWord } from "./foreign-text.ts"
import {
  foreignArrow,
  isForeignFunction,
  missingColon,
  refuseBraces,
  refuseFunction,
  refuseIf,
  refuseOperator,
  refuseShellVariable,
  refuseSwitch,
  startsInvokeBlock,
} from "./foreign-value.ts"
import { isLooselyCalled, parseFunction, parseLooseFunction, parseMethods, startsFunction } from "./function-parser.ts"
import { parseKey } from "./key-parser.ts"
import { isItemName, lacksValue, parseListRest, type ListRest } from "./list-parser.ts"
import { lacksOwnBrace, openWithoutBrace } from "./missing-brace.ts"
import { refuseCalledHistory, refuseHistory, startsHistory } from "./history-value.ts"
import { numberNode } from "./number-parser.ts"
import { inRuns, parseObject, parseSpread, spread, startsSpread } from "./object-parser.ts"
import { isForeignWord, operandFollows, parseOperations, parseTernary } from "./operator-parser.ts"
import * as blocks from "./property-parser.ts"
import type { PropertyPlace } from "./property-table.ts"
import { parseString } from "./string-parser.ts"
import { importKindOf, isWorkflow, verbs } from "./import-kinds.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import { parseWhen, startsCallWhen } from "./when-parser.ts"
import type {
  AssetNode,
  Block,
  Chain,
  Expression,
  InvokeNode,
  MatchBranch,
  MatchNode,
  Property,
  ValueField,
  StringNode,
} from "./tree.ts"

/** Expression = operations */
export function parseExpression(reader: TokenReader): Expression {
  // A block counts its own level.
  if (reader.is("{")) return parseWhole(reader)
  if (!reader.enter()) {
    // The rest of the expression would only be a second mistake.
    if (startsStep(reader.token)) parseSteps(reader)
    return missing(reader)
  }
  const expression = parseWhole(reader)
  reader.leave()
  return expression
}

function parseWhole(reader: TokenReader): Expression {
  const whole = parseOperations(reader, parseDefaults(reader), parseDefaults)
  return reader.is("bad") ? parseTernary(reader, whole, parseExpression) : whole
}

/** Defaults = operand ("??" operand)*, right associative */
function parseDefaults(reader: TokenReader): Expression {
  const first = parseOperand(reader)
  return reader.is("??") ? defaultFrom(reader, first) : first
}

/** The rest of a chain of defaults whose first operand is read: each default is one level deeper. */
function defaultFrom(reader: TokenReader, left: Expression): Expression {
  reader.take()
  let right = missing(reader)
  if (reader.enter()) {
    if (!valueIsAbsent(reader, "a value", true)) right = parseDefaults(reader)
    reader.leave()
  }
  return { kind: "default", left, right, start: left.start, end: right.end }
}

/** Operand = (literal | name | array | object | function | "(" expression ")" | match | call | asset) step* | ("!" | "-") defaults */
function parseOperand(reader: TokenReader): Expression {
  if (reader.is("name")) {
    refusePrefix(reader)
    if (refuseWord(reader)) return missing(reader)
  }
  const { token } = reader
  const base = token.kind === "name" ? parseNamed(reader, token) : parseBase(reader, token)
  if (base === undefined) {
    const text = refuseUnquoted(reader)
    if (text !== undefined) return text
    if (isLooselyCalled(reader)) return parseLooseFunction(reader, parseExpression)
    const reference = parseReference(reader, true)
    return reader.is("{") ? parseVerbless(reader, reference) : parseMethods(reader, reference, parseExpression)
  }
  if (base.kind === "missing-expression" || !startsStep(reader.token)) return base
  const steps = parseSteps(reader, true)
  const { start } = base
  const chain = steps.length === 0 ? base : ({ kind: "chain", base, steps, start, end: reader.previous.end } as const)
  return parseMethods(reader, chain, parseExpression)
}

function parseBase(reader: TokenReader, first: Token): Expression {
  switch (first.kind) {
    case "number":
      return numberNode(reader, reader.take())
    case "string":
    case "head":
      return parseString(reader, parseExpression)
    case "[":
      return parseArray(reader)
    case "{": {
      if (refuseBraces(reader)) return missing(reader)
      const object = parseObject(reader, parseExpression)
      if (object !== undefined) return object
      break
    }
    case "(": {
      if (isForeignFunction(reader)) return refuseFunction(reader)
      const expression = reader.bracketed(parseExpression)
      closeBracket(reader, first, ")", "`)`")
      return { kind: "group", expression, start: first.start, end: reader.endFrom(first) }
    }
    case "!":
      return parseNot(reader)
    case "-":
      return parseNegation(reader)
    case "bad":
      if (refuseShellVariable(reader, first)) return missing(reader)
      reader.expected("a value", undefined, "value")
      reader.take()
      return missing(reader)
    default:
      break
  }
  reader.expected("a value", undefined, "value")
  return missing(reader)
}

/** `!operand`: weaker than `??`, stronger than everything else. */
function parseNot(reader: TokenReader): Expression {
  return parseSigned(reader, "not", reader.take())
}

function parseSigned(reader: TokenReader, kind: "not" | "negate", sign: Token): Expression {
  let operand = missing(reader)
  if (reader.enter()) {
    if (!valueIsAbsent(reader, "a value", true)) operand = parseDefaults(reader)
    reader.leave()
  }
  return { kind, operand, start: sign.start, end: Math.max(sign.end, operand.end) }
}

/** `-operand`, which binds like `!`; before a number it belongs to it. */
function parseNegation(reader: TokenReader): Expression {
  const sign = reader.take()
  const number = reader.is("number") ? reader.take() : undefined
  if (number !== undefined) {
    const { value, end } = numberNode(reader, number)
    return { kind: "number", value: value === 0 ? 0 : -value, start: sign.start, end }
  }
  return parseSigned(reader, "negate", sign)
}

/** A value that begins with a word or is a function; undefined for a reference. */
function parseNamed(reader: TokenReader, token: Token): Expression | undefined {
  return parseKeyword(reader, token) ?? (startsFunction(reader) ? parseFunction(reader, parseExpression) : undefined)
}

/** A value that begins with a word that is not a reference; undefined for a reference. */
function parseKeyword(reader: TokenReader, token: Token): Expression | undefined {
  if (isItemName(reader)) return parseWord(reader)
  const observed = reader.context.observe?.(reader, token)
  if (observed !== undefined) return observed
  switch (reader.textOf(token)) {
    case "true":
    case "false":
    case "null":
      return parseWord(reader)
    case "match":
      return keywordOperandFollows(reader) ? parseMatch(reader) : undefined
    case "call":
      return referenceFollows(reader) ? parseInvoke(reader, "call") : undefined
    case "read":
      return referenceFollows(reader) ? parseInvoke(reader, "read") : undefined
    case "render":
      return referenceFollows(reader) ? parseInvoke(reader, "render") : undefined
    case "repeat":
      return referenceFollows(reader) ? parseInvoke(reader, "repeat") : undefined
    case "asset":
      return keywordOperandFollows(reader) || arrayFollows(reader) ? parseAsset(reader) : undefined
    case "trust":
    case "release":
      return exceptionFollows(reader) ? parseException(reader) : undefined
    case "context":
    case "compact":
      if (startsFunction(reader)) return refuseCalledHistory(reader)
      return startsHistory(reader) ? refuseHistory(reader, token) : undefined
    case "if":
      return isForeignWord(reader, "if") ? refuseIf(reader) : undefined
    case "switch":
      return isForeignWord(reader, "switch") ? refuseSwitch(reader) : undefined
    case "function":
      return isForeignFunction(reader) ? refuseFunction(reader) : undefined
    case "not":
      if (!isForeignWord(reader, "not")) return undefined
      const end = reader.peek().afterBreak ? token.end : reader.peek().start
      reader.report(token, "`not` is not an operator", write("!", { start: token.start, end }))
      return parseNot(reader)
    default:
      return undefined
  }
}

/** `true`, `false` or `null`; undefined for another word. */
function parseWord(reader: TokenReader): Expression | undefined {
  switch (reader.textOf(reader.token)) {
    case "true":
      return { kind: "word", value: true, ...spanOf(reader.take()) }
    case "false":
      return { kind: "word", value: false, ...spanOf(reader.take()) }
    case "null":
      return { kind: "word", value: null, ...spanOf(reader.take()) }
    default:
      return undefined
  }
}

function spanOf({ start, end }: Token): Span {
  return { start, end }
}

/** Keywords are contextual: `match` begins a match only where a value follows it, and not the name of the next field. */
function keywordOperandFollows(reader: TokenReader): boolean {
  const next = reader.peek()
  if (next.kind === "head" || next.kind === "(" || next.kind === "!" || next.kind === "number") return true
  if (next.kind === "-") return !reader.isDifference(next) && operandFollows(reader, 2)
  return (next.kind === "name" || next.kind === "string") && reader.peek(2).kind !== ":"
}

/** An array, and not the index of an element. */
function arrayFollows(reader: TokenReader): boolean {
  return reader.peek().kind === "[" && reader.peek(2).kind !== "number"
}

function referenceFollows(reader: TokenReader): boolean {
  return reader.peek().kind === "name" && keywordOperandFollows(reader)
}

/** Array = "[" ("..."? expression ("," "..."? expression)* ","?)? "]" | list */
function parseArray(reader: TokenReader): Expression {
  const first = reader.token
  const items: Expression[] = []
  const spreads = new Set<Expression>()
  let list: ListRest | undefined
  reader.bracketed(() => {
    const isAbsent = lacksValue(reader)
    while (!reader.is("]") && !endsBracket(reader.token)) {
      const before = reader.token
      const isSpread = startsSpread(reader)
      const item = isAbsent
        ? missing(reader)
        : isSpread
          ? parseSpread(reader, parseExpression).value
          : parseExpression(reader)
      if (reader.token === before && !isAbsent) break
      items.push(item)
      if (isSpread) spreads.add(item)
      if (reader.isWord("for")) {
        if (isSpread) {
          reader.report(before, "`...` does not stand before `for`", "Write `flatten([… for item in list])`.")
        }
        list = parseListRest(reader, items, parseExpression)
        break
      }
      if (reader.accept(",") === undefined) break
    }
  }, true)
  if (list === undefined) {
    const hint = reader.isWord("if") ? ifHint : undefined
    closeList(reader, first, "`,` or `]` after an element of the array", hint)
    const span = { start: first.start, end: reader.endFrom(first) }
    if (spreads.size > 0) {
      const parts = items.map((item) => (spreads.has(item) ? ({ kind: "spread", value: item } as const) : item))
      const runs = inRuns<Expression>(parts, span, (run, at) => ({ kind: "array", items: run, ...at }))
      return spread(reader, "concat", span, runs)
    }
    return { kind: "array", items, start: first.start, end: reader.endFrom(first) }
  }
  closeList(reader, first, "`]` after the list")
  const [value] = items
  const { loop, when, by } = list
  if (value === undefined || loop === undefined) return missing(reader)
  return { kind: "list", value, loop, when, by, start: first.start, end: reader.endFrom(first) }
}

/** Match = "match" operand "{" branch* "}" */
function parseMatch(reader: TokenReader): MatchNode | Expression {
  const keyword = reader.take()
  const value = parseExpression(reader)
  if (reader.isDeepest && reader.is("{")) {
    // Too deep as its value is, which is reported.
    reader.skipBalanced()
    return missing(reader)
  }
  if (lacksOwnBrace(reader)) openWithoutBrace(reader, "the value to match")
  const body = reader.block(parseBranch, leavesNames, "a case of the match")
  if (body === undefined) {
    reader.expected("`{` after the value to match", undefined, "{")
    return missing(reader)
  }
  return { kind: "match", keyword, value, body, start: keyword.start, end: body.end }
}

/** `case billing:` of other languages: the word is reported once, and taken. */
function refuseCaseWord(reader: TokenReader): void {
  const [label, colon] = [reader.peek(), reader.peek(2)]
  const isLabel = (label.kind === "name" || label.kind === "string") && !label.afterBreak && colon.kind === ":"
  if (!isLabel || !reader.isWord("case")) return
  const word = reader.take()
  if (!reader.mistakes.note("case")) reader.passOver()
  else {
    const text = `Write \`${reader.quote(label)}: …\`.`
    const span = { start: word.start, end: label.start }
    reader.report(word, "A branch has no `case`", { text, data: { kind: "remove", span } })
  }
}

/** Branch = "_" ":"? expression | key ":" expression | key step* ("??" operand)* */
function parseBranch(reader: TokenReader): MatchBranch | undefined {
  const first = reader.token
  const { start } = first
  const isElse = isForeignWord(reader, "else")
  if (reader.isWord("_") || isElse) {
    if (isElse) {
      reader.report(first, "The rest is not written `else`", write("_", undefined, "Write `_ value`."))
    }
    reader.take()
    const colon = reader.accept(":")
    if (colon === undefined) foreignArrow(reader, "Write `_ value`.")
    const value = parseBranchValue(reader, colon)
    return { kind: "branch", case: undefined, colon, value, start, end: reader.endFrom(first) }
  }
  refuseCaseWord(reader)
  const name = parseKey(reader)
  if (name === undefined) return undefined
  const colon = reader.accept(":") ?? missingColon(reader, name)
  if (colon !== undefined) {
    const value = parseBranchValue(reader, colon)
    return { kind: "branch", case: name, colon, value, start, end: reader.endFrom(first) }
  }
  const steps = reader.within({ inShortBranch: true }, () => parseSteps(reader))
  const chain: Chain = { kind: "chain", base: name, steps, start, end: reader.previous.end }
  const value = reader.is("??") ? defaultFrom(reader, chain) : chain
  refuseOperator(reader, name)
  return { kind: "branch", case: name, colon, value, start, end: reader.endFrom(first) }
}

function parseBranchValue(reader: TokenReader, branchColon: Token | undefined): Expression {
  return reader.within({ branchColon }, () =>
    valueIsAbsent(reader, "a value") ? missing(reader) : parseExpression(reader),
  )
}

/** Invoke = ("call" | "read" | "render" | "repeat") reference ("when" expression)? block? */
function parseInvoke(reader: TokenReader, kind: InvokeNode["kind"]): InvokeNode {
  const keyword = reader.take()
  const target = parseReference(reader)
  const place = kind === "call" && isWorkflow(target) ? "workflow-call" : kind
  const when = startsCallWhen(reader) ? parseWhen(reader, parseExpression) : undefined
  const block = blocks.parseOwnBlock(reader, place, when ?? target, parseExpression)
  return { kind, keyword, target, when, block, start: keyword.start, end: reader.endFrom(keyword) }
}

/** `tool.find { … }` without its `call`: reported, and read as a call. Without a block the checker reports it. */
function parseVerbless(reader: TokenReader, target: Chain): Expression {
  if (!startsInvokeBlock(reader)) return target
  const { base } = target
  const kind = base.kind === "name" && target.steps.length === 1 ? importKindOf(base.text) : undefined
  const isCalled = target.steps.length === 1 && isWorkflow(target)
  if (kind === undefined && !isCalled) return target
  const verb = kind === undefined ? "call" : verbs[kind]
  const written = reader.textOf(target)
  reader.report(target, `\`${written}\` is not a value by itself`, `Write \`${verb} ${written} { … }\`.`)
  const block = parseProperties(reader, isCalled ? "workflow-call" : verb)
  const keyword = { ...reader.previous, start: target.start, end: target.start }
  return { kind: verb, keyword, target, when: undefined, block, start: target.start, end: reader.endFrom(target) }
}

/** Asset = "asset" expression block? */
function parseAsset(reader: TokenReader): AssetNode {
  const keyword = reader.take()
  const value = parseExpression(reader)
  const block = blocks.parseOwnBlock(reader, "asset", value, parseExpression)
  return { kind: "asset", keyword, value, block, start: keyword.start, end: reader.endFrom(keyword) }
}

function exceptionFollows(reader: TokenReader): boolean {
  const next = reader.peek()
  return next.kind === "(" || (next.kind === "name" && keywordOperandFollows(reader))
}

/** Exception = ("trust" | "release") (reference | "(" expression ")") "because" string */
function parseException(reader: TokenReader): Expression {
  const keyword = reader.take()
  const word = reader.textOf(keyword) === "trust" ? "trust" : "release"
  const value = reader.is("(") ? parseBase(reader, reader.token) : parseReference(reader, true)
  let reason: StringNode | undefined
  if (reader.acceptWord("because") === undefined || !(reader.is("string") || reader.is("head"))) {
    // Only a path needs no parentheses.
    reader.expected("`because` and a reason", `Write \`${word} (…) because "why this is right"\`.`)
  } else {
    const written = parseString(reader, parseExpression)
    if (written.kind === "string") reason = written
  }
  return { kind: "exception", keyword, word, value, reason, start: keyword.start, end: reader.endFrom(keyword) }
}

// ---------------------------------------------------------------------------------------------- blocks with expressions

/** ValueFields = "{" (key ":" expression ","?)* "}" */
export function parseValueFields(reader: TokenReader): Block<ValueField> | undefined {
  return blocks.parseValueFields(reader, parseExpression)
}

/** Properties = "{" (name (":" value | block) ","?)* "}" */
export function parseProperties(reader: TokenReader, place: PropertyPlace): Block<Property> | undefined {
  return blocks.parseProperties(reader, place, parseExpression)
}

export function parseProperty(reader: TokenReader, place: PropertyPlace): Property | undefined {
  return blocks.parseProperty(reader, place, parseExpression)
}
