import type { Span } from "../source/span.ts"
import {
  environmentHint,
  isCalled,
  missing,
  parseReference,
  parseSteps,
  refuseCall,
  startsStep,
} from "./chain-parser.ts"
import { leavesBlock, leavesNames, startsDeclaration } from "./declaration-start.ts"
import { docBefore } from "./doc-comment.ts"
import { isForeignWord, mayBeOperator, parseOperations, parseTernary, startsOperation } from "./operator-parser.ts"
import { refusePrefix, refuseUnquoted } from "./foreign-text.ts"
import { refuseYaml } from "./yaml-text.ts"
import type { PropertyForm, PropertyForms, PropertyPlace } from "./property-forms.ts"
import { formOf, formsOf } from "./property-forms.ts"
import { parseString } from "./string-parser.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type {
  AssetNode,
  Block,
  Chain,
  Expression,
  InvokeNode,
  MatchBranch,
  MatchNode,
  ModelEntry,
  Name,
  ObservedNode,
  Property,
  PropertyValue,
  UseEntry,
  ValueField,
} from "./tree.ts"
import {
  closeBracket,
  endsBracket,
  ifHint,
  joinedName,
  lacksList,
  lacksObject,
  missingBracket,
  numberNode,
  parseColon,
  parseKey,
  parseType,
  parseTypeFields,
  valueIsAbsent,
} from "./type-parser.ts"

// Expressions and the property blocks that they contain (and that contain them).

// -------------------------------------------------------------------------------------------------- expressions

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
  const first = parseDefaults(reader)
  // Most expressions are one operand, and the next field follows: that shows without a closer look.
  const { kind, start } = reader.token
  if (kind === "}" || kind === "," || kind === "tail") return first
  if (kind === "name" && !mayBeOperator(reader.text.charCodeAt(start))) return first
  const whole = parseOperations(reader, first, parseDefaults)
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

/** Operand = (literal | name | array | object | "(" expression ")" | match | call | asset) step* | "!" defaults */
function parseOperand(reader: TokenReader): Expression {
  if (reader.is("name")) refusePrefix(reader)
  const { token } = reader
  const base = token.kind === "name" ? parseKeyword(reader, token) : parseBase(reader, token)
  if (base === undefined) {
    const text = refuseUnquoted(reader)
    if (text !== undefined) return text
    const reference = parseReference(reader)
    if (reader.is("{")) return parseVerbless(reader, reference)
    return reader.is("(") ? (refuseFunction(reader, reference) ?? reference) : reference
  }
  if (base.kind === "missing-expression" || !startsStep(reader.token)) return base
  const steps = parseSteps(reader)
  return steps.length === 0 ? base : { kind: "chain", base, steps, start: base.start, end: reader.previous.end }
}

/** `template("…")`: explained, and read over. */
function refuseFunction(reader: TokenReader, { base, steps }: Chain): Expression | undefined {
  if (base.kind !== "name" || steps.length > 0 || !isCalled(reader)) return undefined
  refuseCall(reader, base)
  if (startsStep(reader.token)) parseSteps(reader)
  return missing(reader)
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
      const body = parseValueFields(reader)
      if (body !== undefined) return { kind: "object", body, start: body.start, end: body.end }
      break
    }
    case "(": {
      const expression = reader.bracketed(parseExpression)
      closeBracket(reader, first, ")", "`)`")
      return { kind: "group", expression, start: first.start, end: reader.endFrom(first) }
    }
    case "!":
      return parseNot(reader)
    case "bad":
      if (refuseShellVariable(reader, first)) return missing(reader)
      reader.expected("a value")
      reader.take()
      return missing(reader)
    default:
      break
  }
  reader.expected("a value")
  return missing(reader)
}

/** `$KEY` and `${KEY}`: explained, and read over. */
function refuseShellVariable(reader: TokenReader, first: Token): boolean {
  const next = reader.peek()
  if (reader.textOf(first) !== "$" || next.start !== first.end || (next.kind !== "name" && next.kind !== "{"))
    return false
  reader.take()
  reader.skipBalanced()
  reader.report(
    { start: first.start, end: reader.previous.end },
    "There are no variables of the environment",
    environmentHint,
  )
  return true
}

