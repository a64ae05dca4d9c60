import { scopeAround } from "../plan/call-scope.ts"
import type { InterruptedStep, Usage } from "./events.ts"
import { initialState, type RunState, type SeenEvent, type Span } from "./run-state.ts"
import { addUsage, noUsage, showUsage, usageOf } from "./usage.ts"
import { usageAfter } from "./usage-after.ts"
import { countUse } from "./reduce/limits.ts"
import { failBlamedNodes, endNode, isOver, nodeOf, startNode } from "./reduce/nodes.ts"
import { addQuestion, listQuestion, settleListed, settleQuestion } from "./reduce/questions.ts"
import { endCalls, reportCalls, reportedUsage, withoutCounted } from "./reduce/reported-calls.ts"
import {
  agentKey,
  callKey,
  childOf,
  closeSpan,
  addEndedSpan,
  effectOf,
  reusedEffect,
  dynamicKey,
  dynamicSpan,
  loopKey,
  openSpan,
  reusedSpan,
  skippedSpan,
} from "./reduce/spans.ts"

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

/** What calls of steps that have not ended have used, those of called workflows included. */
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

function take(state: RunState, event: SeenEvent, at: number): void {
  switch (event.type) {
    case "workflow_started":
      if (event.data.rerun_of !== undefined) state.rerun_of = event.data.rerun_of
      return
    case "workflow_planned":
      state.limits = event.data.limits ?? null
      for (const node of event.data.nodes) {
        state.index.nodes[node.id] = state.nodes.length
        state.nodes.push({
          ...node,
          state: "waiting",
          started_at: null,
          finished_at: null,
          duration_ms: null,
          model: null,
          usage: noUsage,
          attempts: 0,
          fallbacks: 0,
          tool_calls: 0,
          cached: false,
          loop: null,
          error: null,
        })
      }
      return
    case "agent_started": {
      const { agent, iteration, model, instruction, tool_definitions } = event.data
      const node = startNode(state, `agent.${agent}`, at)
      if (node !== undefined) {
        node.model = model
        if (tool_definitions !== undefined) node.tools = tool_definitions
        node.attempts++
        if (node.loop !== null) node.loop.started++
      }
      const parent = iteration === undefined ? null : (state.index.spans[loopKey(agent)] ?? null)
      openSpan(state, agentKey(agent, iteration), {
        kind: iteration === undefined ? "agent" : "iteration",
        name: agent,
        parent,
        ...(iteration === undefined ? {} : { iteration }),
        start: at,
        end: null,
        state: "running",
        instruction,
      })
      return
    }
    case "agent_delta":
      return
    case "agent_retried": {
      const { agent, iteration, attempt, reason, delay_ms, added, requirements } = event.data
      const node = nodeOf(state, `agent.${agent}`)
      if (node !== undefined) node.attempts++
      state.spans.push({
        kind: "retry",
        name: agent,
        ...childOf(state, agent, iteration),
        start: at,
        end: at + delay_ms,
        state: "completed",
        attempt,
        reason,
        ...(added === undefined ? {} : { messages: added }),
        ...(requirements === undefined ? {} : { requirements }),
      })
      return
    }
    case "model_call_started":
      return
    case "agent_fallback": {
      const { agent, iteration, from, to, error, answer } = event.data
      const node = nodeOf(state, `agent.${agent}`)
      if (node !== undefined) node.fallbacks++
      const parents = childOf(state, agent, iteration)
      const why = { from, error, ...(answer === undefined ? {} : { answer }) }
      state.spans.push({ kind: "fallback", name: to, ...parents, start: at, end: at, state: "completed", ...why })
      return
    }
    case "agent_completed": {
      const { agent, iteration, output, cached, duration_ms, usage, calls } = event.data
      const span = closeSpan(state, agentKey(agent, iteration), at, "completed")
      if (span !== undefined) Object.assign(span, { output, cached, usage })
      const counted = endCalls(state, agent, iteration, calls)
      const node = nodeOf(state, `agent.${agent}`)
      if (node === undefined) return
      node.usage = showUsage(addUsage(node.usage, withoutCounted(usage, counted)))
      if (node.loop === null) {
        node.cached = cached
        endNode(node, "completed", at, duration_ms)
      } else {
        node.cached = cached && (node.cached || node.loop.completed === 0)
        node.loop.completed++
      }
      return
    }
    case "agent_failed": {
      const { agent, iteration, error, answer, duration_ms, calls } = event.data
      const span = closeSpan(state, agentKey(agent, iteration), at, "failed")
      if (span !== undefined) Object.assign(span, { error }, answer === undefined ? {} : { answer })
      const counted = endCalls(state, agent, iteration, calls, "failed")
      const spent = withoutCounted(usageOf(calls), counted)
      const node = nodeOf(state, `agent.${agent}`)
      if (node === undefined) return
      node.usage = showUsage(addUsage(node.usage, spent))
      node.error ??= error
      endNode(node, "failed", at, node.loop === null ? duration_ms : null)
      return
    }
    case "step_skipped": {
      const { step, iteration, error, site } = event.data
      const node = nodeOf(state, step)
      // A call that failed leaves the step as it is: its own event says so.
      if (node === undefined || site !== undefined) return
      if (error === undefined) skippedSpan(state, node, iteration, at)
      else if (iteration === undefined) closeSpan(state, agentKey(node.name, undefined), at, "skipped")
      if (iteration === undefined) {
        node.started_at ??= at
        endNode(node, "skipped", at, null)
      } else {
        if (node.loop !== null) node.loop.skipped++
        // One item has failed; the loop goes on.
        if (error !== undefined)
          Object.assign(node, { state: "running", finished_at: null, duration_ms: null, error: null })
      }
      return
    }
    case "step_reused": {
      const { step, iteration } = event.data
      const node = nodeOf(state, step)
      if (node === undefined) {
        if (event.data.site !== undefined) reusedEffect(state, event.data, at)
        return
      }
      reusedSpan(state, node, event.data, at)
      node.reused = (node.reused ?? 0) + 1
      if (iteration === undefined) {
        node.started_at ??= at
        endNode(node, "completed", at, 0)
      } else if (node.loop !== null) {
        node.loop.started++
        node.loop.completed++
      }
      return
    }
    case "agent_loop_started": {
      const { agent, iterations } = event.data
      const node = startNode(state, `agent.${agent}`, at)
      if (node !== undefined) node.loop = { total: iterations, started: 0, completed: 0, skipped: 0 }
      openSpan(state, loopKey(agent), {
        kind: "loop",
        name: agent,
        parent: null,
        start: at,
        end: null,
        state: "running",
      })
      return
    }
    case "agent_loop_completed": {
      const { agent, duration_ms } = event.data
      closeSpan(state, loopKey(agent), at, "completed")
      const node = nodeOf(state, `agent.${agent}`)
      if (node !== undefined) endNode(node, "completed", at, duration_ms)
      return
    }
    case "context_compacted": {
      const { agent, iteration, source, summary, duration_ms, usage } = event.data
      const node = nodeOf(state, `agent.${agent}`)
      if (node !== undefined) node.usage = showUsage(addUsage(node.usage, usage))
      addEndedSpan(state, "compaction", source, agent, iteration, at, duration_ms, {
        usage,
        ...(summary === undefined ? {} : { result: summary }),
      })
      return
    }
    case "mcp_server_connected":
      addEndedSpan(state, "connection", event.data.server, undefined, undefined, at, event.data.duration_ms, {})
      return
    case "tool_call_started": {
      const { agent, dynamic, iteration, tool, server, call_id, calls } = event.data
      if (agent !== undefined && calls !== undefined) reportCalls(state, agent, iteration, calls)
      const node = startNode(state, agent === undefined ? `dynamic.${dynamic ?? ""}` : `agent.${agent}`, at)
      if (node !== undefined) node.tool_calls++
      const parents = childOf(state, agent, iteration)
      openSpan(state, callKey(call_id), {
        kind: "tool_call",
        name: tool,
        ...parents,
        parent: dynamic === undefined ? parents.parent : dynamicSpan(state, dynamic, agent, iteration, at),
        start: at,
        end: null,
        state: "running",
        server,
        call_id,
        arguments: event.data.arguments,
        ...effectOf(event.data, {}),
      })
      return
    }
    case "tool_call_completed": {
      const span = closeSpan(state, callKey(event.data.call_id), at, "completed")
      if (span !== undefined) span.result = event.data.result
      if (span !== undefined && event.data.http !== undefined) span.http = event.data.http
      return
    }
    case "tool_call_failed": {
      const span = closeSpan(state, callKey(event.data.call_id), at, "failed")
      if (span !== undefined) span.error = event.data.error
      if (span !== undefined && event.data.http !== undefined) span.http = event.data.http
      return
    }
    case "workflow_call_started": {
      const { agent, dynamic, iteration, workflow, call_id, calls, scope, input } = event.data
      if (agent !== undefined && calls !== undefined) reportCalls(state, agent, iteration, calls)
      startNode(state, agent === undefined ? `dynamic.${dynamic ?? ""}` : `agent.${agent}`, at)
      const parents = childOf(state, agent, iteration)
      openSpan(state, callKey(call_id), {
        kind: "workflow_call",
        name: workflow,
        ...parents,
        parent: dynamic === undefined ? parents.parent : dynamicSpan(state, dynamic, agent, iteration, at),
        start: at,
        end: null,
        state: "running",
        call_id,
        ...(scope === undefined ? {} : { scope }),
        arguments: input,
        ...effectOf(event.data, {}),
      })
      return
    }
    case "workflow_call_completed": {
      const { output, usage } = event.data
      const span = closeSpan(state, callKey(event.data.call_id), at, "completed")
      if (span !== undefined) Object.assign(span, { result: output, usage })
      return
    }
    case "workflow_call_failed": {
      const span = closeSpan(state, callKey(event.data.call_id), at, "failed")
      if (span !== undefined) span.error = event.data.error
      return
    }
    case "resource_read":
    case "prompt_rendered": {
      const kind = event.type === "resource_read" ? "resource" : "prompt"
      const gave = event.type === "resource_read" ? { result: event.data.value } : { messages: event.data.messages }
      const { name, site, iteration, duration_ms } = event.data
      const agent = site === undefined ? undefined : /^agent\.([^./ ]+)/.exec(site)?.[1]
      addEndedSpan(state, kind, name, agent, iteration, at, duration_ms, effectOf(event.data, gave))
      return
    }
    case "dynamic_resolved": {
      const { name, agent, iteration, duration_ms } = event.data
      const key = dynamicKey(name, agent, iteration)
      const span = closeSpan(state, key, at, "completed")
      if (span === undefined) addEndedSpan(state, "dynamic", name, agent, iteration, at, duration_ms, {})
      else span.start = Math.min(span.start, at - duration_ms)
      delete state.index.spans[key]
      const node = agent === undefined ? nodeOf(state, `dynamic.${name}`) : undefined
      if (node === undefined) return
      node.started_at ??= at - duration_ms
      endNode(node, "completed", at, duration_ms)
      return
    }
    case "cache_degraded":
    case "tool_call_continued":
      return
    case "question_asked":
      addQuestion(state, event.data, at)
      return
    case "question_answered": {
      const { id, answer, answered_by } = event.data
      settleQuestion(state, id, at, { status: "answered", answer, answered_by })
      return
    }
    case "question_expired":
      settleQuestion(state, event.data.id, at, { status: "expired" })
      return
    case "run_waiting":
      state.status = "waiting"
      return
    case "run_continued":
      state.status = "running"
      return
    case "run_resumed":
      state.resumed++
      return
    case "workflow_completed":
      state.output = event.data.output.result
      finish(state, "completed", at, event.data.duration_ms)
      return
    case "workflow_failed":
      state.error = event.data.error
      interruptSteps(state, event.data.interrupted)
      failBlamedNodes(state, event.data.error, at)
      finish(state, "failed", at, event.data.duration_ms)
      return
    case "workflow_cancelled":
      interruptSteps(state, event.data.interrupted)
      finish(state, "cancelled", at, event.data.duration_ms)
      return
    default:
      // A newer service's event: nothing to do with it here.
      event satisfies never
  }
}

