import type { Expression } from "./expression.ts"
import type { AgentNode, PlanNode } from "./plan-shape.ts"

type Effect = Extract<Expression, { op: "call" | "read" | "render" }>

/**
 * The names that release 0.1 gave to the call sites of a node, by their names of today: a log of that release is resumed by
 * them. Calls were counted by place, reads and renders by node, prompts of `uses` by position.
 */
export function legacySites(node: PlanNode, effects: readonly Effect[]): [string, string][] {
  const calls = new Map<string, number>()
  const named = effects.map((effect, position): [string, string] => {
    if (effect.op !== "call") return [effect.site, `${node.id}/${position}`]
    const place = effect.site.slice(0, effect.site.indexOf("/"))
    const count = (calls.get(place) ?? 0) + 1
    calls.set(place, count)
    return [effect.site, count === 1 ? place : `${place}#${count}`]
  })
  return node.kind === "agent" ? [...named, ...legacyUses(node)] : named
}

function legacyUses(node: AgentNode): [string, string][] {
  return node.uses.map((use, position) => [use.site, `${node.id}/use/${position}`])
}
