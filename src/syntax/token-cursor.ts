import { cutText } from "../base/cut-text.ts"
import type { Span } from "../source/span.ts"
import { indentation, isLineBreak, lineStart } from "./line-start.ts"
import { unescape } from "./string-value.ts"
import type { Token, TokenKind } from "./token.ts"
import type { Name } from "./tree.ts"

/** The tokens of a file with a place among them: looking and taking. */
export class TokenCursor {
  readonly text: string
  readonly tokens: readonly Token[]
  readonly #end: Token
  #token: Token
  #variables: ReadonlySet<string> | undefined
  /** Index of the token that the cursor is at. */
  protected index = 0

  constructor(text: string, tokens: readonly Token[]) {
    const first = tokens[0]
    const last = tokens[tokens.length - 1]
    if (first === undefined || last === undefined) throw new Error("A lexed text has at least its end token")
    this.text = text
    this.tokens = tokens
    this.#token = first
    this.#end = last
  }

  // --------------------------------------------------------------------------------------------------- looking

  get token(): Token {
    return this.#token
  }

  get previous(): Token {
    return this.index === 0 ? this.#token : (this.tokens[this.index - 1] ?? this.#end)
  }

  peek(ahead = 1): Token {
    return this.tokens[this.index + ahead] ?? this.#end
  }

  is(kind: TokenKind): boolean {
    return this.#token.kind === kind
  }

  isWord(word: string, token: Token = this.#token): boolean {
    return (
      token.kind === "name" &&
      token.end - token.start === word.length &&
      this.text.charCodeAt(token.start) === word.charCodeAt(0) &&
      this.text.startsWith(word, token.start)
    )
  }

  /** Whether a minus after the reader's token is not written as that of a negative value, which is ` -a`. */
  isDifference(minus: Token): boolean {
    return minus.start === this.#token.end || this.peek(2).start !== minus.end
  }

  /** Whether a loop somewhere in the file has a variable of this name. */
  isVariable(name: string): boolean {
    this.#variables ??= new Set(this.#variablesOfLoops())
    return this.#variables.has(name)
  }

  *#variablesOfLoops(): Generator<string> {
    let inPattern = false
    for (const [index, token] of this.tokens.entries()) {
      const before = this.tokens[index - 1]
      const isAfterFor = before !== undefined && this.isWord("for", before)
      inPattern = token.kind === "{" ? isAfterFor : inPattern && token.kind !== "}"
      if (token.kind === "name" && (isAfterFor || inPattern)) yield this.textOf(token)
    }
  }

  textOf(token: Span): string {
    return this.text.slice(token.start, token.end)
  }

  /** Nothing, not even a blank, lies between the previous token and the reader's. */
  get isAdjacent(): boolean {
    return this.index > 0 && this.previous.end === this.#token.start
  }

  /** Whether a token has nothing before it on its line. */
  atLineStart(token: Span): boolean {
    return token.start === 0 || isLineBreak(this.text.charCodeAt(token.start - 1))
  }

  /** How deep the line of a token is indented. */
  margin(token: Span): number {
    return indentation(this.text, lineStart(this.text, token.start))
  }

  /** Column of a token, counted from 1. */
  column(token: Span): number {
    return token.start - lineStart(this.text, token.start) + 1
  }

  /** Whether the reader is at a name and what may follow it as that of a field or property. */
  get atKey(): boolean {
    return this.isKey(0)
  }

  isKey(ahead: number): boolean {
    const { kind } = this.peek(ahead)
    if (kind !== "name" && kind !== "string") return false
    const next = this.peek(ahead + 1).kind
    return next === ":" || next === "{"
  }

  // ---------------------------------------------------------------------------------------------------- taking

  take(): Token {
    const token = this.#token
    if (token.kind !== "end") {
      this.index++
      this.#token = this.tokens[this.index] ?? this.#end
    }
    return token
  }

  accept(kind: TokenKind): Token | undefined {
    return this.#token.kind === kind ? this.take() : undefined
  }

  acceptWord(word: string): Token | undefined {
    return this.isWord(word) ? this.take() : undefined
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

  /** Where a node ends that began with `first`: with the last token that was taken. */
  endFrom(first: Span): number {
    return this.index === 0 ? first.end : Math.max(first.end, this.previous.end)
  }

  // --------------------------------------------------------------------------------------------------- quoting

  /** A name as the author wrote it, for a message. */
  show(name: Name): string {
    return cutText(this.textOf(name), 40)
  }

  /** What the author wrote, for a hint: on one line, and not too long. */
  quote(span: Span): string {
    return cutText(this.text.slice(span.start, Math.min(span.end, span.start + 200)).replace(/\s+/g, " "), 60)
  }

  describe(token: Token): string {
    if (token.kind === "end") return "the end of the file"
    if (token.kind === "string") return "a string"
    if (token.kind === "head") return "a string with `{{ }}`"
    if (token.kind === "middle" || token.kind === "tail") return "`}}`"
    return `\`${cutText(this.textOf(token), 40)}\``
  }
}
