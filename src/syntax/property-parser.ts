import type { Span } from "../source/span.ts"
import { missing, parseReference, parseSteps } from "./chain-parser.ts"
import { closeBracket, closeList, endsBracket } from "./close-bracket.ts"
import { leavesBlock } from "./declaration-start.ts"
import { docBefore } from "./doc-comment.ts"
import { parseColon, valueIsAbsent } from "./field-colon.ts"
import { refuseModelCall } from "./foreign-value.ts"
import { startsHistory } from "./history-value.ts"
import { joinedName, parseKey } from "./key-parser.ts"
import type { Expected } from "./known-mistake.ts"
import {
  assumeBrace,
  lacksList,
  lacksObject,
  lacksOwnBrace,
  mayAssumeBrace,
  openWithoutBrace,
} from "./missing-brace.ts"
import { formOf, takesBlock, type PropertyForm, type PropertyPlace } from "./property-table.ts"
import { foreignRequirements, parseRequirement } from "./requirement-parser.ts"
import type { ParseExpression } from "./string-parser.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type {
  Block,
  Chain,
  Expression,
  ModelEntry,
  Name,
  Property,
  PropertyValue,
  SendField,
  UseEntry,
  ValueField,
} from "./tree.ts"
import { parseType, parseTypeFields } from "./type-parser.ts"
import { refuseYaml } from "./yaml-text.ts"

// Blocks of properties and of values. Expressions contain them and are contained in them: `parse` is `parseExpression` of
// value-parser.ts, which needs this file.

// ------------------------------------------------------------------------------------------------------ properties

/** Properties = "{" (name (":" value | block) ","?)* "}" */
export function parseProperties(
  reader: TokenReader,
  place: PropertyPlace,
  parse: ParseExpression,
): Block<Property> | undefined {
  if (!reader.startsBlock) return undefined
  return reader.block(() => parseProperty(reader, place, parse), leavesBlock, "a property", "property")
}

/** The block that may follow a reference or a value. */
export function parseOwnBlock(
  reader: TokenReader,
  place: PropertyPlace,
  after: Span,
  parse: ParseExpression,
): Block<Property> | undefined {
  if (lacksOwnBrace(reader)) openWithoutBrace(reader, `\`${reader.quote(after)}\``)
  return parseProperties(reader, place, parse)
}

export function parseProperty(reader: TokenReader, place: PropertyPlace, parse: ParseExpression): Property | undefined {
  const first = reader.token
  const doc = docBefore(reader)
  const name = parseKey(reader)
  if (name === undefined) return undefined
  const form = foreignRequirements.has(name.text) ? formOf(place, "require") : formOf(place, name.text)
  if (form === "requirement") {
    const value = parseRequirement(reader, name, parse)
    const own: Name = { ...name, text: "require" }
    return { kind: "property", name: own, colon: undefined, value, doc, start: first.start, end: reader.endFrom(first) }
  }
  if (form === "context" && reader.is("(")) return obsoleteContext(reader, name, doc, parse)
  const colon = reader.accept(":")
  const value = parsePropertyValue(reader, form, name, colon, parse)
  return { kind: "property", name, colon, value, doc, start: first.start, end: reader.endFrom(first) }
}

const missingValue: PropertyValue = { kind: "missing" }

