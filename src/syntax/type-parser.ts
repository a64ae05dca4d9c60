import { meantWord } from "../source/hint.ts"
import { closeBracket } from "./close-bracket.ts"
import { leavesBlock, leavesCase, leavesEnum } from "./declaration-start.ts"
import { docBefore } from "./doc-comment.ts"
import { parseColon, valueIsAbsent } from "./field-colon.ts"
import { isMisspelt, refuseGeneric, withForeignSuffix, type TypeWord } from "./foreign-type.ts"
import { parseKey, parseSegment, parseWordKey } from "./key-parser.ts"
import { assumeBrace, lacksList, lacksObject } from "./missing-brace.ts"
import { numberNode } from "./number-parser.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type {
  Block,
  Expression,
  MarkedType,
  Name,
  NumberNode,
  Property,
  TypeField,
  TypeNode,
  VariantCase,
  VariantType,
} from "./tree.ts"
import { refuseYaml } from "./yaml-text.ts"

/** TypeFields = "{" (name ":" type ","?)* "}" */
export function parseTypeFields(reader: TokenReader): Block<TypeField> | undefined {
  return reader.block(parseTypeField, leavesBlock, "a field name", "field")
}

/** The body of an input: fields, and requirements. */
export function parseInputFields(
  reader: TokenReader,
  parseRequirement: (reader: TokenReader) => Property | undefined,
): Block<TypeField | Property> | undefined {
  const parse = (inner: TokenReader): TypeField | Property | undefined =>
    inner.isWord("require") && inner.peek().kind !== ":" ? parseRequirement(inner) : parseTypeField(inner)
  return reader.block<TypeField | Property>(parse, leavesBlock, "a field name")
}

/** The body of a schema: fields, or one variant without a colon. */
export function parseSchemaBody(reader: TokenReader): Block<TypeField | VariantType> | undefined {
  return reader.block<TypeField | VariantType>(parseSchemaItem, leavesBlock, "a field name", "field")
}

function parseSchemaItem(reader: TokenReader): TypeField | VariantType | undefined {
  const isVariant = startsVariant(reader) || (reader.isWord("variant") && lacksTagOrBrace(reader))
  if (!isVariant && holdsCases(reader)) return parseWordlessVariant(reader)
  const isSlip = looksLikeVariant(reader) && isMisspelt(reader, "variant")
  return isVariant || isSlip ? parseVariant(reader) : parseTypeField(reader)
}

/** `variant {`, or `variant kind` and its cases on the next line. */
function lacksTagOrBrace(reader: TokenReader): boolean {
  const next = reader.peek()
  if (next.kind === "{") return true
  return next.kind === "name" && !next.afterBreak && reader.peek(2).afterBreak && reader.lacksOpenBrace
}

/** `kind { first {`: a block of cases, whose `variant` is missing. */
function holdsCases(reader: TokenReader): boolean {
  return (
    reader.is("name") && reader.peek().kind === "{" && reader.peek(3).kind === "{" && reader.peek(2).kind === "name"
  )
}

function parseWordlessVariant(reader: TokenReader): VariantType | undefined {
  const { token } = reader
  reader.report(token, `Expected \`variant\` before \`${reader.textOf(token)}\``)
  return parseCases(reader, token, parseKey(reader))
}

function parseTypeField(reader: TokenReader): TypeField | undefined {
  if (startsVariant(reader)) return namelessVariant(reader)
  const first = reader.token
  const doc = docBefore(reader)
  const turned = parseTurnedField(reader, doc)
  if (turned !== undefined) return turned
  const name = parseKey(reader)
  if (name === undefined) return undefined
  const isOptional = reader.is("bad") && reader.textOf(reader.token) === "?" && reader.peek().kind === ":"
  if (isOptional) reader.report(reader.take(), "A field has no `?`", `Write \`${reader.show(name)}: maybe type\`.`)
  const colon = parseColon(reader, name)
  const absent = colon === "missing-value" || (colon !== undefined && valueIsAbsent(reader, "a type"))
  const written: TypeNode = absent ? missingType(reader) : (parseHeadless(reader, name) ?? parseType(reader))
  const type: TypeNode = isOptional ? { kind: "maybe", type: written, start: written.start, end: written.end } : written
  const value = parseDefault(reader)
  const end = reader.endFrom(first)
  return {
    kind: "type-field",
    name,
    colon: colon === "missing-value" ? undefined : colon,
    type,
    default: value,
    doc,
    start: first.start,
    end,
  }
}

