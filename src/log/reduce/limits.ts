import { callingAgent } from "../../plan/call-scope.ts"
import type { LimitKey, ShownLimits } from "../events.ts"
import type { RunState, SeenEvent } from "../run-state.ts"
import { totalTokens } from "../usage.ts"
import { endedWork } from "../usage-after.ts"

/** When the last event of a run came, and how long no process had the run, in milliseconds. */
const seen = new WeakMap<RunState, number>()
const idle = new WeakMap<RunState, number>()

/** Updates the consumption of a run with limits after an event. */
export function countUse(state: RunState, event: SeenEvent, at: number | null): void {
  const { scope } = event.data
  const caller = scope === undefined ? null : callingAgent(scope.split("/", 1)[0] ?? "")
  const used = (of: string | undefined, key: LimitKey, amount: number): void => {
    if (state.limits === null || amount === 0) return
    // Consumption inside a called workflow counts for the agent that called it.
    const agent = scope === undefined ? of : (caller ?? undefined)
    const { agents, ...run } = state.limits
    const own = agent === undefined || agents === undefined ? undefined : agents[agent]
    state.limits = {
      ...added(run, key, amount),
      ...(agents === undefined ? {} : { agents }),
      ...(own === undefined || agent === undefined ? {} : { agents: { ...agents, [agent]: added(own, key, amount) } }),
    }
  }
  const run = state.limits?.time_seconds
  // Time spent waiting for people, and time between two owners, does not count.
  const isTakenUp = event.type === "run_continued" || event.type === "run_resumed"
  if (isTakenUp && at !== null && seen.has(state)) {
    idle.set(state, (idle.get(state) ?? 0) + at - (seen.get(state) ?? at))
  }
  if (run !== undefined && at !== null && state.started_at !== null) {
    used(undefined, "time_seconds", (at - state.started_at - (idle.get(state) ?? 0)) / 1000 - run.used)
  }
  if (at !== null) seen.set(state, at)
  const work = endedWork(event)
  if (work !== null) {
    used(work.agent, "tokens", totalTokens(work.usage))
    used(work.agent, "cost", work.usage.cost ?? 0)
    showExactCost(state)
  }
  switch (event.type) {
    case "model_call_started":
      return used(event.data.agent, "model_calls", 1)
    case "tool_call_started":
      return used(event.data.agent, "tool_calls", 1)
    case "workflow_completed":
    case "workflow_failed":
    case "workflow_cancelled":
      state.limits = event.data.limits ?? state.limits
      return
    default:
      return
  }
}

/** The costs of steps are rounded, so that the cost of the run is not their sum. */
function showExactCost(state: RunState): void {
  const cost = state.limits?.cost
  if (cost === undefined || state.usage.cost === null) return
  state.limits = { ...state.limits, cost: { ...cost, used: state.usage.cost } }
}

function added<Set extends ShownLimits>(limits: Set, key: LimitKey, amount: number): Set {
  const limit = limits[key]
  if (limit === undefined) return limits
  return { ...limits, [key]: { ...limit, used: Math.round((limit.used + amount) * 1e6) / 1e6 } }
}
