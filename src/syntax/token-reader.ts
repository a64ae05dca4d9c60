import { cutText } from "../base/cut-text.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import { diagnostic } from "../source/diagnostic.ts"
import type { Span } from "../source/span.ts"
import { explainBad } from "./bad-token.ts"
import type { Balance } from "./bracket-balance.ts"
import { balanceOf } from "./bracket-balance.ts"
import type { Lexed } from "./lexer.ts"
import { indentation, isLineBreak, lineStart } from "./line-start.ts"
import { maxSyntaxErrors } from "./lexer.ts"
import { unescape } from "./string-value.ts"
import type { Token, TokenKind } from "./token.ts"
import type { Block, Name } from "./tree.ts"

/** Deeper than this and a construct is refused, so that no source can exhaust the stack of any later stage. */
export const maxNesting = 100

/** Whether what follows is outside of a block: of all blocks around it too, or only of this one. */
export type Leaves = boolean | "this-block"

/** A declaration's place in the text, so that syntax errors within it can be reported with its path. */
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
  readonly #reported = new Set<string>()
  /** Where `skipBalanced` skipped nothing. */
  #stuckAt: Token | null = null
  readonly #skipped: { start: number; end: number }[] = []
  readonly #end: Token
  #token: Token
  #index = 0
  #depth = 0
  /** Square and round brackets open around the reader: a block inside one ends where that does. */
  #brackets = 0
  #lastReport = -1
  /** Kinds of declarations of which one has an unreadable name. */
  readonly nameless = new Set<string>()
  /** Inside an `expect` of a test: there words such as `ran` mean something. */
  inTest = false
  /** In the condition of a step: a brace at the end of the line begins the step's block. */
  inHead = false
  /** In `case.path`, which ends with its line. */
  inShortBranch = false
  /** The `:` of the match branch that is read: after its value another branch may begin with words, on the same line. */
  branchColon: Token | undefined
  /** How many mistakes were met, including those that other code has reported. */
  #mistakes = 0
  /** How much was looked at to find misplaced braces. */
  #searched = 0
  /** Set while blocks are left because one of them was never closed: reported once, not once for each. */
  #leaving = false
  /** How many more brackets of each kind open than close in the file. */
  #balance: Balance | undefined
  /** The next block begins without its brace. */
  #assumesBrace = false

  /** Whether to look for brackets that are missing: only a text with mistakes is worth it. */
  readonly isCareful: boolean

  constructor(text: string, lexed: Lexed, isCareful = true) {
    this.isCareful = isCareful
    const { tokens } = lexed
    const first = tokens[0]
    const last = tokens[tokens.length - 1]
    if (first === undefined || last === undefined) throw new Error("A lexed text has at least its end token")
    this.text = text
    this.tokens = tokens
    this.#token = first
    this.#end = last
    this.#diagnostics = [...lexed.diagnostics]
  }

  // --------------------------------------------------------------------------------------------------- looking

  get token(): Token {
    return this.#token
  }

  get previous(): Token {
    return this.#index === 0 ? this.#token : (this.tokens[this.#index - 1] ?? this.#end)
  }

  peek(ahead = 1): Token {
    return this.tokens[this.#index + ahead] ?? this.#end
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

  textOf(token: Span): string {
    return this.text.slice(token.start, token.end)
  }

  /** Nothing, not even a blank, lies between the previous token and the reader's. */
  get isAdjacent(): boolean {
    return this.#index > 0 && this.previous.end === this.#token.start
  }

  /** Whether this name has been asked about before: a wrong name is reported where it first stands. */
  isReported(name: string): boolean {
    if (this.#reported.has(name)) return true
    this.#reported.add(name)
    return false
  }

  /** How many mistakes were met so far. */
  get mistakes(): number {
    return this.#mistakes
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

  /** Whether the file has fewer closing than opening braces: only then may a block be thought to lack its own. */
  get lacksBrace(): boolean {
    return this.#open("{") > 0
  }

  #open(bracket: keyof Balance): number {
    return this.isCareful ? (this.#balance ??= balanceOf(this.tokens))[bracket] : 0
  }

  // ---------------------------------------------------------------------------------------------------- taking

  take(): Token {
    const token = this.#token
    if (token.kind !== "end") {
      this.#index++
      this.#token = this.tokens[this.#index] ?? this.#end
    }
    return token
  }

  accept(kind: TokenKind): Token | undefined {
    return this.#token.kind === kind ? this.take() : undefined
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

  /** Where a node ends that began with `first`: with the last token that was taken. */
  endFrom(first: Span): number {
    return this.#index === 0 ? first.end : Math.max(first.end, this.previous.end)
  }

  // ------------------------------------------------------------------------------------------------- reporting

  report(span: Span, message: string, hint?: string): void {
    this.#mistakes++
    // One mistake makes one message: a second one at the same place, or while leaving an unclosed block, says nothing new.
    if (span.start === this.#lastReport || this.#leaving || this.#diagnostics.length > 2 * maxSyntaxErrors) return
    this.#lastReport = span.start
    this.#diagnostics.push(diagnostic("syntax-error", "", span, message, hint))
  }

  /**
   * Reports that something else was expected where the reader is: at its token or, if that is on another line, at the
   * last one. What the lexer reported already is passed over.
   */
  expected(what: string, hint?: string): void {
    const token = this.#token
    if (token.unclosed || token.kind === "bad" || (token.kind !== "end" && !token.afterBreak)) {
      this.unexpected(what, hint)
    } else {
      const where = token.kind === "end" ? ", but the file ends here" : ""
      this.report(this.#lastTaken(), `Expected ${what}${where}`, hint)
    }
  }

  /** Counts the reader's token as a mistake that was reported before. */
  passOver(): void {
    this.#mistakes++
  }

  /** Reports the reader's token, whatever line it is on. */
  unexpected(what: string, hint?: string): void {
    const token = this.#token
    this.#mistakes++
    if (token.unclosed) return
    if (token.kind === "bad") {
      const bad = explainBad(this.textOf(token))
      if (bad !== undefined) this.report(token, bad.message, bad.hint)
    } else if (token.kind === "number" && numberValue(this.textOf(token)) === undefined) {
      this.report(token, `${this.describe(token)} is neither a number nor a name`, "A name cannot begin with a digit.")
    } else {
      const end = token.kind === "middle" || token.kind === "tail" ? token.start + 2 : token.end
      this.report({ start: token.start, end }, `Expected ${what}, found ${this.describe(token)}`, hint)
    }
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
    if (token.kind === "string" || token.kind === "head") return "a string"
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
    const regions = this.#regions
    let low = 0
    let high = regions.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((regions[middle]?.start ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    const region = regions[low]
    return region !== undefined && region.start <= offset && offset < region.end ? region.path : ""
  }

  // ------------------------------------------------------------------------------------------------ recovering

  /** Goes one level deeper; at the limit it reports, skips what is there and refuses. */
  enter(): boolean {
    if (this.#depth >= maxNesting) {
      this.#reportDepth()
      this.skipBalanced()
      return false
    }
    this.#depth++
    return true
  }

  /** Whether nothing may be nested here any more. */
  get isDeepest(): boolean {
    return this.#depth >= maxNesting
  }

  leave(): void {
    this.#depth--
  }

  #reportDepth(): void {
    this.report(
      this.#token,
      `This is nested more than ${maxNesting} levels deep`,
      "Split it, with a schema or a `dynamic` value.",
    )
  }

  /** Runs a production between two square or round brackets; the opening one is taken. */
  bracketed<T>(parse: (reader: this) => T): T {
    this.take()
    this.#brackets++
    const result = parse(this)
    this.#brackets--
    return result
  }

  /** What was skipped, in source order. */
  get skipped(): readonly Span[] {
    return this.#skipped
  }

  /** Skips one token, or all from an opening bracket or string head to its end. */
  skipBalanced(): void {
    const first = this.#token
    const before = this.previous.end
    this.#takeBalanced()
    // The end of a text stays for whoever reads that text. Whoever skips a second time does not: nobody may wait for it for ever.
    if (this.#token === first && this.#stuckAt === first) this.take()
    if (this.#token === first) {
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
      const token = this.#token
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
      const token = this.#token
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
        return this.#brackets > 0
      default:
        return false
    }
  }

  /** Whether the reader is at a name and what may follow it as that of a field or property. */
  get atKey(): boolean {
    return this.#isKey(0)
  }

  #isKey(ahead: number): boolean {
    const { kind } = this.peek(ahead)
    if (kind !== "name" && kind !== "string") return false
    const next = this.peek(ahead + 1).kind
    return next === ":" || next === "{"
  }

  get startsBlock(): boolean {
    return this.#token.kind === "{" || this.#assumesBrace
  }

  /** Whether the file has more closing than opening braces: only then may a block be thought to begin without its own. */
  get lacksOpenBrace(): boolean {
    return this.#open("{") < 0
  }

  /**
   * Whether a list seems to begin here without its bracket: `a, b]`. Only if the file has more closing than opening brackets
   * of this kind.
   */
  lacksOpening(bracket: "[" | "("): boolean {
    if (this.#open(bracket) >= 0) return false
    let depth = 0
    for (let ahead = 0; ; ahead++) {
      const { kind, afterBreak } = this.peek(ahead)
      if (kind in closers) depth++
      else if (depth === 0) {
        if (kind === closers[bracket]) return true
        if (kind === ":" || kind === "end" || isCloser(kind) || (afterBreak && ahead > 0)) return false
      } else if (isCloser(kind)) depth--
      else if (kind === "end") return false
    }
  }

  /** Skips such a list, with its closing bracket. */
  skipList(bracket: "[" | "("): void {
    // Where brackets of different kinds are mixed up, they are not skipped in pairs.
    while (this.#token.kind !== closers[bracket] && this.#token.kind !== "end") {
      const before = this.#index
      this.skipBalanced()
      if (this.#index === before) this.take()
    }
    this.accept(bracket === "[" ? "]" : ")")
  }

  /** Whether the reader's line is indented deeper than the one before it. */
  #isDeeper(ahead = 0): boolean {
    const token = this.peek(ahead)
    const before = this.tokens[this.#index + ahead - 1]
    if (!token.afterBreak || before === undefined || (token.kind !== "name" && token.kind !== "string")) return false
    return this.column(token) - 1 > this.margin(before)
  }

  /** Whether a block that may stand here begins without its brace: with a key on this line, or on deeper lines. */
  lacksOwnBrace(): boolean {
    if (!this.lacksOpenBrace || this.#token.kind === "{") return false
    return this.#isDeeper() || (!this.#token.afterBreak && this.#isKey(0))
  }

  /** Reports the brace that is missing here, and lets the next block begin without it. */
  openWithoutBrace(after: string): void {
    this.expected(`\`{\` after ${after}`)
    this.#assumesBrace = true
  }

  /** Whether a block seems to begin here without its brace: its fields follow on the next line, and a brace is left over. */
  get mayAssumeBrace(): boolean {
    if (!this.lacksOpenBrace) return false
    if (!this.#token.afterBreak && this.#isKey(0)) return true
    const ahead = this.#restOfLine()
    return this.peek(ahead).afterBreak && (this.#isKey(ahead) || this.#isDeeper(ahead))
  }

  /** After a report that a brace is missing: skips what stands in its place, and lets the next block begin without it. */
  assumeBrace(): boolean {
    this.#assumesBrace = this.mayAssumeBrace
    if (this.#assumesBrace) while (!this.#token.afterBreak && !this.#isKey(0)) this.skipBalanced()
    return this.#assumesBrace
  }

  /** How many tokens that mean nothing by themselves are left in this line. */
  #restOfLine(): number {
    let ahead = 0
    while (!this.peek(ahead).afterBreak && meaningless.has(this.peek(ahead).kind)) ahead++
    return ahead
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
  ): Block<Item> | undefined {
    if (!this.startsBlock) return undefined
    if (this.#depth >= maxNesting) return this.#tooDeep()
    const open = this.#assumesBrace ? this.previous : this.take()
    this.#assumesBrace = false
    const items: Item[] = []
    this.#depth++
    const close = this.#items(open, items, parseItem, startsOutside, what)
    this.#depth--
    return { open, close, items, start: open.start, end: this.endFrom(open) }
  }

  #tooDeep(): Block<never> {
    const open = this.#token
    this.#assumesBrace = false
    this.#reportDepth()
    this.skipBalanced()
    const close = this.previous.kind === "}" ? this.previous : undefined
    return { open, close, items: [], start: open.start, end: this.endFrom(open) }
  }

  #items<Item>(
    open: Token,
    items: Item[],
    parseItem: (reader: this) => Item | undefined,
    startsOutside: (reader: this, itemsIndented: boolean) => Leaves,
    what: string,
  ): Token | undefined {
    let itemsIndented = false
    // Where a brace is missing somewhere: a line no deeper than that of this block, after deeper ones, is outside of it.
    const margin = this.lacksBrace && this.#searched <= mostSearched ? this.margin(open) : -1
    if (margin >= 0) this.#searched += this.column(open)
    let isDeeper = false
    for (;;) {
      const token = this.#token
      if (this.#leaving) return undefined
      if (token.kind === "}") return this.take()
      if (token.kind !== "name" && this.endsBlock(token)) {
        this.#reportUnclosed(open)
        // At a bracket, what is around that goes on behind it.
        this.#leaving = token.kind !== "]" && token.kind !== ")"
        return undefined
      }
      const isOutdented = margin >= 0 && token.afterBreak && this.column(token) - 1 <= margin
      if (token.afterBreak || (margin >= 0 && this.previous.kind === ",")) {
        const isLeft = margin >= 0 && ((isOutdented && isDeeper) || this.#isNextEntry)
        const leaves = startsOutside(this, itemsIndented) || (isLeft ? "this-block" : false)
        if (leaves !== false) {
          this.#reportUnclosed(open)
          this.#leaving = leaves === true
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
      const before = this.#index
      const mistakes = this.#mistakes
      const item = parseItem(this)
      if (item !== undefined) items.push(item)
      if (this.#index === before) this.#unexpectedItem(what)
      else {
        if (this.#mistakes > mistakes) this.#skipLeftovers()
        const { kind } = this.#token
        if (kind === "," || kind === ";") this.separator()
      }
    }
  }

  /** Whether a reference follows a comma inside of a list: its next entry, and not a field. */
  get #isNextEntry(): boolean {
    return this.#brackets > 0 && this.previous.kind === "," && this.#token.kind === "name" && this.peek().kind === "."
  }

  /** What is left of a line after a mistake would only make more of them. */
  #skipLeftovers(): void {
    const token = this.#token
    if (token.afterBreak || token.kind === "," || token.kind === ";" || this.endsBlock(token) || this.atKey) return
    this.skipToNextItem()
  }

  /** Takes what may stand between two items: nothing, or a comma. */
  separator(): void {
    if (this.#token.kind === ";") {
      this.report(this.#token, "Nothing is separated by `;` here", "Remove it: use a line break or a comma.")
      while (this.#token.kind === ";") this.take()
    }
    if (this.accept(",") === undefined) return
    if (this.#token.kind === ",") {
      this.unexpected("something between the commas")
      while (this.#token.kind === ",") this.take()
    }
  }

  #unexpectedItem(what: string): void {
    const token = this.#token
    if (token.kind === ",") this.unexpected(`${what} before the comma`)
    else this.unexpected(what, unexpectedHints[token.kind])
    this.skipToNextItem()
    if (this.#token === token) this.take()
    while (this.#token.kind === ",") this.take()
  }

  #reportUnclosed(open: Token): void {
    if (this.#token.unclosed || open.kind !== "{") return
    this.report(this.#misplacedBrace(open) ?? open, "This `{` is not closed", "Add `}` where the block ends.")
  }

  /**
   * The first block inside the unclosed one that is closed by a brace further left than its own line: most likely that
   * one lacks its brace, and took another's. With thousands of unclosed blocks inside one another it is no longer searched for.
   */
  #misplacedBrace(open: Token): Token | undefined {
    const around: Token[] = []
    const from = this.#searched > mostSearched ? this.#index : this.tokens.lastIndexOf(open, this.#index)
    this.#searched += this.#index - from
    for (let index = from + 1; index < this.#index && this.#searched <= mostSearched; index++) {
      const token = this.tokens[index]
      if (token?.kind === "{") around.push(token)
      if (token?.kind !== "}") continue
      const block = around.pop()
      if (block === undefined || !token.afterBreak) continue
      const start = lineStart(this.text, block.start)
      this.#searched += block.start - start
      if (this.column(token) - 1 < indentation(this.text, start)) return block
    }
    return undefined
  }

  /** Past the end of what was not closed (at the top of the file, or of a string): reporting starts anew. */
  endLeaving(): void {
    this.#leaving = false
  }
}

function isCloser(kind: TokenKind): boolean {
  return kind === "}" || kind === "]" || kind === ")" || kind === "tail" || kind === "middle"
}

/** The value of a number as it is written; undefined for what only begins like one (`2fa`, `1_`). */
export function numberValue(written: string): number | undefined {
  if (written.includes("_")) return groupedNumber.test(written) ? Number(written.replaceAll("_", "")) : undefined
  const value = Number(written)
  // What is written with other than ten digits has a letter after the first: `0x1F`.
  return Number.isNaN(value) || (written.length > 2 && /^-?0[bBoOxX]/.test(written)) ? undefined : value
}

const groupedNumber = /^-?\d+(?:_\d+)*(?:\.\d+(?:_\d+)*)?(?:[eE][+-]?\d+(?:_\d+)*)?$/

/** What those may have had in mind who write this where a field or property should begin. */
const unexpectedHints: Partial<Record<TokenKind, string>> = {
  "#": "A comment begins with `//`.",
  "|": "A default for a value that may be null is written `??`.",
  "<": "An array type is written `[string]`.",
}

/** What goes on with the line before when it stands at the start of one. */
const continues: ReadonlySet<TokenKind> = new Set<TokenKind>([
  ...([":", ";", ".", "?.", "??", "*", "**", "***", "|", "/", "]", ")"] as const),
  ...(["||", "&&", "==", "!=", "<", "<=", ">", ">="] as const),
])

/** What may stand by mistake where a brace should. */
const meaningless: ReadonlySet<TokenKind> = new Set<TokenKind>([
  ...(["name", "number", "string", "bad", "(", "[", "-", "#", "|"] as const),
  ...(["||", "&&", "==", "!=", "<", "<=", ">", ">=", "!"] as const),
])

/** How many tokens and characters of a text are looked at to find misplaced braces. */
const mostSearched = 200_000

const closers: Partial<Record<TokenKind, "}" | "]" | ")" | "tail">> = { "{": "}", "[": "]", "(": ")", head: "tail" }
