import type { WireError } from "../events.ts"
import type { NodeState, Progress, RunState } from "../run-state.ts"

export function nodeOf(state: RunState, id: string): NodeState | undefined {
  const position = Object.hasOwn(state.index.nodes, id) ? state.index.nodes[id] : undefined
  return position === undefined ? undefined : state.nodes[position]
}

export function startNode(state: RunState, id: string, at: number): NodeState | undefined {
  const node = nodeOf(state, id)
  if (node !== undefined && node.state === "waiting") {
    node.state = "running"
    node.started_at = at
  }
  return node
}

export function endNode(node: NodeState, as: Progress, at: number, duration: number | null): void {
  node.state = as
  node.finished_at = at
  node.duration_ms = duration ?? at - (node.started_at ?? at)
}

export function isOver({ state }: NodeState): boolean {
  return state === "completed" || state === "failed" || state === "skipped"
}

/** A failure that came before its node had begun is known by its path alone. */
export function failBlamedNodes(state: RunState, error: WireError, at: number): void {
  for (const { path } of error.issues) {
    // A failure inside a called workflow counts for the node that calls it.
    const [kind, name] = path.replace(/^\w+@/, "").split(/[.[(#/]/)
    const node = nodeOf(state, kind === "output" ? "output" : `${kind ?? ""}.${name ?? ""}`)
    // A step whose question or wait has expired counts as done until the run fails for it.
    if (node === undefined || (isOver(node) && kind !== "ask" && kind !== "wait")) continue
    node.error = error
    endNode(node, "failed", at, null)
  }
}
