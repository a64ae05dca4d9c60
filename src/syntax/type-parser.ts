import { didYouMean } from "../base/did-you-mean.ts"
import { leavesBlock, leavesCase, leavesEnum, startsDeclaration } from "./declaration-start.ts"
import { docBefore } from "./doc-comment.ts"
import { refuseYaml } from "./yaml-text.ts"
import type { Token, TokenKind } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import { numberValue } from "./token-reader.ts"
import type { Block, Name, NumberNode, TypeField, TypeNode, VariantCase, VariantType } from "./tree.ts"

/** TypeFields = "{" (name ":" type ","?)* "}" */
export function parseTypeFields(reader: TokenReader): Block<TypeField> | undefined {
  return reader.block(parseTypeField, leavesBlock, "a field name")
}

/** The body of a schema: fields, or one variant without a colon. */
export function parseSchemaBody(reader: TokenReader): Block<TypeField | VariantType> | undefined {
  return reader.block<TypeField | VariantType>(parseSchemaItem, leavesBlock, "a field name")
}

function parseSchemaItem(reader: TokenReader): TypeField | VariantType | undefined {
  const isVariant = startsVariant(reader) || (reader.isWord("variant") && lacksTagOrBrace(reader))
  if (reader.isCareful && !isVariant && holdsCases(reader)) return parseWordlessVariant(reader)
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
  const name = parseKey(reader)
  if (name === undefined) return undefined
  const isOptional = reader.is("bad") && reader.textOf(reader.token) === "?" && reader.peek().kind === ":"
  if (isOptional) reader.report(reader.take(), "A field has no `?`", `Write \`${reader.show(name)}: maybe type\`.`)
  const colon = parseColon(reader, name)
  const absent = colon === "missing-value" || (colon !== undefined && valueIsAbsent(reader, "a type"))
  const headless = reader.isCareful && !absent ? parseHeadless(reader, name) : undefined
  const written: TypeNode = absent ? missingType(reader) : (headless ?? parseType(reader))
  const type: TypeNode = isOptional ? { kind: "maybe", type: written, start: written.start, end: written.end } : written
  if (reader.is("bad") && reader.textOf(reader.token) === "=") {
    reader.report(reader.token, "A field has no default value", "Give it where the field is read: `… ?? value`.")
    reader.skipToNextItem()
  }
  const end = reader.endFrom(first)
  return {
    kind: "type-field",
    name,
    colon: colon === "missing-value" ? undefined : colon,
    type,
    doc,
    start: first.start,
    end,
  }
}

/** `a, b]`: reports the bracket that a list lacks, and skips the list. */
export function lacksList(reader: TokenReader, bracket: "[" | "("): boolean {
  if (!reader.lacksOpening(bracket)) return false
  reader.report(reader.token, `Expected \`${bracket}\` before ${reader.describe(reader.token)}`)
  reader.skipList(bracket)
  return true
}

/** `key: a: 1, b: 2 }`: reports the brace that an object lacks, and lets it begin without. */
export function lacksObject(reader: TokenReader, name: Name): boolean {
  const { kind, afterBreak } = reader.peek()
  if (!reader.lacksOpenBrace || reader.token.afterBreak || kind !== ":" || afterBreak || !reader.atKey) return false
  reader.openWithoutBrace(`\`${reader.show(name)}:\``)
  return true
}

