import type { Span } from "../../source/span.ts"
import type { Token } from "../token.ts"
import type { Expression, Name, Tree } from "../tree.ts"
import { flag, gap, state, type Comma, type Gap, type Group, type GroupState, type Layout } from "./layout.ts"

/** A group whose opening bracket was taken. */
export interface OpenGroup {
  readonly id: number
  /** Its closing bracket. */
  readonly close: number
}

/**
 * The tokens of a tree with a place among them: the parts of the grammar lay out token after token, in source order, and
 * say what stands before each and which of them break together.
 */
export class LayoutBuilder {
  readonly tree: Tree
  readonly #tokens: readonly Token[]
  readonly #gaps: Uint8Array
  readonly #gapGroups: Int32Array
  readonly #indents: Uint16Array
  readonly #flags: Uint8Array
  readonly #commas: Uint8Array
  readonly #commaGroups: Int32Array
  readonly #groups: Group[] = []
  readonly #texts = new Map<number, string>()
  /** The index of the bracket, or of the next part of the string, that belongs to an opening one. */
  readonly #closers: Int32Array
  /** How many of the tokens up to an index begin a line. */
  readonly #breaks: Int32Array
  /** Groups around the place where we are, outermost first. */
  readonly #around: number[] = []

  #at = 0
  #gap: Gap = gap.none
  #gapGroup = -1
  #nextFlags = 0
  /** Comments of dropped tokens, and of those that are printed after an opening bracket, wait for the next token. */
  #commentsWait = false
  /** Indentation of the line that we are on, and of the item that we are in; more than that only after a comment. */
  #depth = 0
  #itemDepth = 0

  /** Inside an interpolation that is written on one line, where nothing breaks. */
  flat = false
  /** Lays out a value: `layOutExpression` of value-layout.ts, for the layout of types, which that needs. */
  layOutValue: ((builder: LayoutBuilder, value: Expression) => void) | undefined = undefined
  /** Inside the block of a call, of an asset or of a `uses` entry, where blocks may be on one line. */
  inline = false

  constructor(tree: Tree) {
    this.tree = tree
    this.#tokens = tree.tokens
    const count = tree.tokens.length
    this.#gaps = new Uint8Array(count)
    this.#gapGroups = new Int32Array(count)
    this.#indents = new Uint16Array(count)
    this.#flags = new Uint8Array(count)
    this.#commas = new Uint8Array(count)
    this.#commaGroups = new Int32Array(count)
    this.#closers = matchBrackets(tree.tokens)
    this.#breaks = countBreaks(tree.tokens)
  }

  layout(): Layout {
    if (this.token.kind !== "end") throw new Error(`Token ${this.#at} was not laid out`)
    this.#flags[this.#at] = flag.item
    return {
      tree: this.tree,
      gaps: this.#gaps,
      gapGroups: this.#gapGroups,
      indents: this.#indents,
      flags: this.#flags,
      commas: this.#commas,
      commaGroups: this.#commaGroups,
      groups: this.#groups,
      texts: this.#texts,
    }
  }

  // --------------------------------------------------------------------------------------------------- looking

  get at(): number {
    return this.#at
  }

  get token(): Token {
    return this.tokenAt(this.#at)
  }

  get depth(): number {
    return this.#depth
  }

  tokenAt(index: number): Token {
    const token = this.#tokens[index]
    if (token === undefined) throw new Error(`There is no token ${index}`)
    return token
  }

  textOf(span: Span): string {
    return this.tree.text.slice(span.start, span.end)
  }

  closerOf(index: number): number {
    return this.#closers[index] ?? -1
  }

  /** The index of the first token at or after an offset, from the place where we are. */
  indexFrom(offset: number): number {
    let low = this.#at
    let high = this.#tokens.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.tokenAt(middle).start < offset) low = middle + 1
      else high = middle
    }
    return low
  }