/** `!operand`: weaker than `??`, stronger than everything else. */
function parseNot(reader: TokenReader): Expression {
  const sign = reader.take()
  let operand = missing(reader)
  if (reader.enter()) {
    if (!valueIsAbsent(reader, "a value", true)) operand = parseDefaults(reader)
    reader.leave()
  }
  return { kind: "not", operand, start: sign.start, end: Math.max(sign.end, operand.end) }
}

/** `if a then b else c`: explained, and read over. */
function refuseIf(reader: TokenReader): Expression {
  reader.report(reader.token, "There is no `if`", ifHint)
  do reader.skipToNextItem()
  while (reader.isWord("else"))
  return missing(reader)
}

/** A value that begins with a word that is not a reference; undefined for a reference. */
function parseKeyword(reader: TokenReader, token: Token): Expression | undefined {
  if (reader.inTest && token.kind === "name") {
    const observed = parseObserved(reader, token)
    if (observed !== undefined) return observed
  }
  // Most words are not one of these: their first letter shows it.
  switch (reader.text.charCodeAt(token.start)) {
    case 97:
      if (reader.isWord("asset") && (keywordOperandFollows(reader) || arrayFollows(reader))) return parseAsset(reader)
      break
    case 99:
      if (reader.isWord("call") && referenceFollows(reader)) return parseInvoke(reader, "call")
      break
    case 102:
      if (reader.isWord("false")) return { kind: "word", value: false, ...spanOf(reader.take()) }
      break
    case 105:
      if (isForeignWord(reader, "if")) return refuseIf(reader)
      break
    case 109:
      if (reader.isWord("match") && keywordOperandFollows(reader)) return parseMatch(reader)
      break
    case 110:
      if (reader.isWord("null")) return { kind: "word", value: null, ...spanOf(reader.take()) }
      if (isForeignWord(reader, "not")) {
        reader.report(token, "`not` is not an operator", "Write `!`.")
        return parseNot(reader)
      }
      break
    case 114:
      if (reader.isWord("read") && referenceFollows(reader)) return parseInvoke(reader, "read")
      if (reader.isWord("render") && referenceFollows(reader)) return parseInvoke(reader, "render")
      break
    case 116:
      if (reader.isWord("true")) return { kind: "word", value: true, ...spanOf(reader.take()) }
      break
  }
  return undefined
}

const observedWords = ["ran", "skipped", "asked", "calls"] as const

/** ("ran" | "skipped" | "asked" | "calls") reference, in an `expect` alone */
function parseObserved(reader: TokenReader, keyword: Token): ObservedNode | undefined {
  const word = observedWords.find((each) => reader.isWord(each))
  if (word === undefined || reader.peek().kind !== "name" || reader.peek(2).kind !== ".") return undefined
  reader.take()
  const target = parseReference(reader)
  return { kind: "observed", keyword, word, target, start: keyword.start, end: target.end }
}

function spanOf({ start, end }: Token): Span {
  return { start, end }
}

/** Keywords are contextual: `match` begins a match only where a value follows it, and not the name of the next field. */
function keywordOperandFollows(reader: TokenReader): boolean {
  const next = reader.peek()
  if (next.kind === "head" || next.kind === "(" || next.kind === "!" || next.kind === "number") return true
  return (next.kind === "name" || next.kind === "string") && reader.peek(2).kind !== ":"
}

/** An array, and not the index of an element. */
function arrayFollows(reader: TokenReader): boolean {
  return reader.peek().kind === "[" && reader.peek(2).kind !== "number"
}

function referenceFollows(reader: TokenReader): boolean {
  return reader.peek().kind === "name" && keywordOperandFollows(reader)
}

/** Array = "[" (expression ("," expression)* ","?)? "]" */
function parseArray(reader: TokenReader): Expression {
  const first = reader.token
  const items: Expression[] = []
  reader.bracketed(() => {
    while (!reader.is("]") && !endsBracket(reader.token)) {
      const before = reader.token
      const item = parseExpression(reader)
      if (reader.token === before) break
      items.push(item)
      if (reader.accept(",") === undefined) break
    }
  })
  closeList(reader, first, "an element of the array")
  return { kind: "array", items, start: first.start, end: reader.endFrom(first) }
}

