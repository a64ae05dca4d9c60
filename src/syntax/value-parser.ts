import { startsDeclaration } from "./declaration-start.ts"
import { docBefore } from "./doc-comment.ts"
import type { PropertyForm, PropertyPlace } from "./property-forms.ts"
import { formOf } from "./property-forms.ts"
import { blockTexts, unescape } from "./string-value.ts"
import type { Token } from "./token.ts"
import { isBlockString } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import { maxNesting } from "./token-reader.ts"
import type {
  AssetNode,
  Block,
  Chain,
  ChainStep,
  Expression,
  InvokeNode,
  MatchBranch,
  MatchNode,
  Name,
  Property,
  PropertyValue,
  StringNode,
  UseEntry,
  ValueField,
} from "./tree.ts"
import {
  closeBracket,
  numberNode,
  parseColon,
  parseKey,
  parseType,
  parseTypeFields,
  valueIsAbsent,
} from "./type-parser.ts"

// Expressions and the property blocks that they contain (and that contain them).

// -------------------------------------------------------------------------------------------------- expressions

/** Expression = operand ("??" operand)*, right associative */
export function parseExpression(reader: TokenReader): Expression {
  return reader.nested(() => defaultFrom(reader, parseOperand(reader))) ?? missing(reader)
}

/** The rest of a chain of defaults whose first operand is read: each default is one level deeper. */
function defaultFrom(reader: TokenReader, left: Expression): Expression {
  if (reader.accept("??") === undefined) return left
  const right = parseExpression(reader)
  return { kind: "default", left, right, start: left.start, end: right.end }
}

function missing(reader: TokenReader): Expression {
  return { kind: "missing-expression", start: reader.previous.end, end: reader.previous.end }
}

/** Operand = (literal | name | array | object | "(" expression ")" | match | call | asset) step* */
function parseOperand(reader: TokenReader): Expression {
  const base = parseBase(reader)
  if (base.kind === "missing-expression") return base
  const steps = parseSteps(reader)
  if (base.kind === "name") return { kind: "chain", base, steps, start: base.start, end: reader.previous.end }
  return steps.length === 0 ? base : { kind: "chain", base, steps, start: base.start, end: reader.previous.end }
}

function parseBase(reader: TokenReader): Name | Expression {
  const first = reader.token
  switch (first.kind) {
    case "name":
      return parseWord(reader)
    case "number":
      return numberNode(reader, reader.take())
    case "string":
    case "head":
      return parseString(reader)
    case "[":
      return parseArray(reader)
    case "{": {
      const body = parseValueFields(reader)
      if (body !== undefined) return { kind: "object", body, start: body.start, end: body.end }
      break
    }
    case "(": {
      const expression = reader.bracketed(() => parseExpression(reader))
      closeBracket(reader, ")", "`)`")
      return { kind: "group", expression, ...reader.spanFrom(first) }
    }
    default:
      break
  }
  reader.expected("a value")
  return missing(reader)
}

function parseWord(reader: TokenReader): Name | Expression {
  const token = reader.token
  switch (reader.textOf(token)) {
    case "true":
    case "false":
    case "null": {
      reader.take()
      const text = reader.textOf(token)
      return { kind: "word", value: text === "null" ? null : text === "true", start: token.start, end: token.end }
    }
    case "match":
      if (operandFollows(reader)) return parseMatch(reader)
      break
    case "call":
    case "read":
    case "render":
      if (reader.peek().kind === "name" && operandFollows(reader)) return parseInvoke(reader)
      break
    case "asset":
      if (operandFollows(reader)) return parseAsset(reader)
      break
  }
  return reader.identifier(reader.take())
}

/** Keywords are contextual: `match` begins a match only where a value follows it, and not the name of the next field. */
function operandFollows(reader: TokenReader): boolean {
  const next = reader.peek()
  if (next.kind === "head" || next.kind === "(") return true
  return (next.kind === "name" || next.kind === "string") && reader.peek(2).kind !== ":"
}

