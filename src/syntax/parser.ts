import { didYouMean } from "../base/did-you-mean.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import { general, type Hint, meantWord } from "../source/hint.ts"
import { parseScore, parseStep } from "./step-parser.ts"
import type { DeclarationWord } from "./declaration-start.ts"
import { declarationWord, declarationWords, isPlainWord, isTest, startsDeclaration } from "./declaration-start.ts"
import { docBefore } from "./doc-comment.ts"
import { parseFunctionDeclaration } from "./function-declaration.ts"
import { parseBlock, parseFromWord, parseName, type Start } from "./head-parser.ts"
import { parseFileImport, parseWorkflow } from "./file-parser.ts"
import { parseBatch, parseImport } from "./import-parser.ts"
import { lex } from "./lexer.ts"
import { parseString } from "./string-parser.ts"
import { TokenReader } from "./token-reader.ts"
import type { Declaration, Name, Tree } from "./tree.ts"
import { isDashOrWord, joinedName, parseWordKey } from "./key-parser.ts"
import { parseInputFields, parseSchemaBody, parseTypeFields } from "./type-parser.ts"
import { parseExpression, parseProperties, parseProperty, parseValueFields } from "./value-parser.ts"

export interface Parsed {
  readonly tree: Tree
  /** Syntax errors, in source order. */
  readonly diagnostics: readonly Diagnostic[]
}

type ParseTest = (reader: TokenReader) => Declaration | undefined

/**
 * Text → tree. Never throws: what cannot be read is reported, skipped, and reading goes on at the next field. Of tests only the
 * heads are read, to tell where they belong; `parseWithTests` reads all.
 */
export function parse(text: string, parseTest: ParseTest = skipTest): Parsed {
  const lexed = lex(text)
  const parsed = lexed.diagnostics.length > 0 ? undefined : read(new TokenReader(text, lexed, false), parseTest)
  // Most texts are right. One with a mistake is read again, with a look at which brackets are missing.
  return parsed?.diagnostics.length === 0 ? parsed : read(new TokenReader(text, lexed), parseTest)
}

function read(reader: TokenReader, parseTest: ParseTest): Parsed {
  reader.parseValue = parseExpression
  const declarations: Declaration[] = []
  /** Whether there is a mistake just before: what is then left over is of the same one, and not reported again. */
  let isBroken = false
  while (!reader.is("end")) {
    const before = reader.mistakes.count
    const declaration = parseDeclaration(reader, isBroken, parseTest)
    if (declaration !== undefined) declarations.push(declaration)
    isBroken = reader.mistakes.count > before
  }
  const diagnostics = reader.mistakes.diagnostics()
  const errors = diagnostics.map(({ span }) => span)
  const { text, tokens, skipped, nameless } = reader
  return { tree: { text, tokens, declarations, errors, skipped, nameless }, diagnostics }
}

/** File = declaration*, with commas between them if the author likes */
function parseDeclaration(reader: TokenReader, isBroken: boolean, parseTest: ParseTest): Declaration | undefined {
  reader.startAnew()
  const keyword = reader.token
  if (isTest(reader)) return parseTest(reader)
  // `mcp.server {`: reported, and read as `from mcp.server {`.
  const isFromless = reader.isWord("mcp") && reader.peek().kind === "."
  if (isFromless) reader.report(keyword, "Expected `from` before `mcp.`")
  const word = isFromless ? "from" : (declarationWord(reader) ?? misspeltWord(reader))
  if (word === undefined) {
    notADeclaration(reader, isBroken)
    return undefined
  }
  const start: Start = { reader, keyword, doc: docBefore(reader), path: word, hasBlock: false }
  if (!isFromless) reader.take()
  const declaration = parseBody(start, word)
  if (declaration === undefined && start.path === word) reader.nameless.add(word)
  if (declaration === undefined && !start.hasBlock) skipToDeclaration(reader)
  const isOpen = declaration?.body !== undefined && declaration.body.close === undefined
  reader.mistakes.region({ start: keyword.start, end: isOpen ? reader.token.start : reader.previous.end }, start.path)
  reader.separator()
  return declaration
}

