import type { Question } from "../events.ts"
import type { RunState, SeenEvent } from "../run-state.ts"
import { endNode, nodeOf, startNode } from "./nodes.ts"
import { closeSpan, openSpan, questionKey } from "./spans.ts"

export function addQuestion(
  state: RunState,
  data: Extract<SeenEvent, { type: "question_asked" }>["data"],
  at: number,
): void {
  const { call_id, at: _, ...question } = data
  const { id, kind, name, iteration } = question
  state.index.questions[id] = state.questions.length
  state.questions.push({ ...question, status: "open" })
  const node = kind === "ask" ? startNode(state, `ask.${name}`, at) : undefined
  if (node !== undefined) Object.assign(node, { state: "asking", finished_at: null, duration_ms: null })
  openSpan(state, questionKey(id), {
    kind: "ask",
    name,
    parent: null,
    ...(iteration === undefined ? {} : { iteration }),
    start: at,
    end: null,
    state: "running",
    ...(call_id === undefined ? {} : { call_id }),
  })
}

/** A step has been answered when none of its questions is open. */
export function settleQuestion(state: RunState, id: string, at: number, outcome: Partial<Question>): void {
  const position = state.index.questions[id]
  const question = position === undefined ? undefined : state.questions[position]
  if (position === undefined || question === undefined) return
  state.questions[position] = { ...question, ...outcome }
  delete state.index.questions[id]
  closeSpan(state, questionKey(id), at, outcome.status === "answered" ? "completed" : "failed")
  if (question.kind !== "ask") return
  const isOpen = (one: number): boolean => {
    const other = state.questions[one]
    return other?.kind === "ask" && other.name === question.name
  }
  const node = nodeOf(state, `ask.${question.name}`)
  if (node !== undefined && !Object.values(state.index.questions).some(isOpen)) endNode(node, "completed", at, null)
}
