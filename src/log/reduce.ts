import { scopeAround } from "../plan/call-scope.ts"
import { eventTaker } from "./event-handlers.ts"
import type { Usage } from "./events.ts"
import { batchHandlers } from "./reduce/batches.ts"
import { callHandlers } from "./reduce/calls.ts"
import { countUse } from "./reduce/limits.ts"
import { failBlamedNodes } from "./reduce/nodes.ts"
import { listQuestion, questionHandlers, settleListed } from "./reduce/questions.ts"
import { waitHandlers } from "./reduce/waits.ts"
import { reportedUsage } from "./reduce/reported-calls.ts"
import { finish, runHandlers } from "./reduce/run.ts"
import { stepHandlers } from "./reduce/steps.ts"
import { initialState, type RunState, type SeenEvent } from "./run-state.ts"
import { addUsage, showUsage } from "./usage.ts"
import { usageAfter } from "./usage-after.ts"

const take = eventTaker<RunState, SeenEvent>(
  runHandlers,
  stepHandlers,
  batchHandlers,
  callHandlers,
  questionHandlers,
  waitHandlers,
)

/** The usage of a run whose cost is not rounded. */
const spentBefore = new WeakMap<RunState, Usage>()

/**
 * Takes one more event into the state, which it changes in place and returns: a run of ten thousand iterations costs the same
 * for each event. An event that the state has already taken in changes nothing.
 */
export function reduce(state: RunState, event: SeenEvent): RunState {
  if (event.id <= state.last_event_id) return state
  state.last_event_id = event.id
  if (state.status === "queued") state.status = "running"
  const at = event.data.at === undefined ? null : Date.parse(event.data.at)
  if (at !== null) state.started_at ??= at
  const spent = usageAfter(spentBefore.get(state) ?? state.usage, event)
  spentBefore.set(state, spent)
  const { scope } = event.data
  if (scope === undefined) take(state, event, at ?? state.started_at ?? 0)
  else takeInside(state, scope, event, at ?? state.started_at ?? 0)
  const open = state.finished_at === null ? reportedInAll(state) : null
  state.usage = showUsage(open === null ? spent : addUsage(spent, open))
  if (state.limits !== null) countUse(state, event, at)
  return state
}

/** The usage of calls in steps that have not ended, including steps of called workflows. */
function reportedInAll(state: RunState): Usage | null {
  const own = reportedUsage(state)
  if (state.inside === undefined) return own
  return Object.values(state.inside).reduce<Usage | null>((sum, inner) => {
    const more = inner.finished_at === null ? reportedUsage(inner) : null
    return more === null ? sum : sum === null ? more : addUsage(sum, more)
  }, own)
}

/** An event of a called workflow changes the state of the call; that of the run has its questions and its use, too. */
function takeInside(state: RunState, scope: string, event: SeenEvent, at: number): void {
  const around = scopeAround(scope)
  const outer = around === null ? state : stateInside(state, around)
  const inner = stateInside(state, scope)
  switch (event.type) {
    case "workflow_call_started":
      inner.status = "running"
      inner.started_at ??= at
      take(outer, event, at)
      return
    case "workflow_call_completed":
      inner.output = event.data.output
      inner.usage = event.data.usage
      finish(inner, "completed", at, event.data.duration_ms)
      take(outer, event, at)
      return
    case "workflow_call_failed":
      inner.error = event.data.error
      failBlamedNodes(inner, event.data.error, at)
      cancelInside(state, inner, at)
      finish(inner, "failed", at, event.data.duration_ms)
      take(outer, event, at)
      return
    case "question_asked":
      listQuestion(state, event.data)
      break
    case "question_answered": {
      const { id, answer, answered_by } = event.data
      settleListed(state, id, { status: "answered", answer, answered_by })
      break
    }
    case "question_expired":
      settleListed(state, event.data.id, { status: "expired" })
      break
    default:
      inner.usage = showUsage(usageAfter(inner.usage, event))
  }
  take(inner, event, at)
}

/** The failure of a call ends the calls that are open in it, of which the log says nothing more. */
function cancelInside(state: RunState, failed: RunState, at: number): void {
  for (const position of Object.values(failed.index.spans)) {
    const { scope } = failed.spans[position] ?? {}
    const inner = scope === undefined ? undefined : state.inside?.[scope]
    if (inner === undefined || inner.finished_at !== null) continue
    cancelInside(state, inner, at)
    finish(inner, "cancelled", at, at - (inner.started_at ?? at))
  }
}

function stateInside(state: RunState, scope: string): RunState {
  state.inside ??= {}
  return (state.inside[scope] ??= initialState())
}
