import type * as Syntax from "../syntax/tree.ts"
import { errorType } from "../types/primitives.ts"
import type { Type } from "../types/types.ts"
import type { CheckContext } from "./check-context.ts"
import { repeatOf } from "./repeat-of.ts"
import type { Infer, Scope } from "./scope.ts"
import { stepFunctions } from "./step-functions.ts"

/** `rounds(agent.x)`: what the rounds of an agent gave, the first one first. */
export function inferRounds(checking: CheckContext, node: Syntax.FunctionNode, scope: Scope, infer: Infer): Type {
  const [item, ...others] = node.items
  const type = item === undefined ? undefined : infer(checking, item, scope)
  for (const other of others) infer(checking, other, scope)
  if (node.items.some(({ kind }) => kind === "missing-expression") || type?.kind === "error") return errorType
  const root = item?.kind === "chain" && item.steps.length === 1 ? checking.roots.get(item) : undefined
  const symbol = root?.kind === "agent" ? checking.agents.get(root.name) : undefined
  if (others.length === 0 && symbol !== undefined && repeatOf(symbol.declaration) !== undefined) {
    return { kind: "array", element: symbol.output }
  }
  const message = "`rounds` takes an agent with `repeat`"
  checking.report("wrong-arguments", scope.path, item ?? node, message, `The form is \`${stepFunctions.rounds}\`.`)
  return errorType
}
