import type { Plan } from "../../plan/plan-shape.ts"
import type { RunState } from "../../log/run-state.ts"

/** `asking`: an `ask` with an open question. `begun`: it has begun and not ended. `ahead`: it has not begun. */
export type StepState = "completed" | "asking" | "begun" | "ahead"

/** How the steps of a run stand that is parked: all that could begin has begun. By id, without the output. */
export function stepStates({ nodes }: Plan, state: RunState): ReadonlyMap<string, StepState> {
  const shown = new Map(state.nodes.map((node) => [node.id, node]))
  const states = new Map<string, StepState>()
  for (const { id, kind, depends_on } of nodes) {
    if (kind === "output") continue
    const { state: progress = "waiting", awaits } = shown.get(id) ?? {}
    const canBegin = depends_on.every((one) => states.get(one) === "completed")
    if (progress === "asking") states.set(id, kind === "ask" ? "asking" : "begun")
    else if (progress === "running" || awaits !== undefined) states.set(id, "begun")
    else if (progress !== "waiting") states.set(id, "completed")
    else if (!canBegin) states.set(id, "ahead")
    // A list without items leaves no event.
    else states.set(id, kind === "ask" || kind === "wait" ? "completed" : "begun")
  }
  return states
}
