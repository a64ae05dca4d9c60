import { startsDeclaration } from "./declaration-start.ts"
import { docBefore } from "./doc-comment.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Block, Name, NumberNode, TypeField, TypeNode, VariantCase, VariantType } from "./tree.ts"

/** TypeFields = "{" (name ":" type ","?)* "}" */
export function parseTypeFields(reader: TokenReader): Block<TypeField> | undefined {
  return reader.block(() => parseTypeField(reader), outside(reader), "a field name")
}

/** The body of a schema: fields, or one variant without a colon. */
export function parseSchemaBody(reader: TokenReader): Block<TypeField | VariantType> | undefined {
  return reader.block<TypeField | VariantType>(
    () => (startsVariant(reader) ? parseVariant(reader) : parseTypeField(reader)),
    outside(reader),
    "a field name",
  )
}

function outside(reader: TokenReader): (itemsIndented: boolean) => boolean {
  return (itemsIndented) => startsDeclaration(reader, itemsIndented)
}

function parseTypeField(reader: TokenReader): TypeField | undefined {
  const first = reader.token
  const doc = docBefore(reader)
  const name = parseKey(reader)
  if (name === undefined) return undefined
  const colon = parseColon(reader, name)
  const absent = colon === "missing-value" || valueIsAbsent(reader, "a type")
  const type: TypeNode = absent ? missingType(reader) : parseType(reader)
  return {
    kind: "type-field",
    name,
    colon: colon === "missing-value" ? undefined : colon,
    type,
    doc,
    ...reader.spanFrom(first),
  }
}

/** Key = identifier | string */
export function parseKey(reader: TokenReader): Name | undefined {
  const { token } = reader
  if (token.kind === "name") return reader.identifier(reader.take())
  if (reader.isPlainString(token)) return reader.quotedName(reader.take())
  if (token.kind === "string" || token.kind === "head") {
    reader.report(token, "A field name is a word or a plain string")
    reader.skipBalanced()
    if (reader.is(":")) reader.skipToNextItem()
  }
  return undefined
}

/** Reports a colon that is not there; goes on as if it were when a value follows on the same line. */
export function parseColon(reader: TokenReader, name: Name): Token | undefined | "missing-value" {
  const colon = reader.accept(":")
  const { token } = reader
  if (colon !== undefined) return colon
  const what = `\`:\` after the field name \`${name.text}\``
  const valueFollows = startsValue(token) && !token.afterBreak
  if (valueFollows) {
    reader.expected(what)
    return undefined
  }
  if (token.kind === "bad" || token.unclosed) reader.skipToNextItem()
  else reader.report(name, `Expected ${what}`)
  return "missing-value"
}

/** `a:` and then, on the next line, another field: reports that `what` is missing instead of taking that field for it. */
export function valueIsAbsent(reader: TokenReader, what: string): boolean {
  const { token } = reader
  const nextField = token.afterBreak && (token.kind === "name" || token.kind === "string") && reader.peek().kind === ":"
  if (!nextField) return false
  reader.report(reader.previous, `Expected ${what} after \`:\``)
  return true
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
      return true
    default:
      return false
  }
}

/** Type = single ("|" single)* */
export function parseType(reader: TokenReader): TypeNode {
  const first = reader.token
  reader.accept("|")
  const type = parseSingleType(reader)
  if (!reader.is("|")) return type
  const members = [type]
  while (reader.accept("|") !== undefined) members.push(parseSingleType(reader))
  return { kind: "union-type", members, ...reader.spanFrom(first) }
}

function parseSingleType(reader: TokenReader): TypeNode {
  return reader.nested(() => parseTypeHere(reader)) ?? missingType(reader)
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
      return { kind: "type-literal", value: text, ...reader.spanFrom(first) }
    }
    case "[":
      return parseArrayType(reader, first)
    case "(":
      return parseTuple(reader, first)
    case "{": {
      const body = parseTypeFields(reader)
      if (body !== undefined) return { kind: "object-type", body, start: body.start, end: body.end }
      break
    }
    default:
      break
  }
  reader.expected("a type", typeHint(reader, first))
  if (first.kind === "number" || first.kind === "string" || first.kind === "head") reader.skipBalanced()
  return missingType(reader)
}

function typeHint(reader: TokenReader, token: Token): string | undefined {
  if (token.kind === "head") return "A literal type has no interpolation."
  if (token.kind === "number") return "Only strings can be literal types."
  if (token.kind === "string" && !reader.isPlainString(token)) return "A literal type is a one-line string."
  return undefined
}

function parseNamedType(reader: TokenReader, first: Token): TypeNode {
  const next = reader.peek()
  if (reader.isWord("enum") && next.kind === "{") return parseEnum(reader)
  if (startsVariant(reader)) return parseVariant(reader)
  if (reader.isWord("maybe") && startsType(next) && !(next.kind === "name" && reader.peek(2).kind === ":")) {
    reader.take()
    const type = parseSingleType(reader)
    return { kind: "maybe", type, ...reader.spanFrom(first) }
  }
  const segments = [reader.identifier(reader.take())]
  while (reader.is(".")) {
    reader.take()
    const segment = parsePathSegment(reader)
    if (segment === undefined) {
      reader.expected("a name after `.`")
      break
    }
    segments.push(segment)
  }
  const type: TypeNode =
    segments[0] !== undefined && segments.length === 1 && reader.previous === first
      ? { kind: "type-name", name: segments[0], ...reader.spanFrom(first) }
      : { kind: "type-path", segments, ...reader.spanFrom(first) }
  if (reader.is("[") && reader.adjacent(reader.previous, reader.token)) {
    reader.report(
      { start: first.start, end: reader.token.end + 1 },
      "An array type is written before its element",
      "Write `[string]`, not `string[]`.",
    )
    reader.skipBalanced()
  }
  return type
}