/** The end of an array or `uses` list, whose elements need commas between them. */
function closeList(reader: TokenReader, open: Token, what: string): Token | undefined {
  const close = reader.accept("]")
  if (close !== undefined) return close
  const hint = reader.isWord("for") ? "A loop is an agent: `agent name for item in list { … }`." : undefined
  missingBracket(reader, open, "]", `\`,\` or \`]\` after ${what}`, hint)
  while (!reader.is("]") && !endsBracket(reader.token) && !startsDeclaration(reader)) {
    if (reader.token.afterBreak && reader.is("name") && reader.peek().kind === ":") break
    reader.skipBalanced()
  }
  return reader.accept("]")
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
  if (reader.lacksOwnBrace()) reader.openWithoutBrace("the value to match")
  const body = reader.block(parseBranch, leavesNames, "a case of the match")
  if (body === undefined) {
    reader.expected("`{` after the value to match")
    return missing(reader)
  }
  return { kind: "match", keyword, value, body, start: keyword.start, end: body.end }
}

/** Branch = "_" ":"? expression | key ":" expression | key step* ("??" operand)* */
function parseBranch(reader: TokenReader): MatchBranch | undefined {
  const first = reader.token
  const { start } = first
  const isElse = isForeignWord(reader, "else")
  if (reader.isWord("_") || isElse) {
    if (isElse) reader.report(first, "The rest is not written `else`", "Write `_ value`.")
    reader.take()
    const colon = reader.accept(":")
    if (colon === undefined) foreignArrow(reader, "Write `_ value`.")
    reader.branchColon = colon
    const value = valueIsAbsent(reader, "a value") ? missing(reader) : parseExpression(reader)
    return { kind: "branch", case: undefined, colon, value, start, end: reader.endFrom(first) }
  }
  const name = parseKey(reader)
  if (name === undefined) return undefined
  const colon = reader.accept(":") ?? missingColon(reader, name)
  if (colon !== undefined) {
    reader.branchColon = colon
    const value = valueIsAbsent(reader, "a value") ? missing(reader) : parseExpression(reader)
    return { kind: "branch", case: name, colon, value, start, end: reader.endFrom(first) }
  }
  reader.inShortBranch = true
  const steps = parseSteps(reader)
  reader.inShortBranch = false
  const chain: Chain = { kind: "chain", base: name, steps, start, end: reader.previous.end }
  const value = reader.is("??") ? defaultFrom(reader, chain) : chain
  refuseOperator(reader, name)
  return { kind: "branch", case: name, colon, value, start, end: reader.endFrom(first) }
}

/** `case => value`, `case "value"`: reported, and read as a colon. */
function missingColon(reader: TokenReader, name: Name): Token | undefined {
  const hint = `Write \`${reader.show(name)}: value\`.`
  const { kind, afterBreak } = reader.token
  const [next, isLast] = [reader.peek().kind, reader.peek().afterBreak]
  const isText = kind === "head" || (kind === "string" && (isLast || next === "}" || next === ",")) || kind === "number"
  if (!reader.isCareful || !isText || afterBreak) return foreignArrow(reader, hint)
  reader.expected(`\`:\` after \`${reader.show(name)}\``, hint)
  return reader.previous
}

/** `case.path == 1`: the short form is a path and a default. */
function refuseOperator(reader: TokenReader, name: Name): void {
  if (!startsOperation(reader)) return
  const hint = `Write \`${reader.show(name)}: …\` with the whole expression.`
  reader.report(reader.token, "Only `??` may follow `case.path`", hint)
  reader.skipToNextItem()
}

/** `case => value` and `case -> value` as other languages have them: the arrow is taken for a colon. */
function foreignArrow(reader: TokenReader, hint: string): Token | undefined {
  const { token } = reader
  const next = reader.peek()
  const isThin = token.kind === "-" && next.kind === ">"
  if (!isThin && (token.kind !== "bad" || token.afterBreak)) return undefined
  if (!isThin && !reader.textOf(token).startsWith("=")) reader.expected("a value")
  else {
    const span = { start: token.start, end: isThin ? next.end : token.end }
    reader.report(span, `A branch has no \`${reader.textOf(span)}\``, hint)
  }
  reader.take()
  if (isThin) reader.take()
  return token
}