/** Step = "." key | "?." key | ("." | "?.") ("*" | "**" | "***") "." key | "[" number "]" | "#" key */
function parseSteps(reader: TokenReader): ChainStep[] {
  const steps: ChainStep[] = []
  let tooMany: ChainStep | undefined
  for (let step = parseStep(reader); step !== undefined; step = parseStep(reader)) {
    if (steps.length < maxNesting) steps.push(step)
    else tooMany ??= step
  }
  if (tooMany !== undefined) {
    reader.report(tooMany, `More than ${maxNesting} steps follow each other`, "Split it, with a `dynamic` value.")
  }
  return steps
}

function parseStep(reader: TokenReader): ChainStep | undefined {
  const first = reader.token
  switch (first.kind) {
    case ".":
    case "?.": {
      reader.take()
      const optional = first.kind === "?."
      if (optional && reader.is("[")) return parseIndex(reader, first, true)
      if (reader.is("*") || reader.is("**") || reader.is("***")) return parsePluck(reader, first, optional)
      const name = stepName(reader)
      if (name === undefined) {
        reader.expected(`a name after \`${first.kind}\``)
        return undefined
      }
      return { kind: "field", name, optional, ...reader.spanFrom(first) }
    }
    case "[":
      return parseIndex(reader, first, false)
    case "#": {
      reader.take()
      const name = stepName(reader)
      if (name === undefined) {
        reader.expected("the name of a case after `#`")
        return undefined
      }
      return { kind: "case", name, optional: false, ...reader.spanFrom(first) }
    }
    default:
      return undefined
  }
}

function stepName(reader: TokenReader): Name | undefined {
  if (reader.is("name")) return reader.identifier(reader.take())
  return reader.isPlainString(reader.token) ? reader.quotedName(reader.take()) : undefined
}

function parsePluck(reader: TokenReader, first: Token, optional: boolean): ChainStep | undefined {
  const stars = reader.take()
  const written = reader.textOf(stars)
  const dot = reader.accept(".")
  const name = dot === undefined ? undefined : stepName(reader)
  if (name === undefined) {
    const what = `\`.\` and a field name after \`.${written}\``
    if (reader.token.afterBreak) reader.report(stars, `Expected ${what}`)
    else reader.expected(what)
    return undefined
  }
  const count = stars.kind === "*" ? 1 : stars.kind === "**" ? 2 : 3
  return { kind: "pluck", stars: count, name, optional, ...reader.spanFrom(first) }
}

function parseIndex(reader: TokenReader, first: Token, optional: boolean): ChainStep {
  reader.take()
  const number = reader.accept("number")
  const index = number === undefined ? undefined : numberNode(reader, number)
  if (index === undefined) reader.expected("the number of an element after `[`")
  else if (!Number.isInteger(index.value) || index.value < 0) {
    reader.report(index, "An element is chosen by a whole number from 0")
  }
  if (reader.accept("]") === undefined) {
    if (index !== undefined) closeBracket(reader, "]", "`]`")
    else while (!reader.token.afterBreak && !endsIndex(reader.token)) reader.skipBalanced()
    reader.accept("]")
  }
  return { kind: "index", index, optional, ...reader.spanFrom(first) }
}

function endsIndex(token: Token): boolean {
  return (
    token.kind === "]" || token.kind === "}" || token.kind === "tail" || token.kind === "middle" || token.kind === "end"
  )
}

/** Array = "[" (expression ("," expression)* ","?)? "]" */
function parseArray(reader: TokenReader): Expression {
  const first = reader.token
  const items: Expression[] = []
  reader.bracketed(() => {
    while (!endsIndex(reader.token)) {
      const item = parseExpression(reader)
      if (item.kind === "missing-expression") break
      items.push(item)
      if (reader.accept(",") === undefined) break
    }
  })
  closeList(reader, "an element of the array")
  return { kind: "array", items, ...reader.spanFrom(first) }
}

