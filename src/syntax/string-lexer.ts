import { diagnostic, type Diagnostic } from "../source/diagnostic.ts"
import type { DataOf, Hint } from "../source/hint.ts"
import { textOverLines } from "./bad-token.ts"
import { headlessBlockString, headlessText } from "./headless-string.ts"
import { escapeLength } from "./string-value.ts"
import type { Comment, Token, TokenKind } from "./token.ts"
import { beforeForeignBrackets, endOverLines, hasLineBreak, unclosedBlockString } from "./unclosed-string.ts"

/** A string whose interpolation the lexer is inside of. */
interface OpenString {
  /** Where its quotes are. */
  readonly start: number
  /** Where the `{{` is. */
  readonly interpolation: number
  readonly block: boolean
  /** The interpolation is over with its line: that of a one-line string, and one that is known to be unclosed. */
  readonly endsWithLine: boolean
  /** Braces open since the `{{`. */
  depth: number
  /** What was there when it began, so that the lexer can go back. */
  readonly tokens: number
  readonly diagnostics: number
}

export const noComments: readonly Comment[] = []

const LF = 10
const CR = 13
const QUOTE = 34
const BACKSLASH = 92
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

export const unclosedString = "This string is not closed before the end of the line"

/** More syntax errors than this do not help; they only cost memory. */
export const maxSyntaxErrors = 1_000

/** The part of the lexer that knows strings: their text, their interpolations, and where they end if nothing closes them. */
export class StringLexer {
  protected readonly text: string
  /** Has room for more than most texts need: it rarely grows, and the lexer cuts off what is left. */
  protected readonly tokens: Token[] = []
  protected count = 0
  protected readonly diagnostics: Diagnostic[] = []
  /** Strings around the place where we are, outermost first. */
  protected readonly open: OpenString[] = []
  /** Index in `open` of the outermost whose interpolation ends with the line; -1 for none. */
  protected lineBound = -1
  protected at = 0
  protected comments: Comment[] | undefined
  protected afterBreak = false
  protected unclosedComment = false

  // Recovery from quotes and `{{` that are never closed: see `recover`.
  /** Where the `{{` are that are known to be unclosed. */
  #unclosedInterpolations: Set<number> | undefined
  /** Block strings that are known to be unclosed: where they begin, and where they end for want of a better place. */
  #cuts: Map<number, number> | undefined
  /** How much text may still be read again. */
  #patience: number

  constructor(text: string) {
    this.text = text
    this.tokens.length = Math.ceil(text.length / 6) + 1
    this.#patience = 4 * text.length
  }

  protected push(kind: TokenKind, start: number, end: number, unclosed = false): void {
    const comments = this.comments ?? noComments
    this.tokens[this.count++] = { kind, start, end, comments, afterBreak: this.afterBreak, unclosed }
    this.comments = undefined
    this.afterBreak = false
    this.at = end
  }

  protected report(start: number, end: number, message: string, hint?: Hint<DataOf<"syntax-error">>): void {
    if (this.diagnostics.length > maxSyntaxErrors) return
    this.diagnostics.push(diagnostic("syntax-error", "", { start, end }, message, hint))
  }

  // --------------------------------------------------------------------------------------------------- strings

  protected closeBrace(): void {
    const start = this.at
    const around = this.open.at(-1)
    if (around === undefined) return this.push("}", start, start + 1)
    if (around.depth > 0) {
      around.depth--
      return this.push("}", start, start + 1)
    }
    if (this.text.charCodeAt(start + 1) === CLOSE_BRACE) {
      this.#closeInterpolation()
      this.#stringText(start, start + 2, around.start, around.block, "middle", "tail")
    } else if (around.endsWithLine || !hasLineBreak(this.text, around.interpolation, start)) {
      this.report(start, start + 1, "Expected `}}`, found a single `}`")
      this.#closeInterpolation()
      this.#stringText(start, start + 1, around.start, around.block, "middle", "tail", true)
    } else {
      // The brace of a block around the string: the interpolation ended long ago.
      this.#rewindInterpolation(this.open.length - 1)
    }
  }

