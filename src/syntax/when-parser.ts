import { write } from "../source/hint.ts"
import { missing } from "./chain-parser.ts"
import type { TokenReader } from "./token-reader.ts"
import type { Expression, When } from "./tree.ts"

/** When = "when" expression, before the block of a step or a call. `parseExpression` of value-parser.ts needs this file. */
export function parseWhen(reader: TokenReader, parseExpression: (reader: TokenReader) => Expression): When | undefined {
  const keyword = reader.token
  const isForeign = reader.isWord("if")
  if (!isForeign && !reader.isWord("when")) return undefined
  reader.take()
  if (reader.is("{")) reader.expected("a condition after `when`")
  const condition = reader.within({ inHead: true }, () => (reader.is("{") ? missing(reader) : parseExpression(reader)))
  if (isForeign) {
    const hint = write("when", keyword, `Write \`when ${reader.quote(condition) || "condition"}\`.`)
    reader.report(keyword, "A condition is not written with `if`", hint)
  }
  return { keyword, condition, start: keyword.start, end: reader.endFrom(keyword) }
}

/** Whether a call that ends before the reader has a condition. In the list of a loop `when` is the loop's, and without an operand it is a name. */
export function startsCallWhen(reader: TokenReader): boolean {
  const { inLoop, branchColon } = reader.context
  const isForeign = reader.isWord("if") && branchColon === undefined && !reader.token.afterBreak
  if (inLoop || !(isForeign || reader.isWord("when"))) return false
  const next = reader.peek().kind
  return next === "name" || next === "string" || next === "head" || next === "number" || next === "(" || next === "!"
}
