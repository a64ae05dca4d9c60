import type { Declaration, Tree } from "../tree.ts"
import type { Token } from "../token.ts"

/** The text with its imports before all else, in their order; undefined where they are there already. */
export function importsFirst(tree: Tree): string | undefined {
  const { declarations, text } = tree
  const isImport = ({ kind }: Declaration): boolean => kind === "file-import"
  const others = declarations.findIndex((one) => !isImport(one))
  if (others < 0 || !declarations.slice(others).some(isImport)) return undefined
  const starts = startsOf(tree)
  const [head = 0] = starts
  const piece = (declaration: Declaration): string => {
    const index = declarations.indexOf(declaration)
    return `${text.slice(starts[index], starts[index + 1]).replace(/,\s*$/, "")}\n`
  }
  const rest = declarations.filter((one) => !isImport(one))
  const pieces = [text.slice(0, head), "\n", ...declarations.filter(isImport).map(piece), "\n", ...rest.map(piece)]
  return [...pieces, text.slice(starts.at(-1))].join("")
}

/** Where each declaration begins and the file ends, with the comments before it; the one at the top of the file belongs to none. */
function startsOf({ declarations, tokens, text }: Tree): number[] {
  const byStart = new Map<number, Token>(tokens.map((token) => [token.start, token]))
  return [...declarations, ...tokens.slice(-1)].map(({ start }, index) => {
    const comments = byStart.get(start)?.comments ?? []
    const end = declarations[index - 1]?.end ?? 0
    const own = comments.filter((comment, at) => {
      if (index === 0) return !isAtTop(text, comments.slice(0, at + 1))
      return text.slice(end, comment.start).includes("\n")
    })
    return own[0]?.start ?? start
  })
}

/** Whether the last of some comments belongs to the lines of `//` that the file begins with. */
function isAtTop(text: string, comments: Token["comments"]): boolean {
  return comments.every(({ style, start }, index) => {
    const before = comments[index - 1]?.end ?? 0
    return style === "line" && (index === 0 || !/\n[^\S\n]*\n/.test(text.slice(before, start)))
  })
}