  protected string(start: number, block: boolean): void {
    this.#stringText(start, start + (block ? 3 : 1), start, block, "head", "string")
  }

  /**
   * Reads text of a string from `at` to its closing quotes (then the token is `last`) or to the next `{{` (then it is
   * `more`). `start` is the token's, `opening` the string's.
   */
  #stringText(
    start: number,
    at: number,
    opening: number,
    block: boolean,
    more: "head" | "middle",
    last: "string" | "tail",
    unclosed = false,
  ): void {
    const text = this.text
    const limit = (block ? this.#cuts?.get(opening) : undefined) ?? text.length
    const from = at
    for (;;) {
      if (at < limit) at = Math.min(limit, endOf(block ? blockText : lineText, text, at))
      const unit = at < limit ? text.charCodeAt(at) : 0
      if (at >= limit) {
        this.#unclosedString(start, from, at, opening, block, last)
        return
      } else if (unit === QUOTE) {
        if (!block) return this.push(last, start, at + 1, unclosed)
        if (isTripleQuote(text, at)) return this.push(last, start, at + 3, unclosed)
        at++
      } else if (unit === BACKSLASH) {
        at = this.#escape(at, block)
      } else if (unit === OPEN_BRACE && text.charCodeAt(at + 1) === OPEN_BRACE) {
        this.push(more, start, at + 2, unclosed)
        this.#openInterpolation(opening, at, block)
        return
      } else if (!block && (unit === LF || unit === CR)) {
        this.#unclosedString(start, from, at, opening, block, last)
        return
      } else {
        at++
      }
    }
  }

  /** `from` is where its text begins. */
  #unclosedString(
    start: number,
    from: number,
    lineEnd: number,
    opening: number,
    block: boolean,
    last: "string" | "tail",
  ): void {
    const isInner = !block && this.lineBound >= 0
    const beyond = block || isInner ? undefined : endOverLines(this.text, lineEnd)
    const end = block || isInner ? lineEnd : (beyond ?? beforeForeignBrackets(this.text, from, lineEnd))
    this.push(last, start, end, true)
    // A string around this one ends here too: the `{{` that it sits in is the mistake, and is reported then.
    if (isInner) return
    if (!block && last === "string") {
      const headless = headlessText(this.tokens, this.count - 1)
      if (headless !== undefined) return this.#headless(headless, end, '"')
      rawText.lastIndex = opening - 1
      if (opening > 0 && rawText.test(this.text)) {
        this.#takeBack(this.count - 2, "bad", rawText.lastIndex)
        return this.report(opening - 1, opening + 1, textOverLines)
      }
    }
    if (end >= this.text.length && this.open.length > 0) return
    if (block) {
      const before = this.diagnostics.at(-1)
      if (before?.data?.kind === "unclosed-interpolation" && before.span.start > opening) {
        // One mistake: what closes both is missing.
        this.diagnostics.pop()
        const { start, end } = before.span
        const hint = 'Add `}}` after the value, and `"""` where the text ends.'
        return this.report(start, end, unclosedInterpolation, hint)
      }
      this.report(opening, opening + 3, "This block string is not closed", 'Add `"""` where it ends.')
      return
    }
    const hint = beyond === undefined ? 'Add `"` where it ends.' : 'Write `"""` around a text of several lines.'
    const message = "This string is not closed before the end of the line"
    this.report(opening, opening + 1, message, { text: hint, data: { kind: "unclosed-string" } })
  }

  /** Returns where the text goes on after an escape. */
  #escape(at: number, block: boolean): number {
    const length = escapeLength(this.text, at)
    if (length > 0) return at + length
    const wrong = wrongEscape(this.text, at)
    if (wrong !== undefined) {
      this.report(at, wrong.end, wrong.message, wrong.hint)
      return wrong.end
    }
    // A one-line string is not closed then, and that is reported.
    if (block) this.report(at, at + 1, "A `\\` at the end of the line", "Write `\\\\` for a backslash.")
    return at + 1
  }

  // -------------------------------------------------------------------------------------------- interpolations

  #openInterpolation(start: number, interpolation: number, block: boolean): void {
    const endsWithLine = !block || this.#patience <= 0 || this.#unclosedInterpolations?.has(interpolation) === true
    if (endsWithLine && this.lineBound < 0) this.lineBound = this.open.length
    const tokens = this.count
    this.open.push({
      start,
      interpolation,
      block,
      endsWithLine,
      depth: 0,
      tokens,
      diagnostics: this.diagnostics.length,
    })
  }

  #closeInterpolation(): OpenString | undefined {
    const string = this.open.pop()
    if (this.lineBound >= this.open.length) this.lineBound = -1
    return string
  }

  /** The line ended inside an interpolation that must not outlast it: closes that string and all within it. */
  protected abandonInterpolation(outermost: number): void {
    const string = this.open[outermost]
    if (string === undefined) return
    this.#reportUnclosedInterpolation(string)
    while (this.open.length > outermost + 1) this.#closeMadeUp()
    if (!string.block) return this.#closeMadeUp()
    this.#closeInterpolation()
    this.#stringText(this.at, this.at, string.start, true, "middle", "tail", true)
  }

  #closeMadeUp(): void {
    this.#closeInterpolation()
    this.push("tail", this.at, this.at, true)
  }

  #reportUnclosedInterpolation({ interpolation, block }: OpenString): void {
    const message = block ? unclosedInterpolation : `${unclosedInterpolation} before the end of the line`
    const hint = "Add `}}`, or write `\\{\\{` for two braces."
    const data = { kind: "unclosed-interpolation" } as const
    this.report(interpolation, interpolation + 2, message, block ? { text: hint, data } : hint)
  }

  // ------------------------------------------------------------------------------------------------- recovery

  // A string that is never closed swallows the rest of the file, with all other mistakes in it. So at
  // the end of the text the lexer looks for the likely culprit, goes back there and reads on with its end made up. It may
  // read the text again a few times only: then the rest stays swallowed.

  /** At the end of the text: whether there is something to read again. */
  protected recover(): boolean {
    if (this.#patience <= 0) return false
    const outermost = this.open[0]
    if (outermost !== undefined) return !outermost.endsWithLine && this.#rewindInterpolation(0)
    const last = this.tokens[this.count - 1]
    const swallowed = last?.unclosed === true && last.end === this.text.length && last.end > last.start
    return swallowed && this.#rewindBlockString()
  }

  /** Reads an interpolation of a block string again, up to the end of its line. */
  #rewindInterpolation(index: number): boolean {
    const string = this.open[index]
    if (string === undefined) return false
    this.#unclosedInterpolations = (this.#unclosedInterpolations ?? new Set()).add(string.interpolation)
    this.open.length = index
    if (this.lineBound >= index) this.lineBound = -1
    this.#goBack(string.interpolation + 2, string.tokens, string.diagnostics)
    this.#openInterpolation(string.start, string.interpolation, string.block)
    return true
  }

  /** Ends the block string that most likely lacks its quotes where its indentation does, and reads on from there. */
  #rewindBlockString(): boolean {
    this.#patience -= this.count
    const tokens = this.tokens.slice(0, this.count)
    const culprit = unclosedBlockString(this.text, tokens)
    const headless = headlessBlockString(this.text, tokens, culprit?.index)
    if (headless !== undefined) {
      this.#patience -= this.at - headless.end
      this.#headless(headless.index, headless.end, '"""')
      return true
    }
    if (culprit === undefined || this.#cuts?.has(culprit.start) === true) return false
    this.#cuts = (this.#cuts ?? new Map()).set(culprit.start, culprit.end)
    const diagnostics = this.diagnostics.findIndex((found) => found.span.start >= culprit.start)
    const first = this.tokens[culprit.index]
    this.#goBack(culprit.start, culprit.index, diagnostics < 0 ? this.diagnostics.length : diagnostics)
    if (first !== undefined && first.comments.length > 0) this.comments = [...first.comments]
    this.afterBreak = first?.afterBreak === true
    return true
  }

  /** Takes all from a token on as a text without its opening quotes, and reports that. */
  #headless(index: number, end: number, quotes: string): void {
    const first = this.#takeBack(index, "string", end)
    if (first === undefined) return
    this.report(first.start, first.end, `Expected \`${quotes}\` before this text`, `Add \`${quotes}\` where it begins.`)
  }

  /** Makes one token of all from this one on. */
  #takeBack(index: number, kind: "string" | "bad", end: number): Token | undefined {
    const first = this.tokens[index]
    if (first === undefined) return undefined
    this.count = index
    while ((this.diagnostics.at(-1)?.span.start ?? -1) >= first.start) this.diagnostics.pop()
    this.comments = first.comments.length > 0 ? [...first.comments] : undefined
    this.afterBreak = first.afterBreak
    this.push(kind, first.start, end, true)
    return first
  }

  #goBack(to: number, tokens: number, diagnostics: number): void {
    this.#patience -= this.at - to
    this.at = to
    this.count = tokens
    this.diagnostics.length = diagnostics
    this.comments = undefined
    this.afterBreak = false
    this.unclosedComment = false
  }

  protected closeAtEnd(): void {
    const at = this.text.length
    let unclosed = this.unclosedComment
    const outermost = this.open[0]
    if (outermost !== undefined) {
      this.#reportUnclosedInterpolation(outermost)
      while (this.open.length > 0) this.#closeMadeUp()
      unclosed = true
    }
    const last = this.tokens[this.count - 1]
    if (last?.unclosed === true && last.end === at) unclosed = true
    this.push("end", at, at, unclosed)
  }
}

