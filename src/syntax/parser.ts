import { didYouMean } from "../base/did-you-mean.ts"
import { isIdentifier } from "../base/identifier.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import type { DeclarationWord } from "./declaration-start.ts"
import {
  declarationWord,
  declarationWords,
  leavesBlock,
  leavesNames,
  startsDeclaration,
  startsNamed,
} from "./declaration-start.ts"
import { docBefore } from "./doc-comment.ts"
import { lex } from "./lexer.ts"
import { formsOf } from "./property-forms.ts"
import type { Token } from "./token.ts"
import { TokenReader } from "./token-reader.ts"
import type {
  BatchDeclaration,
  BatchItem,
  Declaration,
  ImportKind,
  Loop,
  Name,
  Pattern,
  PatternField,
  Property,
  RemotePath,
  Tree,
} from "./tree.ts"
import { joinedName, parseKey, parseSchemaBody, parseTypeFields, parseWordKey } from "./type-parser.ts"
import { parseExpression, parseProperties, parseProperty, parseValueFields } from "./value-parser.ts"

export interface Parsed {
  readonly tree: Tree
  /** Syntax errors, in source order. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Text → tree. Never throws: what cannot be read is reported, skipped, and reading goes on at the next field. */
export function parse(text: string): Parsed {
  const reader = new TokenReader(text, lex(text))
  const declarations: Declaration[] = []
  const nameless = new Set<string>()
  while (!reader.is("end")) {
    const declaration = parseDeclaration(reader, nameless)
    if (declaration !== undefined) declarations.push(declaration)
  }
  const diagnostics = reader.diagnostics()
  const errors = diagnostics.map(({ span }) => span)
  const { tokens, skipped } = reader
  return { tree: { text, tokens, declarations, errors, skipped, nameless }, diagnostics }
}

/** File = declaration*, with commas between them if the author likes */
function parseDeclaration(reader: TokenReader, nameless: Set<string>): Declaration | undefined {
  reader.endLeaving()
  const keyword = reader.token
  const word = declarationWord(reader) ?? misspeltWord(reader)
  if (word === undefined) {
    notADeclaration(reader)
    return undefined
  }
  const start: Start = { reader, keyword, doc: docBefore(reader), path: word, hasBlock: false }
  reader.take()
  const declaration = parseBody(start, word)
  if (declaration === undefined && start.path === word) nameless.add(word)
  if (declaration === undefined && !start.hasBlock) skipToDeclaration(reader)
  const isOpen = declaration?.body !== undefined && declaration.body.close === undefined
  reader.region({ start: keyword.start, end: isOpen ? reader.token.start : reader.previous.end }, start.path)
  reader.separator()
  return declaration
}

interface Start {
  readonly reader: TokenReader
  readonly keyword: Token
  readonly doc: string | undefined
  /** Grows as the declaration's name is read. */
  path: string
  /** Its block was read, so that what follows is the next declaration. */
  hasBlock: boolean
}

/** `agnet writer {`: told, and read as the agent that it is meant to be. */
function misspeltWord(reader: TokenReader): DeclarationWord | undefined {
  if (!reader.is("name")) return undefined
  const meant = didYouMean(reader.textOf(reader.token), declarationWords)
  if (meant === undefined) return undefined
  const word = declarationWords.find((each) => each === meant)
  const next = reader.peek().kind
  if (next !== "name" && next !== "{") return undefined
  reader.unexpected("a declaration", `Did you mean \`${meant}\`?`)
  return word
}

function notADeclaration(reader: TokenReader): void {
  const { token } = reader
  if (token.kind === "}") {
    reader.unexpected("a declaration", "This `}` closes nothing: remove it.")
    while (reader.is("}") || reader.is(",") || reader.is(";")) reader.take()
    return
  }
  reader.unexpected("a declaration", declarationHint(reader))
  reader.skipBalanced()
  skipToDeclaration(reader)
}

function declarationHint(reader: TokenReader): string {
  if (reader.is("#")) return "A comment begins with `//`."
  if (reader.is("name") && reader.peek().kind === ":" && reader.previous.kind === "}") {
    return "Fields and properties stand inside a declaration: is the `}` before this one too many?"
  }
  return `A declaration begins with ${declarationWords.map((word) => `\`${word}\``).join(", ")}.`
}

/** Skips what follows a broken head: the rest of its line and any block, up to the next declaration. */
function skipToDeclaration(reader: TokenReader): void {
  while (!reader.is("end") && !startsDeclaration(reader)) reader.skipBalanced()
}

function parseBody(start: Start, word: DeclarationWord): Declaration | undefined {
  const { reader, keyword, doc } = start
  switch (word) {
    case "input":
    case "secrets": {
      reader.accept(":")
      const body = parseBlock(start, parseTypeFields)
      return body && { kind: word, keyword, doc, body, start: keyword.start, end: body.end }
    }
    case "output":
    case "dynamic": {
      reader.accept(":")
      const body = parseBlock(start, parseValueFields)
      return body && { kind: word, keyword, doc, body, start: keyword.start, end: body.end }
    }
    case "schema": {
      const name = parseName(start)
      const body = parseBlock(start, parseSchemaBody)
      return name && body && { kind: "schema", keyword, doc, name, body, start: keyword.start, end: body.end }
    }
    case "mcp": {
      const name = parseName(start)
      const body = parseBlock(start, (reader) => parseProperties(reader, "mcp"))
      return name && body && { kind: "mcp", keyword, doc, name, body, start: keyword.start, end: body.end }
    }
    case "provider":
    case "model":
      return parseFrom(start, word)
    case "tool":
    case "resource":
    case "prompt":
      return parseImport(start, word)
    case "from":
      return parseBatch(start)
    case "agent":
      return parseAgent(start)
  }
}

/**
 * The block of a declaration, read also when its head is broken; what stands between the two, on the same line, is told
 * and skipped.
 */
function parseBlock<T>(start: Start, parse: (reader: TokenReader) => T | undefined, after?: string): T | undefined {
  const { reader } = start
  if (!reader.is("{")) {
    reader.expected(`\`{\` after ${after ?? `\`${start.path.replace(".", " ")}\``}`)
    skipToBrace(reader)
  }
  start.hasBlock = reader.is("{") || reader.assumeBrace()
  return parse(reader)
}

function skipToBrace(reader: TokenReader): void {
  while (!reader.is("{") && !reader.is("end") && !reader.token.afterBreak) reader.skipBalanced()
}

function parseName(start: Start): Name | undefined {
  const { reader } = start
  let name: Name
  if (reader.is("name") && !isBeyondName(reader) && !isHeadWithoutName(start)) {
    name = parseWordKey(reader)
  } else {
    const isQuoted = reader.isPlainString(reader.token) && !reader.token.afterBreak
    const hint = isQuoted ? "A name is written without quotes." : undefined
    reader.expected(`a name after \`${start.path}\``, hint)
    if (!isQuoted) return undefined
    name = reader.quotedName(reader.take())
  }
  start.path = `${start.path}.${name.text}`
  return name
}

