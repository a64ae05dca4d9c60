import { indentation, lineStart } from "./line-start.ts"
import type { Token } from "./token.ts"
import type { TokenCursor } from "./token-cursor.ts"

export type OpeningBracket = "{" | "[" | "("

/** How many tokens and characters of a text are searched for misplaced braces. */
const maxSearched = 200_000

/** Searches a text with mistakes for the braces that are missing, within a bound. */
export class BraceSearch {
  readonly #cursor: TokenCursor
  /** How much was searched so far. */
  #searched = 0
  #balance: Record<OpeningBracket, number> | undefined

  constructor(cursor: TokenCursor) {
    this.#cursor = cursor
  }

  /** How many more brackets of a kind open than close in the file. */
  excess(bracket: OpeningBracket): number {
    return (this.#balance ??= balanceOf(this.#cursor.tokens))[bracket]
  }

  /** How deep the line of a block is indented; -1 when too much was searched already. */
  marginOf(open: Token): number {
    if (this.#searched > maxSearched) return -1
    this.#searched += this.#cursor.column(open)
    return this.#cursor.margin(open)
  }

  /**
   * The first block inside the unclosed one that is closed by a brace further left than its own line: most likely that
   * one lacks its brace, and took another's. With thousands of unclosed blocks inside one another it is no longer searched for.
   */
  misplaced(open: Token, end: number): Token | undefined {
    const { tokens, text } = this.#cursor
    const around: Token[] = []
    const from = this.#searched > maxSearched ? end : tokens.lastIndexOf(open, end)
    this.#searched += end - from
    for (let index = from + 1; index < end && this.#searched <= maxSearched; index++) {
      const token = tokens[index]
      if (token?.kind === "{") around.push(token)
      if (token?.kind !== "}") continue
      const block = around.pop()
      if (block === undefined || !token.afterBreak) continue
      const start = lineStart(text, block.start)
      this.#searched += block.start - start
      if (this.#cursor.column(token) - 1 < indentation(text, start)) return block
    }
    return undefined
  }
}

function balanceOf(tokens: readonly Token[]): Record<OpeningBracket, number> {
  const balance = { "{": 0, "[": 0, "(": 0 }
  for (const { kind } of tokens) {
    if (kind === "{" || kind === "[" || kind === "(") balance[kind]++
    else if (kind === "}") balance["{"]--
    else if (kind === "]") balance["["]--
    else if (kind === ")") balance["("]--
  }
  return balance
}
