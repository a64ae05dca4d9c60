import { shortestCycle } from "../../base/shortest-cycle.ts"
import { strongComponents } from "../../base/strong-components.ts"
import type { CheckContext, Edge } from "../check-context.ts"

/** Agents and dynamic values that wait for each other: each cycle is reported once, and spelled out. */
export function checkDependencyCycles(checking: CheckContext): void {
  const tell = (edge: Edge, cycle: readonly string[]): void => tellWaiting(checking, edge, cycle)
  reportCycles(checking.edges, (name) => name, tell)
  for (const [agent, edges] of checking.localEdges) {
    reportCycles(edges, (name) => `agent.${agent}.dynamic.${name}`, tell)
  }
}

export type Edges = ReadonlyMap<string, ReadonlyMap<string, Edge>>

/** Circles that share members with others are looked for again and again: this often at most. */
const maxRounds = 8

/** Tells one circle of each knot, takes its first reference away, and looks for what is left of the knot. */
export function reportCycles(
  edges: Edges,
  show: (name: string) => string,
  tell: (edge: Edge, cycle: readonly string[]) => void,
): void {
  const broken = new Map<string, Set<string>>()
  const next = (node: string): string[] => {
    const targets = [...(edges.get(node)?.keys() ?? [])]
    const without = broken.get(node)
    return without === undefined ? targets : targets.filter((target) => !without.has(target))
  }
  let knots = strongComponents(edges.keys(), next)
  for (let round = 0; round < maxRounds && knots.length > 0; round++) {
    const left: string[] = []
    for (const knot of knots) {
      const members = new Set(knot)
      const inside = (node: string) => next(node).filter((target) => members.has(target))
      const first = earliest(knot, inside, edges)
      const cycle = shortestCycle(first, inside)
      const [, second] = cycle
      const edge = second === undefined ? undefined : edges.get(first)?.get(second)
      if (second === undefined || edge === undefined) continue
      tell(edge, cycle.map(show))
      broken.set(first, (broken.get(first) ?? new Set()).add(second))
      for (const node of knot) left.push(node)
    }
    knots = strongComponents(left, next)
  }
}

function tellWaiting(checking: CheckContext, edge: Edge, cycle: readonly string[]): void {
  const isItself = cycle.length === 2
  const spelled = formatCycle(cycle)
  const message = isItself ? `${cycle[0]} waits for itself: ${spelled}` : `These wait for each other: ${spelled}`
  const hint = isItself ? "Remove this reference." : "Remove one of these references."
  checking.report("dependency-cycle", edge.path, edge.span, message, hint)
}

/** The member whose reference to another comes first in the file. */
function earliest(knot: readonly string[], inside: (node: string) => readonly string[], edges: Edges): string {
  const start = (node: string): number =>
    inside(node).reduce((least, target) => Math.min(least, edges.get(node)?.get(target)?.span.start ?? least), Infinity)
  let [best = ""] = knot
  let bestStart = start(best)
  for (const node of knot) {
    const at = start(node)
    if (at < bestStart) {
      best = node
      bestStart = at
    }
  }
  return best
}

const longest = 40

/** `a → b → a`; of a very long circle both ends. */
export function formatCycle(names: readonly string[]): string {
  if (names.length <= longest) return names.join(" → ")
  const half = longest / 2
  const left = `(${names.length - longest} more)`
  return [...names.slice(0, half), left, ...names.slice(-half)].join(" → ")
}