/** Whether the word on the next line is a property, or begins a declaration, instead of being the name. */
function isBeyondName(reader: TokenReader): boolean {
  if (!reader.token.afterBreak) return false
  const next = reader.peek()
  if (next.kind === ":") return true
  const mayFollowName = next.kind === "{" || reader.isWord("from", next) || reader.isWord("for", next)
  return !mayFollowName && declarationWord(reader) !== undefined
}

/** `model from llm {`, `agent for x in list {`: the name is left out. With another `from` or `for` this one is the name. */
function isHeadWithoutName({ reader, path }: Start): boolean {
  const next = reader.peek()
  if (path === "agent") return reader.isWord("for") && !reader.isWord("for", next) && startsPattern(reader, 1)
  const hasOrigin = path === "provider" || path === "model"
  return hasOrigin && reader.isWord("from") && next.kind === "name" && !reader.isWord("from", next)
}

/** Whether a pattern and `in` are `ahead`. */
function startsPattern(reader: TokenReader, ahead: number): boolean {
  const isFields = reader.peek(ahead).kind === "{"
  if (!isFields) return reader.peek(ahead).kind === "name" && reader.isWord("in", reader.peek(ahead + 1))
  do ahead++
  while (isPatternPart(reader.peek(ahead)))
  return reader.peek(ahead).kind === "}" && reader.isWord("in", reader.peek(ahead + 1))
}