/** The model calls of steps that the end of the run interrupted; their usage is in that of the run. */
function interruptSteps(state: RunState, steps: readonly InterruptedStep[] = []): void {
  const cut = steps.flatMap(({ calls }) => calls).filter((call) => call.cut_off === true).length
  if (cut > 0) state.cut_off = cut
  for (const { agent, iteration, calls, scope } of steps) {
    if (scope !== undefined) {
      const inner = state.inside?.[scope]
      if (inner !== undefined) interruptSteps(inner, [{ agent, calls, ...(iteration !== undefined && { iteration }) }])
      continue
    }
    const key = agentKey(agent, iteration)
    const position = state.index.spans[key]
    const counted = endCalls(state, agent, iteration, calls, "cancelled")
    // It is closed with all others.
    if (position !== undefined) state.index.spans[key] = position
    const usage = usageOf(calls)
    const span = position === undefined ? undefined : state.spans[position]
    if (span !== undefined) span.usage = usage
    const node = nodeOf(state, `agent.${agent}`)
    if (node !== undefined) node.usage = showUsage(addUsage(node.usage, withoutCounted(usage, counted)))
  }
}

function finish(state: RunState, as: "completed" | "failed" | "cancelled", at: number, duration: number): void {
  for (const inner of Object.values(state.inside ?? {})) {
    // A call that the end of the run interrupted.
    if (inner.finished_at === null) finish(inner, "cancelled", at, at - (inner.started_at ?? at))
  }
  state.status = as
  state.finished_at = at
  state.duration_ms = duration
  for (const node of state.nodes) {
    delete node.asking
    if (as === "completed") {
      if (!isOver(node)) endNode(node, "completed", at, node.started_at === null ? 0 : null)
    } else if (node.state === "running" || node.state === "asking") endNode(node, "cancelled", at, null)
  }
  for (const position of Object.values(state.index.spans)) {
    const span = state.spans[position]
    if (span === undefined || span.end !== null) continue
    span.end = at
    span.state = as === "completed" ? "completed" : hasFailed(state, span) ? "failed" : "cancelled"
  }
  state.index.spans = {}
  for (const position of Object.values(state.index.questions)) {
    const question = state.questions[position]
    if (question !== undefined) state.questions[position] = { ...question, status: "withdrawn" }
  }
  state.index.questions = {}
}

/** Whether the span is that of a whole node that failed: a loop that ended with an item, a value whose tool failed. */
function hasFailed(state: RunState, { kind, name, parent }: Span): boolean {
  if (parent !== null) return false
  return nodeOf(state, `${kind === "loop" ? "agent" : kind}.${name}`)?.state === "failed"
}
