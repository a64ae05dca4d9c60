import type * as Syntax from "../syntax/tree.ts"
import { maybe } from "../types/relations.ts"
import type { Type } from "../types/types.ts"
import { withoutCalls } from "./allowance.ts"
import { blockAs } from "./block-of.ts"
import type { CheckContext } from "./check-context.ts"
import { infer } from "./infer.ts"
import { inferCondition, placeOfUntil } from "./infer-operators.ts"
import type { LoopVariable } from "./program.ts"
import { expressionOf, readProperties } from "./properties.ts"
import { repeatOf } from "./repeat-of.ts"
import type { Scope } from "./scope.ts"

/** In an agent that repeats: the output of the round before, null in the first. */
export function withPrevious(
  variables: ReadonlyMap<string, LoopVariable>,
  { name }: Syntax.Property,
  output: Type,
): ReadonlyMap<string, LoopVariable> {
  const previous = { name: { ...name, text: "previous" }, type: maybe(output), isBuiltIn: true } as const
  return new Map([...variables, ["previous", previous]])
}

/** `repeat { until: result.score >= 8  at_most: 4 }`: decided after each round, from what the round gave. */
export function checkRepeat(
  checking: CheckContext,
  declaration: Syntax.AgentDeclaration,
  output: Type,
  scope: Scope,
): void {
  const property = repeatOf(declaration)
  if (property === undefined) return
  const path = `${scope.path}.repeat`
  if (declaration.loop !== undefined || declaration.brokenLoop) {
    const message = "An agent has `for` or `repeat`, not both"
    const hint = "Remove one of the two, or repeat in a file that is called for each item: `call workflow.name`."
    checking.report("conflicting-properties", path, property.name, message, hint)
  }
  const block = blockAs(checking, property, path, "properties")?.block
  if (block === undefined) return
  const until = expressionOf(
    checking,
    readProperties(checking, "agent-repeat", block, path, property.name).get("until"),
    path,
  )
  if (until === undefined) return
  // The agent's own values are those of a round, which is over.
  const agent = scope.agent && { ...scope.agent, localFields: new Map(), later: scope.agent.localFields }
  const after: Scope = { ...withoutCalls(scope), agent, path: `${path}.until`, place: placeOfUntil }
  inferCondition(checking, until, { ...after, result: output, hasRound: true, isOwnRound: true }, infer)
}
