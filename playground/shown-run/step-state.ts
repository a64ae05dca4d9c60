import type { NodeState, RunState, Span } from "../../src/log/run-state.ts"
import type { WireError } from "../../src/log/events.ts"
import type { StateName } from "../ui/state-words.ts"

// What each view calls the state of a step. Graph, timeline, details and the banner ask here, so that none of them can
// contradict another.

/** What the page knows of the run as a whole. */
export interface Known {
  readonly finished_at: number | null
  /** The page lost the connection, so that whatever had not ended may have ended since. */
  readonly isCut?: boolean
}

/** The state of a node of the plan. */
export function nodeState(node: NodeState, { finished_at, isCut = false }: Known): StateName {
  if (isCut && ["waiting", "running", "asking"].includes(node.state)) return "unknown"
  if (node.state === "waiting" && finished_at !== null) return "unreached"
  if (node.state === "completed" && node.cached) return "cached"
  if (node.state === "completed" && node.reused === (node.loop?.total ?? 1)) return "reused"
  if (node.state === "running" && node.loop === null && retriesOf(node) > 0) return "retried"
  return node.state
}

/** The state of a bar of the timeline. */
export function spanState(span: Span, { isCut = false }: Known): StateName {
  if (isCut && span.end === null) return "unknown"
  if (span.kind === "ask" && span.state === "running") return "asking"
  if (span.kind === "wait" && span.state === "running") return "waiting"
  if (span.kind === "retry" || span.kind === "fallback") return "retried"
  if (span.state !== "completed") return span.state
  return span.cached === true ? "cached" : span.reused === true ? "reused" : "completed"
}

/** It has a result, computed in this run or taken over from another. */
export function isDone(state: StateName): boolean {
  return state === "completed" || state === "cached" || state === "reused"
}

/** How often a step was tried again; the first try of each item of a loop is not a retry. */
export function retriesOf({ attempts, loop, reused = 0 }: NodeState): number {
  const first = (loop === null ? 1 : loop.started) - reused
  return attempts === 0 ? 0 : Math.max(0, attempts - first)
}

/** Position of the span whose failure ended the run: an iteration, an agent, a value; undefined where none failed. */
export function failedSpan({ status, error, spans }: RunState): number | undefined {
  if (status !== "failed" || error === null) return undefined
  const at = spans.findIndex((span) => span.error !== undefined && span.state === "failed" && isStep(span, error))
  return at < 0 ? undefined : at
}

function isStep({ kind, name, error }: Span, { message, issues }: WireError): boolean {
  if (kind !== "agent" && kind !== "iteration") return false
  // A limit of the run names no step: the message does.
  const ofStep = new RegExp(`^((options\\.)?limits\\.|agent\\.${name}(?![\\w]))`)
  return error?.message === message && issues.some(({ path }) => ofStep.test(path))
}

/** The place of an error with the item of the loop that failed: `agent.review[17].instruction`. */
export function placeWithItem(path: string, state: RunState): string {
  const at = failedSpan(state)
  const span = at === undefined ? undefined : state.spans[at]
  if (span?.iteration === undefined) return path
  const step = `agent.${span.name}`
  return path === step || path.startsWith(`${step}.`) ? `${step}[${span.iteration}]${path.slice(step.length)}` : path
}
