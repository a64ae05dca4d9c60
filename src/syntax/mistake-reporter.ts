import { cutText } from "../base/cut-text.ts"
import { diagnostic, type Diagnostic } from "../source/diagnostic.ts"
import { firstFrom } from "../source/first-from.ts"
import { general, type SyntaxCode, type SyntaxHint } from "../source/hint.ts"
import type { Span } from "../source/span.ts"
import { explainBad } from "./bad-token.ts"
import type { Lexed } from "./lexer.ts"
import { betterHint, type Expected } from "./known-mistake.ts"
import { numberValue } from "./number-text.ts"
import { maxSyntaxErrors } from "./string-lexer.ts"
import type { Token, TokenKind } from "./token.ts"
import { TokenCursor } from "./token-cursor.ts"
import type { Name } from "./tree.ts"

/** A declaration's place in the text, so that syntax errors within it can be reported with its path. */
interface Region extends Span {
  readonly path: string
}

/** Characters of a line that are looked over for a string that is not closed. */
const longestLine = 400

/** A cursor that reports what is wrong at its place, and counts it. */
export class MistakeReporter extends TokenCursor {
  readonly #diagnostics: Diagnostic[]
  readonly #regions: Region[] = []
  /** Made when needed: most texts are right. */
  #reported: Set<string> | undefined
  #lastReport = -1
  /** How many mistakes were met, including those that other code has reported. */
  #mistakes = 0
  /** How often something else was expected: the reader may have lost its place then. */
  protected lost = 0
  /** The same before the outermost bracket of the field that is read. */
  protected beforeBracket: number | null = null
  /** Set while blocks are left because one of them was never closed: reported once, not once for each. */
  protected leaving = false

  /** Where strings begin that are not closed. */
  readonly #unclosed: readonly number[]

  constructor(text: string, lexed: Lexed) {
    super(text, lexed.tokens)
    this.#diagnostics = [...lexed.diagnostics]
    const unclosed = lexed.diagnostics.filter(({ data }) => data?.kind === "unclosed-string")
    this.#unclosed = unclosed.map(({ span }) => span.start)
  }

  /** Whether this name has been asked about before: a wrong name is reported where it first stands. */
  wasReported(name: string): boolean {
    return this.#reported?.has(name) === true
  }

  isReported(name: string): boolean {
    if (this.#reported?.has(name) === true) return true
    this.#reported = (this.#reported ?? new Set()).add(name)
    return false
  }

  /** How many mistakes were met so far. */
  get mistakes(): number {
    return this.#mistakes
  }

  /** Whether the reader lost its place between the brackets of this field: what is in them, and where they end, is a guess then. */
  protected get isBracketBroken(): boolean {
    return this.beforeBracket !== null && this.lost > this.beforeBracket
  }

  report(span: Span, message: string, hint?: SyntaxHint, expected?: Expected, code: SyntaxCode = "syntax-error"): void {
    this.#mistakes++
    if (this.isBracketBroken || this.#isBeforeUnclosed(span)) return
    // One mistake makes one message: a second one at the same place, or while leaving an unclosed block, says nothing new.
    if (span.start === this.#lastReport || this.leaving || this.#diagnostics.length > 2 * maxSyntaxErrors) return
    this.#lastReport = span.start
    const better = betterHint(expected, hint, this.text, span.start)
    this.#diagnostics.push(diagnostic(code, "", span, message, better))
  }

  /** Whether a string that is not closed follows in the same line: it may lack its beginning. */
  #isBeforeUnclosed({ start }: Span): boolean {
    return this.#unclosed.some(
      (at) => at > start && at - start < longestLine && !this.text.slice(start, at).includes("\n"),
    )
  }

  /**
   * Reports that something else was expected where the reader is: at its token or, if that is on another line, at the
   * last one. What the lexer reported already is passed over.
   */
  expected(what: string, hint?: SyntaxHint, expected?: Expected): void {
    const token = this.token
    if (token.unclosed || token.kind === "bad" || (token.kind !== "end" && !token.afterBreak)) {
      this.unexpected(what, hint, expected)
    } else {
      const where = token.kind === "end" ? ", but the file ends here" : ""
      this.report(this.#lastTaken(), `Expected ${what}${where}`, hint, expected)
      this.lost++
    }
  }

  /** Reports a bracket that is not closed where it should be. */
  unclosed(open: Token, kind: "]" | ")"): void {
    this.report(open, `This ${this.describe(open)} is not closed`, `Add \`${kind}\` where it ends.`)
    this.lost++
  }

  /** Counts the reader's token as a mistake that was reported before. */
  passOver(): void {
    this.#mistakes++
  }

  /** Reports the reader's token, whatever line it is on. */
  unexpected(what: string, hint?: SyntaxHint, expected?: Expected): void {
    const token = this.token
    const bad = token.kind === "bad" ? explainBad(this.textOf(token)) : undefined
    // The lexer has reported it.
    if (token.unclosed || (token.kind === "bad" && bad === undefined)) this.passOver()
    else if (bad !== undefined) this.report(token, bad.message, bad.hint)
    else if (token.kind === "number" && numberValue(this.textOf(token)) === undefined) {
      this.notANumber(token)
    } else {
      const end = token.kind === "middle" || token.kind === "tail" ? token.start + 2 : token.end
      this.report({ start: token.start, end }, `Expected ${what}, found ${this.describe(token)}`, hint, expected)
      this.lost++
    }
  }

  notANumber(token: Token): void {
    const hint = general("A name cannot begin with a digit.")
    this.report(token, `${this.describe(token)} is neither a number nor a name`, hint, "number")
  }

  /** The last token, or the last character of one that may be long. */
  #lastTaken(): Span {
    const { kind, start, end } = this.previous
    const isString = kind === "string" || kind === "tail"
    return isString ? { start: Math.max(start, end - 1), end } : { start, end }
  }

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

  region({ start, end }: Span, path: string): void {
    this.#regions.push({ start, end, path })
  }

  /** All diagnostics in source order, each with the path of the declaration that it lies in. */
  diagnostics(): Diagnostic[] {
    if (this.#diagnostics.length === 0) return []
    const sorted = this.#diagnostics.toSorted((a, b) => a.span.start - b.span.start)
    // The same brace may be found to be unclosed at two ends.
    const found = sorted.filter(({ span, message }, index) => {
      const before = sorted[index - 1]
      return before?.span.start !== span.start || before.message !== message
    })
    const next = found[maxSyntaxErrors]
    if (next !== undefined) {
      found.length = maxSyntaxErrors
      found.push(diagnostic("syntax-error", "", next.span, "Too many syntax errors: the rest is not shown"))
    }
    return found.map((each) => ({ ...each, path: this.#pathAt(each.span.start) }))
  }

  #pathAt(offset: number): string {
    const region = this.#regions[firstFrom(this.#regions, offset + 1) - 1]
    return region !== undefined && offset < region.end ? region.path : ""
  }

  /** Takes a token of this kind, or reports that `what` was expected. */
  expect(kind: TokenKind, what: string): Token | undefined {
    const token = this.accept(kind)
    if (token === undefined) this.expected(what)
    return token
  }
}