function skipTest(reader: TokenReader): Declaration {
  const kind = reader.isWord("tests") ? "tests" : "test"
  const keyword = reader.take()
  const title = parseString(reader, parseExpression)
  skipToDeclaration(reader)
  const span = { start: keyword.start, end: reader.previous.end }
  const body = { open: keyword, close: undefined, items: [], ...span }
  return kind === "tests"
    ? { kind, keyword, doc: undefined, file: title, body: undefined, ...span }
    : { kind, keyword, doc: undefined, title, rows: undefined, body, ...span }
}

/** `agnet writer {`: reported, and read as an agent. */
function misspeltWord(reader: TokenReader): DeclarationWord | undefined {
  const next = reader.peek()
  if (!reader.is("name") || (next.kind !== "name" && next.kind !== "{")) return undefined
  // `money {`, `writer for x in`: rather a name, whose word is missing.
  const isName = reader.isWord("for", next) || reader.isWord("when", next)
  if (reader.isWord("export")) return undefined
  const words = declarationWords.filter((each) => (next.kind === "{") === isPlainWord(each))
  const meant = isName ? undefined : didYouMean(reader.textOf(reader.token), words)
  if (meant === undefined) return undefined
  const word = words.find((each) => each === meant)
  reader.unexpected("a declaration", meantWord(meant))
  return word
}

function notADeclaration(reader: TokenReader, isBroken: boolean): void {
  const { token } = reader
  if (token.kind === "}") {
    if (isBroken) reader.passOver()
    else reader.unexpected("a declaration", "This `}` closes nothing: remove it.")
    while (reader.is("}") || reader.is(",") || reader.is(";")) reader.take()
    return
  }
  if (reader.isWord("else")) {
    reader.report(token, "There is no `else`", "Give the other agent the opposite condition: `when !(…)`.")
  } else if (reader.isWord("if")) {
    reader.report(token, "There is no `if`", "Give an agent a condition: `agent name when input.ready { … }`.")
  } else if (reader.isWord("unless")) {
    reader.report(token, "There is no `unless`", "Give an agent a condition: `agent name when !(input.ready) { … }`.")
  } else if (isBroken && token.kind !== "name") reader.passOver()
  else reader.unexpected("a declaration", declarationHint(reader), "declaration")
  reader.skipBalanced()
  skipToDeclaration(reader)
}

