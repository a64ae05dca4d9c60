import type { Diagnostic } from "../source/diagnostic.ts"
import { diagnostic } from "../source/diagnostic.ts"
import { escapeLength } from "./string-value.ts"
import type { Comment, Token, TokenKind } from "./token.ts"

export interface Lexed {
  /** The last one is `end`. */
  readonly tokens: readonly Token[]
  /** In source order; their `path` is empty until the parser knows the declarations. */
  readonly diagnostics: readonly Diagnostic[]
}

/** Text → tokens with their comments and blanks. Never throws; every mistake becomes a diagnostic and a token. */
export function lex(text: string): Lexed {
  return new Lexer(text).run()
}

/** A string whose interpolation the lexer is inside of. */
interface OpenString {
  /** Where its quotes are. */
  readonly start: number
  /** Where the `{{` is. */
  readonly interpolation: number
  readonly block: boolean
  /** Braces open since the `{{`. */
  depth: number
}

const noComments: readonly Comment[] = []

const TAB = 9
const LF = 10
const CR = 13
const SPACE = 32
const QUOTE = 34
const STAR = 42
const MINUS = 45
const DOT = 46
const SLASH = 47
const QUESTION = 63
const BACKSLASH = 92
const UNDERSCORE = 95
const OPEN_BRACE = 123
const CLOSE_BRACE = 125
const BOM = 0xfeff

const simplePunctuation: Readonly<Record<number, TokenKind>> = {
  35: "#",
  40: "(",
  41: ")",
  44: ",",
  45: "-",
  46: ".",
  47: "/",
  58: ":",
  59: ";",
  91: "[",
  93: "]",
  124: "|",
}

class Lexer {
  readonly #text: string
  readonly #tokens: Token[] = []
  readonly #diagnostics: Diagnostic[] = []
  /** Strings around the place where we are, outermost first. */
  readonly #open: OpenString[] = []
  #at = 0
  #comments: Comment[] | undefined
  #afterBreak = false

  constructor(text: string) {
    this.#text = text
  }

