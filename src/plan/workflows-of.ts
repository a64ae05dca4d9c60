import type { Expression } from "./expression.ts"
import { children } from "./expression-traits.ts"
import type { PlanNode } from "./plan-shape.ts"
import { expressionsOf } from "./prepare.ts"

/** The names of the files that a node calls, or that its model may call. */
export function workflowsOf(node: PlanNode): readonly string[] {
  return [...new Set(callPlaces(node).map((place) => place.slice(0, place.indexOf("@"))))]
}

/** The places where a node calls files, as scopes begin: `triage@dynamic.first`, `triage@agent.plan`. */
export function callPlaces(node: PlanNode): readonly string[] {
  const found: string[] = []
  const visit = (expression: Expression): void => {
    if (expression.op === "call-workflow") found.push(`${expression.workflow}@${expression.site}`)
    for (const child of children(expression)) visit(child)
  }
  for (const expression of expressionsOf(node)) visit(expression)
  for (const { workflow } of node.kind === "agent" ? (node.workflows ?? []) : []) found.push(`${workflow}@${node.id}`)
  return found
}