function declarationHint(reader: TokenReader): Hint {
  if (reader.is("name") && reader.peek().kind === ":" && reader.previous.kind === "}") {
    return "Fields and properties stand inside a declaration: is the `}` before this one too many?"
  }
  return general(`A declaration begins with ${declarationWords.map((word) => `\`${word}\``).join(", ")}.`)
}

/** Skips what follows a broken head: the rest of its line and any block, up to the next declaration. */
function skipToDeclaration(reader: TokenReader): void {
  while (!reader.is("end") && !startsDeclaration(reader)) reader.skipBalanced()
}

function parseBody(start: Start, word: DeclarationWord): Declaration | undefined {
  const { reader, keyword, doc } = start
  switch (word) {
    case "input": {
      reader.accept(":")
      const body = parseBlock(start, (inner) => parseInputFields(inner, (one) => parseProperty(one, "input")))
      return body && { kind: word, keyword, doc, body, start: keyword.start, end: body.end }
    }
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
    case "limits":
    case "chat":
    case "release": {
      reader.accept(":")
      const body = parseBlock(start, (reader) => parseProperties(reader, word))
      return body && { kind: word, keyword, doc, body, start: keyword.start, end: body.end }
    }
    case "schema": {
      const name = parseName(start)
      const body = parseBlock(start, parseSchemaBody)
      return name && body && { kind: "schema", keyword, doc, name, body, start: keyword.start, end: body.end }
    }
    case "mcp":
    case "api":
    case "schedule":
    case "webhook": {
      const name = parseName(start)
      const body = parseBlock(start, (reader) => parseProperties(reader, word))
      return name && body && { kind: word, keyword, doc, name, body, start: keyword.start, end: body.end }
    }
    case "provider":
    case "model":
      return parseFrom(start, word)
    case "import":
      return parseFileImport(start)
    case "workflow":
      return parseWorkflow(start)
    case "tool":
    case "resource":
    case "prompt":
      return parseImport(start, word)
    case "from":
      return parseBatch(start)
    case "function":
      return parseFunctionDeclaration(start)
    case "agent":
    case "ask":
    case "wait":
      return parseStep(start, word)
    case "score":
      return parseScore(start)
  }
}

/** ("provider" | "model") name "from" name properties */
function parseFrom(start: Start, kind: "provider" | "model"): Declaration | undefined {
  const { reader, keyword, doc } = start
  const name = parseName(start)
  // Without `from`: the old spelling of a provider, which the checker explains when it sees `driver`.
  const isOld = kind === "provider" && reader.is("{")
  if (name !== undefined && isTyped(reader)) {
    const hint = `A named type is written \`schema ${reader.show(name)} { field: type }\`.`
    reader.report(name, `A ${kind} has properties, and these are fields of a type`, hint)
    reader.skipBalanced()
    start.hasBlock = true
    return undefined
  }
  const origin = start.origin ?? (isOld || name === undefined ? undefined : parseOrigin(reader, kind, name))
  const sign = name && origin && reader.text.slice(name.end, origin.start).trim()
  // `provider p = openai` lacks its block, too: one mistake, and reported already.
  if ((sign === "=" || sign === ":") && !reader.is("{")) {
    reader.passOver()
    return undefined
  }
  let body = parseBlock(start, (reader) => parseProperties(reader, kind))
  if (name === undefined || body === undefined) return undefined
  // `model name { provider: … }`: one mistake, and reported already.
  if (kind === "model" && origin === undefined) {
    body = { ...body, items: body.items.filter(({ name: { text } }) => text !== "provider") }
  }
  const span = { start: keyword.start, end: body.end }
  return kind === "provider"
    ? { kind: "provider", keyword, doc, name, providerKind: origin, body, ...span }
    : { kind: "model", keyword, doc, name, provider: origin, body, ...span }
}

/** `{ name Type` and a line break or an attribute, as Prisma has it. */
function isTyped(reader: TokenReader): boolean {
  const [name, type, next] = [reader.peek(), reader.peek(2), reader.peek(3)]
  const isEnd = next.afterBreak || next.kind === "bad"
  return reader.is("{") && name.kind === "name" && type.kind === "name" && !type.afterBreak && isEnd
}

/** "from" name */
function parseOrigin(reader: TokenReader, kind: "provider" | "model", name: Name): Name | undefined {
  const what = kind === "provider" ? "`from openai`" : "`from` and a provider's name"
  const head = `${kind} ${reader.show(name)}`
  if (!parseFromWord(reader, `${what} after \`${head}\``, `Write \`${head} from provider_name { … }\`.`))
    return undefined
  if (!reader.is("name")) {
    reader.expected(kind === "provider" ? "the kind of provider after `from`" : "a provider's name after `from`")
    return undefined
  }
  // A kind with dashes is unknown, which the checker reports.
  const origin = kind === "provider" ? joinedName(reader, reader.take(), isDashOrWord) : parseWordKey(reader)
  if (kind !== "model" || origin.text !== "provider" || !reader.is(".") || reader.peek().kind !== "name") return origin
  // `model x from provider.llm`: reported, and read as `from llm`.
  reader.take()
  const provider = parseWordKey(reader)
  reader.report(
    { start: origin.start, end: provider.end },
    "A provider is named here without `provider.`",
    `Write \`from ${reader.show(provider)}\`.`,
  )
  return provider
}