function parsePathSegment(reader: TokenReader): Name | undefined {
  if (reader.is("name")) return reader.identifier(reader.take())
  return reader.isPlainString(reader.token) ? reader.quotedName(reader.take()) : undefined
}

function startsType(token: Token): boolean {
  return (
    token.kind === "name" || token.kind === "string" || token.kind === "[" || token.kind === "(" || token.kind === "{"
  )
}

/** Enum = "enum" "{" (name ","?)* "}" */
function parseEnum(reader: TokenReader): TypeNode {
  const keyword = reader.take()
  const body = reader.block(() => parseEnumMember(reader), outside(reader), "a name of the enum")
  if (body === undefined) throw new Error("An enum was begun without its brace")
  return { kind: "enum", keyword, body, ...reader.spanFrom(keyword) }
}

function parseEnumMember(reader: TokenReader): Name | undefined {
  if (reader.is("|")) {
    reader.report(reader.token, "The names of an enum are separated by commas")
    reader.take()
  }
  return parseKey(reader)
}

function startsVariant(reader: TokenReader): boolean {
  if (!reader.isWord("variant")) return false
  const next = reader.peek()
  return (next.kind === "name" || reader.isPlainString(next)) && reader.peek(2).kind === "{"
}

/** Variant = "variant" tag "{" (name "{" fields "}" ","?)* "}" */
function parseVariant(reader: TokenReader): VariantType {
  const keyword = reader.take()
  const tag = parseKey(reader)
  const body = reader.block(() => parseCase(reader), outside(reader), "a case of the variant")
  if (tag === undefined || body === undefined) throw new Error("A variant was begun without its tag or brace")
  return { kind: "variant", keyword, tag, body, ...reader.spanFrom(keyword) }
}

function parseCase(reader: TokenReader): VariantCase | undefined {
  const first = reader.token
  const doc = docBefore(reader)
  const name = parseKey(reader)
  if (name === undefined) return undefined
  const colon = reader.accept(":")
  if (colon !== undefined) reader.report(colon, `A case has no \`:\``, `Write \`${name.text} { … }\`.`)
  const body = parseTypeFields(reader)
  if (body === undefined) {
    reader.report(
      name,
      `Expected \`{\` after the case name \`${name.text}\``,
      `Write \`${name.text} { }\` for a case without fields.`,
    )
    if (!reader.token.afterBreak) reader.skipToNextItem()
    return undefined
  }
  return { kind: "variant-case", name, body, doc, ...reader.spanFrom(first) }
}

/** ArrayType = "[" type (";" count)? "]" */
function parseArrayType(reader: TokenReader, first: Token): TypeNode {
  let length: NumberNode | undefined
  const element = reader.bracketed(() => parseType(reader))
  if (reader.accept(";") !== undefined) {
    const count = reader.accept("number")
    if (count === undefined) reader.expected("the number of elements after `;`")
    else length = numberNode(reader, count)
  }
  reader.accept(",")
  closeBracket(reader, "]", "`]` after the element type")
  return { kind: "array-type", element, length, ...reader.spanFrom(first) }
}

export function numberNode(reader: TokenReader, token: Token): NumberNode {
  const value = Number(reader.textOf(token).replaceAll("_", ""))
  return { kind: "number", value: Number.isFinite(value) ? value : 0, start: token.start, end: token.end }
}

/** Tuple = "(" type ("," type)* ","? ")"; one type in parentheses without a comma is just grouped. */
function parseTuple(reader: TokenReader, first: Token): TypeNode {
  const elements: TypeNode[] = []
  let comma = false
  reader.bracketed(() => {
    while (startsType(reader.token) || reader.is("|")) {
      elements.push(parseType(reader))
      if (reader.accept(",") === undefined) break
      comma = true
    }
  })
  if (elements.length === 0) reader.expected("a type after `(`")
  closeBracket(reader, ")", "`,` or `)` after a type of the tuple")
  const only = elements[0]
  if (only !== undefined && elements.length === 1 && !comma) {
    return { kind: "group-type", type: only, ...reader.spanFrom(first) }
  }
  return { kind: "tuple-type", elements, ...reader.spanFrom(first) }
}

/** Takes the closing bracket; where it is missing, skips to it if it is still on this line. */
export function closeBracket(reader: TokenReader, kind: "]" | ")", what: string): Token | undefined {
  const close = reader.accept(kind)
  if (close !== undefined) return close
  reader.expected(what)
  while (!reader.is(kind) && !reader.token.afterBreak && !stopsBracket(reader.token)) reader.skipBalanced()
  return reader.accept(kind)
}

function stopsBracket(token: Token): boolean {
  return token.kind === "end" || token.kind === "}" || token.kind === "middle" || token.kind === "tail"
}
