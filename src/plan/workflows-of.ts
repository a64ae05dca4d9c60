import type { Expression } from "./expression.ts"
import { children } from "./expression-traits.ts"
import type { PlanNode } from "./plan-shape.ts"
import { expressionsOf } from "./prepare.ts"

/** The names of the files that a node calls, or that its model may call. */
export function workflowsOf(node: PlanNode): readonly string[] {
  const found = new Set<string>()
  const visit = (expression: Expression): void => {
    if (expression.op === "call-workflow") found.add(expression.workflow)
    for (const child of children(expression)) visit(child)
  }
  for (const expression of expressionsOf(node)) visit(expression)
  for (const { workflow } of node.kind === "agent" ? (node.workflows ?? []) : []) found.add(workflow)
  return [...found]
}