  run(): Lexed {
    const text = this.#text
    if (text.charCodeAt(0) === BOM) this.#at = 1
    while (this.#at < text.length) this.#next()
    this.#closeAtEnd()
    this.#reportNonText()
    this.#diagnostics.sort((a, b) => a.span.start - b.span.start)
    return { tokens: this.#tokens, diagnostics: this.#diagnostics }
  }

  #next(): void {
    const text = this.#text
    const start = this.#at
    const unit = text.charCodeAt(start)
    if (unit === SPACE || unit === TAB) {
      this.#at++
      return
    }
    if (unit === LF || unit === CR) {
      this.#lineBreak()
      return
    }
    if (isNameStart(unit)) {
      let at = start + 1
      while (isNamePart(text.charCodeAt(at))) at++
      this.#push("name", start, at)
      return
    }
    if (isDigit(unit) || (unit === MINUS && isDigit(text.charCodeAt(start + 1)))) {
      this.#number()
      return
    }
    switch (unit) {
      case QUOTE:
        this.#string(start, text.startsWith('"""', start))
        return
      case OPEN_BRACE: {
        const around = this.#open.at(-1)
        if (around !== undefined) around.depth++
        this.#push("{", start, start + 1)
        return
      }
      case CLOSE_BRACE:
        this.#closeBrace()
        return
      case SLASH:
        if (text.charCodeAt(start + 1) === SLASH) return this.#lineComment()
        if (text.charCodeAt(start + 1) === STAR) return this.#blockComment()
        break
      case QUESTION:
        if (text.charCodeAt(start + 1) === DOT) return this.#push("?.", start, start + 2)
        if (text.charCodeAt(start + 1) === QUESTION) return this.#push("??", start, start + 2)
        return this.#badCharacters()
      case STAR: {
        let at = start + 1
        while (at < start + 3 && text.charCodeAt(at) === STAR) at++
        this.#push(at === start + 1 ? "*" : at === start + 2 ? "**" : "***", start, at)
        return
      }
    }
    const kind = simplePunctuation[unit]
    if (kind !== undefined) this.#push(kind, start, start + 1)
    else this.#badCharacters()
  }

  #push(kind: TokenKind, start: number, end: number, unclosed = false): void {
    this.#tokens.push({
      kind,
      start,
      end,
      comments: this.#comments ?? noComments,
      afterBreak: this.#afterBreak,
      unclosed,
    })
    this.#comments = undefined
    this.#afterBreak = false
    this.#at = end
  }

  #report(start: number, end: number, message: string, hint?: string): void {
    this.#diagnostics.push(diagnostic("syntax-error", "", { start, end }, message, hint))
  }

  #lineBreak(): void {
    const oneLine = this.#open.findIndex((string) => !string.block)
    if (oneLine >= 0) this.#abandonInterpolation(oneLine)
    this.#afterBreak = true
    this.#at++
  }

  /** The line ended inside the interpolation of a one-line string: closes that string and all within it. */
  #abandonInterpolation(outermost: number): void {
    const string = this.#open[outermost]
    if (string === undefined) return
    this.#report(
      string.interpolation,
      string.interpolation + 2,
      "This `{{` is not closed before the end of the line",
      "Add `}}`, or write `\\{\\{` for two braces.",
    )
    while (this.#open.length > outermost) {
      this.#open.pop()
      this.#push("tail", this.#at, this.#at, true)
    }
  }

  #closeAtEnd(): void {
    const at = this.#text.length
    let unclosed = this.#diagnostics.some((found) => found.message === unclosedComment)
    const outermost = this.#open[0]
    if (outermost !== undefined) {
      this.#at = at
      this.#abandonInterpolationAtEnd(outermost)
      unclosed = true
    }
    const last = this.#tokens.at(-1)
    if (last?.unclosed === true && last.end === at) unclosed = true
    this.#push("end", at, at, unclosed)
  }

  #abandonInterpolationAtEnd(outermost: OpenString): void {
    this.#report(
      outermost.interpolation,
      outermost.interpolation + 2,
      "This `{{` is not closed",
      "Add `}}`, or write `\\{\\{` for two braces.",
    )
    while (this.#open.pop() !== undefined) this.#push("tail", this.#at, this.#at, true)
  }

  #closeBrace(): void {
    const start = this.#at
    const around = this.#open.at(-1)
    if (around === undefined) return this.#push("}", start, start + 1)
    if (around.depth > 0) {
      around.depth--
      return this.#push("}", start, start + 1)
    }
    if (this.#text.charCodeAt(start + 1) !== CLOSE_BRACE) return this.#push("}", start, start + 1)
    this.#open.pop()
    this.#stringText(start, start + 2, around.start, around.block, "middle", "tail")
  }

  #string(start: number, block: boolean): void {
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
  ) {
    const text = this.#text
    for (;;) {
      const unit = text.charCodeAt(at)
      if (unit === QUOTE) {
        if (!block) return this.#push(last, start, at + 1)
        if (text.startsWith('"""', at)) return this.#push(last, start, at + 3)
        at++
      } else if (unit === BACKSLASH) {
        at = this.#escape(at)
      } else if (unit === OPEN_BRACE && text.charCodeAt(at + 1) === OPEN_BRACE) {
        this.#push(more, start, at + 2)
        this.#open.push({ start: opening, interpolation: at, block, depth: 0 })
        return
      } else if (at >= text.length || (!block && (unit === LF || unit === CR))) {
        this.#unclosedString(start, at, opening, block, last)
        return
      } else {
        at++
      }
    }
  }

  #unclosedString(start: number, end: number, opening: number, block: boolean, last: "string" | "tail"): void {
    this.#push(last, start, end, true)
    // A one-line string around this one ends here too: the `{{` that it sits in is what is wrong, and told then.
    if (!block && this.#open.some((string) => !string.block)) return
    if (end >= this.#text.length && this.#open.length > 0) return
    if (block) this.#report(opening, opening + 3, "This block string is not closed", 'Add `"""` where it ends.')
    else this.#report(opening, end, "This string is not closed before the end of the line", 'Add `"` where it ends.')
  }

  /** Returns where the text goes on after an escape. */
  #escape(at: number): number {
    const length = escapeLength(this.#text, at)
    if (length > 0) return at + length
    const text = this.#text
    const next = text.charCodeAt(at + 1)
    if (Number.isNaN(next) || next === LF || next === CR) {
      this.#report(at, at + 1, "A `\\` stands at the end of the line", "Write `\\\\` for a backslash.")
      return at + 1
    }
    if (text[at + 1] === "u") {
      const end = text[at + 2] === "{" ? endOfUnicodeEscape(text, at + 3) : at + 2
      this.#report(
        at,
        end,
        "Invalid Unicode escape",
        "Write `\\u{…}` with the code point in hex, such as `\\u{1F600}`.",
      )
      return end
    }
    const width = isHighSurrogate(next) ? 2 : 1
    this.#report(
      at,
      at + 1 + width,
      `Unknown escape \`${text.slice(at, at + 1 + width)}\``,
      'Known escapes: `\\\\` `\\"` `\\n` `\\r` `\\t` `\\{` `\\}` `\\u{…}`.',
    )
    return at + 1 + width
  }

  /** number = "-"? digits ("." digits)? (("e" | "E") ("+" | "-")? digits)? ; digits may have "_" between them */
  #number(): void {
    const text = this.#text
    const start = this.#at
    let at = this.#digits(text.charCodeAt(start) === MINUS ? start + 1 : start)
    if (text.charCodeAt(at) === DOT && isDigit(text.charCodeAt(at + 1))) at = this.#digits(at + 1)
    const exponent = text.charCodeAt(at) | 32
    if (exponent === 101) {
      const sign = text.charCodeAt(at + 1)
      const digits = sign === 43 || sign === MINUS ? at + 2 : at + 1
      if (isDigit(text.charCodeAt(digits))) at = this.#digits(digits)
    }
    if (isNamePart(text.charCodeAt(at))) {
      while (isNamePart(text.charCodeAt(at))) at++
      const written = text.slice(start, at)
      this.#report(
        start,
        at,
        `\`${shorten(written)}\` is neither a number nor a name`,
        "A name cannot begin with a digit.",
      )
    } else if (!Number.isFinite(Number(text.slice(start, at).replaceAll("_", "")))) {
      this.#report(start, at, "This number is too large")
    }
    this.#push("number", start, at)
  }

  /** A `_` counts only between digits; elsewhere it is left over, and reported with the number. */
  #digits(at: number): number {
    const text = this.#text
    for (;;) {
      while (isDigit(text.charCodeAt(at))) at++
      if (text.charCodeAt(at) === UNDERSCORE && isDigit(text.charCodeAt(at + 1))) at++
      else return at
    }
  }

  #lineComment(): void {
    const text = this.#text
    const start = this.#at
    let at = start + 2
    for (let unit = text.charCodeAt(at); at < text.length && unit !== LF && unit !== CR; unit = text.charCodeAt(at))
      at++
    const doc = text.charCodeAt(start + 2) === SLASH && text.charCodeAt(start + 3) !== SLASH
    ;(this.#comments ??= []).push({ style: doc ? "doc" : "line", start, end: at })
    this.#at = at
  }

  #blockComment(): void {
    const start = this.#at
    const close = this.#text.indexOf("*/", start + 2)
    const end = close < 0 ? this.#text.length : close + 2
    if (close < 0) this.#report(start, start + 2, unclosedComment, "Write `//` before each line of a comment.")
    else this.#report(start, end, "Comments between `/*` and `*/` do not exist here", "Write `//` before each line.")
    ;(this.#comments ??= []).push({ style: "block", start, end })
    this.#at = end
  }

  #badCharacters(): void {
    const text = this.#text
    const start = this.#at
    const quoted = /'[^'\r\n]*'/y
    quoted.lastIndex = start
    const found = quoted.exec(text)
    if (found !== null) {
      this.#report(start, start + found[0].length, "Strings are written with `\"`, not with `'`")
      this.#push("bad", start, start + found[0].length)
      return
    }
    let at = start
    while (at < text.length && isBad(text, at)) at++
    if (at === start) at++
    const written = text.slice(start, at)
    const isNonText = /^[\0\uD800-\uDFFF]+$/u.test(written)
    if (!isNonText) {
      const what = written.length === 1 ? "character" : "characters"
      const hint = /^[\p{L}\p{N}]/u.test(written)
        ? "A name is made of the letters A to Z, digits and `_`."
        : badHint(written)
      this.#report(start, at, `Unexpected ${what} \`${shorten(written)}\``, hint)
    }
    this.#push("bad", start, at)
  }

  /** NULs and lone surrogates are an error wherever they stand, strings and comments included. */
  #reportNonText(): void {
    const text = this.#text
    if (text.isWellFormed() && !text.includes("\0")) return
    for (const found of text.matchAll(/\0+|[\uD800-\uDFFF]+/gu)) {
      const what = found[0].startsWith("\0") ? "A NUL character is" : "Half of a surrogate pair is"
      this.#report(found.index, found.index + found[0].length, `${what} not text`, "Remove it.")
    }
  }
}

const unclosedComment = "Comments between `/*` and `*/` do not exist here, and this one is not closed"

function endOfUnicodeEscape(text: string, at: number): number {
  while (isNamePart(text.charCodeAt(at))) at++
  return text[at] === "}" ? at + 1 : at
}

function badHint(written: string): string | undefined {
  if (written.includes("'") || written.includes("`")) return 'Strings are written with `"`.'
  if (written.startsWith("?")) return "A value that may be null has the type `maybe …`."
  if (written.startsWith("=")) return "A value follows `:`, not `=`."
  return undefined
}

function shorten(written: string): string {
  return written.length > 40 ? `${written.slice(0, 40)}…` : written
}

function isBad(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  if (unit <= 32 || unit === QUOTE || unit === OPEN_BRACE || unit === CLOSE_BRACE || unit === STAR) return unit === 0
  if (unit === QUESTION) return text.charCodeAt(at + 1) !== DOT && text.charCodeAt(at + 1) !== QUESTION
  return !isNamePart(unit) && simplePunctuation[unit] === undefined
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57
}

function isNameStart(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90) || unit === UNDERSCORE
}

function isNamePart(unit: number): boolean {
  return isNameStart(unit) || isDigit(unit)
}