const unclosedInterpolation = "This `{{` is not closed"

/** Up to where a string may end, or needs a closer look. Faster than a loop over characters. */
const lineText = /[^"\\{\n\r]*/y
const blockText = /[^"\\{]*/y

/** `#"…"#` over a few lines, as other languages write it. */
const rawText = /#"(?:[^\n]*\n){1,40}?[^\n]*?"#/y

/** Where a stretch of such characters ends. */
export function endOf(stretch: RegExp, text: string, at: number): number {
  stretch.lastIndex = at
  stretch.test(text)
  return stretch.lastIndex
}

/** Whether there are three quotes at one. */
export function isTripleQuote(text: string, at: number): boolean {
  return at + 2 < text.length && text.charCodeAt(at + 1) === QUOTE && text.charCodeAt(at + 2) === QUOTE
}

/** A wrong escape, and the offset where the text goes on after it. */
interface WrongEscape {
  readonly end: number
  readonly message: string
  readonly hint: string
}

/** Explains an escape that does not exist; undefined for a backslash at the end of a line. */
function wrongEscape(text: string, at: number): WrongEscape | undefined {
  escape.lastIndex = at
  const written = escape.exec(text)?.[0]
  if (written === undefined) return undefined
  const end = at + written.length
  if (written.startsWith("\\u")) {
    const hint = "Write `\\u{…}` with the code point in hex, such as `\\u{1F600}`."
    return { end, message: "Invalid Unicode escape", hint }
  }
  const hint = 'Known escapes: `\\\\` `\\"` `\\n` `\\r` `\\t` `\\{` `\\}` `\\u{…}`.'
  return { end, message: `Unknown escape \`${written}\``, hint }
}

const escape = /\\(?:u\{\w*\}?|[^\r\n])/uy
