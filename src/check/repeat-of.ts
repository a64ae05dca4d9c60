import { expressionIn, propertyOf } from "../syntax/property-of.ts"
import type * as Syntax from "../syntax/tree.ts"

/** The `repeat` of an agent. */
export function repeatOf(declaration: Syntax.StepDeclaration): Syntax.Property | undefined {
  return declaration.kind === "agent" ? propertyOf(declaration.body, "repeat") : undefined
}

export function untilOf(declaration: Syntax.StepDeclaration): Syntax.Expression | undefined {
  const value = repeatOf(declaration)?.value
  return value?.kind === "properties" ? expressionIn(value.block, "until") : undefined
}