function parsePropertyValue(
  reader: TokenReader,
  form: PropertyForm,
  name: Name,
  colon: Token | undefined,
  parse: ParseExpression,
): PropertyValue {
  const mayEndWithBlock = form === "model" || form === "context" || form === "verify"
  if (colon !== undefined && valueIsAbsent(reader, "a value", mayEndWithBlock)) return missingValue
  if (lacksList(reader, "[")) return missingValue
  if (form === "file" && reader.is("{") && isObjectOfFile(reader)) return refuseObjectOfFile(reader)
  if (reader.is("{") || (colon === undefined ? lacksBlock(reader, form, name) : lacksObject(reader, name))) {
    const block = parseBlockValue(reader, form, colon, parse)
    if (block !== undefined) return block
  }
  if (form === "file" && (colon !== undefined || startsContent(reader))) return parseFile(reader, parse)
  if (colon === undefined && parseColon(reader, name) === "missing-value") return missingValue
  switch (form) {
    case "types":
      return { kind: "type", type: parseType(reader) }
    case "uses":
      if (reader.is("[")) return parseUses(reader, name, parse)
      break
    case "model": {
      if (reader.is("[")) return parseModels(reader, parse)
      if (!reader.is("name") || (reader.isWord("match") && reader.peek().kind !== ".")) break
      const reference = parseReference(reader)
      if (reader.is("(") && reader.isAdjacent) return refuseModelCall(reader, reference)
      const block = parseOwnBlock(reader, "configured-model", reference, parse)
      return block === undefined
        ? { kind: "expression", expression: reference }
        : { kind: "configured", reference, block }
    }
    case "verify": {
      if (!reader.is("name")) break
      const reference = parseReference(reader)
      const block = parseOwnBlock(reader, "hmac", reference, parse)
      return block === undefined
        ? { kind: "expression", expression: reference }
        : { kind: "configured", reference, block }
    }
    case "context":
      if (reader.isWord("context") && reader.peek().kind === "(") {
        reader.take()
        return parseObsoleteContext(reader, parse)
      }
      if (reader.isWord("compact") && reader.peek().kind === "(") return parseObsoleteCompact(reader)
      if (reader.is("name")) return parseContext(reader, parse)
      break
    default:
      break
  }
  const expression = parseHeadless(reader, name, parse) ?? parse(reader)
  return expression.kind === "missing-expression" ? missingValue : { kind: "expression", expression }
}

/** Whether the content of a file follows its word. */
function startsContent(reader: TokenReader): boolean {
  const { kind, afterBreak } = reader.token
  if (afterBreak) return false
  if (kind === "name") return reader.peek().kind !== ":"
  return kind === "string" || kind === "head" || kind === "number" || kind === "(" || kind === "[" || kind === "!"
}

/** `file { … } { name: … }` as elsewhere: the first braces are an object there, and its content. */
function isObjectOfFile(reader: TokenReader): boolean {
  let ahead = 0
  for (let depth = 0; ; ahead++) {
    const { kind } = reader.peek(ahead)
    if (kind === "end") return false
    if (kind === "{") depth++
    else if (kind === "}" && --depth === 0) break
  }
  const next = reader.peek(ahead + 1)
  return next.kind === "{" && !next.afterBreak
}

function refuseObjectOfFile(reader: TokenReader): PropertyValue {
  const { start } = reader.token
  reader.skipBalanced()
  const content = { start, end: reader.previous.end }
  const block = reader.token
  reader.skipBalanced()
  const rest = reader.quote({ start: block.end, end: reader.previous.start }).trim()
  const hint = `Write \`file { content: ${reader.quote(content)}${rest === "" ? "" : `, ${rest}`} }\`.`
  reader.report(content, "The braces after `file` are its block: an object is its `content`", hint)
  return missingValue
}

/** File = expression block? */
function parseFile(reader: TokenReader, parse: ParseExpression): PropertyValue {
  const content = parse(reader)
  if (content.kind === "missing-expression") return missingValue
  return { kind: "file", content, block: parseProperties(reader, "short-file", parse) }
}

