/** The `//` comment at the top of a file, its lines joined by line breaks; null without one. */
export function openingComment(source: string): string | null {
  const [block] = /^\uFEFF?\s*(?:\/\/(?!\/)[^\n\r]*(?:(?:\r\n?|\n)[ \t]*|$))+/.exec(source) ?? []
  if (block === undefined) return null
  const lines = block.split(/\r\n?|\n/).map((line) => line.replace(/^[\uFEFF\s]*\/\/ ?/, "").trimEnd())
  const text = lines.join("\n").trim()
  return text === "" ? null : text
}