/** A type without its opening bracket, which is reported; undefined for everything else. */
function parseHeadless(reader: TokenReader, name: Name): TypeNode | undefined {
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

/** Key = identifier | string */
export function parseKey(reader: TokenReader): Name | undefined {
  const { token } = reader
  if (token.kind === "name") return parseWordKey(reader, "Write it with `_`, or in quotes.")
  if (token.kind !== "string" && token.kind !== "head") return undefined
  if (reader.isPlainString(token)) return reader.quotedName(reader.take())
  reader.report(token, "A field name is a word or a plain string")
  reader.skipBalanced()
  if (reader.is(":")) reader.skipToNextItem()
  return undefined
}

/** An identifier; one with `-` or a foreign letter in it is reported and taken as a whole. */
export function parseWordKey(reader: TokenReader, hint = "Write it with `_`."): Name {
  const first = reader.take()
  const { token } = reader
  if (token.start !== first.end) return reader.identifier(first)
  const isForeign = isForeignLetters(reader, token)
  if (!isForeign && !isDash(reader, token)) return reader.identifier(first)
  const name = joinedName(reader, first, (token) => isDashOrWord(token) || isForeignLetters(reader, token))
  const wrong = `\`${reader.show(name)}\` is not a name`
  // Each use of the name would be the same mistake again.
  if (reader.isReported(name.text)) return name
  reader.report(name, wrong, isForeign ? "A name is made of the letters A to Z, digits and `_`." : hint)
  return name
}

function isForeignLetters(reader: TokenReader, token: Token): boolean {
  return token.kind === "bad" && /^[\p{L}\p{N}\p{M}]+$/u.test(reader.textOf(token))
}

function isDash(reader: TokenReader, token: Token): boolean {
  return token.kind === "-" || (token.kind === "number" && reader.text.charCodeAt(token.start) === 45)
}

function isDashOrWord(token: Token): boolean {
  return token.kind === "name" || token.kind === "-" || token.kind === "number"
}

/** Takes the tokens that touch `first`, which is taken, and each other as one name. */
export function joinedName(reader: TokenReader, first: Token, joins: (token: Token) => boolean): Name {
  while (reader.isAdjacent && joins(reader.token)) reader.take()
  const span = { start: first.start, end: reader.previous.end }
  return { kind: "name", text: reader.textOf(span), quoted: false, start: span.start, end: span.end }
}

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
    reader.expected(what)
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

/** `a is b`, `a in b`, `a if b`: what follows a value in its line is not the next field. */
function refuseOperator(reader: TokenReader, { text, start, end }: Name): boolean {
  if (reader.previous.afterBreak) return false
  const hint = operatorHints.get(text)
  if (hint === undefined) return false
  reader.report({ start, end }, `\`${text}\` is not an operator`, hint)
  reader.skipToNextItem()
  return true
}

export const ifHint = "Write `match condition { true: …, false: … }`, or give an agent a condition with `when`."

const operatorHints: ReadonlyMap<string, string> = new Map([
  ["is", "Write `==`."],
  ["in", "Write `list contains value`."],
  ["if", ifHint],
  ["as", "Remove it."],
])

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
  if (!token.afterBreak && startsValue(token) && !startsBody(reader)) return false
  const ends = token.kind === "," || reader.endsBlock(token) || startsBody(reader)
  if (!ends && !(token.afterBreak && isNextField(reader, mayEndWithBlock))) return false
  if (token.unclosed) reader.expected(what)
  else reader.report(reader.previous, `Expected ${what} after \`${reader.textOf(reader.previous)}\``)
  return true
}

/** Whether the block of a step begins here, and not an operand of the condition in its head. */
function startsBody(reader: TokenReader): boolean {
  return reader.isCareful && reader.inHead && reader.is("{") && reader.peek().afterBreak
}

