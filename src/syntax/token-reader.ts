import { general, type Hint, type SyntaxCode, type SyntaxHint } from "../source/hint.ts"
import type { Span } from "../source/span.ts"
import { explainBad } from "./bad-token.ts"
import { BraceSearch, type OpeningBracket } from "./brace-search.ts"
import type { Lexed } from "./lexer.ts"
import { commentHint, type Expected } from "./known-mistake.ts"
import { numberValue } from "./number-text.ts"
import { SyntaxMistakes } from "./syntax-mistakes.ts"
import type { Token, TokenKind } from "./token.ts"
import { TokenCursor } from "./token-cursor.ts"
import type { Block, Expression } from "./tree.ts"
import { sourceNesting } from "../base/limits.ts"

/** Whether what follows is outside of a block: of all blocks around it too, or only of this one. */
export type Leaves = boolean | "this-block"

/** Where in the grammar the reader is, as far as that changes what a token means. */
export interface ParseContext {
  /** In the condition of a step. */
  readonly inHead: boolean
  /** In the list of a loop, which a condition may follow. */
  readonly inLoop: boolean
  /** In an element of an array or an argument of a function, where a comma may have been forgotten: `[a -b]`. */
  readonly inElements: boolean
  /** In `case.path`, which ends with its line. */
  readonly inShortBranch: boolean
  /** The `:` of the match branch that is read: after its value another branch may begin with words, on the same line. */
  readonly branchColon: Token | undefined
  /** Reads `ran agent.x` and its like, inside an `expect` of a test. */
  readonly observe: ((reader: TokenReader, keyword: Token) => Expression | undefined) | null
}

const outermost: ParseContext = {
  inHead: false,
  inLoop: false,
  inElements: false,
  inShortBranch: false,
  branchColon: undefined,
  observe: null,
}

/**
 * What the grammar's parts share, and nothing of the grammar: reporting, nesting, skipping, and blocks of items.
 */
export class TokenReader extends TokenCursor {
  readonly mistakes: SyntaxMistakes
  #context: ParseContext = outermost
  /** Where `skipBalanced` skipped nothing. */
  #stuckAt: Token | null = null
  readonly #skipped: { start: number; end: number }[] = []
  #depth = 0
  /** Square and round brackets open around the reader, by what closes them: a block inside one ends where that does. */
  readonly #brackets: ("]" | ")")[] = []
  /** Kinds of declarations of which one has an unreadable name. */
  readonly nameless = new Set<string>()
  /** Reads a value: `parseExpression` of value-parser.ts, for the parts of the parser that it needs itself. */
  parseValue: ((reader: TokenReader) => Expression) | null = null
  /** Where the last field began that lacks its colon; -1 before one. */
  colonlessField = -1
  readonly #braces: BraceSearch
  /** The next block begins without its brace, which is reported. */
  #assumesBrace = false

  /** Whether to look for brackets that are missing: only a text with mistakes is worth it. */
  readonly isCareful: boolean

  constructor(text: string, lexed: Lexed, isCareful = true) {
    super(text, lexed.tokens)
    this.mistakes = new SyntaxMistakes(text, lexed)
    this.isCareful = isCareful
    this.#braces = new BraceSearch(this)
  }

  /** Where in the grammar the reader is. */
  get context(): ParseContext {
    return this.#context
  }

  /** Runs a production in another context, and returns to the one before. */
  within<T>(changes: Partial<ParseContext>, parse: () => T): T {
    const before = this.#context
    this.#context = { ...before, ...changes }
    const result = parse()
    this.#context = before
    return result
  }

  /** Whether the file has fewer closing than opening braces: only then may a block be thought to lack its own. */
  get lacksBrace(): boolean {
    return this.excess("{") > 0
  }

  /** Whether the file has more closing than opening braces: only then may a block be thought to begin without its own. */
  get lacksOpenBrace(): boolean {
    return this.excess("{") < 0
  }