/** The value is a block; what stands in it depends on the property. */
function parseBlockValue(
  reader: TokenReader,
  form: PropertyForm,
  colon: Token | undefined,
  parse: ParseExpression,
): PropertyValue | undefined {
  switch (form) {
    case "types": {
      const block = parseTypeFields(reader)
      return block && { kind: "types", block }
    }
    case "values":
    case "headers": {
      const block = form === "headers" ? parseHeaders(reader, parse) : parseValueFields(reader, parse)
      return block && { kind: "values", block }
    }
    case "send": {
      const block = reader.block(parseSendField, leavesBlock, "the name of an argument")
      return block && { kind: "send", block }
    }
    case "inference":
    case "price":
    case "rate":
    case "limits":
    case "file":
    case "approval":
    case "elicitation":
    case "auth": {
      const block = parseProperties(reader, form, parse)
      return block && { kind: "properties", block }
    }
    case "event": {
      const block = parseProperties(reader, "webhook-event", parse)
      return block && { kind: "properties", block }
    }
    case "repeat": {
      const block = parseProperties(reader, "agent-repeat", parse)
      return block && { kind: "properties", block }
    }
    case "batch": {
      const block = parseProperties(reader, "agent-batch", parse)
      return block && { kind: "properties", block }
    }
    default: {
      // `name: { … }` where an expression is expected is an object; `name { … }` is a block that does not belong there.
      if (colon !== undefined) return undefined
      const block = parseProperties(reader, "unknown", parse)
      return block && { kind: "properties", block }
    }
  }
}

/** `output` and, on the next line, its fields: reports the brace that is missing. */
function lacksBlock(reader: TokenReader, form: PropertyForm, name: Name): boolean {
  if (!takesBlock(form) || !mayAssumeBrace(reader)) return false
  reader.expected(`\`{\` after \`${reader.show(name)}\``, undefined, "{")
  return assumeBrace(reader)
}

/** Uses = "[" (reference block? ("," …)*)? ","? "]" */
function parseUses(reader: TokenReader, name: Name, parse: ParseExpression): PropertyValue {
  const open = reader.token
  const entries: UseEntry[] = []
  const expected = name.text === "uses" ? "reference" : "tool-list"
  const close = parseReferences(reader, parse, entries, "use-entry", "use", "tool.name", "an entry of `uses`", expected)
  return { kind: "uses", open, close, entries }
}

/** Models = "[" (reference block? ("," …)*)? ","? "]" */
function parseModels(reader: TokenReader, parse: ParseExpression): PropertyValue {
  const open = reader.token
  const entries: ModelEntry[] = []
  const close = parseReferences(
    reader,
    parse,
    entries,
    "model-entry",
    "configured-model",
    "model.name",
    "a model of the list",
  )
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
  parse: ParseExpression,
  entries: ReferenceEntry<Kind>[],
  kind: Kind,
  place: PropertyPlace,
  example: string,
  item: string,
  expected?: Expected,
): Token | undefined {
  const open = reader.token
  reader.bracketed(() => {
    while (!reader.is("]") && !endsBracket(reader.token)) {
      const first = reader.token
      if (first.kind !== "name") {
        reader.expected(`a reference such as \`${example}\``, undefined, expected)
        if (first.kind === ".") {
          // `.name`: the word before it is missing.
          parseSteps(reader)
          parseProperties(reader, place, parse)
        } else if (first.kind === "bad" || first.kind === "string" || first.kind === "head") reader.skipBalanced()
        else break
      } else {
        const reference = parseReference(reader)
        const block = parseOwnBlock(reader, place, reference, parse)
        entries.push({ kind, reference, block, start: first.start, end: reader.endFrom(first) })
      }
      // An unclosed block takes the comma after it.
      if (reader.accept(",") === undefined && reader.previous.kind !== ",") break
    }
  })
  const hint = reader.isWord("for") ? "Write the entries of this list one by one." : undefined
  return closeList(reader, open, `\`,\` or \`]\` after ${item}`, hint)
}

/** Context = "compact"? reference block? */
function parseContext(reader: TokenReader, parse: ParseExpression): PropertyValue & { readonly kind: "context" } {
  // `context: context agent.a` says it twice.
  const doubled = reader.isWord("context") && startsHistory(reader) ? reader.take() : undefined
  const compact = reader.isWord("compact") && startsApart(reader) ? reader.take() : undefined
  const reference = parseReference(reader)
  const block = parseOwnBlock(reader, "compact", reference, parse)
  return { kind: "context", reference, compact, block, obsolete: doubled !== undefined }
}

/** Whether a reference follows the reader's word, or what is left of one without its first name. */
function startsApart(reader: TokenReader): boolean {
  const { kind, start } = reader.peek()
  return kind === "name" || (kind === "." && start > reader.token.end)
}

