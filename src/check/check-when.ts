import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { infer } from "./infer.ts"
import { inferCondition } from "./infer-operators.ts"
import { narrowed, pathsPresent } from "./narrowing.ts"
import type { DiagnosticCode } from "../source/codes.ts"
import { isError } from "../source/diagnostic.ts"
import type { AgentScope, Scope } from "./scope.ts"

/** What a broken condition may have ruled out. */
const ruledOut: ReadonlySet<DiagnosticCode> = new Set<DiagnosticCode>(["nullable-access"])

/** Checks the condition of a step, and then the step itself where the condition holds. */
export function checkWhen(
  checking: CheckContext,
  declaration: Syntax.StepDeclaration,
  scope: Scope,
  checkStep: (scope: Scope) => void,
): void {
  const { when, start, body } = declaration
  const before = checking.diagnostics.length
  const present = when === undefined ? [] : checkCondition(checking, when, scope)
  const isBroken =
    checking.skipped.hasError({ start, end: body.start }) || checking.diagnostics.slice(before).some(isError)
  if (isBroken) checking.muted = ruledOut
  checkStep(narrowed(scope, present))
  checking.muted = null
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
