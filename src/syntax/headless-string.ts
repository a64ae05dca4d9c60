import { indentation, isLineBreak, lineStart } from "./line-start.ts"
import type { Token } from "./token.ts"

// A text that lacks its beginning: `instruction: input.name }} in one sentence."`, whose `"Greet {{` is missing. What is left
// of it has one `}}` too many, and its closing quotes open a string that is never closed.

/** A text without its beginning: its first token, and where it ends. */
export interface HeadlessString {
  readonly index: number
  readonly end: number
}

/** The first token of such a text on the line of the last token, whose quotes seem to close it. */
export function headlessText(tokens: readonly Token[], last: number): number | undefined {
  let first = last
  while (first > 0 && tokens[first]?.afterBreak === false) first--
  return textFrom(tokens, first, last - 1)
}

/** Finds the beginning over several lines: the quotes at `index` (those of the last string, if undefined) stand alone on their line. */
export function headlessBlockString(
  text: string,
  tokens: readonly Token[],
  index = lastBlockString(text, tokens),
): HeadlessString | undefined {
  const quotes = tokens[index]
  if (quotes === undefined) return undefined
  const line = lineStart(text, quotes.start)
  const margin = indentation(text, line)
  const end = quotes.start + 3
  if (line + margin !== quotes.start || !(end >= text.length || isLineBreak(text.charCodeAt(end)))) return undefined
  for (let first = index - 1; first >= 0 && index - first < maxTokens; first--) {
    const token = tokens[first]
    if (token === undefined || (first > 0 && !token.afterBreak)) continue
    const start = lineStart(text, token.start)
    if (indentation(text, start) > margin) continue
    let last = first
    while (last + 1 < index && tokens[last + 1]?.afterBreak === false) last++
    const begins = textFrom(tokens, first, last)
    return begins === undefined ? undefined : { index: begins, end }
  }
  return undefined
}

function lastBlockString(text: string, tokens: readonly Token[]): number {
  return tokens.findLastIndex(
    ({ kind, start }) => (kind === "string" || kind === "head") && text.startsWith('"""', start),
  )
}

/** A text of more tokens than this is not looked for. */
const maxTokens = 2_000

/** The first token after a colon on a line with a `}}` that closes nothing, or of what has been found to be such a text. */
function textFrom(tokens: readonly Token[], first: number, last: number): number | undefined {
  let depth = 0
  let begins: number | undefined
  for (let index = first; index <= last; index++) {
    const token = tokens[index]
    if (token?.kind === "{") depth++
    else if (token?.kind === "}" && --depth < 0 && tokens[index - 1]?.end === token.start) return begins
    else if (token?.kind === ":") begins = index + 1
    else if (token?.kind === "string" && token.unclosed && index === begins) return begins
  }
  return undefined
}
