import { check } from "../check/check.ts"
import type { Program } from "../check/program.ts"
import type { Span } from "../source/span.ts"
import { parseWithTests } from "../syntax/test-parser.ts"
import type { Token } from "../syntax/token.ts"
import type { Declaration, Tree } from "../syntax/tree.ts"
import type { NameUse } from "./name-use.ts"
import { tokenIndexAt } from "./token-at.ts"
import { useAt } from "./use-at.ts"

/** Put in at the cursor: it turns unfinished text into a name, so that the checker knows its place and type. */
const placeholder = "wire_cursor_"

export type CompletionSite =
  /** In the text of a plain string, between its quotes. */
  | { readonly kind: "string"; readonly token: Token; readonly span: Span }
  /** A name may stand here: `use` is what it would be, in a program that has the placeholder in its place. */
  | { readonly kind: "name"; readonly program: Program; readonly use: NameUse; readonly span: Span }
  /** A name that no declaration has taken in: `before` are the tokens before it, the nearest last. */
  | StrayName

export interface StrayName {
  readonly kind: "stray"
  readonly before: readonly string[]
  readonly atLineStart: boolean
  /** It follows the list of a loop, where a condition may stand. */
  readonly afterLoop: boolean
  /** The words of a list from a list that may follow here. */
  readonly clauses: readonly ListWord[]
  readonly span: Span
}

/** The words between the parts of a list from a list, in their order. */
export type ListWord = "for" | "in" | "when" | "by" | "descending"

/** What the cursor is in; undefined in comments, numbers and the text of interpolated strings. */
export function completionSite(program: Program, offset: number): CompletionSite | undefined {
  const { tree } = program
  if (inComment(tree, offset)) return undefined
  const string = stringAt(tree, offset)
  if (string !== undefined) {
    const isPlain = string.kind === "string" && !tree.text.startsWith('"""', string.start)
    if (!isPlain) return undefined
    const end = Math.max(offset, string.unclosed ? string.end : string.end - 1)
    return { kind: "string", token: string, span: { start: string.start + 1, end } }
  }
  const word = wordAround(tree.text, offset)
  if (/^[0-9]/.test(tree.text.slice(word.start, word.end))) return undefined
  // What the cursor is before of is not being written: it stays as it is.
  const span = word.start === offset ? { start: offset, end: offset } : word
  return nameSite(program, word, span)
}

/** What a name would be that stood in place of a string. */
export function siteInPlaceOf(program: Program, string: Span): CompletionSite | undefined {
  return nameSite(program, string, string)
}

function nameSite(around: Program, word: Span, span: Span): CompletionSite | undefined {
  const { text } = around.tree
  const before = text.slice(0, word.start)
  const after = text.slice(word.end)
  let stray: StrayName | undefined
  // The head of a declaration, or a `match`, is taken in only with its block.
  for (const inserted of [placeholder, `${placeholder} { }`]) {
    const { tree } = parseWithTests(`${before}${inserted}${after}`)
    const { program } = check(tree, around.files)
    const use = useAt(program, word.start)
    if (use?.start === word.start && use.text === placeholder) return { kind: "name", program, use, span }
    const found = strayName(tree, word.start, span)
    if (stray === undefined || found?.afterLoop === true) stray = found
  }
  return stray
}

function strayName(tree: Tree, at: number, span: Span): StrayName | undefined {
  const index = tokenIndexAt(tree, at)
  const token = tree.tokens[index]
  if (token?.kind !== "name" || token.start !== at) return undefined
  const before = tree.tokens.slice(Math.max(0, index - 6), index)
  const around = tree.declarations.find((one) => one.start <= at && at < one.end)
  const atLineStart = around === undefined && (token.afterBreak || index === 0 || before.at(-1)?.kind === "}")
  const words = before.map(({ start, end }) => tree.text.slice(start, end))
  const clauses = clausesAt(tree, index)
  return { kind: "stray", before: words, atLineStart, afterLoop: isAfterLoop(around, at), clauses, span }
}

const following: Readonly<Record<ListWord | "[", readonly ListWord[]>> = {
  "[": ["for"],
  for: ["in"],
  in: ["when", "by"],
  when: ["by"],
  by: ["descending"],
  descending: [],
}

/** Tokens of a list that are looked over. */
const longestList = 500
/** Words that begin a type, or an entry of a list that is written out. */
const otherLists =
  /^(?:string|boolean|null|number|float|integer|object|file|schema|maybe|map|enum|variant|tool|resource|prompt|model|workflow)$/

/** What may follow a part of a list from a list that ends before the token. */
function clausesAt({ tokens, text }: Tree, index: number): readonly ListWord[] {
  const before = tokens[index - 1]
  if (before === undefined || !endsValue(before)) return []
  let depth = 0
  let last: ListWord | undefined
  for (let at = index - 1; at >= 0 && index - at < longestList; at--) {
    const token = tokens[at]
    if (token === undefined) return []
    const { kind } = token
    if (kind === "]" || kind === ")" || kind === "}" || kind === "tail") depth++
    else if (kind === "[" && depth === 0) {
      const first = tokens[at + 1]
      const isOther = first !== undefined && otherLists.test(text.slice(first.start, first.end))
      return last === undefined && isOther ? [] : following[last ?? "["]
    } else if (kind === "[" || kind === "(" || kind === "{" || kind === "head") {
      if (depth === 0) return []
      depth--
    } else if (depth === 0 && kind === ",") return []
    else if (depth === 0 && kind === "name") {
      const word = text.slice(token.start, token.end)
      // Right before the cursor it is more likely a variable of that name.
      const isClause = at < index - 1 || word === "descending"
      if (isClause && last === undefined && isListWord(word) && tokens[at - 1]?.kind !== ".") last = word
    }
  }
  return []
}

function isListWord(word: string): word is ListWord {
  return Object.hasOwn(following, word)
}

function endsValue({ kind }: Token): boolean {
  return ["name", "number", "string", "tail", "]", ")", "}"].includes(kind)
}

function isAfterLoop(around: Declaration | undefined, at: number): boolean {
  if (around?.kind !== "agent" && around?.kind !== "ask" && around?.kind !== "wait") return false
  const { loop, when, body } = around
  return loop !== undefined && when === undefined && loop.end < at && at < body.start
}

function inComment(tree: Tree, offset: number): boolean {
  const index = tokenIndexAt(tree, offset)
  // A comment belongs to the token after it.
  for (const token of [tree.tokens[index], tree.tokens[index + 1]]) {
    for (const { start, end, style } of token?.comments ?? []) {
      if (start < offset && (offset < end || (offset === end && style !== "block"))) return true
    }
  }
  return false
}

/** The piece of a string whose text the offset is in. */
function stringAt(tree: Tree, offset: number): Token | undefined {
  const index = tokenIndexAt(tree, offset)
  const token = tree.tokens[index]
  if (token !== undefined && token.start < offset && offset < token.end && isText(token)) return token
  const previous = tree.tokens[index - 1]
  const isOpen = previous?.end === offset && previous.unclosed && isText(previous) && previous.end > previous.start
  return isOpen ? previous : undefined
}

function isText({ kind }: Token): boolean {
  return kind === "string" || kind === "head" || kind === "middle" || kind === "tail"
}

function wordAround(text: string, offset: number): Span {
  let start = offset
  let end = offset
  while (start > 0 && isWordPart(text.charCodeAt(start - 1))) start--
  while (end < text.length && isWordPart(text.charCodeAt(end))) end++
  return { start, end }
}

function isWordPart(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90) || (unit >= 48 && unit <= 57) || unit === 95
}
