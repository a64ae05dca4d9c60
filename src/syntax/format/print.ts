import type { Comment, Token } from "../token.ts"
import { comma, flag, gap, state, type Layout } from "./layout.ts"
import { SourceWriter } from "./source-writer.ts"

/** The most columns that a line may have where it can be broken. */
const maxColumns = 100

const indentWidth = 4

const lineStarts: string[] = []
/** A line break and the indentation of the next line. */
function lineStart(depth: number): string {
  return (lineStarts[depth] ??= `\n${" ".repeat(depth * indentWidth)}`)
}

/** Layout → text, in one pass over the tokens. */
export function printLayout(layout: Layout): string {
  return new Printer(layout).run()
}

interface WaitingComment {
  readonly comment: Comment
  /** Line breaks between it and what was before it. */
  readonly breaks: number
}

class Printer {
  readonly #layout: Layout
  readonly #text: string
  readonly #tokens: readonly Token[]
  readonly #out: SourceWriter

  /** End of the last token or comment that was read. */
  #read = 0
  /** Most line breaks in a row since the last token or comment that was printed or waits. */
  #breaks = 0
  readonly #waiting: WaitingComment[] = []
  /** A comment was printed: the line must end. */
  #mustBreak = false
  /** An opening bracket was printed, and nothing after it but comments on its line. */
  #afterOpener = false

  #nextGroup = 0
  #nextGroupStart = 0
  /** Groups up to this token are on one line. */
  #flatTo = -1
  /** Broken groups whose lines are indented once more. */
  #indented: { readonly from: number; readonly to: number }[] = []

  constructor(layout: Layout) {
    this.#layout = layout
    this.#text = layout.tree.text
    this.#tokens = layout.tree.tokens
    this.#out = new SourceWriter(this.#text)
  }

  run(): string {
    for (let index = 0; index < this.#tokens.length; index++) {
      const token = this.#tokens[index]
      if (token !== undefined) this.#token(index, token)
    }
    if (!this.#out.isEmpty) this.#out.put("\n")
    return this.#out.text()
  }

  #token(index: number, token: Token): void {
    if (token.comments.length > 0) this.#readComments(token)
    if (token.afterBreak) this.#breaks = Math.max(this.#breaks, this.#breaksUpTo(token.start))
    this.#read = token.end
    const flags = this.#layout.flags[index] ?? 0
    if ((flags & flag.drop) !== 0) return
    let needsBlank = (flags & flag.declaration) !== 0 && !this.#out.isEmpty && !this.#hasBlankBeforeDeclaration()
    if (this.#waiting.length > 0 && (flags & flag.commentsAfter) === 0) {
      needsBlank = this.#comments(index, flags, needsBlank)
    }
    if (token.kind === "end") return
    if (index >= this.#nextGroupStart) this.#decideGroups(index)
    if (this.#mustBreak || this.#isBroken(index)) {
      const isKept = (flags & flag.item) !== 0 && this.#breaks > 1 && !this.#afterOpener
      this.#newLine(this.#depth(index), isKept || needsBlank)
    } else if (gapWidth(this.#layout.gaps[index] ?? 0) > 0) {
      this.#out.put(" ")
    }
    this.#breaks = 0
    this.#mustBreak = false
    if (this.#hasBar(index)) this.#out.put("| ")
    const text = (flags & flag.replaced) === 0 ? undefined : this.#layout.texts.get(index)
    if (text === undefined) this.#out.copy(token.start, token.end)
    else this.#replaced(text)
    if (this.#hasComma(index)) this.#out.put(",")
    this.#afterOpener = (flags & flag.opener) !== 0
  }

  #replaced(text: string): void {
    const line = text.lastIndexOf("\n")
    if (line < 0) this.#out.put(text)
    else this.#out.putLines(text, text.length - line - 1)
  }

  #readComments(token: Token): void {
    for (const comment of token.comments) {
      const breaks = Math.max(this.#breaks, this.#breaksUpTo(comment.start))
      this.#waiting.push({ comment, breaks })
      this.#breaks = 0
      this.#read = comment.end
    }
  }

  /** Prints what waits before a token. Returns whether a blank line must still come. */
  #comments(index: number, flags: number, needsBlank: boolean): boolean {
    const isCloser = (flags & flag.closer) !== 0
    const depth = this.#depth(index) + (isCloser ? 1 : 0)
    const keepsBlanks = isCloser || (flags & flag.item) !== 0
    for (const { comment, breaks } of this.#waiting) {
      const isTrailing = breaks === 0 && !this.#mustBreak && !this.#out.isEmpty
      if (isTrailing) this.#out.put(" ")
      else {
        this.#newLine(depth, needsBlank || (keepsBlanks && breaks > 1 && !this.#afterOpener))
        needsBlank = false
        this.#afterOpener = false
      }
      this.#out.copy(comment.start, comment.start + this.#text.slice(comment.start, comment.end).trimEnd().length)
      this.#mustBreak = true
    }
    this.#waiting.length = 0
    return needsBlank
  }

  /** A comment may follow a declaration, with the blank line after it; one that belongs to the next may not. */
  #hasBlankBeforeDeclaration(): boolean {
    const firstBelow = this.#waiting.find(({ breaks }) => breaks > 0)
    if (firstBelow?.comment.style === "doc") return firstBelow.breaks > 1
    return this.#breaks > 1 || this.#waiting.some(({ breaks }) => breaks > 1)
  }

  #breaksUpTo(end: number): number {
    let count = 0
    for (let at = this.#read; at < end; at++) {
      const unit = this.#text.charCodeAt(at)
      if (unit === 10 || (unit === 13 && this.#text.charCodeAt(at + 1) !== 10)) count++
    }
    return count
  }

  #newLine(depth: number, blank: boolean): void {
    if (this.#out.isEmpty) return
    const start = lineStart(depth)
    this.#out.putLines(blank ? `\n${start}` : start, depth * indentWidth)
  }

  #depth(index: number): number {
    const depth = this.#layout.indents[index] ?? 0
    if (this.#indented.length === 0) return depth
    this.#indented = this.#indented.filter(({ to }) => to >= index)
    return depth + this.#indented.filter(({ from }) => from <= index).length
  }

  // ------------------------------------------------------------------------------------------------------ groups

  #stateOf(group: number | undefined): number {
    return this.#layout.groups[group ?? -1]?.state ?? state.flat
  }

  #isBroken(index: number): boolean {
    const kind = this.#layout.gaps[index]
    if (kind === gap.line) return true
    if (kind !== gap.softSpace && kind !== gap.softNone) return false
    return this.#stateOf(this.#layout.gapGroups[index]) === state.broken
  }

