import type { ModelCallRecord, Usage } from "../events.ts"
import type { RunState } from "../run-state.ts"
import { writtenTokens } from "../money.ts"
import { noUsage, addUsage, hostedUses, usageOf } from "../usage.ts"
import { agentKey, childOf } from "./spans.ts"
import { nodeOf } from "./nodes.ts"

// A step's last event lists all of its model calls. Before that, the first event of each turn that calls tools has the calls of the turn,
// so that they are seen, and counted, while the step waits for tools or people.

interface Reported {
  /** `turn.attempt` of each call. */
  readonly calls: Set<string>
  usage: Usage
}

/** Reported calls of steps that have not ended, by `agentKey`. */
const reported = new WeakMap<RunState, Map<string, Reported>>()

/** Takes in the model calls of a turn of a step that goes on. */
export function reportCalls(
  state: RunState,
  agent: string,
  iteration: number | undefined,
  calls: readonly ModelCallRecord[],
): void {
  const fresh = unreported(state, agent, iteration, calls)
  if (fresh.length === 0) return
  const steps = reported.get(state) ?? new Map<string, Reported>()
  reported.set(state, steps)
  const key = agentKey(agent, iteration)
  const before = steps.get(key) ?? { calls: new Set(), usage: noUsage }
  const added = usageOf(fresh)
  before.usage = addUsage(before.usage, added)
  for (const call of fresh) before.calls.add(nameOf(call))
  steps.set(key, before)
  const node = nodeOf(state, `agent.${agent}`)
  if (node !== undefined) node.usage = addUsage(node.usage, added)
  const span = state.spans[state.index.spans[key] ?? -1]
  if (span !== undefined) span.usage = before.usage
  addModelCalls(state, agent, iteration, fresh, "completed")
}

/** The step has ended: takes in the calls that no event has reported, and returns what was counted for the step until now. */
export function endCalls(
  state: RunState,
  agent: string,
  iteration: number | undefined,
  calls: readonly ModelCallRecord[],
  last: "completed" | "failed" | "cancelled" = "completed",
): Usage {
  const key = agentKey(agent, iteration)
  addModelCalls(state, agent, iteration, unreported(state, agent, iteration, calls), last)
  const counted = reported.get(state)?.get(key)?.usage ?? noUsage
  reported.get(state)?.delete(key)
  // Nothing more is added to this iteration: without this, a long loop would keep ten thousand names.
  if (iteration !== undefined) delete state.index.spans[key]
  return counted
}

/** The usage of calls in steps that have not ended. */
export function reportedUsage(state: RunState): Usage | null {
  const steps = reported.get(state)
  if (steps === undefined || steps.size === 0) return null
  return [...steps.values()].reduce((sum, { usage }) => addUsage(sum, usage), noUsage)
}

/** The usage without what was counted before. */
export function withoutCounted(usage: Usage, counted: Usage): Usage {
  return {
    input_tokens: usage.input_tokens - counted.input_tokens,
    output_tokens: usage.output_tokens - counted.output_tokens,
    cached_tokens: usage.cached_tokens - counted.cached_tokens,
    written_tokens: writtenTokens(usage) - writtenTokens(counted),
    reasoning_tokens: usage.reasoning_tokens - counted.reasoning_tokens,
    ...hostedUses(usage.hosted, counted.hosted, -1),
    cost: usage.cost === null || counted.cost === null ? null : usage.cost - counted.cost,
  }
}

function unreported(
  state: RunState,
  agent: string,
  iteration: number | undefined,
  calls: readonly ModelCallRecord[],
): readonly ModelCallRecord[] {
  const known = reported.get(state)?.get(agentKey(agent, iteration))?.calls
  return known === undefined ? calls : calls.filter((call) => !known.has(nameOf(call)))
}

function nameOf({ turn, attempt }: ModelCallRecord): string {
  return `${turn}.${attempt}`
}

function addModelCalls(
  state: RunState,
  agent: string,
  iteration: number | undefined,
  calls: readonly ModelCallRecord[],
  last: "completed" | "failed" | "cancelled",
): void {
  const parents = childOf(state, agent, iteration)
  for (const [position, call] of calls.entries()) {
    const start = Date.parse(call.started_at)
    // Another call of the same turn follows only where this one's answer could not be used.
    const isRepeated = call.turn === calls[position + 1]?.turn
    const isLast = position === calls.length - 1
    state.spans.push({
      kind: "model_call",
      name: agent,
      ...parents,
      start,
      end: start + call.duration_ms,
      state: call.cut_off === true ? "cancelled" : isRepeated ? "failed" : isLast ? last : "completed",
      call,
      ...(call.usage === undefined ? {} : { usage: call.usage }),
    })
  }
}