/** Default = "=" expression */
function parseDefault(reader: TokenReader): Expression | undefined {
  if (!reader.is("bad") || reader.textOf(reader.token) !== "=" || reader.parseValue === null) return undefined
  reader.take()
  return valueIsAbsent(reader, "a value", true) ? undefined : reader.parseValue(reader)
}

/** `string subject`: the type first, as other languages have it. Reported once, and read as `subject: string`. */
function parseTurnedField(reader: TokenReader, doc: string | undefined): TypeField | undefined {
  const { token } = reader
  const name = reader.peek()
  const isTurned =
    name.kind === "name" && !name.afterBreak && (reader.peek(2).afterBreak || reader.peek(2).kind === "}")
  if (!isTurned || !isBuiltIn.test(reader.textOf(token))) return undefined
  const type = parseType(reader)
  const key = parseKey(reader)
  if (key === undefined) return undefined
  const span = { start: token.start, end: key.end }
  if (!reader.mistakes.note("a type before its field")) reader.passOver()
  else reader.report(span, "The name of a field comes first", `Write \`${key.text}: ${reader.quote(type)}\`.`)
  return { kind: "type-field", name: key, colon: undefined, type, default: undefined, doc, ...span }
}

const isBuiltIn = /^(?:string|number|integer|boolean|object|any)$/

/** A type without its opening bracket, which is reported; undefined for everything else. */
function parseHeadless(reader: TokenReader, name: Name): TypeNode | undefined {
  // A union may begin with `|` at the end of its line.
  if (!reader.isCareful) return undefined
  if (lacksList(reader, "[") || lacksList(reader, "(") || refuseYaml(reader, "[string]")) return missingType(reader)
  if (!lacksObject(reader, name)) return undefined
  const body = parseTypeFields(reader)
  return body && { kind: "object-type", body, start: body.start, end: body.end }
}

/** Only a schema can be a variant itself. */
function namelessVariant(reader: TokenReader): undefined {
  reader.report(reader.token, "A variant needs a field name here", "Write `name: variant …`.")
  parseVariant(reader)
}

/** Type = single ("|" single)* */
export function parseType(reader: TokenReader): TypeNode {
  const first = reader.token
  reader.accept("|")
  const type = parseSingleType(reader)
  if (!reader.is("|")) return type
  const members = [type]
  while (reader.accept("|") !== undefined) {
    members.push(valueIsAbsent(reader, "a type") ? missingType(reader) : parseSingleType(reader))
  }
  return { kind: "union-type", members, start: first.start, end: reader.endFrom(first) }
}

function parseSingleType(reader: TokenReader): TypeNode {
  // A block counts its own level.
  if (reader.is("{")) return withForeignSuffix(reader, parseTypeHere(reader))
  if (!reader.enter()) return missingType(reader)
  const type = parseTypeHere(reader)
  reader.leave()
  return withForeignSuffix(reader, type)
}

function missingType(reader: TokenReader): TypeNode {
  return { kind: "missing-type", start: reader.previous.end, end: reader.previous.end }
}