/** Invoke = ("call" | "read" | "render") reference block? */
function parseInvoke(reader: TokenReader, kind: InvokeNode["kind"]): InvokeNode {
  const keyword = reader.take()
  const target = parseReference(reader)
  const block = parseOwnBlock(reader, kind, target)
  return { kind, keyword, target, block, start: keyword.start, end: reader.endFrom(keyword) }
}

/** `tool.find { … }` without its `call`: reported, and read as a call. Without a block the checker reports it. */
function parseVerbless(reader: TokenReader, target: Chain): Expression {
  if (!startsInvokeBlock(reader)) return target
  const { base } = target
  const verb = base.kind === "name" && target.steps.length === 1 ? verbs[base.text] : undefined
  if (verb === undefined) return target
  const written = reader.textOf(target)
  reader.report(target, `\`${written}\` is not a value by itself`, `Write \`${verb} ${written} { … }\`.`)
  const block = parseProperties(reader, verb)
  const keyword = { ...reader.previous, start: target.start, end: target.start }
  return { kind: verb, keyword, target, block, start: target.start, end: reader.endFrom(target) }
}

/** Whether the block that follows is that of a call; the block of an agent may follow the list of its loop. */
function startsInvokeBlock(reader: TokenReader): boolean {
  const [name, next] = [reader.peek(), reader.peek(2).kind]
  const isKnown = ["input", "bindings", "max_calls", "approval"].some((word) => reader.isWord(word, name))
  return isKnown && (next === ":" || next === "{") && !reader.token.afterBreak
}

const verbs: Readonly<Partial<Record<string, InvokeNode["kind"]>>> = Object.assign(Object.create(null), {
  tool: "call",
  resource: "read",
  prompt: "render",
})

/** Asset = "asset" expression block? */
function parseAsset(reader: TokenReader): AssetNode {
  const keyword = reader.take()
  const value = parseExpression(reader)
  const block = parseOwnBlock(reader, "asset", value)
  return { kind: "asset", keyword, value, block, start: keyword.start, end: reader.endFrom(keyword) }
}

// ------------------------------------------------------------------------------------------------ blocks of values

/** ValueFields = "{" (key ":" expression ","?)* "}" */
export function parseValueFields(reader: TokenReader): Block<ValueField> | undefined {
  return reader.block((reader) => parseValueField(reader), leavesBlock, "a field name")
}

function parseHeaders(reader: TokenReader): Block<ValueField> | undefined {
  return reader.block(parseHeader, leavesBlock, "the name of a header")
}

function parseHeader(reader: TokenReader): ValueField | undefined {
  return parseValueField(reader, parseHeaderName)
}

function parseValueField(reader: TokenReader, parseName = parseKey): ValueField | undefined {
  const first = reader.token
  const doc = docBefore(reader)
  const name = parseName(reader)
  if (name === undefined) return undefined
  const written = parseColon(reader, name)
  const colon = written === "missing-value" ? undefined : written
  const absent = written === "missing-value" || (colon !== undefined && valueIsAbsent(reader, "a value"))
  const value = absent
    ? missing(reader)
    : ((reader.isCareful ? parseHeadless(reader, name) : undefined) ?? parseExpression(reader))
  return { kind: "value-field", name, colon, value, doc, start: first.start, end: reader.endFrom(first) }
}

/** A list or an object without its opening bracket, which is reported; undefined for everything else. */
function parseHeadless(reader: TokenReader, name: Name): Expression | undefined {
  if (lacksList(reader, "[") || refuseYaml(reader, "[a, b]")) return missing(reader)
  if (!lacksObject(reader, name)) return undefined
  const body = parseValueFields(reader)
  return body && { kind: "object", body, start: body.start, end: body.end }
}

/** HeaderName = key | identifier with "-" in it, nothing between */
function parseHeaderName(reader: TokenReader): Name | undefined {
  if (!reader.is("name")) return parseKey(reader)
  return joinedName(reader, reader.take(), isHeaderPart)
}

