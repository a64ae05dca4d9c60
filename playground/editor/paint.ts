import { lex } from "../../src/syntax/lexer.ts"
import type { Token } from "../../src/syntax/token.ts"

/** A piece of the text and what it is, in source order. */
export interface Paint {
  readonly from: number
  readonly to: number
  readonly as: "string" | "number" | "escape" | "comment" | "doc"
}

/** Colours from the lexer alone: cheap enough for every key. The compilation colours names later. */
export function paint(text: string): Paint[] {
  const paints: Paint[] = []
  for (const token of lex(text).tokens) {
    for (const { start, end, style } of token.comments) {
      paints.push({ from: start, to: end, as: style === "doc" ? "doc" : "comment" })
    }
    switch (token.kind) {
      case "number":
        paints.push({ from: token.start, to: token.end, as: "number" })
        break
      case "string":
        paints.push({ from: token.start, to: token.end, as: "string" })
        break
      case "head":
      case "middle":
      case "tail":
        paintPiece(paints, text, token)
        break
      default:
        break
    }
  }
  return paints
}

/** `"Review {{`, `}} and {{`, `}}"`: the text as a string, the braces apart from it. */
function paintPiece(paints: Paint[], text: string, { kind, start, end }: Token): void {
  const from = kind !== "head" && text.startsWith("}}", start) ? start + 2 : start
  const to = kind !== "tail" && text.startsWith("{{", end - 2) ? end - 2 : end
  if (from > start) paints.push({ from: start, to: from, as: "escape" })
  if (to > from) paints.push({ from, to, as: "string" })
  if (end > to) paints.push({ from: to, to: end, as: "escape" })
}

/** Comments, strings, numbers and words of JavaScript; a text that begins like a regular expression ends with its line. */
const codeParts =
  /(\/\*\*[\s\S]*?\*\/)|(\/\*[\s\S]*?\*\/|\/\/[^\n]*)|("(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\[\s\S]|[^`\\])*`?)|(\b\d[\w.]*)|\b(?:as|break|case|catch|class|const|continue|default|delete|do|else|export|extends|finally|for|from|function|if|import|in|instanceof|let|new|null|of|return|static|super|switch|this|throw|true|false|try|type|typeof|undefined|var|void|while|yield)\b/g

/** Colours code files without reading them as a parser would. */
export function paintCode(text: string): Paint[] {
  return [...text.matchAll(codeParts)].map((found): Paint => {
    const [all, doc, comment, string, number] = found
    const as = doc ? "doc" : comment ? "comment" : string ? "string" : number ? "number" : "escape"
    return { from: found.index, to: found.index + all.length, as }
  })
}
