import type { TokenKind } from "./token.ts"
import { closers, type TokenReader } from "./token-reader.ts"
import type { Name } from "./tree.ts"

// Opening brackets that were left out. They are looked for on the second reading alone, in a file with more closing brackets
// of the kind than opening ones.

/** `a, b]`: reports the bracket that a list lacks, and skips the list. */
export function lacksList(reader: TokenReader, bracket: "[" | "("): boolean {
  if (!lacksOpening(reader, bracket)) return false
  reader.report(reader.token, `Expected \`${bracket}\` before ${reader.describe(reader.token)}`)
  skipList(reader, bracket)
  return true
}

/** `key: a: 1, b: 2 }`: reports the brace that an object lacks, and lets it begin without. */
export function lacksObject(reader: TokenReader, name: Name): boolean {
  const { kind, afterBreak } = reader.peek()
  if (!reader.lacksOpenBrace || reader.token.afterBreak || kind !== ":" || afterBreak || !reader.atKey) return false
  openWithoutBrace(reader, `\`${reader.show(name)}:\``)
  return true
}

/**
 * Whether a list seems to begin here without its bracket: `a, b]`. Only if the file has more closing than opening brackets
 * of this kind.
 */
function lacksOpening(reader: TokenReader, bracket: "[" | "("): boolean {
  if (reader.excess(bracket) >= 0 || reader.is(bracket)) return false
  let depth = 0
  let clauses = 0
  for (let ahead = 0; ahead < longestList; ahead++) {
    const { kind, afterBreak } = reader.peek(ahead)
    if (kind in closers) depth++
    else if (depth === 0) {
      if (kind === closers[bracket]) return true
      if (kind === ":" || kind === "end" || isCloser(kind)) return false
      // A list from a list goes on with `for`, `when` and `by`.
      if (afterBreak && ahead > 0 && (++clauses > 3 || !isClause(reader, ahead))) return false
    } else if (kind === "end") return false
    else if (isCloser(kind) && kind !== "middle") depth--
  }
  return false
}

/** Tokens that are looked over for the end of a list. */
const longestList = 1000

/** Whether a line goes on with a part of a list from a list. */
function isClause(reader: TokenReader, ahead: number): boolean {
  const token = reader.peek(ahead)
  return ["for", "when", "by"].some((word) => reader.isWord(word, token)) && reader.peek(ahead + 1).kind !== ":"
}

/** Skips such a list, with its closing bracket. */
export function skipList(reader: TokenReader, bracket: "[" | "("): void {
  // Where brackets of different kinds are mixed up, they are not skipped in pairs.
  while (reader.token.kind !== closers[bracket] && reader.token.kind !== "end") {
    const before = reader.token
    reader.skipBalanced()
    if (reader.token === before) reader.take()
  }
  reader.accept(bracket === "[" ? "]" : ")")
}

/** Whether the reader's line is indented deeper than the one before it. */
function isDeeper(reader: TokenReader, ahead = 0): boolean {
  const token = reader.peek(ahead)
  if (!token.afterBreak || (token.kind !== "name" && token.kind !== "string")) return false
  return reader.column(token) - 1 > reader.margin(reader.peek(ahead - 1))
}

/** Whether a block that may stand here begins without its brace: with a key on this line, or on deeper lines. */
export function lacksOwnBrace(reader: TokenReader): boolean {
  if (!reader.lacksOpenBrace || reader.token.kind === "{") return false
  return isDeeper(reader) || (!reader.token.afterBreak && reader.isKey(0))
}

/** Reports the brace that is missing here, and lets the next block begin without it. */
export function openWithoutBrace(reader: TokenReader, after: string): void {
  reader.expected(`\`{\` after ${after}`, undefined, "{")
  reader.assumeBrace()
}

/** Whether a block seems to begin here without its brace: its fields follow on the next line, and a brace is left over. */
export function mayAssumeBrace(reader: TokenReader): boolean {
  if (!reader.lacksOpenBrace) return false
  if (!reader.token.afterBreak && reader.isKey(0)) return true
  const ahead = restOfLine(reader)
  return reader.peek(ahead).afterBreak && (reader.isKey(ahead) || isDeeper(reader, ahead))
}

/** After a report that a brace is missing: skips what stands in its place, and lets the next block begin without it. */
export function assumeBrace(reader: TokenReader): boolean {
  if (!mayAssumeBrace(reader)) return false
  reader.assumeBrace()
  // A bracket that is never closed takes all that is left, and the end of a text may follow it on the same line.
  while (!reader.token.afterBreak && !reader.isKey(0) && !reader.is("end")) reader.skipBalanced()
  return true
}

/** How many tokens that mean nothing by themselves are left in this line. */
function restOfLine(reader: TokenReader): number {
  let ahead = 0
  while (!reader.peek(ahead).afterBreak && meaningless.has(reader.peek(ahead).kind)) ahead++
  return ahead
}

function isCloser(kind: TokenKind): boolean {
  return kind === "}" || kind === "]" || kind === ")" || kind === "tail" || kind === "middle"
}

/** What may stand by mistake where a brace should. */
const meaningless: ReadonlySet<TokenKind> = new Set<TokenKind>([
  ...(["name", "number", "string", "bad", "(", "[", "-", "#", "|"] as const),
  ...(["||", "&&", "==", "!=", "<", "<=", ">", ">=", "!"] as const),
])
