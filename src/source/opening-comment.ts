/** The `//` comment at the top of a file, its lines joined by line breaks; null without one. */
export function openingComment(source: string): string | null {
  const block = source.slice(0, openingCommentEnd(source))
  const lines = block.split(/\r\n?|\n/).map((line) => line.replace(/^[\uFEFF\s]*\/\/ ?/, "").trimEnd())
  const text = lines.join("\n").trim()
  return text === "" ? null : text
}

/** Where that comment ends; 0 without one. */
export function openingCommentEnd(source: string): number {
  return /^\uFEFF?\s*(?:\/\/(?!\/)[^\n\r]*(?:(?:\r\n?|\n)[ \t]*|$))+/.exec(source)?.[0].length ?? 0
}
