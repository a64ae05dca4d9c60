import { textOverLines } from "./bad-token.ts"
import type { TokenReader } from "./token-reader.ts"

/**
 * Lists and texts as YAML has them: lines that begin with `-`, and `|` or `>` before lines of text. Reported, and skipped with all
 * lines that are deeper than that of their key.
 */
export function refuseYaml(reader: TokenReader, example: string): boolean {
  const { token, previous } = reader
  const isList = token.kind === "-" && token.afterBreak
  const isText = (token.kind === "|" || token.kind === ">") && reader.peek().afterBreak
  if (previous.kind !== ":" || (!isList && !isText)) return false
  if (isList) reader.report(token, "A list is not written with `-`", `Write \`${example}\`.`)
  else reader.report(token, textOverLines)
  const margin = reader.margin(previous)
  do reader.skipBalanced()
  while (!reader.endsBlock(reader.token) && (!reader.token.afterBreak || reader.margin(reader.token) > margin))
  return true
}
