import type { Diagnostic } from "../source/diagnostic.ts"
import { diagnostic } from "../source/diagnostic.ts"
import { LineMap } from "../source/line-map.ts"
import type { Span } from "../source/span.ts"
import type { Lexed } from "./lexer.ts"
import { unescape } from "./string-value.ts"
import type { Token, TokenKind } from "./token.ts"
import type { Block, Name } from "./tree.ts"

/** Deeper than this and a construct is refused, so that no source can exhaust the stack of any later stage. */
export const maxNesting = 100

/** A declaration's place in the text, so that syntax errors within it can be told by its path. */
interface Region extends Span {
  readonly path: string
}

/**
 * The tokens of a file with a place among them: looking, taking, reporting and recovering. What the grammar's parts
 * share, and nothing of the grammar.
 */
export class TokenReader {
  readonly text: string
  readonly tokens: readonly Token[]
  readonly #diagnostics: Diagnostic[]
  readonly #regions: Region[] = []
  readonly #lines: LineMap
  #index = 0
  #depth = 0
  /** Square and round brackets open around the reader: a block inside one ends where that does. */
  #brackets = 0
  #lastReport = -1
  /** A block that was closed by a brace further left than its own line: most likely the one that lacks its brace. */
  #suspect: Token | undefined
  /** Set while blocks are left because one of them was never closed: told once, not once for each. */
  #leaving = false

  constructor(text: string, lexed: Lexed) {
    this.text = text
    this.tokens = lexed.tokens
    this.#diagnostics = [...lexed.diagnostics]
    this.#lines = new LineMap(text)
  }

  // --------------------------------------------------------------------------------------------------- looking

