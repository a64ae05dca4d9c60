import { write } from "../source/hint.ts"
import { declarationWord, startsPattern } from "./declaration-start.ts"
import { importKinds } from "./import-kinds.ts"
import { operandFollows } from "./operator-parser.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Name } from "./tree.ts"
import { parseWordKey } from "./key-parser.ts"
import { assumeBrace } from "./missing-brace.ts"

// What the heads of declarations share: their names, `from`, and the step to their blocks.

export interface Start {
  readonly reader: TokenReader
  readonly keyword: Token
  readonly doc: string | undefined
  /** Grows as the declaration's name is read. */
  path: string
  /** Its block was read, so that what follows is the next declaration. */
  hasBlock: boolean
  /** Read with the name, where it should not be. */
  origin?: Name
}

export function parseName(start: Start): Name | undefined {
  const { reader } = start
  let name: Name
  if (reader.is("name") && !isBeyondName(reader) && !isHeadWithoutName(start)) {
    name = parseWordKey(reader)
  } else {
    const isQuoted = reader.isPlainString(reader.token) && !reader.token.afterBreak
    const isHcl = isQuoted && reader.isPlainString(reader.peek()) && !reader.peek().afterBreak
    const hint = isQuoted ? quotedHint(start, isHcl) : undefined
    reader.expected(`a name after \`${start.path}\``, hint)
    if (!isQuoted) return undefined
    name = reader.quotedName(reader.take())
    // `provider "openai" "main" { … }` of HCL, with the kind before the name: reported above, and read over.
    if (isHcl) {
      start.origin = name
      name = { ...reader.quotedName(reader.take()), start: name.start }
    } else if (isImport(start) && reader.is("{")) start.origin = name
  }
  start.path = `${start.path}.${name.text}`
  return name
}

function isImport({ path }: Start): boolean {
  return importKinds.some((kind) => kind === path)
}

function quotedHint(start: Start, isHcl: boolean): string {
  const { reader, path } = start
  const [first, second] = [reader.token, reader.peek()].map((token) => reader.quotedName(token).text)
  const name = isHcl ? second : first
  if (isImport(start)) {
    const remote = isHcl ? first : "remote_name"
    if (isHcl || reader.peek().kind === "{") {
      return `Names are written without quotes, and the server's name follows \`from\`: write \`${path} ${name} from mcp.server.${path}.${remote} { … }\`.`
    }
  }
  if (!isHcl) return "A name is written without quotes."
  if (path !== "provider" && path !== "model") {
    return `Names are written without quotes, and there is one: write \`${path} ${name} { … }\`.`
  }
  return `Names are written without quotes, and the name comes first: write \`${path} ${name} from ${first} { … }\`.`
}

/** Whether the word on the next line is a property, or begins a declaration, instead of being the name. */
function isBeyondName(reader: TokenReader): boolean {
  if (!reader.token.afterBreak) return false
  const next = reader.peek()
  if (next.kind === ":") return true
  const isHead = reader.isWord("from", next) || reader.isWord("for", next) || reader.isWord("when", next)
  const mayFollowName = next.kind === "{" || isHead
  return !mayFollowName && declarationWord(reader) !== undefined
}

/**
 * `model from llm {`, `agent for x in list {`, `agent when input.ok {`: the name is left out. With another `from`, `for` or
 * `when` this one is the name.
 */
function isHeadWithoutName({ reader, path }: Start): boolean {
  const next = reader.peek()
  if (path === "agent" || path === "ask" || path === "wait") {
    if (reader.isWord("when"))
      return operandFollows(reader, 1) && !reader.isWord("when", next) && !reader.isWord("for", next)
    return reader.isWord("for") && !reader.isWord("for", next) && startsPattern(reader, 1)
  }
  const hasOrigin = path === "provider" || path === "model"
  return hasOrigin && reader.isWord("from") && next.kind === "name" && !reader.isWord("from", next)
}

/**
 * The block of a declaration, read also when its head is broken; what stands between the two, on the same line, is reported
 * and skipped.
 */
export function parseBlock<T>(
  start: Start,
  parse: (reader: TokenReader) => T | undefined,
  after?: string,
): T | undefined {
  const { reader } = start
  if (!reader.is("{")) {
    reader.expected(`\`{\` after ${after ?? `\`${start.path.replace(".", " ")}\``}`, undefined, "{")
    skipToBrace(reader)
  }
  start.hasBlock = reader.is("{") || assumeBrace(reader)
  return parse(reader)
}

export function skipToBrace(reader: TokenReader): void {
  while (!reader.is("{") && !reader.is("end") && !reader.token.afterBreak) reader.skipBalanced()
}

/** "from", or what stands in its place, which is reported, and skipped where the rest can then be read. */
export function parseFromWord(reader: TokenReader, what: string, hint?: string): boolean {
  if (reader.acceptWord("from") !== undefined) return true
  const sign = reader.textOf(reader.token)
  if ((sign === "=" || sign === ":") && reader.peek().kind === "name" && !reader.peek().afterBreak) {
    const isLast = reader.peek(2).afterBreak || reader.peek(2).kind === "end"
    const hint = isLast ? `Write \`from ${reader.textOf(reader.peek())} { … }\`.` : write("from")
    reader.report(reader.token, `The origin follows \`from\`, not \`${sign}\``, hint)
    reader.take()
    return true
  }
  reader.expected(what, reader.is("{") ? hint : undefined)
  if (!reader.is("name") || reader.token.afterBreak) return false
  // `model fast form llm`: the word is a slip, `model fast fast from llm` one too many. `model fast llm`: it is left out.
  if (reader.peek().kind === "name" && !reader.peek().afterBreak) reader.take()
  reader.acceptWord("from")
  return true
}