function isPatternPart({ kind }: Token): boolean {
  return kind === "name" || kind === "string" || kind === ":" || kind === ","
}

/** ("provider" | "model") name "from" name properties */
function parseFrom(start: Start, kind: "provider" | "model"): Declaration | undefined {
  const { reader, keyword, doc } = start
  const name = parseName(start)
  // Without `from`: the old spelling of a provider, which the checker explains when it sees `driver`.
  const isOld = kind === "provider" && reader.is("{")
  const origin = isOld || name === undefined ? undefined : parseOrigin(reader, kind, name)
  const body = parseBlock(start, (reader) => parseProperties(reader, kind))
  if (name === undefined || body === undefined) return undefined
  const span = { start: keyword.start, end: body.end }
  return kind === "provider"
    ? { kind: "provider", keyword, doc, name, providerKind: origin, body, ...span }
    : { kind: "model", keyword, doc, name, provider: origin, body, ...span }
}

/** "from" name */
function parseOrigin(reader: TokenReader, kind: "provider" | "model", name: Name): Name | undefined {
  const what = kind === "provider" ? "`from openai`" : "`from` and a provider's name"
  if (!parseFromWord(reader, `${what} after \`${kind} ${reader.show(name)}\``)) return undefined
  if (!reader.is("name")) {
    reader.expected(kind === "provider" ? "the kind of provider after `from`" : "a provider's name after `from`")
    return undefined
  }
  const origin = parseWordKey(reader)
  if (kind !== "model" || origin.text !== "provider" || !reader.is(".") || reader.peek().kind !== "name") return origin
  // `model x from provider.llm`: told, and read as `from llm`.
  reader.take()
  const provider = parseWordKey(reader)
  reader.report(
    { start: origin.start, end: provider.end },
    "A provider is named here without `provider.`",
    `Write \`from ${reader.show(provider)}\`.`,
  )
  return provider
}

/** "from", or what stands in its place: told, and passed over where that leads on. */
function parseFromWord(reader: TokenReader, what: string): boolean {
  if (reader.acceptWord("from") !== undefined) return true
  reader.expected(what)
  if (!reader.is("name") || reader.token.afterBreak) return false
  // `model fast form llm`: the word is a slip, `model fast fast from llm` one too many. `model fast llm`: it is left out.
  if (reader.peek().kind === "name" && !reader.peek().afterBreak) reader.take()
  reader.acceptWord("from")
  return true
}