/** The old `context(agent.x)`. */
function obsoleteContext(reader: TokenReader, name: Name, doc: string | undefined, parse: ParseExpression): Property {
  const value = parseObsoleteContext(reader, parse)
  return { kind: "property", name, colon: undefined, value, doc, start: name.start, end: reader.endFrom(name) }
}

function parseObsoleteContext(reader: TokenReader, parse: ParseExpression): PropertyValue {
  const open = reader.take()
  const { compact, reference, block } = parseContext(reader, parse)
  closeBracket(reader, open, ")", "`)`")
  return { kind: "context", reference, compact, block, obsolete: true }
}

/** The old `compact(agent.x, model: model.y)`; what follows the agent is read over. */
function parseObsoleteCompact(reader: TokenReader): PropertyValue {
  const compact = reader.take()
  const open = reader.take()
  if (reader.isWord("agent") && reader.peek().kind === ":") {
    reader.take()
    reader.take()
  }
  const reference = parseReference(reader)
  while (!reader.is(")") && !endsBracket(reader.token)) reader.skipBalanced()
  closeBracket(reader, open, ")", "`)`")
  return { kind: "context", reference, compact, block: undefined, obsolete: true }
}

// ------------------------------------------------------------------------------------------------ blocks of values

/** ValueFields = "{" (key ":" expression ","?)* "}" */
export function parseValueFields(reader: TokenReader, parse: ParseExpression): Block<ValueField> | undefined {
  return reader.block((reader) => parseValueField(reader, parse), leavesBlock, "a field name", "field")
}

function parseHeaders(reader: TokenReader, parse: ParseExpression): Block<ValueField> | undefined {
  return reader.block((reader) => parseValueField(reader, parse, parseHeaderName), leavesBlock, "the name of a header")
}

export function parseValueField(
  reader: TokenReader,
  parse: ParseExpression,
  parseName = parseKey,
): ValueField | undefined {
  const first = reader.token
  const doc = docBefore(reader)
  const name = parseName(reader)
  if (name === undefined) return undefined
  const written = parseColon(reader, name)
  const colon = written === "missing-value" ? undefined : written
  const absent = written === "missing-value" || (colon !== undefined && valueIsAbsent(reader, "a value"))
  const value = absent ? missing(reader) : (parseHeadless(reader, name, parse) ?? parse(reader))
  return { kind: "value-field", name, colon, value, doc, start: first.start, end: reader.endFrom(first) }
}

/** SendField = key ":" ("query" | "body" | "header" string) */
function parseSendField(reader: TokenReader): SendField | undefined {
  const first = reader.token
  const doc = docBefore(reader)
  const name = parseKey(reader)
  if (name === undefined) return undefined
  const colon = reader.accept(":")
  let to: Name | undefined
  let header: Name | undefined
  if (colon !== undefined && valueIsAbsent(reader, '`query`, `body` or `header "Name"`')) {
    // Reported.
  } else if (colon === undefined || !reader.is("name")) {
    reader.expected('`: query`, `: body` or `: header "Name"`')
    if (colon !== undefined && !reader.token.afterBreak && !reader.is("}")) reader.skipToNextItem()
  } else {
    to = parseKey(reader)
    if (to?.text === "header") {
      if (reader.isPlainString(reader.token)) header = reader.quotedName(reader.take())
      else reader.expected("the name of the header in quotes", 'Write `header "X-Name"`.')
    }
  }
  return { kind: "send-field", name, colon, to, header, doc, start: first.start, end: reader.endFrom(first) }
}

/** A list, function or object without its opening bracket, which is reported; undefined for everything else. */
function parseHeadless(reader: TokenReader, name: Name, parse: ParseExpression): Expression | undefined {
  if (lacksList(reader, "[") || lacksList(reader, "(") || refuseYaml(reader)) return missing(reader)
  if (!lacksObject(reader, name)) return undefined
  const body = parseValueFields(reader, parse)
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