/** The end of an array or `uses` list, whose elements need commas between them. */
function closeList(reader: TokenReader, what: string): Token | undefined {
  const close = reader.accept("]")
  if (close !== undefined) return close
  reader.expected(`\`,\` or \`]\` after ${what}`)
  while (!endsIndex(reader.token) && !startsDeclaration(reader, true)) {
    if (reader.token.afterBreak && reader.is("name") && reader.peek().kind === ":") break
    reader.skipBalanced()
  }
  return reader.accept("]")
}

/** String = string | head expression (middle expression)* tail */
function parseString(reader: TokenReader): StringNode {
  const first = reader.take()
  const block = isBlockString(reader.text, first)
  const quotes = block ? 3 : 1
  const interpolations: Expression[] = []
  const raws: string[] = []
  const raw = (token: Token, from: number, to: number) =>
    reader.text.slice(token.start + from, Math.max(token.start + from, token.end - to))
  raws.push(raw(first, quotes, first.kind === "head" ? 2 : first.unclosed ? 0 : quotes))
  if (first.kind === "head") {
    for (;;) {
      interpolations.push(parseInterpolation(reader))
      const next = reader.take()
      if (next.kind === "end") {
        raws.push("")
        break
      }
      const madeUp = next.start === next.end
      raws.push(madeUp ? "" : raw(next, 2, next.kind === "middle" ? 2 : next.unclosed ? 0 : quotes))
      if (next.kind !== "middle") break
    }
  }
  return {
    kind: "string",
    block,
    texts: block ? blockTexts(raws) : raws.map(unescape),
    interpolations,
    ...reader.spanFrom(first),
  }
}

/** Reads up to the `}}`, which is left for the string. */
function parseInterpolation(reader: TokenReader): Expression {
  if (reader.is("middle") || reader.is("tail")) {
    if (!reader.token.unclosed) {
      const open = reader.previous.end - 2
      reader.report({ start: open, end: reader.token.start + 2 }, "Expected an expression between `{{` and `}}`")
    }
    return missing(reader)
  }
  const expression = parseExpression(reader)
  if (!reader.is("middle") && !reader.is("tail")) {
    if (!closesUnclosed(reader)) reader.expected("`}}` after the expression")
    while (!reader.is("middle") && !reader.is("tail") && !reader.is("end")) reader.skipBalanced()
  }
  reader.endLeaving()
  return expression
}

/** Whether the string around the reader was never closed, which the lexer has told already. */
function closesUnclosed(reader: TokenReader): boolean {
  let depth = 0
  for (let ahead = 0; ; ahead++) {
    const token = reader.peek(ahead)
    if (token.kind === "end") return true
    if (token.kind === "head") depth++
    else if (token.kind === "tail" && depth-- === 0) return token.unclosed
  }
}

/** Match = "match" operand "{" branch* "}" */
function parseMatch(reader: TokenReader): MatchNode | Expression {
  const keyword = reader.take()
  const value = parseExpression(reader)
  const body = reader.block(() => parseBranch(reader), outside(reader), "a case of the match")
  if (body === undefined) {
    reader.expected("`{` after the value to match")
    return missing(reader)
  }
  return { kind: "match", keyword, value, body, ...reader.spanFrom(keyword) }
}

/** Branch = "_" expression | key step* ("??" operand)* */
function parseBranch(reader: TokenReader): MatchBranch | undefined {
  const first = reader.token
  if (reader.isWord("_")) {
    reader.take()
    if (reader.is(":")) {
      reader.report(reader.token, "A branch has no `:`", "Write `_ value`.")
      reader.take()
    }
    const value = parseExpression(reader)
    return { kind: "branch", case: undefined, value, ...reader.spanFrom(first) }
  }
  const name = parseKey(reader)
  if (name === undefined) return undefined
  if (reader.is(":")) {
    reader.report(reader.token, "A branch has no `:`", `Write \`${name.text}.field\`, or \`_ value\` for the rest.`)
    reader.skipToNextItem()
  }
  const steps = parseSteps(reader)
  const chain: Chain = { kind: "chain", base: name, steps, start: name.start, end: reader.previous.end }
  const value = defaultFrom(reader, chain)
  return { kind: "branch", case: name, value, ...reader.spanFrom(first) }
}