function isNextField(reader: TokenReader, mayEndWithBlock: boolean): boolean {
  // `_ value` is the last branch of a match.
  if (reader.isCareful && reader.isWord("_") && reader.peek().kind !== "." && !reader.peek().afterBreak) return true
  if (startsDeclaration(reader) && reader.lacksBrace) return true
  const isBlock = reader.peek().kind === "{"
  return reader.atKey && !(isBlock && (mayEndWithBlock || reader.isWord("enum") || reader.isWord("maybe")))
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

/** `string[]` and `string?` are reported, and read as what they mean in other languages. */
function withForeignSuffix(reader: TokenReader, type: TypeNode): TypeNode {
  const { token } = reader
  if (token.kind !== "[" && token.kind !== "bad") return type
  if (!reader.isAdjacent || type.kind === "missing-type") return type
  const { start } = type
  if (token.kind === "[") {
    const count = reader.peek().kind === "number" ? reader.textOf(reader.peek()) : undefined
    reader.skipBalanced()
    const { end } = reader.previous
    const hint = count === undefined ? "Write `[string]`, not `string[]`." : `Write \`[string; ${count}]\`.`
    reader.report({ start, end }, "The brackets of an array type stand around its element", hint)
    return withForeignSuffix(reader, { kind: "array-type", element: type, length: undefined, start, end })
  }
  if (reader.textOf(token) !== "?") return type
  reader.report(token, "A type that may be null is not written with `?`", "Write `maybe` before the type.")
  reader.take()
  return { kind: "maybe", type, start, end: token.end }
}

function parseNamedType(reader: TokenReader, first: Token): TypeNode {
  const { start } = first
  const next = reader.peek()
  if (next.kind !== ".") {
    switch (typeWord(reader)) {
      case "maybe":
        return parseMaybe(reader)
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

/** `Record<string, string>`, `Optional[str]`: reported as a whole, and read over. */
function refuseGeneric(reader: TokenReader, name: Name): boolean {
  const isSquare = reader.is("[") || reader.is("(")
  if (!reader.isAdjacent || (!isSquare && reader.text.charCodeAt(reader.token.start) !== 60)) return false
  const hint = genericHint(name.text)
  if (isSquare) {
    const { kind } = reader.peek()
    if (hint === undefined || (kind !== "name" && kind !== "string")) return false
    reader.skipBalanced()
  } else {
    let depth = 0
    do {
      for (const character of reader.textOf(reader.token)) depth += character === "<" ? 1 : character === ">" ? -1 : 0
      reader.skipBalanced()
    } while (depth > 0 && !reader.token.afterBreak && !reader.endsBlock(reader.token))
  }
  const span = { start: name.start, end: reader.previous.end }
  reader.report(
    span,
    `Types have no parameters: \`${reader.show(name)}\``,
    hint ?? "Write the type itself, or a `schema`.",
  )
  return true
}

function genericHint(name: string): string | undefined {
  switch (name.toLowerCase()) {
    case "array":
    case "list":
    case "readonlyarray":
    case "set":
    case "sequence":
      return "An array is written `[string]`."
    case "optional":
    case "maybe":
    case "nullable":
    case "partial":
      return "A type that may be null is written `maybe string`."
    case "record":
    case "map":
    case "dict":
    case "hashmap":
      return "Any JSON object is `object`; pairs with names of their own are `[{ key: string, value: string }]`."
    case "literal":
      return 'A choice is written `"a" | "b"`.'
    case "union":
      return "A union is written `string | number`."
    default:
      return undefined
  }
}

type TypeWord = "maybe" | "enum" | "variant"

/** The word that begins a type; a misspelt one is reported where the rest shows what is meant. */
function typeWord(reader: TokenReader): TypeWord | undefined {
  if (reader.isWord("maybe")) return "maybe"
  if (reader.isWord("enum")) return "enum"
  if (reader.isWord("variant")) return "variant"
  const next = reader.peek()
  if (next.afterBreak) return undefined
  if (next.kind === "{") return isMisspelt(reader, "enum") ? "enum" : undefined
  const third = reader.peek(2).kind
  if (!startsType(next) || third === ":") return undefined
  if (reader.isWord("nullable") || reader.isWord("optional")) {
    reader.unexpected("a type", "Did you mean `maybe`?")
    return "maybe"
  }
  const fitting = third === "{" ? "variant" : "maybe"
  return isMisspelt(reader, fitting) ? fitting : undefined
}

function isMisspelt(reader: TokenReader, word: TypeWord): boolean {
  if (didYouMean(reader.textOf(reader.token), [word]) === undefined) return false
  reader.unexpected("a type", `Did you mean \`${word}\`?`)
  return true
}

/** Segment = identifier | string, after a `.` or `#`; reports when there is none. */
export function parseSegment(reader: TokenReader, what: string, hint?: string): Name | undefined {
  const { token } = reader
  // `a: input.` and on the next line `b: 1`: the `b` is not a segment.
  const isNextField = token.afterBreak && ((reader.isCareful && reader.inShortBranch) || isFieldOrDeclaration(reader))
  if (!isNextField && token.kind === "name") return parseWordKey(reader, "Write it with `_`, or in quotes.")
  if (!isNextField && reader.isPlainString(token)) return reader.quotedName(reader.take())
  reader.expected(what, hint)
  return undefined
}

function isFieldOrDeclaration(reader: TokenReader): boolean {
  const next = reader.peek().kind
  return next === ":" || (reader.isCareful && next === "{") || (startsDeclaration(reader) && reader.lacksBrace)
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
  const [first, comma, second, next] = [1, 2, 3, 4].map((ahead) => reader.peek(ahead).kind)
  const isName = (kind: TokenKind | undefined): boolean => kind === "name" || kind === "string"
  return isName(first) && comma === "," && isName(second) && (next === "," || next === "}")
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
    reader.assumeBrace()
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
    reader.assumeBrace()
  }
  const body = reader.block(parseTypeField, leavesCase, "a field name")
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

/** The value of a number token that is taken; reports one that is not a number. */
export function numberNode(reader: TokenReader, token: Token): NumberNode {
  const written = reader.textOf(token)
  const value = numberValue(written)
  if (value === undefined) {
    const shown = reader.describe(token)
    reader.report(token, `${shown} is neither a number nor a name`, "A name cannot begin with a digit.")
  } else if (!Number.isFinite(value)) {
    reader.report(token, "This number is too large")
  }
  const known = value !== undefined && Number.isFinite(value) ? value : 0
  return { kind: "number", value: known, start: token.start, end: token.end }
}

/** Tuple = "(" type ("," type)* ","? ")"; one type in parentheses without a comma is just grouped. */
function parseTuple(reader: TokenReader, first: Token): TypeNode {
  const elements: TypeNode[] = []
  const { mistakes } = reader
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
  if (reader.mistakes > mistakes) return missingType(reader)
  const only = elements[0]
  const { start } = first
  const end = reader.endFrom(first)
  if (only !== undefined && elements.length === 1 && !comma) return { kind: "group-type", type: only, start, end }
  return { kind: "tuple-type", elements, start, end }
}

/** Takes the bracket that closes `open`; where it is missing, tells which one and skips to it if it is on this line. */
export function closeBracket(reader: TokenReader, open: Token, kind: "]" | ")", what: string): Token | undefined {
  const close = reader.accept(kind)
  if (close !== undefined) return close
  missingBracket(reader, open, kind, what)
  while (!reader.is(kind) && !reader.token.afterBreak && !endsBracket(reader.token)) reader.skipBalanced()
  return reader.accept(kind)
}

/** Where the next field, or the end of the block, follows instead, it is the opening bracket that the author looks for. */
export function missingBracket(reader: TokenReader, open: Token, kind: "]" | ")", what: string, hint?: string): void {
  const { token } = reader
  const isLeft =
    (endsBracket(token) && !token.unclosed) || (token.afterBreak && (reader.atKey || startsDeclaration(reader)))
  if (isLeft) reader.report(open, `This ${reader.describe(open)} is not closed`, `Add \`${kind}\` where it ends.`)
  else reader.expected(what, hint)
}

/** Whether what is open in square or round brackets cannot go on beyond this token. */
export function endsBracket(token: Token): boolean {
  return token.kind === "}" || token.kind === "tail" || token.kind === "middle" || token.kind === "end"
}