function isHeaderPart(token: Token): boolean {
  return token.kind === "name" || token.kind === "-" || token.kind === "number"
}

// ------------------------------------------------------------------------------------------------------ properties

/** Properties = "{" (name (":" value | block) ","?)* "}" */
export function parseProperties(reader: TokenReader, place: PropertyPlace): Block<Property> | undefined {
  if (!reader.startsBlock) return undefined
  const forms = formsOf(place)
  return reader.block(() => parseProperty(reader, forms), leavesBlock, "a property")
}

/** The block that may follow a reference or a value. */
function parseOwnBlock(reader: TokenReader, place: PropertyPlace, after: Span): Block<Property> | undefined {
  if (reader.lacksOwnBrace()) reader.openWithoutBrace(`\`${reader.quote(after)}\``)
  return parseProperties(reader, place)
}

export function parseProperty(reader: TokenReader, forms: PropertyForms): Property | undefined {
  const first = reader.token
  const doc = docBefore(reader)
  const name = parseKey(reader)
  if (name === undefined) return undefined
  const form = formOf(forms, name.text)
  if (form === "context" && reader.is("(")) return obsoleteContext(reader, name, doc)
  const colon = reader.accept(":")
  const value = parsePropertyValue(reader, form, name, colon)
  return { kind: "property", name, colon, value, doc, start: first.start, end: reader.endFrom(first) }
}

const missingValue: PropertyValue = { kind: "missing" }

function parsePropertyValue(
  reader: TokenReader,
  form: PropertyForm,
  name: Name,
  colon: Token | undefined,
): PropertyValue {
  const mayEndWithBlock = form === "model" || form === "context"
  if (colon !== undefined && valueIsAbsent(reader, "a value", mayEndWithBlock)) return missingValue
  if (reader.isCareful && lacksList(reader, "[")) return missingValue
  if (reader.is("{") || (colon === undefined ? lacksBlock(reader, form, name) : lacksObject(reader, name))) {
    const block = parseBlockValue(reader, form, colon)
    if (block !== undefined) return block
  }
  if (form === "file" && (colon !== undefined || startsContent(reader))) return parseFile(reader)
  if (colon === undefined && parseColon(reader, name) === "missing-value") return missingValue
  switch (form) {
    case "types":
      return { kind: "type", type: parseType(reader) }
    case "uses":
      if (reader.is("[")) return parseUses(reader)
      break
    case "model": {
      if (reader.is("[")) return parseModels(reader)
      if (!reader.is("name")) break
      const reference = parseReference(reader)
      if (isCalled(reader)) return refuseModelCall(reader, reference)
      const block = parseOwnBlock(reader, "configured-model", reference)
      return block === undefined
        ? { kind: "expression", expression: reference }
        : { kind: "configured", reference, block }
    }
    case "context":
      if (reader.isWord("context") && reader.peek().kind === "(") {
        reader.take()
        return parseObsoleteContext(reader)
      }
      if (reader.is("name")) return parseContext(reader)
      break
    default:
      break
  }
  const headless = reader.isCareful ? parseHeadless(reader, name) : undefined
  const expression = headless ?? parseExpression(reader)
  return expression.kind === "missing-expression" ? missingValue : { kind: "expression", expression }
}

/** Whether the content of a file follows its word. */
function startsContent(reader: TokenReader): boolean {
  const { kind, afterBreak } = reader.token
  if (afterBreak) return false
  if (kind === "name") return reader.peek().kind !== ":"
  return kind === "string" || kind === "head" || kind === "number" || kind === "(" || kind === "[" || kind === "!"
}

/** File = expression block? */
function parseFile(reader: TokenReader): PropertyValue {
  const content = parseExpression(reader)
  if (content.kind === "missing-expression") return missingValue
  return { kind: "file", content, block: parseProperties(reader, "short-file") }
}

