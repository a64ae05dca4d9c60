import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { checkGuarded } from "./guarded.ts"
import { infer } from "./infer.ts"
import { inferCondition } from "./infer-operators.ts"
import { narrowed, pathsPresent } from "./narrowing.ts"
import type { AgentScope, Scope } from "./scope.ts"

/** Checks the condition of a step, and then the step itself where the condition holds. */
export function checkWhen(
  checking: CheckContext,
  declaration: Syntax.StepDeclaration,
  scope: Scope,
  checkStep: (scope: Scope) => void,
): void {
  const { when, start, body } = declaration
  const isBroken = checking.skipped.hasError({ start, end: body.start })
  const condition = (): Scope => narrowed(scope, when === undefined ? [] : checkCondition(checking, when, scope))
  checkGuarded(checking, condition, checkStep, isBroken)
}

/** A condition that is not read right says nothing about what is skipped. */
export function hasCondition(checking: CheckContext, { when, start, body }: Syntax.StepDeclaration): boolean {
  return when !== undefined && !checking.skipped.hasError({ start, end: body.start })
}

/** The paths that are not null where a condition holds. */
function checkCondition(checking: CheckContext, when: Syntax.When, scope: Scope): readonly string[] {
  if (scope.agent === undefined) return []
  // It is decided before the agent's own values are computed.
  const agent: AgentScope = { ...scope.agent, localFields: new Map(), later: scope.agent.localFields }
  const inner: Scope = { ...scope, agent, path: `${scope.path}.when`, place: "a condition" }
  inferCondition(checking, when.condition, inner, infer)
  return pathsPresent(when.condition, true)
}
