import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"

/** The block of values that a property such as `bindings { … }` has; reports anything else in its place. */
export function blockOf(
  checking: CheckContext,
  property: Syntax.Property | undefined,
  path: string,
): Syntax.Block<Syntax.ValueField> | undefined {
  if (property === undefined || property.value.kind === "missing") return undefined
  if (property.value.kind === "values") return property.value.block
  const message = `Expected a block: \`${property.name.text} { … }\``
  const span = property.value.kind === "expression" ? property.value.expression : property.name
  checking.report("type-mismatch", path, span, message)
  return undefined
}