/** `output` and, on the next line, its fields: reports the brace that is missing. */
function lacksBlock(reader: TokenReader, form: PropertyForm, name: Name): boolean {
  const isBlock = form === "types" || form === "values" || form === "headers" || form === "approval" || isPlace(form)
  if (!isBlock || !reader.mayAssumeBrace) return false
  reader.expected(`\`{\` after \`${reader.show(name)}\``)
  return reader.assumeBrace()
}

/** The property's block has properties of its own. */
function isPlace(form: PropertyForm): form is PropertyForm & PropertyPlace {
  return form === "inference" || form === "price" || form === "limits" || form === "file"
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
      const block = form === "headers" ? parseHeaders(reader) : parseValueFields(reader)
      return block && { kind: "values", block }
    }
    case "inference":
    case "price":
    case "limits":
    case "file":
    case "approval": {
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
  const close = parseReferences(reader, entries, "use-entry", "use", "tool.name", "an entry of `uses`")
  return { kind: "uses", open, close, entries }
}

/** Models = "[" (reference block? ("," …)*)? ","? "]" */
function parseModels(reader: TokenReader): PropertyValue {
  const open = reader.token
  const entries: ModelEntry[] = []
  const close = parseReferences(reader, entries, "model-entry", "configured-model", "model.name", "a model of the list")
  return { kind: "models", open, close, entries }
}

interface ReferenceEntry<Kind> extends Span {
  readonly kind: Kind
  readonly reference: Chain
  readonly block: Block<Property> | undefined
}

/** Adds the entries of a list, and returns its closing bracket. */
function parseReferences<Kind>(
  reader: TokenReader,
  entries: ReferenceEntry<Kind>[],
  kind: Kind,
  place: PropertyPlace,
  example: string,
  item: string,
): Token | undefined {
  const open = reader.token
  reader.bracketed(() => {
    while (!reader.is("]") && !endsBracket(reader.token)) {
      const first = reader.token
      if (first.kind !== "name") {
        reader.expected(`a reference such as \`${example}\``)
        if (first.kind === ".") {
          // `.name`: the word before it is missing.
          parseSteps(reader)
          parseProperties(reader, place)
        } else if (first.kind === "bad" || first.kind === "string" || first.kind === "head") reader.skipBalanced()
        else break
      } else {
        const reference = parseReference(reader)
        const block = parseOwnBlock(reader, place, reference)
        entries.push({ kind, reference, block, start: first.start, end: reader.endFrom(first) })
      }
      // An unclosed block takes the comma after it.
      if (reader.accept(",") === undefined && reader.previous.kind !== ",") break
    }
  })
  return closeList(reader, open, item)
}

/** Context = "compact"? reference block? */
function parseContext(reader: TokenReader): PropertyValue & { readonly kind: "context" } {
  const compact = reader.isWord("compact") && startsApart(reader) ? reader.take() : undefined
  const reference = parseReference(reader)
  const block = parseOwnBlock(reader, "compact", reference)
  return { kind: "context", reference, compact, block, obsolete: false }
}

/** Whether a reference follows the reader's word, or what is left of one without its first name. */
function startsApart(reader: TokenReader): boolean {
  const { kind, start } = reader.peek()
  return kind === "name" || (kind === "." && start > reader.token.end)
}

/** `openai("gpt-4.1")` as a model. */
function refuseModelCall(reader: TokenReader, { start }: Chain): PropertyValue {
  const first = reader.peek()
  const id = first.kind === "string" ? reader.textOf(first) : '"…"'
  reader.skipBalanced()
  const hint = `Declare it, \`model name from provider_name { id: ${id} }\`, and write \`model: model.name\`.`
  reader.report({ start, end: reader.previous.end }, "A model is declared, not called", hint)
  return missingValue
}

/** The old `context(agent.x)`. */
function obsoleteContext(reader: TokenReader, name: Name, doc: string | undefined): Property {
  const value = parseObsoleteContext(reader)
  return { kind: "property", name, colon: undefined, value, doc, start: name.start, end: reader.endFrom(name) }
}

function parseObsoleteContext(reader: TokenReader): PropertyValue {
  const open = reader.take()
  const { compact, reference, block } = parseContext(reader)
  closeBracket(reader, open, ")", "`)`")
  return { kind: "context", reference, compact, block, obsolete: true }
}
