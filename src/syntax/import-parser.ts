import { isIdentifier } from "../base/identifier.ts"
import { isPlainWord, isServerWord, leavesBlock, leavesNames, startsNamed } from "./declaration-start.ts"
import { docBefore } from "./doc-comment.ts"
import { parseBlock, parseFromWord, parseName, skipToBrace, type Start } from "./head-parser.ts"
import { importKinds, placeOfImport } from "./import-kinds.ts"
import { rowsOf } from "./property-table.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { BatchDeclaration, BatchItem, Declaration, ImportKind, Name, Property, RemotePath } from "./tree.ts"
import { joinedName, parseWordKey } from "./key-parser.ts"
import { lacksOwnBrace, openWithoutBrace } from "./missing-brace.ts"
import { parseProperties, parseProperty } from "./value-parser.ts"

/** Import = kind name "from" path properties? | kind "from" path ("as" name)? properties? */
export function parseImport(start: Start, importKind: ImportKind): Declaration | undefined {
  const { reader, keyword, doc } = start
  const short = reader.isWord("from") && isServerWord(reader, reader.peek()) && reader.peek(2).kind === "."
  const written = short ? undefined : parseName(start)
  if (!short && written === undefined) return undefined
  const head = written === undefined ? importKind : `${importKind} ${reader.show(written)}`
  // Where the name was read with its origin, the mistake is reported, and its block is that of another language.
  if (start.origin !== undefined) {
    start.hasBlock = reader.is("{")
    if (start.hasBlock) reader.skipBalanced()
    reader.nameless.add(importKind)
    return undefined
  }
  const hint = reader.is("{") && written !== undefined ? originHint(reader, importKind, written) : undefined
  if (!parseFromWord(reader, `\`from mcp.server.${importKind}.remote_name\` after \`${head}\``, hint)) {
    start.hasBlock = parseProperties(reader, importKind) !== undefined
    return undefined
  }
  const source = reader.isWord("api") ? parseApiPath(reader) : parseRemotePath(reader)
  if (source === undefined) return undefined
  if (written !== undefined && source.remote === undefined) {
    const rest = source.kindWord === undefined ? `.${importKind}.remote_name` : ".remote_name"
    reader.expected(`\`${rest}\` after \`${showPath(reader, source)}\``, undefined, "remote-name")
  }
  const named =
    written === undefined ? parseImportedName(reader, source.remote) : { name: written, naming: "from" as const }
  if (named === undefined) return undefined
  const { name, naming } = named
  if (written !== undefined && reader.isWord("as") && reader.peek().kind === "name") {
    const span = { start: reader.take().start, end: reader.take().end }
    reader.report(span, "The name is already before `from`", "Remove one of the two names.")
  }
  start.path = `${importKind}.${name.text}`
  if (lacksOwnBrace(reader)) openWithoutBrace(reader, `\`${showPath(reader, source)}\``)
  const body = parseProperties(reader, placeOfImport(importKind, source))
  const { start: from } = keyword
  return { kind: "import", keyword, doc, importKind, name, naming, source, body, start: from, end: reader.previous.end }
}

/** `tool web_search { … }`: it has no server. */
function originHint(reader: TokenReader, kind: ImportKind, name: Name): string {
  const [, server = "server"] = /^mcp (\w+)/m.exec(reader.text) ?? []
  const shown = reader.show(name)
  return `Write \`${kind} ${shown} from mcp.${server}.${kind}.${shown} { … }\`: it is a ${kind} of a server.`
}

/** ApiPath = "api" "." server "." string */
function parseApiPath(reader: TokenReader): RemotePath | undefined {
  const first = reader.take()
  const server = reader.accept(".") !== undefined && isNameHere(reader) ? parseWordKey(reader) : undefined
  if (server === undefined) {
    reader.expected("`.` and the name of an api after `api`")
    return undefined
  }
  const path = `api.${reader.show(server)}`
  const hasPath = reader.accept(".") !== undefined && reader.isPlainString(reader.token)
  if (!hasPath) {
    reader.expected(
      `\`."GET /path"\` after \`${path}\``,
      `Write the method and the path in quotes: \`${path}."GET /path"\`.`,
    )
    return undefined
  }
  const remote = reader.quotedName(reader.take())
  return { word: "api", server, kindWord: undefined, remote, start: first.start, end: reader.previous.end }
}

