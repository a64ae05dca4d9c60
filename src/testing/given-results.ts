import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonValue } from "../base/json-value.ts"
import type { Expression } from "../plan/expression.ts"
import { children } from "../plan/expression-traits.ts"
import type { AgentNode, Plan } from "../plan/plan-shape.ts"
import { expressionsOf } from "../plan/prepare.ts"
import { wireError } from "../ports/run-failure.ts"
import type { GivenCall, GivenResult } from "../run/context/run-context.ts"
import type { WireError } from "../log/events.ts"

/** A result that a test gives; `fails` is what a tool answers, or why another step fails. */
export type GivenOne = { readonly value: JsonValue } | { readonly error: WireError } | { readonly fails: string }

/** What a test gives to a step: one result for all its calls, or one for each. */
export type GivenValue = GivenOne | { readonly each: readonly GivenOne[] }

/** A step that was called more often than the test gives results for it. */
export interface Shortage {
  readonly step: string
  readonly given: number
  readonly calls: number
}

/** Hands out the results that a test gives to the calls of a run, in the order of the items of the plan. */
export class GivenResults {
  readonly #begun = new Map<string, number>()
  readonly #shortages = new Map<string, Shortage>()

  get shortages(): readonly Shortage[] {
    return [...this.#shortages.values()]
  }

  /** The result of one call of a step. `position` is that of its item, where that alone tells which result it is; else calls count as they begin. */
  take(step: string, given: GivenValue, position: number | null): GivenOne {
    if (!("each" in given)) return given
    const begun = this.#begun.get(step) ?? 0
    this.#begun.set(step, begun + 1)
    const { each } = given
    const at = position ?? begun
    const one = each[at]
    if (one !== undefined) return one
    const calls = Math.max(at + 1, this.#shortages.get(step)?.calls ?? 0)
    this.#shortages.set(step, { step, given: each.length, calls })
    const message = `The test gives ${each.length === 1 ? "1 result" : `${each.length} results`} for ${step}, but none for its ${position === null ? "call" : "item"} ${at}`
    return { error: wireError("evaluation_error", [{ path: step, message }]) }
  }
}

/**
 * The position among the calls of a tool or a file that a call has by its item: where one place of the plan calls it, for every item of one
 * list or loop. Null where conditions, models or several places decide which calls there are.
 */
export function positionOf(plan: Plan, id: string, { items, iteration, byModel }: GivenCall): number | null {
  const places = [...items, ...(iteration === null ? [] : [iteration])]
  const [position] = places
  if (byModel || places.length !== 1 || position === undefined) return null
  const calls = plan.nodes.flatMap((node) => {
    const expressions = expressionsOf(node)
    const isCalled = (expression: Expression): boolean => isCallOf(expression, id)
    const hasCondition = "when" in node && node.when !== null
    const found = expressions.flatMap((expression) => callsIn(expression, isCalled, hasCondition))
    return node.kind === "agent" && isUsedBy(node, id) ? [...found, true] : found
  })
  return calls.length === 1 && calls[0] === false ? position : null
}

function isUsedBy({ uses, workflows = [] }: AgentNode, id: string): boolean {
  return (
    uses.some(({ kind, name }) => `${kind}.${name}` === id) ||
    workflows.some((use) => `workflow.${use.workflow}` === id)
  )
}

function isCallOf(expression: Expression, id: string): boolean {
  if (expression.op === "call") return id === `tool.${expression.tool}`
  return (
    expression.op === "call-workflow" && expression.repeat === undefined && id === `workflow.${expression.workflow}`
  )
}

/** For each call in an expression whether a condition decides about it. */
function callsIn(expression: Expression, isCalled: (one: Expression) => boolean, isConditional: boolean): boolean[] {
  const own = isCalled(expression) ? [isConditional] : []
  const [first, ...others] = children(expression)
  if (first === undefined) return own
  const decides =
    expression.op === "match" ||
    expression.op === "default" ||
    (expression.op === "binary" && (expression.operator === "&&" || expression.operator === "||"))
  return [
    ...own,
    ...callsIn(first, isCalled, isConditional),
    ...others.flatMap((one) => callsIn(one, isCalled, isConditional || decides)),
  ]
}

/** The result of an agent or a question, for one item of its loop. */
export function stepResult(one: GivenOne, step: string): GivenResult {
  if ("error" in one) return one
  if ("fails" in one) {
    const kind = step.includes("agent.") ? "provider_error" : "tool_error"
    return { error: wireError(kind, [{ path: step, message: one.fails }]) }
  }
  if (isJsonObject(one.value)) return { output: one.value }
  const message = `The given result of ${step} is not an object`
  return { error: wireError("evaluation_error", [{ path: step, message }]) }
}

/** The value of a wait: the data of an event, or a time. */
export function waitResult(one: GivenOne, step: string): { readonly value: JsonValue } | { readonly error: WireError } {
  if ("fails" in one) return { error: wireError("timeout", [{ path: step, message: one.fails }]) }
  return one
}
