import { startsDeclaration } from "./declaration-start.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"

/** Takes the bracket that closes `open`; where it is missing, tells which one and skips to it if it is on this line. */
export function closeBracket(reader: TokenReader, open: Token, kind: "]" | ")", what: string): Token | undefined {
  const close = reader.accept(kind)
  if (close !== undefined) return close
  missingBracket(reader, open, kind, what)
  while (!reader.is(kind) && !reader.token.afterBreak && !endsBracket(reader.token)) reader.skipBalanced()
  return reader.accept(kind)
}

/** Where the next field, or the end of the block, follows instead, it is the opening bracket that the author looks for. */
function missingBracket(reader: TokenReader, open: Token, kind: "]" | ")", what: string, hint?: string): void {
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

/** The end of an array or `uses` list, whose elements need commas between them. */
export function closeList(reader: TokenReader, open: Token, what: string): Token | undefined {
  const close = reader.accept("]")
  if (close !== undefined) return close
  const hint = reader.isWord("for") ? "A loop is an agent: `agent name for item in list { … }`." : undefined
  missingBracket(reader, open, "]", `\`,\` or \`]\` after ${what}`, hint)
  while (!reader.is("]") && !endsBracket(reader.token) && !startsDeclaration(reader)) {
    if (reader.token.afterBreak && reader.is("name") && reader.peek().kind === ":") break
    reader.skipBalanced()
  }
  return reader.accept("]")
}
