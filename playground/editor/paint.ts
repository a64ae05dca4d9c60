import { lex } from "../../src/syntax/lexer.ts"
import type { Token } from "../../src/syntax/token.ts"

/** A piece of the text and what it is, in source order. */
export interface Paint {
  readonly from: number
  readonly to: number
  readonly as: "keyword" | "type" | "root" | "property" | "string" | "number" | "escape" | "comment" | "doc"
}

/** A pair of braces, brackets or block quotes. */
export interface Pair {
  readonly open: number
  readonly close: number
}

export interface Painted {
  readonly paints: readonly Paint[]
  /** By where they open. */
  readonly pairs: readonly Pair[]
}

const declarations = new Set(
  "input secrets schema provider model mcp tool resource prompt from dynamic agent output".split(" "),
)
const headWords = new Set(["from", "for", "in", "as"])
const typeWords = new Set("string boolean null number float integer object maybe enum variant".split(" "))
const actions = new Set("call read render match compact asset".split(" "))
const roots = new Set("input secrets agent dynamic model tool resource prompt schema mcp".split(" "))
const atoms = new Set(["true", "false"])

/**
 * The colours of a text from the lexer's tokens. All keywords are contextual, so that a name's neighbours say what it is;
 * this asks one token back and one ahead, which costs nothing while the author types.
 */
export function paint(text: string): Painted {
  const { tokens } = lex(text)
  const paints: Paint[] = []
  const pairs: Pair[] = []
  const open: number[] = []
  let depth = 0
  for (const [at, token] of tokens.entries()) {
    for (const comment of token.comments) {
      paints.push({ from: comment.start, to: comment.end, as: comment.style === "doc" ? "doc" : "comment" })
    }
    switch (token.kind) {
      case "{":
      case "[":
        open.push(token.start)
        depth++
        break
      case "}":
      case "]": {
        const start = open.pop()
        if (start !== undefined) pairs.push({ open: start, close: token.start })
        depth = Math.max(0, depth - 1)
        break
      }
      case "name": {
        const as = nameAs(text, token, tokens[at - 1], tokens[at + 1], depth)
        if (as !== undefined) paints.push({ from: token.start, to: token.end, as })
        break
      }
      case "number":
        paints.push({ from: token.start, to: token.end, as: "number" })
        break
      case "string":
        paints.push({ from: token.start, to: token.end, as: "string" })
        if (text.startsWith('"""', token.start)) pairs.push({ open: token.start + 2, close: token.end - 3 })
        break
      case "head":
      case "middle":
      case "tail":
        paintPiece(paints, token)
        break
      default:
        break
    }
  }
  pairs.sort((a, b) => a.open - b.open)
  return { paints, pairs }
}

/** `"Review {{`, `}} and {{`, `}}"`: the text as a string, the braces apart from it. */
function paintPiece(paints: Paint[], { kind, start, end }: Token): void {
  const from = kind === "head" ? start : Math.min(start + 2, end)
  const to = kind === "tail" ? end : Math.max(end - 2, from)
  if (from > start) paints.push({ from: start, to: from, as: "escape" })
  if (to > from) paints.push({ from, to, as: "string" })
  if (end > to) paints.push({ from: to, to: end, as: "escape" })
}

function nameAs(
  text: string,
  token: Token,
  before: Token | undefined,
  after: Token | undefined,
  depth: number,
): Paint["as"] | undefined {
  const word = text.slice(token.start, token.end)
  if (before?.kind === "." || before?.kind === "?." || before?.kind === "#") return undefined
  if (after?.kind === ":") return "property"
  if (depth === 0) {
    const begins = before === undefined || token.afterBreak || before.kind === "}"
    if (begins && declarations.has(word)) return "keyword"
    if (headWords.has(word) && !token.afterBreak) return "keyword"
  }
  if (after?.kind === "." && roots.has(word)) return "root"
  if (after?.kind === "name" && actions.has(word)) return "keyword"
  if (atoms.has(word)) return "number"
  const isType = before?.kind === ":" || before?.kind === "[" || before?.kind === "|" || before?.kind === "("
  if (typeWords.has(word) && (isType || after?.kind === "{" || isMaybe(text, before))) return "type"
  if (depth > 0 && after?.kind === "{" && before?.kind !== "name") return "property"
  if (depth > 0 && (after?.kind === "name" || after?.kind === "string") && declarations.has(word)) return "keyword"
  return undefined
}

function isMaybe(text: string, token: Token | undefined): boolean {
  return token?.kind === "name" && text.slice(token.start, token.end) === "maybe"
}
