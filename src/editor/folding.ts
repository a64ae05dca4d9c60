import type { Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import type { Comment, Token } from "../syntax/token.ts"
import { isBlockString } from "../syntax/token.ts"

export interface Fold extends Span {
  readonly kind: "block" | "text" | "comment"
}

/** What can be folded away: what is between brackets, the text of block strings, runs of comments; in source order. */
export function folding(program: Program): readonly Fold[] {
  const { text, tokens } = program.tree
  const folds: Fold[] = []
  const open: Token[] = []
  const strings: Token[] = []
  const fold = (kind: Fold["kind"], start: number, end: number): void => {
    if (hasLineBreak(text, start, end)) folds.push({ kind, start, end })
  }
  for (const token of tokens) {
    foldComments(text, token.comments, fold)
    switch (token.kind) {
      case "{":
      case "[":
      case "(":
        open.push(token)
        break
      case "}":
      case "]":
      case ")": {
        // A closing bracket without an opening one is a mistake of the author; the blocks around it stay open.
        const index = open.findLastIndex(({ kind }) => kind === closedBy[token.kind as "}" | "]" | ")"])
        const opening = index < 0 ? undefined : open[index]
        if (opening === undefined) break
        open.length = index
        fold("block", opening.end, token.start)
        break
      }
      case "string":
        if (isBlockString(text, token) && !token.unclosed) fold("text", token.start + 3, token.end - 3)
        break
      case "head":
        strings.push(token)
        break
      case "tail": {
        const head = strings.pop()
        if (head !== undefined && isBlockString(text, head) && !token.unclosed)
          fold("text", head.start + 3, token.end - 3)
        break
      }
      default:
        break
    }
  }
  return folds.sort((a, b) => a.start - b.start || b.end - a.end)
}

const closedBy = { "}": "{", "]": "[", ")": "(" } as const

/** Comments on lines that follow each other, at least two. */
function foldComments(
  text: string,
  comments: readonly Comment[],
  fold: (kind: "comment", start: number, end: number) => void,
): void {
  let first: Comment | undefined
  let last: Comment | undefined
  const finish = (): void => {
    if (first !== undefined && last !== undefined && first !== last) fold("comment", first.start, last.end)
  }
  for (const comment of comments) {
    const follows = last !== undefined && /^\r?\n?[ \t]*$/.test(text.slice(last.end, comment.start))
    if (!follows || !standsAlone(text, comment)) {
      finish()
      first = standsAlone(text, comment) ? comment : undefined
    }
    last = first === undefined ? undefined : comment
  }
  finish()
}

/** Nothing but blanks before it on its line. */
function standsAlone(text: string, { start }: Span): boolean {
  for (let at = start - 1; at >= 0; at--) {
    const unit = text[at]
    if (unit === "\n" || unit === "\r") return true
    if (unit !== " " && unit !== "\t" && unit !== "\uFEFF") return false
  }
  return true
}

function hasLineBreak(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 10 || unit === 13) return true
  }
  return false
}
