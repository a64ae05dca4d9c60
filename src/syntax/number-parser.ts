import { numberValue } from "./number-text.ts"
import type { Token } from "./token.ts"
import type { TokenReader } from "./token-reader.ts"
import type { NumberNode } from "./tree.ts"

/** The value of a number token that is taken; reports one that is not a number. */
export function numberNode(reader: TokenReader, token: Token): NumberNode {
  const written = reader.textOf(token)
  const value = numberValue(written)
  if (value === undefined) {
    reader.notANumber(token)
  } else if (!Number.isFinite(value)) {
    reader.report(token, "This number is too large")
  }
  // `30s` counts as 30, so that the checker does not refuse it once more.
  const known = value ?? Number.parseFloat(written)
  // Never -0.
  return {
    kind: "number",
    value: known !== 0 && Number.isFinite(known) ? known : 0,
    start: token.start,
    end: token.end,
  }
}
