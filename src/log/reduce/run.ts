import type { InterruptedStep } from "../events.ts"
import type { RunState, ShownHandlers, Span } from "../run-state.ts"
import { addUsage, noUsage, showUsage, usageOf } from "../usage.ts"
import { readWaitingFor } from "../waiting-for.ts"
import { endNode, failBlamedNodes, isOver, nodeOf } from "./nodes.ts"
import { endCalls, withoutCounted } from "./reported-calls.ts"
import { agentKey } from "./spans.ts"

/** The run as a whole: its plan, its waits and its end. */
export const runHandlers: ShownHandlers = {
  workflow_started(state, { data }) {
    if (data.rerun_of !== undefined) state.rerun_of = data.rerun_of
  },
  workflow_planned(state, { data }) {
    state.limits = data.limits ?? null
    // A run that has moved keeps what its steps have done.
    const before = new Map(state.nodes.map((node) => [node.id, node]))
    state.index.nodes = {}
    state.nodes = []
    for (const node of data.nodes) {
      state.index.nodes[node.id] = state.nodes.length
      const known = before.get(node.id)
      if (known?.kind === node.kind) {
        state.nodes.push({ ...known, ...node })
        continue
      }
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
  },
  run_waiting(state, { data: { questions, batches, waits, budget } }) {
    state.status = "waiting"
    state.waiting_for = readWaitingFor({ questions, batches, waits, ...(budget !== undefined && { budget }) })
  },
  run_continued(state) {
    state.status = "running"
    delete state.waiting_for
  },
  run_moved(state, { data }) {
    state.moved_from = data.from
  },
  run_resumed(state) {
    state.resumed++
  },
  workflow_completed(state, { data }, at) {
    state.output = data.output.result
    finish(state, "completed", at, data.duration_ms)
  },
  workflow_failed(state, { data }, at) {
    state.error = data.error
    interruptSteps(state, data.interrupted)
    failBlamedNodes(state, data.error, at)
    finish(state, "failed", at, data.duration_ms)
  },
  workflow_cancelled(state, { data }, at) {
    interruptSteps(state, data.interrupted)
    finish(state, "cancelled", at, data.duration_ms)
  },
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

export function finish(state: RunState, as: "completed" | "failed" | "cancelled", at: number, duration: number): void {
  for (const inner of Object.values(state.inside ?? {})) {
    // A call that the end of the run interrupted.
    if (inner.finished_at === null) finish(inner, "cancelled", at, at - (inner.started_at ?? at))
  }
  state.status = as
  delete state.waiting_for
  state.finished_at = at
  state.duration_ms = duration
  for (const node of state.nodes) {
    const { awaits } = node
    delete node.asking
    delete node.awaits
    if (as === "completed") {
      if (!isOver(node)) endNode(node, "completed", at, node.started_at === null ? 0 : null)
    } else if (node.state === "running" || node.state === "asking" || awaits !== undefined)
      endNode(node, "cancelled", at, null)
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