/** Import = kind name "from" path properties? | kind "from" path ("as" name)? properties? */
function parseImport(start: Start, importKind: ImportKind): Declaration | undefined {
  const { reader, keyword, doc } = start
  const short = reader.isWord("from") && reader.isWord("mcp", reader.peek()) && reader.peek(2).kind === "."
  const written = short ? undefined : parseName(start)
  if (!short && written === undefined) return undefined
  const head = written === undefined ? importKind : `${importKind} ${reader.show(written)}`
  if (!parseFromWord(reader, `\`from mcp.server.${importKind}.remote_name\` after \`${head}\``)) {
    start.hasBlock = parseProperties(reader, importKind) !== undefined
    return undefined
  }
  const source = parseRemotePath(reader)
  if (source === undefined) return undefined
  if (written !== undefined && source.remote === undefined) {
    const rest = source.kindWord === undefined ? `.${importKind}.remote_name` : ".remote_name"
    reader.expected(`\`${rest}\` after \`${showPath(reader, source)}\``)
  }
  const named =
    written === undefined ? parseImportedName(reader, source.remote) : { name: written, naming: "from" as const }
  if (named === undefined) return undefined
  const { name, naming } = named
  if (written !== undefined && reader.isWord("as") && reader.peek().kind === "name") {
    const span = { start: reader.take().start, end: reader.take().end }
    reader.report(span, "The name stands before `from` already", "Leave one of the two names out.")
  }
  start.path = `${importKind}.${name.text}`
  const body = parseProperties(reader, importKind)
  const span = { start: keyword.start, end: reader.previous.end }
  return { kind: "import", keyword, doc, importKind, name, naming, source, body, ...span }
}

/** RemotePath = "mcp" "." server ("." kind ("." remote)?)? */
function parseRemotePath(reader: TokenReader): RemotePath | undefined {
  const first = reader.acceptWord("mcp")
  if (first === undefined) {
    reader.expected("`mcp.` and a server's name after `from`")
    return undefined
  }
  let server: Name | undefined
  let kindWord: Name | undefined
  let remote: Name | undefined
  if (reader.accept(".") !== undefined && isNameHere(reader)) server = parseWordKey(reader)
  if (server === undefined) {
    reader.expected("`.` and a server's name after `mcp`")
    return undefined
  }
  if (reader.accept(".") !== undefined) {
    if (!isNameHere(reader)) {
      reader.expected("`tool`, `resource` or `prompt` after the server's name")
      return undefined
    }
    kindWord = reader.identifier(reader.take())
    if (reader.accept(".") !== undefined) {
      remote = parseRemoteName(reader)
      if (remote === undefined) return undefined
    }
  }
  return { server, kindWord, remote, start: first.start, end: reader.previous.end }
}

function showPath(reader: TokenReader, { server, kindWord, remote }: RemotePath): string {
  const parts = [server, kindWord, remote].filter((part) => part !== undefined)
  return ["mcp", ...parts.map((part) => reader.show(part))].join(".")
}

function isNameHere(reader: TokenReader): boolean {
  return reader.is("name") && !isNextItem(reader)
}

/** Whether the reader's line is that of the next property, import or declaration instead of the rest of this one. */
function isNextItem(reader: TokenReader): boolean {
  const next = reader.peek()
  if (!reader.token.afterBreak || reader.isWord("as", next)) return false
  return next.kind === ":" || startsNamed(reader)
}

/** `tool` in a batch and, on the next line, `tool find`: the first one lacks its name. */
function isNextBatchItem(reader: TokenReader): boolean {
  const [next, third] = [reader.peek(), reader.peek(2)]
  const isImport = importKinds.some((kind) => reader.isWord(kind)) && next.kind === "name" && !next.afterBreak
  return isImport && reader.token.afterBreak && third.kind !== "{" && third.kind !== ":" && !reader.isWord("as", next)
}

/** RemoteName = string | letters, digits, "_", "-", "." and "/" with nothing between */
function parseRemoteName(reader: TokenReader): Name | undefined {
  const { token } = reader
  const isNext = isNextItem(reader)
  if (!isNext && reader.isPlainString(token)) return reader.quotedName(reader.take())
  if (isNext || (token.kind !== "name" && token.kind !== "number")) {
    reader.expected(
      "the name on the server",
      "Write it in quotes if it has other characters than letters, digits, `_`, `-`, `.` and `/`.",
    )
    return undefined
  }
  const name = joinedName(reader, reader.take(), isRemotePart)
  if (!reader.isAdjacent || !isForeignToRemote(reader.token)) return name
  reader.report(
    { start: name.start, end: reader.token.end },
    "A remote name with other characters than letters, digits, `_`, `-`, `.` and `/` is written in quotes",
  )
  while (reader.isAdjacent && !reader.is("end")) reader.skipBalanced()
  return name
}

