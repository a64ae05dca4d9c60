import type { Diagnostic } from "../source/diagnostic.ts"
import { endOfBad } from "./bad-token.ts"
import { endOfNumber } from "./number-text.ts"
import { endOf, isTripleQuote, noComments, StringLexer } from "./string-lexer.ts"
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

const LF = 10
const CR = 13
const SPACE = 32
const BANG = 33
const QUOTE = 34
const AMPERSAND = 38
const STAR = 42
const MINUS = 45
const DOT = 46
const SLASH = 47
const LESS = 60
const EQUALS = 61
const GREATER = 62
const QUESTION = 63
const OPEN_BRACE = 123
const BAR = 124
const CLOSE_BRACE = 125
const BOM = 0xfeff

const punctuation: readonly TokenKind[] = [
  "#",
  "%",
  "(",
  ")",
  "+",
  ",",
  "-",
  ".",
  "/",
  ":",
  ";",
  "[",
  "]",
  "{",
  "|",
  "}",
]

/** The kind of token that an ASCII character is by itself. */
const singles: readonly (TokenKind | undefined)[] = Array.from({ length: 128 }, (_, unit) =>
  punctuation.find((kind) => kind.charCodeAt(0) === unit),
)

const LETTER = 0
const DIGIT = 1
const BREAK = 2
/** Always a token by itself, whatever follows. */
const SINGLE = 3
/** A token by itself, outside of interpolations. */
const BRACE = 4
const BLANK = 5
const OTHER = 6

