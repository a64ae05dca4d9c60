import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { LoopPlan } from "../../plan/expression.ts"
import type { AgentNode, AskNode, WaitNode } from "../../plan/plan-shape.ts"
import { describe, problem, textOf } from "../values/scope.ts"
import { evaluateEffects, type Effects } from "../values/evaluate-effects.ts"
import { failure } from "../../ports/run-failure.ts"
import { outerScope, type RunContext } from "./run-context.ts"

/** What a step loops over: an array of no more items than the operator allows. */
export async function loopItems(
  running: RunContext,
  node: AgentNode | AskNode | WaitNode,
  loop: LoopPlan,
  effects: Effects,
): Promise<readonly JsonValue[]> {
  const scope = outerScope(running, node.id)
  const items = await evaluateEffects(loop.items, scope, effects)
  if (!Array.isArray(items)) {
    throw problem(textOf(loop.items), `${node.id} loops over an array, found ${describe(items)}`, scope)
  }
  const { maxIterations } = running.limits
  if (items.length > maxIterations) {
    const message = `${node.id} would loop over ${items.length} items; at most ${maxIterations} are allowed`
    throw failure("limit_exceeded", scope.path, message)
  }
  return items
}

/** The variables of one iteration. */
export function loopVariables(
  running: RunContext,
  node: AgentNode | AskNode | WaitNode,
  { pattern, index }: LoopPlan,
  item: JsonValue,
  iteration: number,
): ReadonlyMap<string, JsonValue> {
  const variables = new Map<string, JsonValue>(index === undefined ? [] : [[index, iteration]])
  if (pattern.kind === "item") return variables.set(pattern.variable, item)
  for (const { field, variable } of pattern.fields) {
    if (!isJsonObject(item) || !Object.hasOwn(item, field)) {
      const scope = { ...outerScope(running, node.id), iteration }
      throw problem(variable, `the item's field ${field} is not there, found ${describe(item)}`, scope)
    }
    variables.set(variable, item[field] ?? null)
  }
  return variables
}