/** What touches a remote name and looks like more of it: `files:read`, `files:{id}`. */
function isForeignToRemote({ kind }: Token): boolean {
  return kind === ":" || kind === "bad" || kind === "*" || kind === "#" || kind === "(" || kind === "["
}

function isRemotePart({ kind }: Token): boolean {
  return kind === "name" || kind === "number" || kind === "-" || kind === "." || kind === "/"
}

/** The name that an import gets here: what follows `as`, or the remote name itself. */
function parseImportedName(
  reader: TokenReader,
  remote: Name | undefined,
): { name: Name; naming: "as" | "remote" } | undefined {
  if (reader.acceptWord("as") !== undefined) {
    if (isNameHere(reader)) return { name: parseWordKey(reader), naming: "as" }
    reader.expected("a name after `as`")
    return undefined
  }
  if (remote === undefined) {
    reader.expected("`.` and the name on the server")
    return undefined
  }
  const text = remote.text.replaceAll("-", "_")
  if (!isIdentifier(text)) {
    reader.report(remote, `\`${reader.show(remote)}\` cannot be a name here`, "Add `as` and a name after it.")
    return { name: { ...remote, text: text.replace(/\W/g, "_") }, naming: "remote" }
  }
  return { name: { kind: "name", text, quoted: false, start: remote.start, end: remote.end }, naming: "remote" }
}

/** Batch = "from" path "{" (item | property)* "}" */
function parseBatch(start: Start): BatchDeclaration | undefined {
  const { reader, keyword, doc } = start
  start.path = "mcp"
  const source = parseRemotePath(reader)
  if (source === undefined) return undefined
  start.path = `mcp.${source.server?.text ?? ""}`
  if (source.remote !== undefined) {
    reader.report(source.remote, "What is imported is named inside the block", "Write `tool remote-name` there.")
  }
  const after = `\`from ${showPath(reader, source)}\``
  const body = parseBlock(
    start,
    (reader) => reader.block(parseBatchMember, leavesBatch, "an import such as `tool name`"),
    after,
  )
  return body && { kind: "batch", keyword, doc, source, body, start: keyword.start, end: body.end }
}

const batchForms = formsOf("batch")

const importKinds = ["tool", "resource", "prompt"] as const

/** Items of a batch look much like the imports that stand at the top; these end it only at the left margin. */
function leavesBatch(reader: TokenReader, itemsIndented: boolean): boolean {
  const isImport = importKinds.some((kind) => reader.isWord(kind))
  return isImport ? leavesNames(reader) : leavesBlock(reader, itemsIndented)
}

function parseBatchMember(reader: TokenReader): BatchItem | Property | undefined {
  const importKind = importKinds.find((kind) => reader.isWord(kind))
  if (importKind !== undefined && reader.peek().kind !== ":") return parseBatchItem(reader, importKind)
  const isProperty = reader.atKey || reader.isWord("bindings") || reader.isWord("max_calls")
  return isProperty || !reader.is("name") ? parseProperty(reader, batchForms) : parseKindless(reader)
}

/** `find` instead of `tool find`: told, and left as a property without a value. */
function parseKindless(reader: TokenReader): Property {
  const { start } = reader.token
  const doc = docBefore(reader)
  reader.unexpected("`tool`, `resource` or `prompt`", "Every item begins with its kind: `tool remote-name`.")
  const name = parseWordKey(reader)
  if (!reader.token.afterBreak) reader.skipToNextItem()
  return { kind: "property", name, colon: undefined, value: { kind: "missing" }, doc, start, end: name.end }
}

