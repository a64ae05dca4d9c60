import { diagnostic, type Diagnostic } from "../source/diagnostic.ts"
import type { SyntaxCode, SyntaxHint } from "../source/hint.ts"
import { firstFrom, type Span } from "../source/span.ts"
import type { Lexed } from "./lexer.ts"
import { betterHint, type Expected } from "./known-mistake.ts"
import { maxSyntaxErrors } from "./string-lexer.ts"

/** A declaration's place in the text, so that syntax errors within it can be reported with its path. */
interface Region extends Span {
  readonly path: string
}

/** Characters of a line that are searched for an unclosed string. */
const longestLine = 400

/** The mistakes that the parser meets, of which it reports the first at each place. */
export class SyntaxMistakes {
  readonly #text: string
  readonly #diagnostics: Diagnostic[]
  readonly #regions: Region[] = []
  /** Created when needed: most texts have no mistakes. */
  #noted: Set<string> | undefined
  #lastReport = -1
  /** How many mistakes were met, including those that other code has reported. */
  count = 0
  /** How often something else was expected: the reader may have lost its place then. */
  lost = 0
  /** `lost` before the outermost bracket of the field that is read. */
  beforeBracket: number | null = null
  /** Set while blocks are left because one of them was never closed: reported once, not once for each. */
  leaving = false
  /** Where unclosed strings begin. */
  readonly #unclosed: readonly number[]

  constructor(text: string, lexed: Lexed) {
    this.#text = text
    this.#diagnostics = [...lexed.diagnostics]
    const unclosed = lexed.diagnostics.filter(({ data }) => data?.kind === "unclosed-string")
    this.#unclosed = unclosed.map(({ span }) => span.start)
  }

  /** Whether a mistake was noted under this key. */
  wasNoted(key: string): boolean {
    return this.#noted?.has(key) === true
  }

  /** Notes a mistake that is reported only where it first occurs. False where it was noted before. */
  note(key: string): boolean {
    if (this.wasNoted(key)) return false
    this.#noted = (this.#noted ?? new Set()).add(key)
    return true
  }

  /** Whether the reader lost its place between the brackets of this field: what is in them, and where they end, is a guess then. */
  get isBracketBroken(): boolean {
    return this.beforeBracket !== null && this.lost > this.beforeBracket
  }

  add(span: Span, message: string, hint?: SyntaxHint, expected?: Expected, code: SyntaxCode = "syntax-error"): void {
    this.count++
    if (this.isBracketBroken || this.#isBeforeUnclosed(span)) return
    // One mistake makes one message: a second one at the same place, or while leaving an unclosed block, says nothing new.
    if (span.start === this.#lastReport || this.leaving || this.#diagnostics.length > 2 * maxSyntaxErrors) return
    this.#lastReport = span.start
    const better = betterHint(expected, hint, this.#text, span.start)
    this.#diagnostics.push(diagnostic(code, "", span, message, better))
  }

  /** Whether an unclosed string follows in the same line: it may lack its beginning. */
  #isBeforeUnclosed({ start }: Span): boolean {
    return this.#unclosed.some(
      (at) => at > start && at - start < longestLine && !this.#text.slice(start, at).includes("\n"),
    )
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
}