/** The characters of each class, in the order of their numbers. */
const characters = [/[A-Za-z_]/, /[0-9]/, /[\r\n]/, /[#%()+,.:;[\]]/, /[{}]/, /[ \t]/, /[^]/]

/** What ASCII characters begin. */
const classes = Uint8Array.from({ length: 128 }, (_, unit) =>
  characters.findIndex((known) => known.test(String.fromCharCode(unit))),
)

class Lexer extends StringLexer {
  run(): Lexed {
    const text = this.text
    if (text.charCodeAt(0) === BOM) this.at = 1
    do {
      while (this.at < text.length) this.#next()
    } while (this.recover())
    this.closeAtEnd()
    this.#reportNonText()
    this.diagnostics.sort((a, b) => a.span.start - b.span.start)
    this.tokens.length = this.count
    return { tokens: this.tokens, diagnostics: this.diagnostics }
  }

  /** Reads names and single characters, which most of a file is made of; stops before anything else. */
  #plain(): void {
    const text = this.text
    const { length } = text
    const tokens = this.tokens
    const inString = this.open.length > 0
    const lineBound = this.lineBound >= 0
    let count = this.count
    let comments = this.comments
    let afterBreak = this.afterBreak
    let at = this.at
    // Never reads beyond the end: what comes from there is not a small integer, which would slow down all of this.
    while (at < length) {
      const unit = text.charCodeAt(at)
      // A third of a file is indentation.
      if (unit === SPACE) {
        at++
        continue
      }
      const start = at
      let kind: TokenKind | undefined
      switch (classAt(unit)) {
        case LETTER:
          do at++
          while (at < length && classAt(text.charCodeAt(at)) <= DIGIT)
          kind = "name"
          break
        case SINGLE:
          at++
          kind = singles[unit]
          break
        case BRACE:
          if (inString) break
          at++
          kind = singles[unit]
          break
        case BREAK:
          if (lineBound) break
          at++
          afterBreak = true
          continue
        case BLANK:
          at++
          continue
      }
      if (kind === undefined) break
      tokens[count++] = { kind, start, end: at, comments: comments ?? noComments, afterBreak, unclosed: false }
      comments = undefined
      afterBreak = false
    }
    this.at = at
    this.count = count
    this.comments = comments
    this.afterBreak = afterBreak
  }

  /** Reads one token, comment or line break, whatever it is. */
  #next(): void {
    this.#plain()
    const text = this.text
    const start = this.at
    if (start >= text.length) return
    const unit = text.charCodeAt(start)
    switch (unit) {
      case LF:
      case CR:
        return this.#lineBreak()
      case QUOTE:
        return this.string(start, isTripleQuote(text, start))
      case OPEN_BRACE: {
        const around = this.open.at(-1)
        if (around !== undefined) around.depth++
        this.push("{", start, start + 1)
        return
      }
      case CLOSE_BRACE:
        return this.closeBrace()
      case SLASH:
        if (text.charCodeAt(start + 1) === SLASH) return this.#lineComment()
        if (text.charCodeAt(start + 1) === STAR) return this.#blockComment()
        break
      case MINUS:
        if (isDigit(text.charCodeAt(start + 1)) && !this.#followsValue()) {
          return this.push("number", start, endOfNumber(text, start))
        }
        break
      case QUESTION:
        if (text.charCodeAt(start + 1) === DOT) return this.push("?.", start, start + 2)
        if (text.charCodeAt(start + 1) === QUESTION) return this.push("??", start, start + 2)
        break
      case STAR: {
        let end = start + 1
        while (end < start + 3 && text.charCodeAt(end) === STAR) end++
        this.push(end === start + 1 ? "*" : end === start + 2 ? "**" : "***", start, end)
        return
      }
      case BANG:
      case AMPERSAND:
      case LESS:
      case EQUALS:
      case GREATER:
      case BAR: {
        const operator = operatorAt(text, start, unit)
        if (operator !== undefined) return this.push(operator, start, start + operator.length)
        break
      }
    }
    const kind = unit < 128 ? singles[unit] : undefined
    if (kind !== undefined) this.push(kind, start, start + 1)
    else if (isDigit(unit)) this.push("number", start, endOfNumber(text, start))
    else this.push("bad", start, endOfBad(text, start))
  }

  /** Whether what is next follows a value (or a word, which may be one): then a minus is an operator. */
  #followsValue(): boolean {
    switch (this.tokens[this.count - 1]?.kind) {
      case "name":
      case "number":
      case "string":
      case "tail":
      case ")":
      case "]":
      case "}":
        return true
      default:
        return false
    }
  }

  #lineBreak(): void {
    if (this.lineBound >= 0) {
      // It is met again then, or has become text of a block string.
      this.abandonInterpolation(this.lineBound)
      return
    }
    this.afterBreak = true
    this.at++
  }

  #lineComment(): void {
    const text = this.text
    const start = this.at
    const end = endOf(line, text, start + 2)
    const doc = text.charCodeAt(start + 2) === SLASH && text.charCodeAt(start + 3) !== SLASH
    this.#addComment({ style: doc ? "doc" : "line", start, end })
    this.at = end
  }

  #addComment(comment: Comment): void {
    if (this.comments === undefined) this.comments = [comment]
    else this.comments.push(comment)
  }

  #blockComment(): void {
    const start = this.at
    const close = this.text.indexOf("*/", start + 2)
    const end = close < 0 ? this.text.length : close + 2
    this.unclosedComment = close < 0
    if (close >= 0) this.report(start, end, foreignComment, "Write `//` before each line.")
    else this.report(start, start + 2, `${foreignComment}, and this one is not closed`, "Write `//` before each line.")
    this.#addComment({ style: "block", start, end })
    this.at = end
  }

  /** NULs and lone surrogates are an error wherever they stand, strings and comments included. */
  #reportNonText(): void {
    const text = this.text
    if (text.isWellFormed() && !text.includes("\0")) return
    for (const found of text.matchAll(/\0+|[\uD800-\uDFFF]+/gu)) {
      const what = found[0].startsWith("\0") ? "A NUL character is" : "Half of a surrogate pair is"
      this.report(found.index, found.index + found[0].length, `${what} not text`, "Remove it.")
    }
  }
}

const foreignComment = "Comments are written with `//`, not with `/* */`"

/** Up to the end of a line. */
const line = /[^\n\r]*/y

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57
}

function classAt(unit: number): number {
  return unit < 128 ? (classes[unit] ?? OTHER) : OTHER
}

/** The operator at a place; undefined for what only other languages have: `=`, `===`, `!==`, `<>`, `<!--`, `&`. */
function operatorAt(text: string, at: number, unit: number): TokenKind | undefined {
  const next = text.charCodeAt(at + 1)
  const third = text.charCodeAt(at + 2)
  switch (unit) {
    case EQUALS:
      return next === EQUALS && third !== EQUALS ? "==" : undefined
    case BANG:
      if (next !== EQUALS) return "!"
      return third === EQUALS ? undefined : "!="
    case LESS:
      if (next === EQUALS) return third === GREATER ? undefined : "<="
      return next === LESS || next === GREATER || (next === BANG && third === MINUS) ? undefined : "<"
    case GREATER:
      if (next === EQUALS) return ">="
      return next === GREATER ? undefined : ">"
    case AMPERSAND:
      return next === AMPERSAND ? "&&" : undefined
    default:
      return next === BAR ? "||" : "|"
  }
}
