import type * as Syntax from "../syntax/tree.ts"
import type { CheckContext } from "./check-context.ts"
import { infer } from "./infer.ts"
import { checkCondition } from "./infer-operators.ts"
import { pathsPresent } from "./narrowing.ts"
import type { AgentScope, Scope } from "./scope.ts"

/** Checks the condition of a step; the paths that are not null where it holds. */
export function checkWhen(checking: CheckContext, { when }: Syntax.StepDeclaration, scope: Scope): readonly string[] {
  if (when === undefined || scope.agent === undefined) return []
  // It is decided before the agent's own values are computed.
  const agent: AgentScope = { ...scope.agent, localFields: new Map(), later: scope.agent.localFields }
  const inner: Scope = { ...scope, agent, path: `${scope.path}.when`, place: "a condition" }
  checkCondition(checking, when.condition, inner, infer)
  return pathsPresent(when.condition, true)
}
