import { dedentBlock } from "../string-value.ts"

const quotes = '"""'

/**
 * The parts of a block string (its tokens, quotes and braces of interpolations included) as they are printed: its lines
 * one level deeper than `depth`, its closing quotes at `depth`. One whose value that would change stays as it is, such as
 * a text of nothing but blanks.
 */
export function indentBlockString(parts: readonly string[], depth: number): string[] {
  const last = parts.length - 1
  const raws = parts.map((part, index) =>
    part.slice(index === 0 ? quotes.length : 2, index === last ? -quotes.length : -2).replace(/\r\n?/g, "\n"),
  )
  const printed = indentRaws(raws, depth) ?? raws
  return printed.map((raw, index) => (index === 0 ? quotes : "}}") + raw + (index === last ? quotes : "{{"))
}

function indentRaws(raws: readonly string[], depth: number): string[] | undefined {
  const pieces = dedentBlock(raws)
  const outer = "    ".repeat(depth)
  if (pieces.length === 1 && pieces[0] === "") return [`\n${outer}`]
  const inner = `${outer}    `
  const last = pieces.length - 1
  const printed = pieces.map((piece, index) => {
    const lines = piece.split("\n").map((line, number, all) => {
      const continues = number === 0 && index > 0
      const isFollowed = number === all.length - 1 && index < last
      return continues || (line === "" && !isFollowed) ? line : inner + line
    })
    return (index === 0 ? "\n" : "") + lines.join("\n") + (index === last ? `\n${outer}` : "")
  })
  const value = dedentBlock(printed)
  return value.every((piece, index) => piece === pieces[index]) ? printed : undefined
}
