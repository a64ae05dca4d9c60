import { startsDeclaration } from "./declaration-start.ts"
import type { Expected } from "./known-mistake.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"

/** Takes the bracket that closes `open`; where it is missing, tells which one and skips to it if it is on this line. */
export function closeBracket(
  reader: TokenReader,
  open: Token,
  kind: "]" | ")",
  what: string,
  expected?: Expected,
): Token | undefined {
  const close = reader.accept(kind)
  if (close !== undefined) return close
  // `(x for x in list)`
  const hint = reader.isWord("for") ? "A list from a list is written in square brackets: `[… for … in …]`." : undefined
  missingBracket(reader, open, kind, what, hint, expected)
  while (!reader.is(kind) && !reader.token.afterBreak && !endsBracket(reader.token) && !reader.closesOuter) {
    reader.skipBalanced()
  }
  return reader.accept(kind)
}

/** Where the next field, or the end of the block, follows instead, it is the opening bracket that the author looks for. */
function missingBracket(
  reader: TokenReader,
  open: Token,
  kind: "]" | ")",
  what: string,
  hint?: string,
  expected?: Expected,
): void {
  const { token } = reader
  const isLeft =
    (endsBracket(token) && !token.unclosed) || (token.afterBreak && (reader.atKey || startsDeclaration(reader)))
  if (isLeft) reader.unclosed(open, kind)
  else reader.expected(what, hint, expected)
}

/** Whether what is open in square or round brackets cannot go on beyond this token. */
export function endsBracket(token: Token): boolean {
  return token.kind === "}" || token.kind === "tail" || token.kind === "middle" || token.kind === "end"
}

/** The end of an array, list or `uses` list; `what` is expected where it is missing. */
export function closeList(reader: TokenReader, open: Token, what: string, hint?: string): Token | undefined {
  const close = reader.accept("]")
  if (close !== undefined) return close
  missingBracket(reader, open, "]", what, hint)
  while (!reader.is("]") && !startsDeclaration(reader) && !reader.closesOuter) {
    // `[a: 1 } for …]`: the brace belongs to an object whose own is missing.
    const isStray = reader.is("}") && reader.lacksOpenBrace
    if (endsBracket(reader.token) && !isStray) break
    if (reader.token.afterBreak && reader.is("name") && reader.peek().kind === ":" && !reader.lacksOpenBrace) break
    if (isStray) reader.take()
    else reader.skipBalanced()
  }
  return reader.accept("]")
}
