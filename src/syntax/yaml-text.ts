import { textOverLines } from "./bad-token.ts"
import type { TokenReader } from "./token-reader.ts"

/** Whether a line begins with `-` and something in the same line that is not a negative number. */
function startsYamlList(reader: TokenReader): boolean {
  const { token } = reader
  if (token.kind !== "-" || !token.afterBreak) return false
  const next = reader.peek()
  return !next.afterBreak && (next.kind !== "number" || next.start !== token.end)
}

/**
 * Lists and texts as YAML has them: lines that begin with `-`, and `|` or `>` before lines of text. Reported, and skipped with all
 * lines that are deeper than that of their key.
 */
export function refuseYaml(reader: TokenReader, example?: string): boolean {
  const { token, previous } = reader
  const isList = startsYamlList(reader)
  const isText = (token.kind === "|" || token.kind === ">") && reader.peek().afterBreak
  if (previous.kind !== ":" || (!isList && !isText)) return false
  const margin = reader.margin(previous)
  do reader.skipBalanced()
  while (!reader.endsBlock(reader.token) && (!reader.token.afterBreak || reader.margin(reader.token) > margin))
  const span = { start: token.start, end: reader.previous.end }
  if (isList)
    reader.report(token, "A list is not written with `-`", `Write \`${example ?? listOf(reader.textOf(span))}\`.`)
  else reader.report(token, textOverLines)
  return true
}

/** The list as it is written here, where it is short and each line is an item. */
function listOf(written: string): string {
  const lines = written
    .slice(0, 200)
    .split("\n")
    .map((line) => line.trim())
  const items = lines.map((line) => line.slice(1).trim())
  const isPlain = written.length <= 60 && lines.every((line) => line.startsWith("- ") && !line.includes(": "))
  return isPlain ? `[${items.join(", ")}]` : "[a, b]"
}