function parseTypeHere(reader: TokenReader): TypeNode {
  const first = reader.token
  switch (first.kind) {
    case "name":
      return parseNamedType(reader, first)
    case "string": {
      if (!reader.isPlainString(first)) break
      const { text } = reader.quotedName(reader.take())
      return { kind: "type-literal", value: text, start: first.start, end: first.end }
    }
    case "[":
      return parseArrayType(reader, first)
    case "(":
      return parseTuple(reader, first)
    case "{": {
      if (holdsNames(reader)) return parseWordlessEnum(reader)
      const body = parseTypeFields(reader)
      if (body !== undefined) return { kind: "object-type", body, start: body.start, end: body.end }
      break
    }
    default:
      break
  }
  reader.expected("a type", typeHint(reader, first))
  if (first.kind === "number" || first.kind === "string" || first.kind === "head" || first.kind === "bad") {
    reader.skipBalanced()
  }
  return missingType(reader)
}

/** Values among the types of an agent's output. */
export const valueHint = "A type belongs here. Put a value into `dynamic { }`, or into the workflow's own `output { }`."

function typeHint(reader: TokenReader, token: Token): string | undefined {
  if (token.kind === "head") return `A literal type has no interpolation. ${valueHint}`
  if (token.kind === "number") return `Only strings can be literal types. ${valueHint}`
  if (token.kind === "string" && !reader.isPlainString(token)) return "A literal type is a one-line string."
  return undefined
}

function parseNamedType(reader: TokenReader, first: Token): TypeNode {
  const { start } = first
  const next = reader.peek()
  if (next.kind !== ".") {
    switch (typeWord(reader)) {
      case "maybe":
        return parseMaybe(reader)
      case "untrusted":
        return parseMarked(reader, "untrusted")
      case "private":
        return parseMarked(reader, "private")
      case "map": {
        const word = reader.take()
        const type = parseSingleType(reader)
        return { kind: "map-type", type, start: word.start, end: reader.endFrom(word) }
      }
      case "enum":
        return parseEnum(reader)
      case "variant":
        return parseVariantType(reader)
      case undefined: {
        if (reader.isWord("object") && next.kind === "{" && !next.afterBreak) return parseObjectWord(reader, first)
        const name = parseWordKey(reader)
        const type: TypeNode = { kind: "type-name", name, start, end: name.end }
        return refuseGeneric(reader, name) ? missingType(reader) : type
      }
    }
  }
  const segments = [reader.identifier(reader.take())]
  while (reader.accept(".") !== undefined) {
    const segment = parseSegment(reader, "a name after `.`")
    if (segment === undefined) break
    segments.push(segment)
  }
  return { kind: "type-path", segments, start, end: reader.previous.end }
}

/** `object { … }`: reported, and read as the fields alone. */
function parseObjectWord(reader: TokenReader, first: Token): TypeNode {
  reader.report(first, "`object` takes no fields: it is any JSON object", "Write `{ … }` alone.")
  reader.take()
  return parseTypeHere(reader)
}

/** The word that begins a type; a misspelt one is reported where the rest shows what is meant. */
function typeWord(reader: TokenReader): TypeWord | undefined {
  if (reader.isWord("maybe")) return "maybe"
  if (reader.isWord("enum")) return "enum"
  if (reader.isWord("variant")) return "variant"
  const next = reader.peek()
  if (next.afterBreak) return undefined
  if (next.kind === "{" && !isMark(reader)) return isMisspelt(reader, "enum") ? "enum" : undefined
  const third = reader.peek(2).kind
  if (!startsType(next) || third === ":") return undefined
  if (reader.isWord("untrusted")) return "untrusted"
  if (reader.isWord("private")) return "private"
  // `map[string]number` is that of another language.
  if (reader.isWord("map")) return next.kind === "[" && next.start === reader.token.end ? undefined : "map"
  if (reader.isWord("nullable") || reader.isWord("optional")) {
    reader.unexpected("a type", meantWord("maybe"))
    return "maybe"
  }
  const fitting = third === "{" ? "variant" : "maybe"
  return isMisspelt(reader, fitting) ? fitting : undefined
}

/** A word that stands before a type of any form. */
function isMark(reader: TokenReader): boolean {
  return reader.isWord("untrusted") || reader.isWord("private") || reader.isWord("map")
}

