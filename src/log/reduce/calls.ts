import type { EventData } from "../events.ts"
import type { RunState, ShownHandlers, Span } from "../run-state.ts"
import { endNode, nodeOf, startNode } from "./nodes.ts"
import { reportCalls } from "./reported-calls.ts"
import { addEndedSpan, callKey, childOf, closeSpan, dynamicKey, dynamicSpan, effectOf, openSpan } from "./spans.ts"

/** Calls of tools and workflows, reads and renders, and the values that they are made for. */
export const callHandlers: ShownHandlers = {
  mcp_server_connected(state, { data }, at) {
    addEndedSpan(state, "connection", data.server, undefined, undefined, at, data.duration_ms, {})
  },
  tool_call_started(state, { data }, at) {
    const { agent, dynamic, iteration, tool, server, call_id, calls } = data
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
      arguments: data.arguments,
      ...effectOf(data, {}),
    })
  },
  tool_call_completed(state, { data }, at) {
    const span = closeSpan(state, callKey(data.call_id), at, "completed")
    if (span !== undefined) span.result = data.result
    if (span !== undefined && data.http !== undefined) span.http = data.http
  },
  tool_call_failed(state, { data }, at) {
    const span = closeSpan(state, callKey(data.call_id), at, "failed")
    if (span !== undefined) span.error = data.error
    if (span !== undefined && data.http !== undefined) span.http = data.http
  },
  workflow_call_started(state, { data }, at) {
    const { agent, dynamic, iteration, workflow, call_id, calls, scope, input } = data
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
      ...effectOf(data, {}),
    })
  },
  workflow_call_completed(state, { data }, at) {
    const { output, usage, logs } = data
    const span = closeSpan(state, callKey(data.call_id), at, "completed")
    if (span !== undefined) Object.assign(span, { result: output, usage }, logs === undefined ? {} : { logs })
  },
  workflow_call_failed(state, { data }, at) {
    const span = closeSpan(state, callKey(data.call_id), at, "failed")
    if (span !== undefined) span.error = data.error
  },
  resource_read(state, { data }, at) {
    addRead(state, "resource", data, effectOf(data, { result: data.value }), at)
  },
  prompt_rendered(state, { data }, at) {
    addRead(state, "prompt", data, effectOf(data, { messages: data.messages }), at)
  },
  dynamic_resolved(state, { data }, at) {
    const { name, agent, iteration, logs, duration_ms } = data
    const wrote = logs === undefined ? {} : { logs }
    const key = dynamicKey(name, agent, iteration)
    const span = closeSpan(state, key, at, "completed")
    if (span === undefined) addEndedSpan(state, "dynamic", name, agent, iteration, at, duration_ms, wrote)
    else Object.assign(span, wrote, { start: Math.min(span.start, at - duration_ms) })
    delete state.index.spans[key]
    const node = agent === undefined ? nodeOf(state, `dynamic.${name}`) : undefined
    if (node === undefined) return
    node.started_at ??= at - duration_ms
    endNode(node, "completed", at, duration_ms)
  },
}

function addRead(
  state: RunState,
  kind: "resource" | "prompt",
  { name, site, iteration, duration_ms }: EventData["resource_read" | "prompt_rendered"],
  gave: Partial<Span>,
  at: number,
): void {
  const agent = site === undefined ? undefined : /^agent\.([^./ ]+)/.exec(site)?.[1]
  addEndedSpan(state, kind, name, agent, iteration, at, duration_ms, gave)
}
