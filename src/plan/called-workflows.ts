import { remembered } from "../base/remembered.ts"
import type { Expression } from "./expression.ts"
import { children } from "./expression-traits.ts"
import type { Plan } from "./plan-shape.ts"
import { expressionsOf } from "./prepare.ts"

const counts = new WeakMap<Plan, number>()

/** How many workflows, nested ones included, each run of the plan calls before it succeeds. Agents, lists and conditions may add more. */
export function calledWorkflows(plan: Plan): number {
  return remembered(counts, plan, () => {
    const visit = (expression: Expression): number => {
      const inside = certain(expression).reduce((sum, part) => sum + visit(part), 0)
      if (expression.op !== "call-workflow") return inside
      const called = plan.workflows?.[expression.workflow]
      return inside + 1 + (called === undefined || expression.skips === true ? 0 : calledWorkflows(called.plan))
    }
    const nodes = plan.nodes.filter(({ kind }) => kind === "dynamic" || kind === "output")
    return nodes.flatMap(expressionsOf).reduce((sum, expression) => sum + visit(expression), 0)
  })
}

/** The expressions directly inside one that are evaluated whatever the others are. */
function certain(expression: Expression): readonly Expression[] {
  switch (expression.op) {
    case "default":
      return [expression.left]
    case "binary":
      return expression.operator === "&&" || expression.operator === "||" ? [expression.left] : children(expression)
    case "match":
      return [expression.value]
    case "list":
      return [expression.loop.items]
    case "call-workflow":
      return expression.input.map(({ value }) => value)
    default:
      return children(expression)
  }
}