/** Marked = ("untrusted" | "private") single */
function parseMarked(reader: TokenReader, mark: MarkedType["mark"]): TypeNode {
  const first = reader.take()
  const type = parseSingleType(reader)
  return { kind: "marked", mark, type, start: first.start, end: reader.endFrom(first) }
}

/** Maybe = "maybe" single */
function parseMaybe(reader: TokenReader): TypeNode {
  const first = reader.take()
  if (valueIsAbsent(reader, "a type")) return missingType(reader)
  const type = parseSingleType(reader)
  if (type.kind === "missing-type") while (reader.acceptWord("maybe") !== undefined);
  return { kind: "maybe", type, start: first.start, end: reader.endFrom(first) }
}

function startsType(token: Token): boolean {
  return (
    token.kind === "name" || token.kind === "string" || token.kind === "[" || token.kind === "(" || token.kind === "{"
  )
}

/** Enum = "enum" "{" (name ","?)* "}" */
function parseEnum(reader: TokenReader): TypeNode {
  const keyword = reader.take()
  if (reader.is("name") && reader.peek().kind === "{" && !reader.token.afterBreak) {
    reader.report(reader.take(), "An enum has no name here", "Write `enum { first, second }`.")
  }
  const body = reader.block(parseEnumMember, leavesEnum, "a name of the enum")
  if (body === undefined) return missingEnum(reader)
  return { kind: "enum", keyword, body, start: keyword.start, end: body.end }
}

/** Whether the block begins with two names that have no types: `{ low, high }`. */
function holdsNames(reader: TokenReader): boolean {
  if (reader.peek(2).kind !== "," || !isName(reader.peek(1)) || !isName(reader.peek(3))) return false
  const { kind } = reader.peek(4)
  return kind === "," || kind === "}"
}

function isName({ kind }: Token): boolean {
  return kind === "name" || kind === "string"
}

function parseWordlessEnum(reader: TokenReader): TypeNode {
  const first = reader.token
  reader.report(first, "Expected a type, found names alone", "Write `enum { first, second }`.")
  const body = reader.block(parseEnumMember, leavesEnum, "a name of the enum")
  if (body === undefined) return missingType(reader)
  return { kind: "enum", keyword: first, body, start: body.start, end: body.end }
}

function parseEnumMember(reader: TokenReader): Name | undefined {
  if (reader.is("|")) {
    reader.report(reader.token, "The names of an enum are separated by commas")
    reader.take()
  }
  const name = parseKey(reader)
  const { token } = reader
  if (name !== undefined && (token.kind === ":" || (token.kind === "bad" && reader.textOf(token) === "="))) {
    reader.report(token, "The names of an enum have no values")
    reader.skipToNextItem()
  }
  return name
}

/** `enum [a, b]`, `enum a, b }`: skips to the closing bracket if it is on this line. */
function missingEnum(reader: TokenReader): TypeNode {
  reader.expected("`{` after `enum`", "Write `enum { first, second }`.")
  if (reader.is("[") || reader.is("(")) reader.skipBalanced()
  let ahead = 0
  while (mayStandInEnum(reader.peek(ahead)) && !reader.peek(ahead).afterBreak) ahead++
  const isClosed = reader.peek(ahead).kind === "}" && reader.lacksOpenBrace
  for (; isClosed && ahead >= 0; ahead--) reader.take()
  return missingType(reader)
}

function mayStandInEnum({ kind }: Token): boolean {
  return kind === "name" || kind === "string" || kind === "," || kind === "bad" || kind === "number"
}

/** In a schema `variant` may also be the name of a field. */
function startsVariant(reader: TokenReader): boolean {
  return reader.isWord("variant") && looksLikeVariant(reader)
}

/** Whether a name and a brace follow the reader's token. */
function looksLikeVariant(reader: TokenReader): boolean {
  const next = reader.peek()
  return (next.kind === "name" || reader.isPlainString(next)) && reader.peek(2).kind === "{"
}

