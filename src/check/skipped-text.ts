import { type Span, firstFrom } from "../source/span.ts"
import { importKindOf } from "../syntax/import-kinds.ts"
import type * as Syntax from "../syntax/tree.ts"

/**
 * What a syntax error may hide. The parser skips text that it cannot read; names, fields and properties in that text are not
 * reported as missing, so that one mistake gives one message.
 */
export class SkippedText {
  readonly #tree: Syntax.Tree
  /** Kinds of declarations where one has an unreadable name: no declaration of such a kind is reported as missing. */
  readonly nameless: Set<string>
  /** Names of imports without `tool`, `resource` or `prompt`. */
  readonly kindless = new Set<string>()
  /** Declarations that would have come from a file that cannot be used, by their ids. */
  readonly lost = new Set<string>()
  /** Pairs of words that follow each other in the text, as those at the head of a declaration do. */
  #written: ReadonlySet<string> | undefined
  /** Names that seem to be declared in what the parser skipped. */
  #skippedNames: ReadonlySet<string> | undefined

  constructor(tree: Syntax.Tree) {
    this.#tree = tree
    this.nameless = new Set(tree.nameless)
  }

  /** Whether a mistake elsewhere may hide something: it is then not reported as missing. */
  isSwallowed(word: string, name: string): boolean {
    if (this.lost.has(`${word}.${name}`)) return true
    if (this.#tree.errors.length === 0) return false
    if (this.nameless.has(word) || this.isSkipped(name)) return true
    this.#written ??= wordsInRow(this.#tree)
    if (importKindOf(word) !== undefined && (this.kindless.has(name) || this.#written.has(`as ${name}`))) return true
    return this.#written.has(`${word} ${name}`)
  }

  /** Whether a name seems to be declared in what the parser skipped after a syntax error. */
  isSkipped(name: string): boolean {
    if (this.#tree.skipped.length === 0) return false
    this.#skippedNames ??= namesDeclaredIn(this.#tree)
    return this.#skippedNames.has(name)
  }

  /** Whether a syntax error follows the span on its line, with only blanks between: what is wrong there comes of it. */
  isCutOff({ end }: Span): boolean {
    const { errors, text } = this.#tree
    const error = errors[firstFrom(errors, end)]
    return error !== undefined && error.start - end < 8 && /^[ \t]*$/.test(text.slice(end, error.start))
  }

  /** Whether there is a syntax error in a part of the text. */
  hasError({ start, end }: Span): boolean {
    const { errors } = this.#tree
    return errors.length > 0 && (errors[firstFrom(errors, start)]?.start ?? end) < end
  }

  /** Whether the parser skipped something in a block: items of it may be missing. */
  isBroken(block: Span): boolean {
    return this.#skippedFrom(block.start, block.end).length > 0
  }

  /** Whether there is a field in a block whose name could not be read: `: string`, `@: string`. */
  hasNameless(block: Syntax.Block<Span>): boolean {
    return this.#skippedFrom(block.start, block.end).some(
      (span) =>
        nameless.test(this.#textOf(span)) &&
        !block.items.some(({ start, end }) => start < span.start && span.start < end),
    )
  }

  /** Whether a property of a block, which may be missing, is broken or has lost its name. */
  isIncomplete(block: Syntax.Block<Syntax.Property>, name: string): boolean {
    const property = block.items.find((item) => item.name.text === name)
    return property === undefined ? this.hasNameless(block) : this.hasError(property)
  }

  /** Whether a syntax error may hide a property of a block: in the block, or after a brace that closed it too early. */
  isSwallowedIn(block: Syntax.Block<Span>, name: string): boolean {
    const { declarations, errors } = this.#tree
    const error = errors[firstFrom(errors, block.start)]
    if (error === undefined) return false
    const isWritten = new RegExp(`\\b${name}\\b`)
    // Where the block is not closed, the error is at its end or beyond.
    if (error.start <= block.end && isWritten.test(this.#textOf(block))) return true
    const next = declarations[firstFrom(declarations, block.end)]?.start ?? this.#tree.text.length
    return (
      this.hasNameless(block) || this.#skippedFrom(block.start, next).some((span) => isWritten.test(this.#textOf(span)))
    )
  }

  /** What was skipped between two places. */
  #skippedFrom(start: number, end: number): readonly Span[] {
    const { skipped } = this.#tree
    return skipped.slice(firstFrom(skipped, start), firstFrom(skipped, end))
  }

  #textOf(span: Span): string {
    return this.#tree.text.slice(span.start, span.end)
  }
}

/** The beginning of a field or property without its name. */
const nameless = /^[^A-Za-z_"]*[:{]/

/** Names in the skipped text with what follows the name of a field, property, case or declaration. */
function namesDeclaredIn({ text, tokens, skipped }: Syntax.Tree): Set<string> {
  const names = new Set<string>()
  for (const { start, end } of skipped) {
    for (let index = firstFrom(tokens, start); index < tokens.length; index++) {
      const [token, next] = [tokens[index], tokens[index + 1]]
      if (token === undefined || next === undefined || token.start >= end) break
      if (token.kind === "name" && mayFollowName.test(text.slice(next.start, next.end))) {
        names.add(text.slice(token.start, token.end))
      }
    }
  }
  return names
}

const mayFollowName = /^(?:[:{(=]|from|for|when)$/

function wordsInRow({ text, tokens }: Syntax.Tree): Set<string> {
  const rows = new Set<string>()
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1]
    if (token.kind === "name" && next !== undefined) {
      rows.add(`${text.slice(token.start, token.end)} ${text.slice(next.start, next.end)}`)
    }
  }
  return rows
}