/** BatchItem = kind remote ("as" name)? properties? */
function parseBatchItem(reader: TokenReader, importKind: ImportKind): BatchItem | undefined {
  const doc = docBefore(reader)
  const keyword = reader.take()
  if (isNextBatchItem(reader)) {
    reader.expected(`a name after \`${importKind}\``)
    return undefined
  }
  const remote = parseRemoteName(reader)
  if (remote === undefined) return undefined
  if (reader.isWord("from") && reader.isWord("mcp", reader.peek())) {
    const span = { start: reader.token.start, end: reader.peek().end }
    reader.report(span, "The server is named at the top of this block", `Write \`${importKind} remote-name as name\`.`)
    reader.skipToNextItem()
    return undefined
  }
  const named = parseImportedName(reader, remote)
  if (named === undefined) return undefined
  const body = parseProperties(reader, importKind)
  const span = { start: keyword.start, end: reader.previous.end }
  return { kind: "batch-item", importKind, keyword, doc, remote, ...named, body, ...span }
}

/** Agent = "agent" name ("for" pattern "in" expression)? properties */
function parseAgent(start: Start): Declaration | undefined {
  const { reader, keyword, doc } = start
  const name = parseName(start)
  const head = `\`${start.path.replace(".", " ")}\``
  if (!reader.isWord("for") && !startsPattern(reader, 0) && !reader.is("{")) {
    reader.expected(`\`{\` after ${head}`)
    while (!reader.isWord("for") && !reader.is("{") && !reader.is("end") && !reader.token.afterBreak) {
      reader.skipBalanced()
    }
  }
  const isLooped = reader.isWord("for") || startsPattern(reader, 0)
  const loop = isLooped ? parseLoop(reader, head) : undefined
  const after = loop === undefined ? undefined : "the loop's list"
  const body = parseBlock(start, (reader) => parseProperties(reader, "agent"), after)
  if (name === undefined || body === undefined) return undefined
  const brokenLoop = isLooped && loop === undefined
  return { kind: "agent", keyword, doc, name, loop, brokenLoop, body, start: keyword.start, end: body.end }
}

/** Loop = "for" pattern "in" expression. A broken one ends at the agent's body, so that what is in it is still read. */
function parseLoop(reader: TokenReader, head: string): Loop | undefined {
  const first = reader.token
  if (reader.acceptWord("for") === undefined) reader.expected(`\`for\` after ${head}`)
  const pattern = parsePattern(reader)
  if (pattern === undefined) {
    skipToBrace(reader)
    return undefined
  }
  if (reader.acceptWord("in") === undefined) {
    reader.expected("`in` after the loop's variable")
    const next = reader.peek().kind
    if (!reader.is("name") || reader.token.afterBreak || (next !== "name" && next !== ".")) {
      skipToBrace(reader)
      return undefined
    }
    // `for x of input.list`: the word is a slip. `for x input.list`: it is left out.
    if (next === "name") reader.take()
  }
  const items = parseExpression(reader)
  return { pattern, items, start: first.start, end: reader.endFrom(first) }
}

/** Pattern = name | "{" (name (":" name)? ","?)* "}" */
function parsePattern(reader: TokenReader): Pattern | undefined {
  if (reader.is("name")) {
    const name = parseWordKey(reader)
    return { kind: "item", name, start: name.start, end: name.end }
  }
  const body = reader.block(parsePatternField, leavesNames, "a field name")
  if (body === undefined) {
    reader.expected("a variable, or `{ field, field }`, after `for`")
    return undefined
  }
  return { kind: "fields", body, start: body.start, end: body.end }
}

function parsePatternField(reader: TokenReader): PatternField | undefined {
  const first = reader.token
  const field = parseKey(reader)
  if (field === undefined) return undefined
  let variable = field
  if (reader.accept(":") !== undefined) {
    const token = reader.expect("name", "a variable after `:`")
    if (token !== undefined) variable = reader.identifier(token)
  } else if (field.quoted) {
    reader.report(field, "A quoted field needs a variable", `Write \`${reader.textOf(field)}: name\`.`)
  }
  return { kind: "pattern-field", field, variable, start: first.start, end: reader.endFrom(first) }
}
