import { strongComponents } from "../../base/strong-components.ts"
import type { Checking, Edge } from "../checking.ts"

/** Agents and dynamic values that wait for each other: each circle is told once, and spelled out. */
export function checkDependencyCycles(checking: Checking): void {
  report(checking, checking.edges, (name) => name)
  for (const [agent, edges] of checking.localEdges) report(checking, edges, (name) => `agent.${agent}.dynamic.${name}`)
}

type Edges = ReadonlyMap<string, ReadonlyMap<string, Edge>>

function report(checking: Checking, edges: Edges, show: (name: string) => string): void {
  const order = new Map([...edges.keys()].map((node, index) => [node, index]))
  const place = (node: string): number => order.get(node) ?? Number.POSITIVE_INFINITY
  for (const component of strongComponents(edges.keys(), (node) => edges.get(node)?.keys() ?? [])) {
    const members = new Set(component)
    const first = component.reduce((one, other) => (place(other) < place(one) ? other : one))
    if (component.length === 1 && edges.get(first)?.has(first) !== true) continue
    const cycle = shortestCycle(edges, first, members)
    const edge = edges.get(first)?.get(cycle[1] ?? first)
    if (edge === undefined) continue
    const spelled = cycle.map(show).join(" → ")
    const hint = "Remove one of these references."
    checking.report("dependency-cycle", edge.path, edge.span, `These wait for each other: ${spelled}`, hint)
  }
}

/** From a node back to itself within its component; just the node when it is in no circle. */
function shortestCycle(edges: Edges, from: string, members: ReadonlySet<string>): string[] {
  const before = new Map<string, string>()
  const queue = [from]
  for (const node of queue) {
    for (const next of edges.get(node)?.keys() ?? []) {
      if (next === from) {
        const back = [node]
        for (let at = before.get(node); at !== undefined; at = before.get(at)) back.unshift(at)
        return [...back, from]
      }
      if (members.has(next) && !before.has(next)) {
        before.set(next, node)
        queue.push(next)
      }
    }
  }
  return [from]
}