/** Invoke = ("call" | "read" | "render") reference block? */
function parseInvoke(reader: TokenReader): InvokeNode {
  const keyword = reader.take()
  const word = reader.textOf(keyword)
  const kind = word === "call" || word === "read" ? word : "render"
  const target = parseReference(reader)
  const block = parseProperties(reader, kind)
  return { kind, keyword, target, block, ...reader.spanFrom(keyword) }
}

/** Asset = "asset" expression block? */
function parseAsset(reader: TokenReader): AssetNode {
  const keyword = reader.take()
  const value = parseExpression(reader)
  const block = parseProperties(reader, "asset")
  return { kind: "asset", keyword, value, block, ...reader.spanFrom(keyword) }
}

/** A name and its steps, where nothing else may stand. */
export function parseReference(reader: TokenReader): Chain {
  const { token } = reader
  if (token.kind !== "name") {
    reader.expected("a reference")
    const nothing = missing(reader)
    return { kind: "chain", base: nothing, steps: [], start: nothing.start, end: nothing.end }
  }
  const base = reader.identifier(reader.take())
  const steps = parseSteps(reader)
  return { kind: "chain", base, steps, start: base.start, end: reader.previous.end }
}

// ------------------------------------------------------------------------------------------------ blocks of values

function outside(reader: TokenReader): (itemsIndented: boolean) => boolean {
  return (itemsIndented) => startsDeclaration(reader, itemsIndented)
}

/** ValueFields = "{" (key ":" expression ","?)* "}" */
export function parseValueFields(
  reader: TokenReader,
  keys: "plain" | "headers" = "plain",
): Block<ValueField> | undefined {
  return reader.block(() => parseValueField(reader, keys), outside(reader), "a field name")
}

function parseValueField(reader: TokenReader, keys: "plain" | "headers"): ValueField | undefined {
  const first = reader.token
  const doc = docBefore(reader)
  const name = keys === "headers" ? parseHeaderName(reader) : parseKey(reader)
  if (name === undefined) return undefined
  const colon = parseColon(reader, name)
  const absent = colon === "missing-value" || valueIsAbsent(reader, "a value")
  const value = absent ? missing(reader) : parseExpression(reader)
  return {
    kind: "value-field",
    name,
    colon: colon === "missing-value" ? undefined : colon,
    value,
    doc,
    ...reader.spanFrom(first),
  }
}

/** HeaderName = key | identifier with "-" in it, nothing between */
function parseHeaderName(reader: TokenReader): Name | undefined {
  if (!reader.is("name")) return parseKey(reader)
  return joinedName(reader, (token) => token.kind === "name" || token.kind === "-" || token.kind === "number")
}

/** Takes tokens that touch each other as one name. */
export function joinedName(reader: TokenReader, joins: (token: Token) => boolean): Name {
  const first = reader.take()
  while (reader.adjacent(reader.previous, reader.token) && joins(reader.token)) reader.take()
  const span = { start: first.start, end: reader.previous.end }
  return { kind: "name", text: reader.textOf(span), quoted: false, ...span }
}

// ------------------------------------------------------------------------------------------------------ properties

/** Properties = "{" (name (":" value | block) ","?)* "}" */
export function parseProperties(reader: TokenReader, place: PropertyPlace): Block<Property> | undefined {
  return reader.block(() => parseProperty(reader, place), outside(reader), "a property")
}

