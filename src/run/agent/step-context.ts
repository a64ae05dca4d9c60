import type { AgentNode } from "../../plan/plan-shape.ts"
import type { Scope } from "../values/scope.ts"
import type { Effects } from "../values/evaluate-effects.ts"
import type { ModelCallRecord } from "../../log/events.ts"
import type { AgentReplayState } from "../../log/replay-state.ts"
import type { RunContext } from "../context/run-context.ts"
import type { Sent } from "../context/requests.ts"
import type { StoredRequests } from "../../log/stored-requests.ts"
import type { FirstWarms } from "./first-warms.ts"
import type { Caller } from "./agent-tools.ts"

/** One step of an agent, as its parts share it. */
export interface StepContext {
  readonly running: RunContext
  readonly node: AgentNode
  /** What the log of an interrupted run says about the step. */
  readonly past: AgentReplayState | null
  readonly caller: Caller
  readonly effects: Effects
  /** With the step's loop variables and its own dynamic values. */
  readonly scope: Scope
  readonly progress: StepProgress
  /** Lets one item of a loop go ahead of the others. Null outside of loops. */
  readonly warms: FirstWarms | null
}

/** What a step has done so far. */
export interface StepProgress {
  /** The turn that is under way; 0 while the history is compacted. */
  turn: number
  calls: readonly ModelCallRecord[]
  /** Calls of the turn under way that are over. */
  ended: ModelCallRecord[]
  /** Requests that no event has kept yet. */
  sent: Sent[]
  /** Memory that is counted until the step ends. */
  keptBytes: number
  /** A fallback model gave the answer, or the summary that the step starts from. */
  fellBack: boolean
}

export function scopeAt({ scope, caller }: StepContext, part: string): Scope {
  return { ...scope, path: `${caller.path}.${part}` }
}

export function addCalls(progress: StepProgress, calls: readonly ModelCallRecord[]): void {
  progress.ended = progress.ended.filter(({ turn, attempt }) =>
    calls.every((call) => call.turn !== turn || call.attempt !== attempt),
  )
  progress.calls = progress.calls.length === 0 ? calls : [...progress.calls, ...calls]
}

/** `review[2]`, and `triage@dynamic.first/review[2]` in a called workflow: unique within the run. */
export function stepName({ scope }: RunContext, { about: { agent, iteration } }: Caller): string {
  const own = iteration === undefined ? agent : `${agent}[${iteration}]`
  return scope === null ? own : `${scope}/${own}`
}

/** The requests of the step that no event has kept yet, for the next one. */
export function keepRequests({ requests }: RunContext, progress: StepProgress): { readonly requests?: StoredRequests } {
  const kept = requests?.keep(progress.sent)
  progress.sent = []
  return kept === undefined ? {} : { requests: kept }
}

/** Counts memory that the step takes until it ends. */
export function holdMemory({ running, caller, progress }: StepContext, bytes: number): void {
  running.work.keep(bytes, caller.path)
  progress.keptBytes += bytes
}
