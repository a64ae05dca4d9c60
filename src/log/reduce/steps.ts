import { addUsage, showUsage, usageOf } from "../usage.ts"
import { countBatched } from "./batches.ts"
import { endNode, nodeOf, startNode } from "./nodes.ts"
import { endCalls, withoutCounted } from "./reported-calls.ts"
import {
  addEndedSpan,
  agentKey,
  childOf,
  closeSpan,
  loopKey,
  openSpan,
  reusedEffect,
  reusedSpan,
  skippedSpan,
} from "./spans.ts"
import type { ShownHandlers } from "../run-state.ts"

/** Agents and their loops, and steps that were skipped or reused. */
export const stepHandlers: ShownHandlers = {
  agent_started(state, { data }, at) {
    const { agent, iteration, model, instruction, tool_definitions } = data
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
  },
  agent_retried(state, { data }, at) {
    const { agent, iteration, attempt, reason, delay_ms, added, requirements } = data
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
  },
  hosted_tool_used(state, { data }, at) {
    const { agent, iteration, type, summary } = data
    const node = nodeOf(state, `agent.${agent}`)
    if (node !== undefined) node.tool_calls++
    const parents = childOf(state, agent, iteration)
    state.spans.push({ kind: "hosted_tool", name: type, ...parents, start: at, end: at, state: "completed", summary })
  },
  agent_fallback(state, { data }, at) {
    const { agent, iteration, from, to, error, answer } = data
    const node = nodeOf(state, `agent.${agent}`)
    if (node !== undefined) node.fallbacks++
    const parents = childOf(state, agent, iteration)
    const why = { from, error, ...(answer === undefined ? {} : { answer }) }
    state.spans.push({ kind: "fallback", name: to, ...parents, start: at, end: at, state: "completed", ...why })
  },
  agent_completed(state, { data }, at) {
    const { agent, iteration, output, cached, logs, duration_ms, usage, calls } = data
    const span = closeSpan(state, agentKey(agent, iteration), at, "completed")
    if (span !== undefined) Object.assign(span, { output, cached, usage }, logs === undefined ? {} : { logs })
    const counted = endCalls(state, agent, iteration, calls)
    countBatched(state, calls, "completed")
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
  },
  agent_failed(state, { data }, at) {
    const { agent, iteration, error, answer, logs, duration_ms, calls } = data
    const span = closeSpan(state, agentKey(agent, iteration), at, "failed")
    const said = { ...(answer === undefined ? {} : { answer }), ...(logs === undefined ? {} : { logs }) }
    if (span !== undefined) Object.assign(span, { error }, said)
    const counted = endCalls(state, agent, iteration, calls, "failed")
    countBatched(state, calls, "failed")
    const spent = withoutCounted(usageOf(calls), counted)
    const node = nodeOf(state, `agent.${agent}`)
    if (node === undefined) return
    node.usage = showUsage(addUsage(node.usage, spent))
    node.error ??= error
    endNode(node, "failed", at, node.loop === null ? duration_ms : null)
  },
  step_skipped(state, { data }, at) {
    const { step, iteration, error, site } = data
    const node = nodeOf(state, step)
    // A call that failed leaves the step as it is: its own event says so.
    if (node === undefined || site !== undefined) return
    // The rounds of one that repeats have spans of their own.
    const isOver = iteration === undefined && node.loop !== null
    if (error === undefined && !isOver) skippedSpan(state, node, iteration, at)
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
  },
  step_reused(state, { data }, at) {
    const { step, iteration } = data
    const node = nodeOf(state, step)
    if (node === undefined) {
      if (data.site !== undefined) reusedEffect(state, data, at)
      return
    }
    reusedSpan(state, node, data, at)
    node.reused = (node.reused ?? 0) + 1
    if (iteration === undefined) {
      node.started_at ??= at
      endNode(node, "completed", at, 0)
    } else if (node.loop !== null) {
      node.loop.started++
      node.loop.completed++
    }
  },
  agent_loop_started(state, { data }, at) {
    const { agent, iterations } = data
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
  },
  agent_loop_completed(state, { data }, at) {
    const { agent, duration_ms } = data
    closeSpan(state, loopKey(agent), at, "completed")
    const node = nodeOf(state, `agent.${agent}`)
    if (node === undefined) return
    // The most rounds of an agent that repeats were known before.
    if (node.loop !== null) node.loop.total = data.iterations
    endNode(node, "completed", at, duration_ms)
  },
  context_compacted(state, { data }, at) {
    const { agent, iteration, source, summary, duration_ms, usage } = data
    const node = nodeOf(state, `agent.${agent}`)
    if (node !== undefined) node.usage = showUsage(addUsage(node.usage, usage))
    addEndedSpan(state, "compaction", source, agent, iteration, at, duration_ms, {
      usage,
      ...(summary === undefined ? {} : { result: summary }),
    })
  },
}
