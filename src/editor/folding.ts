import type { Program } from "../check/program.ts"
import { LineMap } from "../source/line-map.ts"
import type { Span } from "../source/span.ts"
import { isBlockString, type Comment, type Token } from "../syntax/token.ts"

export interface Fold extends Span {
  readonly kind: "block" | "text" | "comment"
}

/** What can be folded away: what is between brackets, the text of block strings, runs of comments; in source order. */
export function folding(program: Program): readonly Fold[] {
  const { text, tokens } = program.tree
  const folds: Fold[] = []
  const open = new OpenBrackets()
  const strings: Token[] = []
  const lines = new LineMap(text)
  const lineOf = (offset: number): number => lines.position(offset).line
  const fold = (kind: Fold["kind"], start: number, end: number): void => {
    if (lineOf(start) < lineOf(end)) folds.push({ kind, start, end })
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
        const opening = open.close(closedBy[token.kind])
        if (opening !== undefined) fold("block", opening.end, token.start)
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

/** Brackets that are open. All of them are looked at once, however many there are of a kind. */
class OpenBrackets {
  readonly #tokens: Token[] = []
  readonly #counts = new Map<string, number>()

  push(token: Token): void {
    this.#tokens.push(token)
    this.#count(token.kind, 1)
  }

  /** Takes off the bracket that a closing one closes, and unclosed ones within it. Where none fits, the blocks around stay open. */
  close(kind: "{" | "[" | "("): Token | undefined {
    if ((this.#counts.get(kind) ?? 0) === 0) return undefined
    let token: Token | undefined
    do {
      token = this.#tokens.pop()
      if (token !== undefined) this.#count(token.kind, -1)
    } while (token !== undefined && token.kind !== kind)
    return token
  }

  #count(kind: string, by: number): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + by)
  }
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
