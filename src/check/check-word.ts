import type * as Syntax from "../syntax/tree.ts"
import { wordOrString } from "./asset-kind.ts"
import type { CheckContext } from "./check-context.ts"
import { expressionOf } from "./properties.ts"

/** A property in the block at `path` whose value is one of a few words, written bare or as a string. */
export function checkWord(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
  what: string,
  words: readonly string[],
  hintFor: (written: string | undefined, quoted: string) => string,
): void {
  const expression = expressionOf(checking, property, path)
  if (property === undefined || expression === undefined) return
  const written = wordOrString(expression)
  if (written !== undefined && words.includes(written)) return
  const quoted = checking.quote(expression)
  const hint = hintFor(written, quoted)
  checking.report("invalid-value", `${path}.${property.name.text}`, expression, `Unknown ${what}: ${quoted}`, hint)
}
