import type { Comment } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"

/**
 * The doc comment of what begins at the reader's token: all `///` lines since the item before it, also those that a
 * comma between the two has in front of it.
 */
export function docBefore(reader: TokenReader): string | undefined {
  const { token, previous } = reader
  if (token.comments.length === 0 && previous.kind !== ",") return undefined
  let doc = docOf(reader.text, token.comments)
  if (previous.kind === "," && previous.comments.length > 0 && previous !== token) {
    const before = docOf(reader.text, previous.comments)
    doc = before === undefined || doc === undefined ? (before ?? doc) : `${before}\n${doc}`
  }
  return doc
}

function docOf(text: string, comments: readonly Comment[]): string | undefined {
  let doc: string | undefined
  for (const comment of comments) {
    if (comment.style !== "doc") continue
    // The blank after the slashes is the author's, not the text's.
    const start = text.charCodeAt(comment.start + 3) === 32 ? comment.start + 4 : comment.start + 3
    const line = text.slice(start, comment.end).trimEnd()
    doc = doc === undefined ? line : `${doc}\n${line}`
  }
  return doc
}