export function parseProperty(reader: TokenReader, place: PropertyPlace): Property | undefined {
  const first = reader.token
  const doc = docBefore(reader)
  const name = parseKey(reader)
  if (name === undefined) return undefined
  const form = formOf(place, name.text)
  if (form === "context" && reader.is("(")) return obsoleteContext(reader, name, doc)
  const colon = reader.accept(":")
  const value = parsePropertyValue(reader, form, name, colon)
  return { kind: "property", name, colon, value, doc, ...reader.spanFrom(first) }
}

function parsePropertyValue(
  reader: TokenReader,
  form: PropertyForm,
  name: Name,
  colon: Token | undefined,
): PropertyValue {
  if (colon !== undefined && valueIsAbsent(reader, "a value")) return { kind: "missing" }
  if (reader.is("{")) {
    const block = parseBlockValue(reader, form, colon)
    if (block !== undefined) return block
  }
  if (colon === undefined && parseColon(reader, name) === "missing-value") return { kind: "missing" }
  switch (form) {
    case "types":
      return { kind: "type", type: parseType(reader) }
    case "uses":
      if (reader.is("[")) return parseUses(reader)
      break
    case "model": {
      if (!reader.is("name")) break
      const reference = parseReference(reader)
      const block = parseProperties(reader, "configured-model")
      return block === undefined
        ? { kind: "expression", expression: reference }
        : { kind: "configured", reference, block }
    }
    case "context":
      if (reader.is("name")) return parseContext(reader)
      break
    default:
      break
  }
  const expression = parseExpression(reader)
  return expression.kind === "missing-expression" ? { kind: "missing" } : { kind: "expression", expression }
}

/** The value is a block; what stands in it depends on the property. */
function parseBlockValue(reader: TokenReader, form: PropertyForm, colon: Token | undefined): PropertyValue | undefined {
  switch (form) {
    case "types": {
      const block = parseTypeFields(reader)
      return block && { kind: "types", block }
    }
    case "values":
    case "headers": {
      const block = parseValueFields(reader, form === "headers" ? "headers" : "plain")
      return block && { kind: "values", block }
    }
    case "inference":
    case "file": {
      const block = parseProperties(reader, form)
      return block && { kind: "properties", block }
    }
    default: {
      // `name: { … }` where an expression is expected is an object; `name { … }` is a block that does not belong there.
      if (colon !== undefined) return undefined
      const block = parseProperties(reader, "unknown")
      return block && { kind: "properties", block }
    }
  }
}

/** Uses = "[" (reference block? ("," …)*)? ","? "]" */
function parseUses(reader: TokenReader): PropertyValue {
  const open = reader.token
  const entries: UseEntry[] = []
  reader.bracketed(() => {
    while (reader.is("name")) {
      const first = reader.token
      const reference = parseReference(reader)
      const block = parseProperties(reader, "use")
      entries.push({ kind: "use-entry", reference, block, ...reader.spanFrom(first) })
      if (reader.accept(",") === undefined) break
    }
  })
  const close = closeList(reader, "an entry of `uses`")
  return { kind: "uses", open, close, entries }
}

/** Context = "compact"? reference block? */
function parseContext(reader: TokenReader): PropertyValue {
  const compact = reader.isWord("compact") && reader.peek().kind === "name" ? reader.take() : undefined
  const reference = parseReference(reader)
  const block = parseProperties(reader, "compact")
  return { kind: "context", reference, compact, block, obsolete: false }
}

/** The old `context(agent.x)`. */
function obsoleteContext(reader: TokenReader, name: Name, doc: string | undefined): Property {
  reader.take()
  const reference = parseReference(reader)
  closeBracket(reader, ")", "`)`")
  return {
    kind: "property",
    name,
    colon: undefined,
    value: { kind: "context", reference, compact: undefined, block: undefined, obsolete: true },
    doc,
    ...reader.spanFrom(name),
  }
}
