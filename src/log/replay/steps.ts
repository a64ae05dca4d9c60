import type { JsonValue } from "../../base/json-value.ts"
import type { ReplayData, ReuseReplayData } from "../replay-data.ts"
import { placeKey, type CallReplayState, type StepOutcome } from "../replay-state.ts"
import { readMessages } from "../stored-messages.ts"
import { readProgress } from "../turn-progress.ts"
import { replayData, type ReplayHandlers, type ReplayScope } from "./replay-scope.ts"

type StepReplayData = ReplayData<"agent_completed"> | Exclude<ReuseReplayData, { readonly site: string }>

/** Agents, their turns and loops, and steps that were skipped or reused. */
export const stepHandlers: ReplayHandlers = {
  agent_started(scope, { data }, at) {
    scope.agent(data).startedAt = at
    const { agentTimes } = scope.state
    if (!agentTimes.has(data.agent)) agentTimes.set(data.agent, { startedAt: at, endedAt: null })
  },
  model_call_started(scope, { data }) {
    scope.consumption.modelCallBegan(data)
    const { begun } = scope.agent(data)
    const before = begun.get(data.turn)
    begun.set(data.turn, {
      progress: before?.progress ?? null,
      attempts: Math.max(before?.attempts ?? 0, data.attempt),
    })
  },
  agent_retried(scope, event) {
    const { turn, progress } = replayData(event) ?? { turn: 1 }
    const { begun } = scope.agent(event.data)
    begun.set(turn, {
      attempts: event.data.attempt - 1,
      progress: progress === undefined ? null : readProgress(begun.get(turn)?.progress ?? null, progress),
    })
    scope.consumption.modelCallsEnded(event.data, progress?.new_calls ?? [])
    leavesBatch(scope, event.data)
  },
  agent_delta(scope, { data }) {
    scope.state.answered.add(data.agent)
    // Pieces of an answer that broke off: what the same question brings now is another attempt.
    const { begun, turns } = scope.agent(data)
    const turn = turns.size + 1
    begun.set(turn, { progress: begun.get(turn)?.progress ?? null, attempts: data.attempt })
  },
  agent_fallback(scope, event) {
    const { agent: name, from, to, error } = event.data
    const { turn, attempts, calls } = replayData(event) ?? { turn: 1, attempts: 0, calls: [] }
    const agent = scope.agent(event.data)
    const fallback = { turn, from, to, error, calls }
    scope.consumption.modelCallsEnded(event.data, calls)
    agent.fallbacks.push(fallback)
    agent.begun.set(turn, { attempts, progress: null })
    const { summaryFallbacks } = scope.state
    if (turn === 0) summaryFallbacks.set(name, [...(summaryFallbacks.get(name) ?? []), fallback])
  },
  agent_completed(scope, event, at) {
    const agent = scope.agent(event.data)
    agent.completed = outcomeOf(event.data.output, replayData(event))
    if (!event.data.cached) scope.state.answered.add(event.data.agent)
    // Nothing of how it came about is asked for again.
    agent.turns = new Map()
    agent.begun = new Map()
    agent.summary = null
    agent.fallbacks = []
    leavesBatch(scope, event.data)
    agentEnded(scope, event.data.agent, at)
  },
  agent_failed(scope, { data }, at) {
    scope.state.answered.add(data.agent)
    scope.state.failures.push({ agent: data.agent, error: data.error })
    scope.agent(data).failed = data.error
    leavesBatch(scope, data)
    agentEnded(scope, data.agent, at)
  },
  context_compacted(scope, event) {
    const { agent } = event.data
    const summary = replayData(event)?.summary ?? null
    scope.agent(event.data).summary = summary
    if (summary !== null) scope.state.summaries.set(agent, summary)
  },
  agent_loop_started({ state }, { data }, at) {
    state.loopsStarted.set(data.agent, at)
  },
  agent_loop_completed({ state }, { data }) {
    state.loopsCompleted.add(data.agent)
  },
  step_skipped({ state }, { data: { step, iteration, site, items, error = null } }) {
    if (site === undefined) state.skipped.set(placeKey(step, iteration), error)
    else state.skippedEffects.set(placeKey(site, iteration, items), error)
  },
  wait_started({ state }, event) {
    const { at: _at, ...started } = event.data
    const wait = { started, outcome: null, facts: replayData(event)?.facts }
    state.waits.set(started.id, wait)
    state.waitSteps.set(placeKey(`wait.${started.name}`, started.iteration), wait)
  },
  wait_ended({ state }, { data: { id, because, output } }) {
    const wait = state.waits.get(id)
    if (wait !== undefined) wait.outcome = { because, ...(output !== undefined && { output }) }
  },
  step_reused(scope, event) {
    const { step, iteration, items, output } = event.data
    const more = replayData(event)
    if (more !== undefined && "site" in more) {
      const { outcome, facts, site } = more
      scope.state.effects.set(
        placeKey(site, iteration, items),
        outcome.kind === "call" ? { kind: "call", call: reusedCall(outcome.value), facts } : { ...outcome, facts },
      )
      return
    }
    const reused = outcomeOf(output, more)
    if (step.startsWith("ask.") || step.startsWith("wait."))
      scope.state.reusedAnswers.set(placeKey(step, iteration), reused)
    else scope.agent({ agent: step.replace(/^agent\./, ""), iteration }).completed = reused
  },
}

function agentEnded({ state }: ReplayScope, agent: string, at: number): void {
  const times = state.agentTimes.get(agent)
  if (times !== undefined) times.endedAt = at
}

/** What came of the item is known, or it is sent once more. */
function leavesBatch({ state }: ReplayScope, { agent, iteration }: { agent: string; iteration?: number }): void {
  if (state.inBatch.size > 0) state.inBatch.delete(placeKey(agent, iteration))
}

function outcomeOf(output: JsonValue, more: StepReplayData | undefined): StepOutcome {
  const history = more?.history === undefined ? null : readMessages(more.history)
  return { output: more?.output ?? output, history, facts: more?.facts }
}

function reusedCall(result: JsonValue): CallReplayState {
  return { callId: "", startedAt: 0, questions: [], asked: null, outcome: { kind: "completed", result } }
}
