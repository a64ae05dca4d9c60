import type { AgentNode } from "../../plan/plan-shape.ts"
import type { Scope } from "../evaluate.ts"
import type { Effects } from "../evaluate-effects.ts"
import type { ModelCallRecord } from "../../log/events.ts"
import type { AgentPast } from "../../log/past.ts"
import type { RunContext } from "../run-context.ts"
import type { Caller } from "./agent-tools.ts"

/** One step of an agent, as its parts share it. */
export interface StepContext {
  readonly running: RunContext
  readonly node: AgentNode
  /** What the log of an interrupted run says about the step. */
  readonly past: AgentPast | null
  readonly caller: Caller
  readonly effects: Effects
  /** With the step's loop variables and its own dynamic values. */
  readonly scope: Scope
  readonly progress: StepProgress
}

/** What a step has done so far. */
export interface StepProgress {
  /** The turn that is under way; 0 while the history is compacted. */
  turn: number
  calls: readonly ModelCallRecord[]
  /** Memory that is counted until the step ends. */
  keptBytes: number
  /** A fallback model gave the answer, or the summary that the step starts from. */
  fellBack: boolean
}

export function scopeAt({ scope, caller }: StepContext, part: string): Scope {
  return { ...scope, path: `${caller.path}.${part}` }
}

export function addCalls(progress: StepProgress, calls: readonly ModelCallRecord[]): void {
  progress.calls = progress.calls.length === 0 ? calls : [...progress.calls, ...calls]
}

/** Counts memory that the step takes until it ends. */
export function holdMemory({ running, caller, progress }: StepContext, bytes: number): void {
  running.work.keep(bytes, caller.path)
  progress.keptBytes += bytes
}
