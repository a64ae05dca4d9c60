import { askedQuestion } from "../asked-question.ts"
import type { Question } from "../events.ts"
import type { RunState, SeenEvent, ShownHandlers, Span } from "../run-state.ts"
import { endNode, nodeOf, startNode } from "./nodes.ts"
import { reportCalls } from "./reported-calls.ts"
import { callKey, childOf, closeSpan, dynamicSpan, openSpan, questionKey } from "./spans.ts"

export const questionHandlers: ShownHandlers = {
  question_asked: (state, { data }, at) => addQuestion(state, data, at),
  question_answered(state, { data: { id, answer, answered_by } }, at) {
    settleQuestion(state, id, at, { status: "answered", answer, answered_by })
  },
  question_expired: (state, { data }, at) => settleQuestion(state, data.id, at, { status: "expired" }),
  question_withdrawn: (state, { data: { id } }, at) => withdrawQuestion(state, id, at),
}

function addQuestion(state: RunState, data: Extract<SeenEvent, { type: "question_asked" }>["data"], at: number): void {
  const { call_id, agent, dynamic, calls } = data
  const question = askedQuestion(data)
  const { id, kind, name, iteration, items, server } = question
  listQuestion(state, data)
  if (agent !== undefined && calls !== undefined) reportCalls(state, agent, iteration, calls)
  // A server asks during a call, which is known by then; an approval comes before its call.
  const during = kind === "elicitation" ? state.index.spans[callKey(call_id ?? "")] : undefined
  const caller = during === undefined ? undefined : state.spans[during]
  const asker =
    caller === undefined ? (agent === undefined ? `dynamic.${dynamic ?? ""}` : `agent.${agent}`) : stepOf(state, caller)
  const node = startNode(state, kind === "ask" ? `ask.${name}` : asker, at)
  if (node !== undefined) {
    const since = node.asking?.since ?? at
    Object.assign(node, { state: "asking", finished_at: null, duration_ms: null, asking: { kind, since } })
  }
  const parent =
    kind === "ask"
      ? null
      : (during ??
        (dynamic === undefined
          ? childOf(state, agent, iteration).parent
          : dynamicSpan(state, dynamic, agent, iteration, at)))
  const span = parent === null ? undefined : state.spans[parent]
  if (span !== undefined) span.state = "asking"
  openSpan(state, questionKey(id), {
    kind: "ask",
    name,
    parent,
    ...(iteration === undefined ? {} : { iteration }),
    ...(items === undefined ? {} : { items }),
    start: at,
    end: null,
    state: "running",
    ...(call_id === undefined ? {} : { call_id }),
    // The server that asks, not the one whose call is to be approved.
    ...(kind === "elicitation" && server !== undefined ? { server } : {}),
  })
}

/** Adds a question, also one of a called workflow, to those of the run. */
export function listQuestion(state: RunState, data: Extract<SeenEvent, { type: "question_asked" }>["data"]): void {
  const question = askedQuestion(data)
  state.index.questions[question.id] = state.questions.length
  state.questions.push({ ...question, status: "open" })
}

/** Takes the outcome of a question into those of the run. */
export function settleListed(state: RunState, id: string, outcome: Partial<Question>): Question | undefined {
  const position = state.index.questions[id]
  const question = position === undefined ? undefined : state.questions[position]
  if (position === undefined || question === undefined) return undefined
  state.questions[position] = { ...question, ...outcome }
  delete state.index.questions[id]
  return question
}

/** A step has been answered when none of its questions is open. */
function settleQuestion(state: RunState, id: string, at: number, outcome: Partial<Question>): void {
  const question = settleListed(state, id, outcome)
  if (question === undefined) return
  const span = closeSpan(state, questionKey(id), at, outcome.status === "answered" ? "completed" : "failed")
  if (question.kind !== "ask") {
    goOn(state, span)
    return
  }
  const node = nodeOf(state, `ask.${question.name}`)
  if (node === undefined || isAsking(state, question)) return
  endNode(node, "completed", at, null)
  delete node.asking
}

/** The run has moved to another version. The step asks anew, or is gone. */
function withdrawQuestion(state: RunState, id: string, at: number): void {
  const question = settleListed(state, id, { status: "withdrawn" })
  if (question === undefined) return
  closeSpan(state, questionKey(id), at, "cancelled")
  const node = nodeOf(state, `ask.${question.name}`)
  if (node === undefined || isAsking(state, question)) return
  node.state = "waiting"
  delete node.asking
}

/** Whether the step of this question has another one that is open. */
function isAsking(state: RunState, question: Question): boolean {
  return Object.values(state.index.questions).some((position) => {
    const other = state.questions[position]
    return other?.kind === "ask" && other.name === question.name && other.scope === question.scope
  })
}

/** The step that waited for an approval, or for what a server asked, goes on, unless it waits for more. */
function goOn(state: RunState, question: Span | undefined): void {
  if (question === undefined) return
  const open = Object.values(state.index.spans).flatMap((at) => state.spans[at] ?? [])
  const isOpen = (one: Span): boolean => one.kind === "ask" && one.call_id !== undefined && one.end === null
  const step = question.parent === null ? undefined : state.spans[question.parent]
  if (step !== undefined && !open.some((one) => isOpen(one) && one.parent === question.parent)) step.state = "running"
  for (const node of state.nodes) {
    if (node.asking === undefined || node.asking.kind === "ask") continue
    if (open.some((one) => isOpen(one) && stepOf(state, one) === node.id)) continue
    node.state = "running"
    delete node.asking
  }
}

/** The node that a span belongs to. */
function stepOf(state: RunState, span: Span): string {
  let top = span
  for (let at = span.parent; at !== null; at = top.parent) top = state.spans[at] ?? { ...span, parent: null }
  return `${top.kind === "dynamic" ? "dynamic" : "agent"}.${top.name}`
}