  #hasBar(index: number): boolean {
    return ((this.#layout.flags[index] ?? 0) & flag.bar) !== 0 && this.#isBroken(index)
  }

  #hasComma(index: number): boolean {
    const when = this.#layout.commas[index]
    if (when === comma.never) return false
    if (when === comma.always) return true
    return (when === comma.broken) === (this.#stateOf(this.#layout.commaGroups[index]) === state.broken)
  }

  /** Decides the groups that begin with this token, the outer first. */
  #decideGroups(index: number): void {
    for (;;) {
      const group = this.#layout.groups[this.#nextGroup]
      this.#nextGroupStart = group?.start ?? this.#tokens.length
      if (group === undefined || group.start > index) return
      this.#nextGroup++
      if (group.state === state.open) {
        const isFlat = index <= this.#flatTo || this.#fits(index, group.end)
        group.state = isFlat ? state.flat : state.broken
        if (isFlat) this.#flatTo = Math.max(this.#flatTo, group.end)
      }
      if (group.state === state.broken && group.indented !== undefined) this.#indented.push(group.indented)
    }
  }

  /** Whether everything from this token to `end`, and what follows on the same line, fits if none of it breaks. */
  #fits(index: number, end: number): boolean {
    const { flags, gaps, texts } = this.#layout
    let column =
      this.#mustBreak || this.#isBroken(index)
        ? this.#depth(index) * indentWidth
        : this.#out.column + gapWidth(gaps[index] ?? 0)
    if (this.#hasBar(index)) column += 2
    for (let at = index; at < this.#tokens.length; at++) {
      const token = this.#tokens[at]
      if (token === undefined) break
      if (at > end && (token.comments.length > 0 || gaps[at] === gap.tail || this.#isBroken(at))) break
      if (((flags[at] ?? 0) & flag.drop) !== 0) continue
      if (at > index) column += gapWidth(gaps[at] ?? 0)
      const text = ((flags[at] ?? 0) & flag.replaced) === 0 ? undefined : texts.get(at)
      const line = text?.indexOf("\n") ?? -1
      column += line >= 0 ? line : (text?.length ?? token.end - token.start)
      if (this.#hasComma(at)) column++
      if (column > maxColumns) return false
      if (line >= 0) break
    }
    return true
  }
}

function gapWidth(kind: number): number {
  return kind === gap.space || kind === gap.softSpace || kind === gap.tail ? 1 : 0
}
