import { shortestCycle } from "../../base/shortest-cycle.ts"
import { strongComponents } from "../../base/strong-components.ts"
import type { Checking, Edge } from "../checking.ts"
import { spellCircle } from "../spell-circle.ts"

/** Agents and dynamic values that wait for each other: each circle is told once, and spelled out. */
export function checkDependencyCycles(checking: Checking): void {
  report(checking, checking.edges, (name) => name)
  for (const [agent, edges] of checking.localEdges) report(checking, edges, (name) => `agent.${agent}.dynamic.${name}`)
}

type Edges = ReadonlyMap<string, ReadonlyMap<string, Edge>>

function report(checking: Checking, edges: Edges, show: (name: string) => string): void {
  const next = (node: string): Iterable<string> => edges.get(node)?.keys() ?? []
  for (const component of strongComponents(edges.keys(), next)) {
    const first = earliest(component, edges)
    const members = new Set(component)
    const cycle = shortestCycle(first, (node) => [...next(node)].filter((other) => members.has(other)))
    const edge = edges.get(first)?.get(cycle[1] ?? "")
    if (edge === undefined) continue
    const spelled = spellCircle(cycle.map(show))
    const message =
      cycle.length === 2 ? `${show(first)} waits for itself: ${spelled}` : `These wait for each other: ${spelled}`
    checking.report(
      "dependency-cycle",
      edge.path,
      edge.span,
      message,
      cycle.length === 2 ? "Remove this reference." : "Remove one of these references.",
    )
  }
}

/** The member whose reference to another comes first in the file. */
function earliest(component: readonly string[], edges: Edges): string {
  const members = new Set(component)
  const start = (node: string): number => {
    let least = Infinity
    for (const [other, { span }] of edges.get(node) ?? []) if (members.has(other)) least = Math.min(least, span.start)
    return least
  }
  const [first = ""] = component
  let best = first
  let bestStart = start(first)
  for (const node of component) {
    const at = start(node)
    if (at < bestStart) {
      best = node
      bestStart = at
    }
  }
  return best
}