  get token(): Token {
    return this.tokens[this.#index] ?? this.#end
  }

  get previous(): Token {
    return this.tokens[this.#index - 1] ?? this.token
  }

  get #end(): Token {
    const last = this.tokens.at(-1)
    if (last === undefined) throw new Error("A lexed text has at least its end token")
    return last
  }

  peek(ahead = 1): Token {
    return this.tokens[this.#index + ahead] ?? this.#end
  }

  is(kind: TokenKind): boolean {
    return this.token.kind === kind
  }

  isWord(word: string, token: Token = this.token): boolean {
    return token.kind === "name" && token.end - token.start === word.length && this.text.startsWith(word, token.start)
  }

  textOf(token: Span): string {
    return this.text.slice(token.start, token.end)
  }

  /** Nothing, not even a blank, lies between the two. */
  adjacent(token: Token, next: Token): boolean {
    return token.end === next.start
  }

  column(token: Span): number {
    return this.#lines.position(token.start).column
  }

  // ---------------------------------------------------------------------------------------------------- taking

  take(): Token {
    const token = this.token
    if (token.kind !== "end") this.#index++
    return token
  }

  accept(kind: TokenKind): Token | undefined {
    return this.is(kind) ? this.take() : undefined
  }

  acceptWord(word: string): Token | undefined {
    return this.isWord(word) ? this.take() : undefined
  }

  /** Takes a token of this kind, or reports that `what` was expected. */
  expect(kind: TokenKind, what: string, hint?: string): Token | undefined {
    const token = this.accept(kind)
    if (token === undefined) this.expected(what, hint)
    return token
  }

  identifier(token: Token): Name {
    return { kind: "name", text: this.textOf(token), quoted: false, start: token.start, end: token.end }
  }

  /** The value of a plain one-line string. */
  quotedName(token: Token): Name {
    const raw = this.text.slice(token.start + 1, token.unclosed ? token.end : token.end - 1)
    return { kind: "name", text: unescape(raw), quoted: true, start: token.start, end: token.end }
  }

  isPlainString(token: Token): boolean {
    return token.kind === "string" && !this.text.startsWith('"""', token.start)
  }

  spanFrom(start: Span): Span {
    return { start: start.start, end: Math.max(start.end, this.#index > 0 ? this.previous.end : start.end) }
  }

  // ------------------------------------------------------------------------------------------------- reporting

  report(span: Span, message: string, hint?: string): void {
    // One mistake makes one message: a second one at the same place, or while leaving an unclosed block, says nothing new.
    if (span.start === this.#lastReport || this.#leaving) return
    this.#lastReport = span.start
    this.#diagnostics.push(diagnostic("syntax-error", "", span, message, hint))
  }

  /** Reports that something else was expected where the reader is. What the lexer reported already is passed over. */
  expected(what: string, hint?: string): void {
    const token = this.token
    if (token.kind === "bad" || token.unclosed) return
    if (token.kind === "end") {
      this.report(this.previous, `Expected ${what}, but the file ends here`, hint)
      return
    }
    const end = token.kind === "middle" || token.kind === "tail" ? token.start + 2 : token.end
    this.report({ start: token.start, end }, `Expected ${what}, found ${this.describe(token)}`, hint)
  }

  describe(token: Token): string {
    if (token.kind === "end") return "the end of the file"
    if (token.kind === "string" || token.kind === "head") return "a string"
    if (token.kind === "middle" || token.kind === "tail") return "`}}`"
    const written = this.textOf(token)
    return `\`${written.length > 40 ? `${written.slice(0, 40)}…` : written}\``
  }

  region(span: Span, path: string): void {
    this.#regions.push({ start: span.start, end: span.end, path })
  }

  /** All diagnostics in source order, each with the path of the declaration that it lies in. */
  diagnostics(): Diagnostic[] {
    const regions = this.#regions
    return this.#diagnostics
      .map((found) => {
        const { start } = found.span
        let low = 0
        let high = regions.length - 1
        while (low < high) {
          const middle = (low + high + 1) >> 1
          if ((regions[middle]?.start ?? 0) <= start) low = middle
          else high = middle - 1
        }
        const region = regions[low]
        const inside = region !== undefined && region.start <= start && start < Math.max(region.end, region.start + 1)
        return inside ? { ...found, path: region.path } : found
      })
      .sort((a, b) => a.span.start - b.span.start)
  }

  // ------------------------------------------------------------------------------------------------ recovering

  /** Runs a production one level deeper; at the limit it reports, skips what is there and gives up. */
  nested<T>(parse: () => T): T | undefined {
    if (this.#depth >= maxNesting) {
      this.report(
        this.token,
        `This is nested more than ${maxNesting} levels deep`,
        "Split it, with a schema or a `dynamic` value.",
      )
      this.skipBalanced()
      return undefined
    }
    this.#depth++
    const result = parse()
    this.#depth--
    return result
  }

  /** The same between two square or round brackets; the opening one is taken. */
  bracketed<T>(parse: () => T): T {
    this.take()
    this.#brackets++
    const result = parse()
    this.#brackets--
    return result
  }

  /** Takes one token, or all from an opening bracket or string head to its end. */
  skipBalanced(): void {
    const open: ("}" | "]" | ")" | "tail")[] = []
    do {
      const token = this.token
      if (token.kind === "end") return
      const closer = closers[token.kind]
      if (closer !== undefined) {
        open.push(closer)
      } else if (token.kind === open.at(-1)) {
        open.pop()
      } else if (token.kind === "tail" || token.kind === "middle") {
        // The end of a string closes every bracket that was left open within it.
        const string = open.lastIndexOf("tail")
        if (string < 0) return
        open.length = token.kind === "tail" ? string : string + 1
      }
      this.take()
    } while (open.length > 0)
  }

  /** Skips to where the next field can begin: after a comma, on another line, or at a closing bracket. */
  skipToNextItem(): void {
    let first = true
    for (;;) {
      const token = this.token
      if (token.kind === "end" || token.kind === "}" || token.kind === "tail" || token.kind === "middle") return
      if (token.kind === ",") return
      if (!first && token.afterBreak && (token.kind === "name" || token.kind === "string")) return
      this.skipBalanced()
      first = false
    }
  }

  /**
   * Block = "{" (item ","?)* "}". `parseItem` returns undefined when nothing there can begin an item; it must then have
   * taken nothing. `startsOutside` tells whether the reader is at something that belongs outside of this block.
   */
  block<Item>(
    parseItem: (first: Token) => Item | undefined,
    startsOutside: (itemsIndented: boolean) => boolean,
    what: string,
  ): Block<Item> | undefined {
    if (!this.is("{")) return undefined
    if (this.#depth >= maxNesting) return this.#tooDeep()
    const open = this.take()
    const items: Item[] = []
    this.#depth++
    const close = this.#items(open, items, parseItem, startsOutside, what)
    this.#depth--
    return { open, close, items, ...this.spanFrom(open) }
  }

  #tooDeep(): Block<never> {
    const open = this.token
    this.nested(() => undefined)
    const close = this.previous.kind === "}" ? this.previous : undefined
    return { open, close, items: [], ...this.spanFrom(open) }
  }

  #items<Item>(
    open: Token,
    items: Item[],
    parseItem: (first: Token) => Item | undefined,
    startsOutside: (itemsIndented: boolean) => boolean,
    what: string,
  ): Token | undefined {
    let itemsIndented = false
    for (;;) {
      const token = this.token
      if (this.#leaving) return undefined
      if ((token.kind === "]" || token.kind === ")") && this.#brackets > 0) {
        this.#reportUnclosed(open)
        return undefined
      }
      if (token.kind === "}") return this.#closed(open)
      if (token.kind === "end" || token.kind === "tail" || token.kind === "middle" || startsOutside(itemsIndented)) {
        this.#unclosed(open)
        return undefined
      }
      if (token.afterBreak && !itemsIndented) itemsIndented = this.column(token) > 1
      const before = this.#index
      const item = parseItem(token)
      if (item !== undefined) items.push(item)
      if (this.#index === before) this.#unexpectedItem(what)
      else this.#afterItem()
    }
  }

  #afterItem(): void {
    if (this.accept(",") === undefined) return
    while (this.is(",")) {
      this.expected("a field between the commas")
      this.take()
    }
  }

  #unexpectedItem(what: string): void {
    const token = this.token
    if (token.kind === ",") this.expected(`${what} before the comma`)
    else this.expected(what)
    this.skipToNextItem()
    if (this.token === token) this.take()
    this.accept(",")
  }

  #closed(open: Token): Token {
    const close = this.take()
    if (close.afterBreak && this.#suspect === undefined) {
      const indentation = this.#indentation(open)
      if (this.column(close) - 1 < indentation) this.#suspect = open
    }
    return close
  }

  #unclosed(open: Token): void {
    this.#reportUnclosed(open)
    this.#leaving = true
  }

  #reportUnclosed(open: Token): void {
    const culprit = this.#suspect !== undefined && this.#suspect.start > open.start ? this.#suspect : open
    if (!this.token.unclosed) this.report(culprit, "This `{` is not closed", "Add `}` where the block ends.")
  }

  /** Past the end of what was not closed (at the top of the file, or of a string): reporting starts anew. */
  endLeaving(): void {
    this.#leaving = false
    this.#suspect = undefined
  }

  #indentation(token: Token): number {
    const { line } = this.#lines.position(token.start)
    const start = this.#lines.lineStart(line)
    let at = start
    while (this.text[at] === " " || this.text[at] === "\t") at++
    return at - start
  }
}

const closers: Partial<Record<TokenKind, "}" | "]" | ")" | "tail">> = { "{": "}", "[": "]", "(": ")", head: "tail" }
