import type { TokenReader } from "./token-reader.ts"

/**
 * The doc comment of what begins at the reader's token: all `///` lines since the item before it, also those that a
 * comma between the two has in front of it.
 */
export function docBefore(reader: TokenReader): string | undefined {
  const { token } = reader
  const { previous } = reader
  if (token.comments.length === 0 && !(previous.kind === "," && previous.comments.length > 0)) return undefined
  const comments =
    previous !== token && previous.kind === "," ? [...previous.comments, ...token.comments] : token.comments
  const lines: string[] = []
  for (const comment of comments) {
    if (comment.style === "doc") lines.push(reader.textOf(comment).slice(3).replace(/^ /, "").trimEnd())
  }
  return lines.length === 0 ? undefined : lines.join("\n")
}
