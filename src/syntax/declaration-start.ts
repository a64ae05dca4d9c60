import type { Token } from "./token.ts"
import type { Leaves, TokenReader } from "./token-reader.ts"

/** How a declaration begins, after its word. */
export type DeclarationHead =
  /** With its block. */
  | "block"
  | "name"
  /** `name from other` */
  | "from"
  /** `name from mcp.server.tool.remote`, `name from api.server."GET /path"`, or `from mcp…` */
  | "import"
  /** `mcp.server` */
  | "batch"
  /** `name`, a loop, a condition */
  | "step"
  /** `{ kind.name } from "./file.wire"` */
  | "file-import"
  /** `name from "./file.wire"` */
  | "workflow"
  /** `name(parameter: type)` */
  | "function"

interface DeclarationRow {
  readonly head: DeclarationHead
  /** A workflow has one at most. */
  readonly isSingle?: true
}

/** The words that begin a declaration. Its sentence and its snippet are in editor/explanations.ts. */
const declarationTable = {
  import: { head: "file-import" },
  workflow: { head: "workflow" },
  input: { head: "block", isSingle: true },
  secrets: { head: "block", isSingle: true },
  schema: { head: "name" },
  provider: { head: "from" },
  model: { head: "from" },
  mcp: { head: "name" },
  api: { head: "name" },
  tool: { head: "import" },
  resource: { head: "import" },
  prompt: { head: "import" },
  from: { head: "batch" },
  function: { head: "function" },
  dynamic: { head: "block" },
  agent: { head: "step" },
  ask: { head: "step" },
  wait: { head: "step" },
  limits: { head: "block", isSingle: true },
  chat: { head: "block", isSingle: true },
  release: { head: "block", isSingle: true },
  score: { head: "step" },
  schedule: { head: "name" },
  webhook: { head: "name" },
  output: { head: "block", isSingle: true },
} as const satisfies Readonly<Record<string, DeclarationRow>>

export type DeclarationWord = keyof typeof declarationTable

const heads = new Map<string, DeclarationHead>(Object.entries(declarationTable).map(([word, { head }]) => [word, head]))

export const declarationWords = Object.keys(declarationTable) as readonly DeclarationWord[]

export function headOf(word: string): DeclarationHead | undefined {
  return heads.get(word)
}

export function isSingle(word: DeclarationWord): boolean {
  const row: DeclarationRow = declarationTable[word]
  return row.isSingle === true
}

export function declarationWord(reader: TokenReader): DeclarationWord | undefined {
  const word = reader.is("name") ? reader.textOf(reader.token) : ""
  return heads.has(word) ? (word as DeclarationWord) : undefined
}

/**
 * Whether the reader, inside a block, is at the start of a line that can only be a declaration: then the block lacks its
 * brace. `input {` and its like may also stand inside a block; they count only at the left margin of an indented file
 * that lacks a brace somewhere.
 */
export function leavesBlock(reader: TokenReader, itemsIndented: boolean): boolean {
  const next = reader.peek().kind
  if (next === "string" && reader.atLineStart(reader.token) && startsTest(reader)) return true
  if (next === "{") return itemsIndented && startsPlainBlock(reader) && reader.lacksBrace
  return next === "name" && startsNamed(reader)
}

/** The same in a block of bare names, which can look like the head of a declaration by chance. */
export function leavesNames(reader: TokenReader): boolean {
  return reader.atLineStart(reader.token) && leavesBlock(reader, true) && reader.lacksBrace
}

/** In an enum, a name with a type belongs to the block around it. */
export function leavesEnum(reader: TokenReader): Leaves {
  return leavesNames(reader) || (reader.peek().kind === ":" && reader.lacksBrace ? "this-block" : false)
}

/** In a case, a name with a block and no colon is the next case. */
export function leavesCase(reader: TokenReader, itemsIndented: boolean): Leaves {
  return leavesBlock(reader, itemsIndented) || (reader.peek().kind === "{" && reader.lacksBrace ? "this-block" : false)
}

/** Whether the reader, after something that could not be read, is at the start of a line that can be a declaration. */
export function startsDeclaration(reader: TokenReader): boolean {
  const { token } = reader
  if (token.kind !== "name" || !token.afterBreak) return false
  if (startsNamed(reader) || startsTest(reader)) return true
  const next = reader.peek()
  const mayFollow = (next.kind === "name" || next.kind === "string") && !next.afterBreak
  return (mayFollow || next.kind === "{") && reader.atLineStart(token) && declarationWord(reader) !== undefined
}

/** `test "…"` or `tests "…"`, where a declaration may begin. */
export function isTest(reader: TokenReader): boolean {
  const next = reader.peek().kind
  return (reader.isWord("test") || reader.isWord("tests")) && (next === "string" || next === "head")
}

/** The same with the text on the same line: elsewhere the words mean nothing without it. */
function startsTest(reader: TokenReader): boolean {
  return isTest(reader) && !reader.peek().afterBreak
}

/** `input {` and its like, at the left margin */
function startsPlainBlock(reader: TokenReader): boolean {
  return isPlainWord(reader.textOf(reader.token)) && reader.atLineStart(reader.token)
}

/** The words of declarations that have no name. */
export function isPlainWord(word: string): boolean {
  return heads.get(word) === "block"
}

/** The words for what imports come from. */
export function isServerWord(reader: TokenReader, token: Token): boolean {
  return reader.isWord("mcp", token) || reader.isWord("api", token)
}

/** `agent x {`, `model x from`, `tool from mcp`, `from mcp.`: what no field, property or case looks like */
export function startsNamed(reader: TokenReader): boolean {
  const next = reader.peek()
  const third = reader.peek(2)
  if (next.kind !== "name" || next.afterBreak || third.afterBreak) return false
  switch (heads.get(reader.textOf(reader.token))) {
    case "step":
      return (
        (third.kind === "{" && !reader.isWord("_", next)) || reader.isWord("for", third) || reader.isWord("when", third)
      )
    case "name":
      return third.kind === "{" && !reader.isWord("_", next)
    case "function":
      return third.kind === "("
    case "from":
    case "workflow":
      return reader.isWord("from", third)
    case "import":
      return reader.isWord("from", third) || (reader.isWord("from", next) && isServerWord(reader, third))
    case "batch":
      return reader.isWord("mcp", next) && third.kind === "."
    default:
      return false
  }
}

/** Whether the pattern of a loop and `in` are `ahead`. */
export function startsPattern(reader: TokenReader, ahead: number): boolean {
  const isFields = reader.peek(ahead).kind === "{"
  if (!isFields) return reader.peek(ahead).kind === "name" && inFollows(reader, ahead + 1)
  do ahead++
  while (isPatternPart(reader.peek(ahead)))
  return reader.peek(ahead).kind === "}" && inFollows(reader, ahead + 1)
}

/** `in`, or `, index in` */
function inFollows(reader: TokenReader, ahead: number): boolean {
  if (reader.isWord("in", reader.peek(ahead))) return true
  const [comma, index] = [reader.peek(ahead), reader.peek(ahead + 1)]
  return comma.kind === "," && index.kind === "name" && reader.isWord("in", reader.peek(ahead + 2))
}

export function isPatternPart({ kind }: Token): boolean {
  return kind === "name" || kind === "string" || kind === ":" || kind === ","
}