  /** Whether the author broke a line after token `from`, up to and before token `to`. */
  breaksBetween(from: number, to: number): boolean {
    return (this.#breaks[to] ?? 0) > (this.#breaks[from] ?? 0)
  }

  /** Whether comments stand before a closing bracket, or before a comma that it follows. */
  commentsBeforeCloser(close: number): boolean {
    const before = this.tokenAt(close - 1)
    return this.tokenAt(close).comments.length > 0 || (before.kind === "," && before.comments.length > 0)
  }

  // ---------------------------------------------------------------------------------------------------- placing

  /** What stands before the next token; without it, nothing does. */
  space(): void {
    this.#gap = gap.space
  }

  /** Before what cannot be broken, at the end of a line. */
  tail(): void {
    this.#gap = gap.tail
  }

  line(): void {
    this.#gap = gap.line
  }

  soft(kind: typeof gap.softSpace | typeof gap.softNone, group: number, flags = 0): void {
    this.#gap = kind
    this.#gapGroup = group
    this.#nextFlags = flags
  }

  /** Begins a declaration. */
  declaration(): void {
    this.#depth = 0
    this.#itemDepth = 0
    this.#gap = gap.line
    this.#nextFlags = flag.item | flag.declaration
  }

  take(): Token {
    const index = this.#at
    const token = this.token
    const commented = this.#commentsWait || token.comments.length > 0
    // A comment where no line ends pushes the rest of its item to the next line, one level deeper.
    if (commented && (this.#gap === gap.none || this.#gap === gap.space) && this.#nextFlags === 0) {
      this.#depth = this.#itemDepth + 1
      this.forceBreaks()
    }
    this.#put(index)
    return token
  }

  /** A token, with a space after it. */
  word(): void {
    this.take()
    this.space()
  }

  #put(index: number): void {
    this.#gaps[index] = this.#gap
    this.#gapGroups[index] = this.#gapGroup
    this.#indents[index] = this.#depth
    this.#flags[index] = this.#nextFlags
    this.#gap = gap.none
    this.#gapGroup = -1
    this.#nextFlags = 0
    this.#commentsWait = false
    this.#at = index + 1
  }

  /** All tokens of a name: remote names and headers have several, with nothing between. */
  name(name: Name): void {
    while (this.token.start < name.end) this.take()
  }

  drop(): void {
    const index = this.#at
    if (this.token.comments.length > 0) this.#commentsWait = true
    this.#flags[index] = flag.drop
    this.#at = index + 1
  }

  dropComma(): void {
    if (this.token.kind === ",") this.drop()
  }

  /** A comma after the token before this place. */
  commaAfter(when: Comma, group = -1): void {
    this.#commas[this.#at - 1] = when
    this.#commaGroups[this.#at - 1] = group
  }

  /** The tail or middle of a string: its `}}` closes what its interpolation began. */
  endInterpolation(): void {
    this.#gap = gap.space
    this.#nextFlags = flag.closer
    this.#put(this.#at)
  }

  replaceText(index: number, text: string): void {
    this.#texts.set(index, text)
    this.#flags[index] = (this.#flags[index] ?? 0) | flag.replaced
  }

  // ----------------------------------------------------------------------------------------------------- groups

  /**
   * Takes an opening bracket whose contents break together; `canBeFlat` unless they always break. They do where the author broke
   * them, unless the group `joins`.
   */
  open(canBeFlat: boolean, joins = false): OpenGroup {
    const index = this.#at
    const close = this.closerOf(index)
    const isEmpty = close === index + 1
    const moves = this.commentsMove()
    let initial: GroupState = state.open
    if (this.flat) initial = state.flat
    else if (moves) initial = state.broken
    else if (isEmpty) initial = this.tokenAt(close).comments.length > 0 ? state.broken : state.flat
    else if (!canBeFlat || (this.breaksBetween(index, close) && !(joins && this.#isBare(index, close))))
      initial = state.broken
    const id = this.#push({ start: index, end: close, state: initial, indented: undefined })
    if (moves) {
      this.#nextFlags = flag.opener | flag.commentsAfter
      this.#put(index)
      this.#commentsWait = true
    } else {
      this.take()
      this.#flags[index] = (this.#flags[index] ?? 0) | flag.opener
    }
    return { id, close }
  }

  /** Whether no comments stand between two tokens. */
  #isBare(from: number, to: number): boolean {
    return this.#tokens.slice(from + 1, to + 1).every(({ comments }) => comments.length === 0)
  }

  /** Takes the closing bracket. */
  close(group: OpenGroup, kind: typeof gap.softSpace | typeof gap.softNone): void {
    if (this.#at !== group.close) throw new Error(`Token ${this.#at} is not the end of its group`)
    this.soft(kind, group.id, flag.closer)
    this.#put(this.#at)
    this.#around.pop()
  }

  /** Lays out one item of a group, on its own level of indentation. */
  item(layOut: () => void): void {
    this.nested(this.flat ? this.#depth : this.#depth + 1, layOut)
  }

  nested(depth: number, layOut: () => void): void {
    const before = this.#depth
    const itemBefore = this.#itemDepth
    this.#depth = depth
    this.#itemDepth = depth
    layOut()
    this.#depth = before
    this.#itemDepth = itemBefore
  }

  /** Lays out the rest of an item on a line of its own, one level deeper. */
  continued(layOut: () => void): void {
    const before = this.#depth
    this.#depth = this.#itemDepth + 1
    layOut()
    this.#depth = before
  }

  /** Goes back to the indentation of the item, for the block that ends it. */
  backToItem(): void {
    this.#depth = this.#itemDepth
  }

  /** Begins the group of a union, at the next token. */
  begin(group: Omit<Group, "start">): number {
    return this.#push({ start: this.#at, ...group })
  }

  end(): void {
    this.#around.pop()
  }

  #push(group: Group): number {
    if (group.state === state.broken) this.forceBreaks()
    this.#groups.push(group)
    this.#around.push(this.#groups.length - 1)
    return this.#groups.length - 1
  }

  /** The current part takes several lines, so nothing around it fits on one. */
  forceBreaks(): void {
    for (const id of this.#around) {
      const group = this.#groups[id]
      if (group === undefined || group.state !== state.open) continue
      // A union whose member takes several lines need not break between its members.
      group.state = group.indented === undefined ? state.broken : state.flat
    }
  }

  /**
   * Whether comments stand before the opening bracket that is next, and may as well stand after it. A `///` may not: it
   * would become the doc comment of what is inside.
   */
  commentsMove(): boolean {
    const index = this.#at
    if (!this.#commentsWait && this.token.comments.length === 0) return false
    for (let before = index; ; before--) {
      if (this.tokenAt(before).comments.some((comment) => comment.style === "doc")) return false
      const flags = before === 0 ? 0 : (this.#flags[before - 1] ?? 0)
      if ((flags & (flag.drop | flag.commentsAfter)) === 0) break
    }
    // Comments before the first token of an item are the item's.
    return this.#gap === gap.none || this.#gap === gap.space
  }
}

function matchBrackets(tokens: readonly Token[]): Int32Array {
  const closers = new Int32Array(tokens.length).fill(-1)
  const open: number[] = []
  for (let index = 0; index < tokens.length; index++) {
    switch (tokens[index]?.kind) {
      case "{":
      case "[":
      case "(":
      case "head":
        open.push(index)
        break
      case "middle":
        closers[open.pop() ?? -1] = index
        open.push(index)
        break
      case "}":
      case "]":
      case ")":
      case "tail":
        closers[open.pop() ?? -1] = index
        break
      default:
        break
    }
  }
  return closers
}

function countBreaks(tokens: readonly Token[]): Int32Array {
  const breaks = new Int32Array(tokens.length)
  let count = 0
  for (let index = 0; index < tokens.length; index++) {
    if (tokens[index]?.afterBreak === true) count++
    breaks[index] = count
  }
  return breaks
}