  /** Whether the block of a step begins here, and not an operand of the condition in its head. */
  get startsBody(): boolean {
    return this.isCareful && this.#context.inHead && this.is("{") && this.peek().afterBreak
  }

  /** How many more brackets of a kind open than close; 0 on the first reading. */
  excess(bracket: OpeningBracket): number {
    return this.isCareful ? this.#braces.excess(bracket) : 0
  }

  // ------------------------------------------------------------------------------------------------- reporting

  report(span: Span, message: string, hint?: SyntaxHint, expected?: Expected, code?: SyntaxCode): void {
    this.mistakes.add(span, message, hint, expected, code)
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
      this.mistakes.lost++
    }
  }

  /** Reports a bracket that is not closed where it should be. */
  unclosed(open: Token, kind: "]" | ")"): void {
    this.report(open, `This ${this.describe(open)} is not closed`, `Add \`${kind}\` where it ends.`)
    this.mistakes.lost++
  }

  /** Counts the reader's token as a mistake that was reported before. */
  passOver(): void {
    this.mistakes.count++
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
      this.mistakes.lost++
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

  /** Takes a token of this kind, or reports that `what` was expected. */
  expect(kind: TokenKind, what: string): Token | undefined {
    const token = this.accept(kind)
    if (token === undefined) this.expected(what)
    return token
  }

  // --------------------------------------------------------------------------------------------------- nesting

  /** Goes one level deeper; at the limit it reports, skips what is there and refuses. */
  enter(): boolean {
    if (this.#depth >= sourceNesting) {
      this.#reportDepth()
      // More signs would only be reported one by one.
      do this.skipBalanced()
      while (this.is("-") || this.is("!"))
      return false
    }
    this.#depth++
    return true
  }

  /** Whether nothing may be nested here any more. */
  get isDeepest(): boolean {
    return this.#depth >= sourceNesting
  }

  leave(): void {
    this.#depth--
  }

  #reportDepth(): void {
    this.report(
      this.token,
      `This is nested more than ${sourceNesting} levels deep`,
      "Split it, with a schema or a `dynamic` value.",
    )
  }

  /** Runs a production between two square or round brackets; the opening one is taken. */
  bracketed<T>(parse: (reader: this) => T, holdsElements = false): T {
    this.mistakes.beforeBracket ??= this.mistakes.lost
    this.#brackets.push(this.take().kind === "[" ? "]" : ")")
    const result = this.#withElements(holdsElements, () => parse(this))
    this.#brackets.pop()
    return result
  }

  /** Runs a production in which no comma is missing between two elements. */
  outsideElements<T>(parse: () => T): T {
    return this.#withElements(false, parse)
  }

  /** Most brackets and blocks change nothing, and make no context of their own. */
  #withElements<T>(inElements: boolean, parse: () => T): T {
    const { inElements: before, inLoop } = this.#context
    return inElements === before && !inLoop ? parse() : this.within({ inElements, inLoop: false }, parse)
  }

  /** Whether the reader is at the end of a bracket around this place. */
  get closesOuter(): boolean {
    const { kind } = this.token
    // Where more of them close than open, it may be one whose own opening bracket is missing.
    if (kind === "]") return this.excess("[") >= 0 && this.#brackets.includes(kind)
    return kind === ")" && this.excess("(") >= 0 && this.#brackets.includes(kind)
  }

  // -------------------------------------------------------------------------------------------------- skipping

  /** What was skipped, in source order. */
  get skipped(): readonly Span[] {
    return this.#skipped
  }

  /** Skips one token, or all from an opening bracket or string head to its end. */
  skipBalanced(): void {
    const first = this.token
    const before = this.previous.end
    this.#takeBalanced()
    // The end of a string is left for its parser; a second skip at the same place takes it, so that no loop waits for ever.
    if (this.token === first && this.#stuckAt === first) this.take()
    if (this.token === first) {
      this.#stuckAt = first
      return
    }
    const { end } = this.previous
    const last = this.#skipped.at(-1)
    if (last?.end === before) last.end = end
    else this.#skipped.push({ start: first.start, end })
  }

  #takeBalanced(): void {
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
      if (token.kind === "," || this.endsBlock(token)) return
      if (!first && token.afterBreak && !continues.has(token.kind)) return
      this.skipBalanced()
      first = false
    }
  }

  /** Whether a block cannot go on beyond this token. */
  endsBlock(token: Token): boolean {
    switch (token.kind) {
      case "}":
      case "end":
      case "tail":
      case "middle":
        return true
      case "]":
      case ")":
        return this.#brackets.length > 0
      default:
        return false
    }
  }

  // ---------------------------------------------------------------------------------------------------- blocks

  get startsBlock(): boolean {
    return this.token.kind === "{" || this.#assumesBrace
  }

  /**
   * Block = "{" (item ","?)* "}". `parseItem` returns undefined when nothing there can begin an item; it must then have
   * taken nothing, or have reported. `startsOutside` tells whether the reader, at the start of a line, is at
   * something that belongs outside of this block.
   */
  block<Item>(
    parseItem: (reader: this) => Item | undefined,
    startsOutside: (reader: this, itemsIndented: boolean) => Leaves,
    what: string,
    expected?: Expected,
  ): Block<Item> | undefined {
    if (!this.startsBlock) return undefined
    if (this.#depth >= sourceNesting) return this.#tooDeep()
    const open = this.#assumesBrace ? this.previous : this.take()
    this.#assumesBrace = false
    const items: Item[] = []
    this.#depth++
    const close = this.#withElements(false, () =>
      this.#readItems(open, items, parseItem, startsOutside, what, expected),
    )
    this.#depth--
    return { open, close, items, start: open.start, end: this.endFrom(open) }
  }

  #tooDeep(): Block<never> {
    const open = this.token
    this.#assumesBrace = false
    this.#reportDepth()
    this.skipBalanced()
    const close = this.previous.kind === "}" ? this.previous : undefined
    return { open, close, items: [], start: open.start, end: this.endFrom(open) }
  }

  #readItems<Item>(
    open: Token,
    items: Item[],
    parseItem: (reader: this) => Item | undefined,
    startsOutside: (reader: this, itemsIndented: boolean) => Leaves,
    what: string,
    expected: Expected | undefined,
  ): Token | undefined {
    let itemsIndented = false
    // Where a brace is missing somewhere: a line no deeper than that of this block, after deeper ones, is outside of it.
    const margin = this.lacksBrace ? this.#braces.marginOf(open) : -1
    let isDeeper = false
    for (;;) {
      const token = this.token
      if (this.mistakes.leaving) return undefined
      if (token.kind === "}") return this.take()
      if (token.kind !== "name" && this.endsBlock(token)) {
        this.#reportUnclosed(open)
        // At a bracket, what is around that goes on behind it.
        this.mistakes.leaving = token.kind !== "]" && token.kind !== ")"
        return undefined
      }
      const isOutdented = margin >= 0 && token.afterBreak && this.column(token) - 1 <= margin
      if (token.afterBreak || (margin >= 0 && this.previous.kind === ",")) {
        const isLeft = margin >= 0 && ((isOutdented && isDeeper) || this.#isNextEntry)
        const leaves = startsOutside(this, itemsIndented) || (isLeft ? "this-block" : false)
        if (leaves !== false) {
          this.#reportUnclosed(open)
          this.mistakes.leaving = leaves === true
          return undefined
        }
        if (!itemsIndented) itemsIndented = !this.atLineStart(token)
      }
      isDeeper ||= !isOutdented
      if ((token.kind === "]" || token.kind === ")") && this.lacksBrace) {
        // Most likely the closing bracket, of the wrong kind.
        this.unexpected("`}`")
        return this.take()
      }
      const before = this.index
      const { count } = this.mistakes
      const { beforeBracket: outer, lost } = this.mistakes
      if (!this.mistakes.isBracketBroken) this.mistakes.beforeBracket = null
      const item = parseItem(this)
      // A mistake in a field of a block that is inside of brackets is not one of the brackets.
      this.mistakes.beforeBracket = outer === null || this.mistakes.leaving ? outer : outer + this.mistakes.lost - lost
      if (item !== undefined) items.push(item)
      if (this.index === before) this.#unexpectedItem(what, expected)
      else {
        if (this.mistakes.count > count) this.#skipLeftovers()
        const { kind } = this.token
        if (kind === "," || kind === ";") this.separator()
      }
    }
  }

  /** Whether a reference follows a comma inside of a list: its next entry, and not a field. */
  get #isNextEntry(): boolean {
    return (
      this.#brackets.length > 0 && this.previous.kind === "," && this.token.kind === "name" && this.peek().kind === "."
    )
  }

  /** Skips the rest of a line after a mistake: it would only make more of them. */
  #skipLeftovers(): void {
    const token = this.token
    if (token.afterBreak || token.kind === "," || token.kind === ";" || this.endsBlock(token) || this.atKey) return
    this.skipToNextItem()
  }

  /** Takes what may stand between two items: nothing, or a comma. */
  separator(): void {
    if (this.token.kind === ";") {
      // Whoever writes one writes many: one mistake.
      if (!this.mistakes.note("a semicolon")) this.passOver()
      else this.report(this.token, "Nothing is separated by `;` here", "Remove it: use a line break or a comma.")
      while (this.token.kind === ";") this.take()
    }
    if (this.accept(",") === undefined) return
    if (this.token.kind === ",") {
      this.unexpected("something between the commas")
      while (this.token.kind === ",") this.take()
    }
  }

  #unexpectedItem(what: string, expected: Expected | undefined): void {
    const token = this.token
    if (token.kind === ",") this.unexpected(`${what} before the comma`)
    else this.unexpected(what, unexpectedHints[token.kind], expected)
    this.skipToNextItem()
    if (this.token === token) this.take()
    while (this.token.kind === ",") this.take()
  }

  #reportUnclosed(open: Token): void {
    if (this.token.unclosed || open.kind !== "{") return
    this.report(
      this.#braces.misplaced(open, this.index) ?? open,
      "This `{` is not closed",
      "Add `}` where the block ends.",
    )
  }

  /** Lets the next block begin without its brace. */
  assumeBrace(): void {
    this.#assumesBrace = true
  }

  /** Past the end of what was not closed (at the top of the file, or of a string): reporting starts anew. */
  endLeaving(): void {
    this.mistakes.leaving = false
  }

  /** A declaration begins. */
  startAnew(): void {
    this.mistakes.leaving = false
    this.mistakes.beforeBracket = null
  }
}

/** Hints for tokens that people write where a field or property should begin. */
const unexpectedHints: Partial<Record<TokenKind, Hint>> = {
  "#": commentHint,
  "-": general("Fields are written without `-`; a comment begins with `//`."),
  "**": "There is no sign for powers: multiply.",
  "|": general("A default for a value that may be null is written `??`."),
  "<": "An array type is written `[string]`.",
}

/** What goes on with the line before when it stands at the start of one. */
const continues: ReadonlySet<TokenKind> = new Set<TokenKind>([
  ...([":", ";", ".", "?.", "??", "*", "**", "***", "|", "+", "/", "%", "]", ")"] as const),
  ...(["||", "&&", "==", "!=", "<", "<=", ">", ">="] as const),
])

/** What closes what this token opens. */
export const closers: Partial<Record<TokenKind, "}" | "]" | ")" | "tail">> = {
  "{": "}",
  "[": "]",
  "(": ")",
  head: "tail",
}
