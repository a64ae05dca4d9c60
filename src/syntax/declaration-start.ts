import type { TokenReader } from "./token-reader.ts"

/** The words that begin a declaration. */
export const declarationWords = [
  "input",
  "secrets",
  "schema",
  "provider",
  "model",
  "mcp",
  "tool",
  "resource",
  "prompt",
  "from",
  "dynamic",
  "agent",
  "output",
] as const

export type DeclarationWord = (typeof declarationWords)[number]

export function declarationWord(reader: TokenReader): DeclarationWord | undefined {
  return declarationWords.find((word) => reader.isWord(word))
}

/**
 * Whether the reader, inside a block, is at the start of a line that can only be a declaration: then the block lacks its
 * brace. `input {` and its like may also stand inside a block; they count only at the left margin of an indented file.
 */
export function startsDeclaration(reader: TokenReader, itemsIndented: boolean): boolean {
  const { token } = reader
  if (token.kind !== "name" || !token.afterBreak) return false
  const next = reader.peek()
  const third = reader.peek(2)
  // Names on lines of their own are those of an enum, a pattern or a match.
  if (next.afterBreak) return false
  switch (reader.textOf(token)) {
    case "agent":
      return next.kind === "name" && !reader.isWord("_", next) && (third.kind === "{" || reader.isWord("for", third))
    case "schema":
    case "mcp":
      return next.kind === "name" && !reader.isWord("_", next) && third.kind === "{"
    case "provider":
    case "model":
      return next.kind === "name" && reader.isWord("from", third)
    case "tool":
    case "resource":
    case "prompt":
      return (
        (reader.isWord("from", next) && reader.isWord("mcp", third)) ||
        (next.kind === "name" && reader.isWord("from", third))
      )
    case "from":
      return reader.isWord("mcp", next) && third.kind === "."
    case "input":
    case "secrets":
    case "output":
    case "dynamic":
      return next.kind === "{" && itemsIndented && reader.column(token) === 1
    default:
      return false
  }
}