/** RemotePath = "mcp" "." server ("." kind ("." remote)?)? */
function parseRemotePath(reader: TokenReader): RemotePath | undefined {
  const first = reader.acceptWord("mcp")
  if (first === undefined) {
    // `from "./lib.wire" import model.fast`, as in Python.
    const rest = reader.text.slice(reader.token.start, reader.token.start + 200)
    const [, file, names] = /^("[^"\n]+") import ([\w., ]+)/.exec(rest) ?? []
    const hint = names === undefined ? undefined : `Write \`import { ${names.trim()} } from ${file}\`.`
    reader.expected("`mcp.` and a server's name after `from`", hint)
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
  return { word: "mcp", server, kindWord, remote, start: first.start, end: reader.previous.end }
}

function showPath(reader: TokenReader, { word, server, kindWord, remote }: RemotePath): string {
  const parts = [server, kindWord, remote].filter((part) => part !== undefined)
  return [word, ...parts.map((part) => reader.show(part))].join(".")
}

function isNameHere(reader: TokenReader): boolean {
  return reader.is("name") && !isNextItem(reader)
}

/** Whether the reader's line is that of the next property, import or declaration instead of the rest of this one. */
function isNextItem(reader: TokenReader): boolean {
  const next = reader.peek()
  if (!reader.isCareful || !reader.token.afterBreak || reader.isWord("as", next)) return false
  return next.kind === ":" || startsNamed(reader)
}

/** `tool` in a batch and, on the next line, `tool find`: the first one lacks its name. */
function isNextBatchItem(reader: TokenReader): boolean {
  if (!reader.isCareful) return false
  const [next, third] = [reader.peek(), reader.peek(2)]
  const isNamed = next.kind === "name" || next.kind === "string"
  const isImport = importKinds.some((kind) => reader.isWord(kind)) && isNamed && !next.afterBreak
  if (reader.token.afterBreak && next.kind === "string") return isImport
  return isImport && reader.token.afterBreak && third.kind !== "{" && third.kind !== ":" && !reader.isWord("as", next)
}

/** RemoteName = string | letters, digits, "_", "-", "." and "/" with nothing between */
function parseRemoteName(reader: TokenReader): Name | undefined {
  const { token } = reader
  // `tool as name`: the name before `as` is missing.
  const next = reader.peek()
  const isAs = reader.isWord("as") && next.kind === "name" && !next.afterBreak && !reader.isWord("as", next)
  const isNext = (isAs && reader.isCareful) || isNextItem(reader)
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
  const isLeftOut = isNameWithoutAs(reader)
  if (isLeftOut) reader.expected(`\`as\` before \`${reader.textOf(reader.token)}\``)
  if (isLeftOut || reader.acceptWord("as") !== undefined) {
    if (isNameHere(reader) && !isNextBatchItem(reader)) return { name: parseWordKey(reader), naming: "as" }
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
    for (const kind of importKinds) reader.nameless.add(kind)
    return { name: { ...remote, text: text.replace(/\W/g, "_") }, naming: "remote" }
  }
  return { name: { kind: "name", text, quoted: false, start: remote.start, end: remote.end }, naming: "remote" }
}

/** `tool remote-name name`. A block that follows on the same line (`tool t bindings { … }`, `… output { … }`) is not a name. */
function isNameWithoutAs(reader: TokenReader): boolean {
  if (!reader.isCareful) return false
  const next = reader.peek()
  const word = reader.textOf(reader.token)
  if (next.kind === "{" && (isPlainWord(word) || rowsOf("batch").has(word))) return false
  const ends = next.afterBreak || next.kind === "{" || next.kind === "}" || next.kind === "," || next.kind === "end"
  return reader.is("name") && !reader.isWord("as") && !reader.token.afterBreak && ends
}

/** Batch = "from" path "{" (item | property)* "}" */
export function parseBatch(start: Start): BatchDeclaration | undefined {
  const { reader, keyword, doc } = start
  start.path = "mcp"
  const known = parseRemotePath(reader)
  // Declares the import in spite of the mistake.
  if (known === undefined) {
    skipToBrace(reader)
    if (!reader.is("{")) return undefined
  }
  const nowhere = { start: keyword.end, end: keyword.end }
  const source = known ?? {
    word: "mcp" as const,
    server: undefined,
    kindWord: undefined,
    remote: undefined,
    ...nowhere,
  }
  if (source.server !== undefined) start.path = `mcp.${source.server.text}`
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

/** Items of a batch look much like the imports that stand at the top; these end it only at the left margin. */
function leavesBatch(reader: TokenReader, itemsIndented: boolean): boolean {
  const isImport = importKinds.some((kind) => reader.isWord(kind))
  return isImport ? leavesNames(reader) : leavesBlock(reader, itemsIndented)
}

function parseBatchMember(reader: TokenReader): BatchItem | Property | undefined {
  const importKind = importKinds.find((kind) => reader.isWord(kind))
  if (importKind !== undefined && reader.peek().kind !== ":") return parseBatchItem(reader, importKind)
  const isProperty = reader.atKey || rowsOf("batch").has(reader.textOf(reader.token))
  const isItem = reader.is("name") || (reader.is("string") && reader.isWord("as", reader.peek()))
  return isProperty || !isItem ? parseProperty(reader, "batch") : parseKindless(reader)
}

/** `find` instead of `tool find`: reported, and kept as a property without a value. */
function parseKindless(reader: TokenReader): Property {
  const { start } = reader.token
  const doc = docBefore(reader)
  reader.unexpected("`tool`, `resource` or `prompt`", "Every item begins with its kind: `tool remote-name`.")
  const name = reader.is("string") ? reader.quotedName(reader.take()) : parseWordKey(reader)
  if (!reader.token.afterBreak) reader.skipToNextItem()
  return { kind: "property", name, colon: undefined, value: { kind: "missing" }, doc, start, end: name.end }
}

/** BatchItem = kind remote ("as" name)? properties? */
function parseBatchItem(reader: TokenReader, importKind: ImportKind): BatchItem | undefined {
  const doc = docBefore(reader)
  const keyword = reader.take()
  if (isNextBatchItem(reader)) {
    reader.expected(`a name after \`${importKind}\``)
    reader.nameless.add(importKind)
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
  if (named === undefined) {
    reader.nameless.add(importKind)
    return undefined
  }
  const { name, naming } = named
  const { start } = keyword
  const body = parseProperties(reader, importKind)
  return { kind: "batch-item", importKind, keyword, doc, remote, name, naming, body, start, end: reader.previous.end }
}
