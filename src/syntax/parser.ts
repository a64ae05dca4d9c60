import { didYouMean } from "../base/did-you-mean.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import type { Span } from "../source/span.ts"
import { declarationWord, declarationWords, startsDeclaration } from "./declaration-start.ts"
import { docBefore } from "./doc-comment.ts"
import { lex } from "./lexer.ts"
import type { Token } from "./token.ts"
import { TokenReader } from "./token-reader.ts"
import type {
  BatchDeclaration,
  BatchItem,
  Block,
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
import { parseKey, parseSchemaBody, parseTypeFields } from "./type-parser.ts"
import { joinedName, parseExpression, parseProperties, parseProperty, parseValueFields } from "./value-parser.ts"

export interface Parsed {
  readonly tree: Tree
  /** Syntax errors, in source order. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Text → tree. Never throws: what cannot be read is reported, skipped, and reading goes on at the next field. */
export function parse(text: string): Parsed {
  const reader = new TokenReader(text, lex(text))
  const declarations: Declaration[] = []
  while (!reader.is("end")) {
    const declaration = parseDeclaration(reader)
    if (declaration !== undefined) declarations.push(declaration)
  }
  const diagnostics = reader.diagnostics()
  const errors = diagnostics.map(({ span }) => span)
  return { tree: { text, tokens: reader.tokens, declarations, errors }, diagnostics }
}

/** File = declaration*, with commas between them if the author likes */
function parseDeclaration(reader: TokenReader): Declaration | undefined {
  reader.endLeaving()
  const keyword = reader.token
  const word = declarationWord(reader)
  if (word === undefined) {
    notADeclaration(reader)
    return undefined
  }
  const start: Start = { reader, keyword, doc: docBefore(reader), path: word }
  reader.take()
  const declaration = parseBody(start, word)
  if (declaration === undefined) skipToDeclaration(reader)
  else if (reader.is(",")) reader.take()
  // What was skipped still belongs to the declaration that could not be read.
  reader.region(reader.spanFrom(keyword), start.path)
  return declaration
}

interface Start {
  readonly reader: TokenReader
  readonly keyword: Token
  readonly doc: string | undefined
  /** Grows as the declaration's name is read. */
  path: string
}

function notADeclaration(reader: TokenReader): void {
  const { token } = reader
  const written = token.kind === "name" ? didYouMean(reader.textOf(token), declarationWords) : undefined
  if (token.kind === "}") reader.expected("a declaration", "This `}` closes nothing: remove it.")
  else {
    const hint = written === undefined ? `A declaration begins with ${listWords()}.` : `Did you mean \`${written}\`?`
    reader.expected("a declaration", hint)
  }
  const first = reader.token
  reader.skipBalanced()
  if (first.kind !== "}") skipToDeclaration(reader)
}

function listWords(): string {
  return declarationWords.map((word) => `\`${word}\``).join(", ")
}

/** Skips what follows a broken head: the rest of its line and any block, up to the next declaration. */
function skipToDeclaration(reader: TokenReader): void {
  reader.endLeaving()
  while (!reader.is("end") && !startsDeclaration(reader, true) && !looksLikeDeclaration(reader)) reader.skipBalanced()
}

/** At the left margin a word that begins declarations does so even where the rest of the head is wrong. */
function looksLikeDeclaration(reader: TokenReader): boolean {
  const { token } = reader
  if (!token.afterBreak || declarationWord(reader) === undefined || reader.column(token) !== 1) return false
  const next = reader.peek()
  return next.kind === "name" || next.kind === "{" || next.kind === "bad"
}

function parseBody(start: Start, word: (typeof declarationWords)[number]): Declaration | undefined {
  const { reader, keyword, doc } = start
  const base = { keyword, doc }
  switch (word) {
    case "input":
    case "secrets": {
      reader.accept(":")
      const body = parseTypeFields(reader)
      if (body === undefined) return expectBlock(reader, word)
      return { kind: word, ...base, body, ...reader.spanFrom(keyword) }
    }
    case "output":
    case "dynamic": {
      reader.accept(":")
      const body = parseValueFields(reader)
      if (body === undefined) return expectBlock(reader, word)
      return { kind: word, ...base, body, ...reader.spanFrom(keyword) }
    }
    case "schema": {
      const name = parseName(start)
      if (name === undefined) return undefined
      const body = parseSchemaBody(reader)
      if (body === undefined) return expectBlock(reader, `schema ${name.text}`)
      return { kind: "schema", ...base, name, body, ...reader.spanFrom(keyword) }
    }
    case "provider":
    case "model":
      return parseFrom(start, word)
    case "mcp": {
      const name = parseName(start)
      if (name === undefined) return undefined
      const body = parseProperties(reader, "mcp")
      if (body === undefined) return expectBlock(reader, `mcp ${name.text}`)
      return { kind: "mcp", ...base, name, body, ...reader.spanFrom(keyword) }
    }
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

function expectBlock(reader: TokenReader, what: string): undefined {
  reader.expected(`\`{\` after \`${what}\``)
  return undefined
}

function parseName(start: Start): Name | undefined {
  const { reader } = start
  const token = reader.accept("name")
  if (token === undefined) {
    const word = reader.textOf(start.keyword)
    reader.expected(`a name after \`${word}\``, reader.is("string") ? "A name is written without quotes." : undefined)
    return undefined
  }
  const name = reader.identifier(token)
  start.path = `${start.path}.${name.text}`
  return name
}

/** ("provider" | "model") name "from" name properties */
function parseFrom(start: Start, kind: "provider" | "model"): Declaration | undefined {
  const { reader, keyword, doc } = start
  const name = parseName(start)
  if (name === undefined) return undefined
  let origin: Name | undefined
  // Without `from`: the old spelling of a provider, which the checker explains when it sees `driver`.
  const isOld = kind === "provider" && reader.is("{")
  if (!isOld) {
    const what = kind === "provider" ? "`from openai`" : "`from` and a provider's name"
    if (reader.acceptWord("from") === undefined) {
      reader.expected(`${what} after \`${kind} ${name.text}\``)
      if (!reader.is("{")) return undefined
    } else {
      const token = reader.accept("name")
      if (token === undefined) {
        reader.expected(kind === "provider" ? "the kind of provider after `from`" : "a provider's name after `from`")
        if (!reader.is("{")) return undefined
      } else {
        origin = reader.identifier(token)
        skipProviderPrefix(reader, kind, origin)
        if (reader.previous !== token) origin = reader.identifier(reader.previous)
      }
    }
  }
  const body = parseProperties(reader, kind)
  if (body === undefined) return expectBlock(reader, reader.textOf(reader.spanFrom(keyword)))
  const base = { keyword, doc, name, body, ...reader.spanFrom(keyword) }
  return kind === "provider"
    ? { kind: "provider", ...base, providerKind: origin }
    : { kind: "model", ...base, provider: origin }
}

/** `model x from provider.llm`: told, and read as `from llm`. */
function skipProviderPrefix(reader: TokenReader, kind: "provider" | "model", origin: Name): void {
  if (kind !== "model" || origin.text !== "provider" || !reader.is(".") || reader.peek().kind !== "name") return
  reader.report(
    { start: origin.start, end: reader.peek().end },
    "A provider is named here without `provider.`",
    `Write \`from ${reader.textOf(reader.peek())}\`.`,
  )
  reader.take()
  reader.take()
}

/** Import = kind name "from" path properties? | kind "from" path ("as" name)? properties? */
function parseImport(start: Start, importKind: ImportKind): Declaration | undefined {
  const { reader, keyword, doc } = start
  let written: Name | undefined
  const short = reader.isWord("from") && reader.isWord("mcp", reader.peek()) && reader.peek(2).kind === "."
  if (!short) {
    written = parseName(start)
    if (written === undefined) return undefined
  }
  if (reader.acceptWord("from") === undefined) {
    reader.expected(
      `\`from mcp.server.${importKind}.remote_name\` after \`${importKind} ${written?.text ?? ""}\``.replace(" `", "`"),
    )
    return undefined
  }
  const source = parseRemotePath(reader)
  if (source === undefined) return undefined
  const named = short ? parseImportedName(reader, source.remote) : { name: written, naming: "from" as const }
  if (named === undefined) return undefined
  const { name, naming } = named
  if (name === undefined) return undefined
  start.path = `${importKind}.${name.text}`
  const body = parseProperties(reader, importKind)
  return { kind: "import", keyword, doc, importKind, name, naming, source, body, ...reader.spanFrom(keyword) }
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
  if (reader.accept(".") !== undefined) {
    const token = reader.accept("name")
    if (token !== undefined) server = reader.identifier(token)
  }
  if (server === undefined) {
    reader.expected("`.` and a server's name after `mcp`")
    return undefined
  }
  if (reader.accept(".") !== undefined) {
    const token = reader.expect("name", "`tool`, `resource` or `prompt` after the server's name")
    if (token === undefined) return undefined
    kindWord = reader.identifier(token)
    if (reader.accept(".") !== undefined) {
      remote = parseRemoteName(reader)
      if (remote === undefined) return undefined
    }
  }
  return { server, kindWord, remote, ...reader.spanFrom(first) }
}

/** RemoteName = string | letters, digits, "_", "-", "." and "/" with nothing between */
function parseRemoteName(reader: TokenReader): Name | undefined {
  if (reader.isPlainString(reader.token)) return reader.quotedName(reader.take())
  if (!reader.is("name") && !reader.is("number")) {
    reader.expected(
      "the name on the server",
      "Write it in quotes if it has other characters than letters, digits, `_`, `-`, `.` and `/`.",
    )
    return undefined
  }
  const joins = (token: Token) =>
    token.kind === "name" || token.kind === "number" || token.kind === "-" || token.kind === "." || token.kind === "/"
  return joinedName(reader, joins)
}

/** The name that an import gets here: what follows `as`, or the remote name itself. */
function parseImportedName(
  reader: TokenReader,
  remote: Name | undefined,
): { name: Name; naming: "as" | "remote" } | undefined {
  if (reader.isWord("as") && reader.peek().kind === "name") {
    reader.take()
    return { name: reader.identifier(reader.take()), naming: "as" }
  }
  if (remote === undefined) {
    reader.expected("`.` and the name on the server")
    return undefined
  }
  const text = remote.text.replaceAll("-", "_")
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(text)) {
    reader.report(remote, `\`${remote.text}\` cannot be a name here`, "Add `as` and a name after it.")
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
  const body = reader.block<BatchItem | Property>(
    () => parseBatchItem(reader) ?? parseProperty(reader, "batch"),
    // Items of a batch look like the imports that stand at the top, so only other declarations end it.
    (itemsIndented) => !importKinds.some((kind) => reader.isWord(kind)) && startsDeclaration(reader, itemsIndented),
    "an import such as `tool name`",
  )
  if (body === undefined) return expectBlock(reader, reader.textOf(reader.spanFrom(keyword)))
  return { kind: "batch", keyword, doc, source, body, ...reader.spanFrom(keyword) }
}

const importKinds = ["tool", "resource", "prompt"] as const

/** BatchItem = kind remote ("as" name)? properties? */
function parseBatchItem(reader: TokenReader): BatchItem | undefined {
  const importKind = importKinds.find((kind) => reader.isWord(kind))
  const next = reader.peek()
  if (importKind === undefined || !(next.kind === "name" || next.kind === "string" || next.kind === "number"))
    return undefined
  const doc = docBefore(reader)
  const keyword = reader.take()
  const remote = parseRemoteName(reader)
  const named = remote && parseImportedName(reader, remote)
  if (remote === undefined || named === undefined) return undefined
  const body: Block<Property> | undefined = parseProperties(reader, importKind)
  return { kind: "batch-item", importKind, keyword, doc, remote, ...named, body, ...reader.spanFrom(keyword) }
}

/** Agent = "agent" name ("for" pattern "in" expression)? properties */
function parseAgent(start: Start): Declaration | undefined {
  const { reader, keyword, doc } = start
  const name = parseName(start)
  if (name === undefined) return undefined
  const loop = reader.isWord("for") ? parseLoop(reader) : undefined
  const body = parseProperties(reader, "agent")
  if (body === undefined) return expectBlock(reader, loop === undefined ? `agent ${name.text}` : "the loop's list")
  return { kind: "agent", keyword, doc, name, loop: loop ?? undefined, body, ...reader.spanFrom(keyword) }
}

function parseLoop(reader: TokenReader): Loop | undefined {
  const first = reader.take()
  const pattern = parsePattern(reader)
  if (pattern === undefined) return skipLoop(reader)
  if (reader.acceptWord("in") === undefined) {
    reader.expected("`in` after the loop's variable")
    return skipLoop(reader)
  }
  const items = parseExpression(reader)
  return { pattern, items, ...reader.spanFrom(first) }
}

/** A broken loop: goes on at the agent's body, so that what is in it is still checked. */
function skipLoop(reader: TokenReader): undefined {
  while (!reader.is("{") && !reader.is("end") && !reader.token.afterBreak) reader.skipBalanced()
  return undefined
}

/** Pattern = name | "{" (name (":" name)? ","?)* "}" */
function parsePattern(reader: TokenReader): Pattern | undefined {
  const { token } = reader
  if (token.kind === "name") {
    const name = reader.identifier(reader.take())
    return { kind: "item", name, start: name.start, end: name.end }
  }
  if (token.kind !== "{") {
    reader.expected("a variable, or `{ field, field }`, after `for`")
    return undefined
  }
  const body = reader.block(
    () => parsePatternField(reader),
    (indented) => startsDeclaration(reader, indented),
    "a field name",
  )
  if (body === undefined) return undefined
  return { kind: "fields", body, start: body.start, end: body.end }
}

function parsePatternField(reader: TokenReader): PatternField | undefined {
  const first: Span = reader.token
  const field = parseKey(reader)
  if (field === undefined) return undefined
  let variable = field
  if (reader.accept(":") !== undefined) {
    const token = reader.expect("name", "a variable after `:`")
    if (token !== undefined) variable = reader.identifier(token)
  } else if (field.quoted) {
    reader.report(field, "A quoted field needs a variable", `Write \`"${field.text}": name\`.`)
  }
  return { kind: "pattern-field", field, variable, ...reader.spanFrom(first) }
}