function parseVariantType(reader: TokenReader): TypeNode {
  return parseVariant(reader) ?? missingType(reader)
}

/** Variant = "variant" tag "{" (name "{" fields "}" ","?)* "}" */
function parseVariant(reader: TokenReader): VariantType | undefined {
  const keyword = reader.take()
  const isNextField = reader.token.afterBreak && reader.peek().kind === ":"
  const tag = isNextField ? undefined : parseKey(reader)
  if (tag === undefined) reader.expected("the name of the tag field after `variant`", "Write `variant kind { … }`.")
  return parseCases(reader, keyword, tag)
}

function parseCases(reader: TokenReader, keyword: Token, tag: Name | undefined): VariantType | undefined {
  if (!reader.is("{")) {
    reader.expected("`{` and the cases of the variant")
    assumeBrace(reader)
  }
  const body = reader.block(parseCase, leavesBlock, "a case of the variant")
  if (body === undefined) return undefined
  // A tag that is missing has no text.
  const known = tag ?? { kind: "name", text: "", quoted: false, start: body.start, end: body.start }
  return { kind: "variant", keyword, tag: known, body, start: keyword.start, end: body.end }
}

function parseCase(reader: TokenReader): VariantCase | undefined {
  const first = reader.token
  const doc = docBefore(reader)
  const name = parseKey(reader)
  if (name === undefined) return undefined
  const colon = reader.accept(":")
  if (colon !== undefined) reader.report(colon, `A case has no \`:\``, `Write \`${reader.show(name)} { … }\`.`)
  if (!reader.is("{")) {
    const message = `Expected \`{\` after the case name \`${reader.show(name)}\``
    if (colon === undefined)
      reader.report(name, message, `Write \`${reader.show(name)} { }\` for a case without fields.`)
    if (reader.is("}") && !reader.token.afterBreak && reader.lacksOpenBrace) {
      // `name }`
      const open = reader.take()
      const body = { open, close: open, items: [], start: open.start, end: open.end }
      return { kind: "variant-case", name, body, doc, start: first.start, end: open.end }
    }
    assumeBrace(reader)
  }
  const body = reader.block(parseTypeField, leavesCase, "a field name", "field")
  if (body === undefined) return undefined
  return { kind: "variant-case", name, body, doc, start: first.start, end: body.end }
}

/** ArrayType = "[" type (";" count)? "]" */
function parseArrayType(reader: TokenReader, first: Token): TypeNode {
  let length: NumberNode | undefined
  const element = reader.bracketed(parseType)
  if (reader.accept(";") !== undefined) {
    const count = reader.accept("number")
    if (count === undefined) reader.expected("the number of elements after `;`")
    else length = numberNode(reader, count)
  }
  reader.accept(",")
  closeBracket(reader, first, "]", "`]` after the element type")
  return { kind: "array-type", element, length, start: first.start, end: reader.endFrom(first) }
}

/** Tuple = "(" type ("," type)* ","? ")"; one type in parentheses without a comma is just grouped. */
function parseTuple(reader: TokenReader, first: Token): TypeNode {
  const elements: TypeNode[] = []
  const { count } = reader.mistakes
  let comma = false
  reader.bracketed(() => {
    while (startsType(reader.token) || reader.is("|")) {
      elements.push(parseType(reader))
      if (reader.accept(",") === undefined) break
      comma = true
    }
  })
  if (elements.length === 0) reader.expected("a type after `(`")
  closeBracket(reader, first, ")", "`,` or `)` after a type of the tuple")
  if (reader.mistakes.count > count) return missingType(reader)
  const only = elements[0]
  const { start } = first
  const end = reader.endFrom(first)
  if (only !== undefined && elements.length === 1 && !comma) return { kind: "group-type", type: only, start, end }
  return { kind: "tuple-type", elements, start, end }
}
