import { askedQuestion } from "../asked-question.ts"
import type {
  ElicitationReplayData,
  ModelCallReplayData,
  TurnReplayData,
  WorkflowCallReplayData,
} from "../replay-data.ts"
import {
  placeKey,
  type AnsweredTurn,
  type AskedByServer,
  type CallOutcome,
  type CallReplayState,
  type QuestionOutcome,
  type QuestionReplayState,
} from "../replay-state.ts"
import { readMessages } from "../stored-messages.ts"
import { replayData, type OpenCall, type ReplayHandlers, type ReplayScope } from "./replay-scope.ts"

/** Calls of tools and workflows, reads and renders, and the questions about them. */
export const callHandlers: ReplayHandlers = {
  tool_call_started(scope, event, at) {
    const { tool, call_id, agent } = event.data
    callOf(scope, call_id, tool, replayData(event), event.data, agent).startedAt = at
  },
  hosted_tool_used({ consumption }, { data }) {
    consumption.toolCalls(data.agent, 1)
  },
  tool_call_continued(scope, { data }) {
    const open = scope.openCalls.get(data.call_id)
    // From here on the server may have acted on the answers.
    if (open !== undefined) open.call.asked = null
  },
  tool_call_completed(scope, event) {
    const { result = event.data.result, parts } = replayData(event) ?? {}
    callEnded(scope, event.data.call_id, {
      kind: "completed",
      result,
      ...(parts === undefined ? {} : { parts }),
    })
  },
  tool_call_failed(scope, event) {
    const more = replayData(event)
    callEnded(scope, event.data.call_id, {
      kind: "failed",
      error: event.data.error,
      modelText: more?.told ?? null,
      refused: more?.refused ?? false,
    })
  },
  workflow_call_started(scope, event, at) {
    const { call_id, scope: inside = "", agent, iteration } = event.data
    const { file, call } = replayData(event) ?? { file: null }
    workflowCallOf(scope, call_id, inside, call, agent, iteration).startedAt = at
    const inner = scope.state.inside.get(inside)
    if (inner !== undefined) Object.assign(inner, { startedAt: at, file })
  },
  workflow_call_completed({ state }, event) {
    const call = state.workflowCalls.get(event.data.scope ?? "")
    const result = replayData(event)?.output ?? event.data.output
    if (call !== undefined) call.outcome = { kind: "completed", result }
  },
  workflow_call_failed({ state }, { data: { scope = "", error } }) {
    const call = state.workflowCalls.get(scope)
    if (call !== undefined) call.outcome = { kind: "failed", error, modelText: error.message, refused: false }
  },
  resource_read(scope, event) {
    // A read without replay data was made by a model, and is a tool call.
    const read = replayData(event)
    if (read === undefined) return
    scope.state.effects.set(read.site, { kind: "read", value: read.value, facts: read.facts })
    scope.consumption.toolCalls(read.agent, 1)
  },
  prompt_rendered({ state }, event) {
    const rendered = replayData(event)
    if (rendered === undefined) return
    const { site, messages, facts } = rendered
    state.effects.set(site, { kind: "render", messages, facts })
  },
  question_asked(scope, event) {
    const { call_id } = event.data
    const asked = askedQuestion(event.data)
    const more = replayData(event)
    const requirements = more !== undefined && "place" in more ? more.requirements?.facts : undefined
    const question: QuestionReplayState = { asked, outcome: null, ...(requirements !== undefined && { requirements }) }
    scope.state.questions.set(asked.id, question)
    if (more === undefined) return
    if ("place" in more) scope.state.asks.set(more.place, question)
    else if (call_id !== undefined && more.scope !== undefined) {
      const { call, scope: inside, agent } = more
      const byModel = "turn" in call ? call : undefined
      workflowCallOf(scope, call_id, inside, byModel, agent, asked.iteration).questions.push(question)
    } else if (call_id !== undefined) {
      const call = callOf(scope, call_id, asked.name, more.call, asked, more.agent)
      if (more.elicitation === undefined) call.questions.push(question)
      else askedBy(call, more.elicitation).questions.set(more.elicitation.key, question)
    }
  },
  question_answered(scope, { data: { id, answer } }) {
    questionSettled(scope, id, { kind: "answered", answer })
  },
  question_expired(scope, { data }) {
    questionSettled(scope, data.id, { kind: "expired" })
  },
  question_withdrawn({ state }, { data: { id } }) {
    const question = state.questions.get(id)
    state.questions.delete(id)
    for (const [place, asked] of state.asks) if (asked === question) state.asks.delete(place)
  },
}

function questionSettled({ state }: ReplayScope, id: string, outcome: QuestionOutcome): void {
  const question = state.questions.get(id)
  if (question !== undefined) question.outcome = outcome
}

/** The call, which counts from the first time that the log speaks of it. */
function callOf(
  scope: ReplayScope,
  callId: string,
  tool: string,
  more: ModelCallReplayData | WorkflowCallReplayData | undefined,
  { iteration, items }: { readonly iteration?: number; readonly items?: readonly number[] },
  agent: string | undefined,
): CallReplayState {
  const known = scope.openCalls.get(callId)
  if (known !== undefined) return known.call
  const call: CallReplayState = { callId, startedAt: null, questions: [], asked: null, outcome: null }
  const site = more !== undefined && "site" in more ? more.site : null
  const open = { call, tool, site, agent }
  scope.openCalls.set(callId, open)
  countCall(scope, open, 1)
  if (more === undefined) return call
  if ("site" in more) {
    scope.state.effects.set(placeKey(more.site, iteration, items), { kind: "call", call, facts: more.facts })
  } else if (agent !== undefined) addToTurn(scope, call, more, agent, iteration)
  return call
}

/** A call that a model made belongs to its turn. */
function addToTurn(
  scope: ReplayScope,
  call: CallReplayState,
  more: ModelCallReplayData,
  agent: string,
  iteration: number | undefined,
): void {
  if (more.answer !== undefined) scope.consumption.modelCallsEnded({ agent, iteration }, more.answer.calls)
  const { turns } = scope.agent({ agent, iteration })
  let turn = turns.get(more.turn)
  if (turn === undefined && more.answer !== undefined) {
    turn = { answer: readTurn(more.answer), calls: new Map() }
    turns.set(more.turn, turn)
  }
  turn?.calls.set(more.index, call)
}

/** The call of a workflow, from the first time that the log speaks of it. It counts as no tool call. */
function workflowCallOf(
  scope: ReplayScope,
  callId: string,
  inside: string,
  more: ModelCallReplayData | undefined,
  agent: string | undefined,
  iteration: number | undefined,
): CallReplayState {
  const { workflowCalls } = scope.state
  const known = workflowCalls.get(inside)
  if (known !== undefined) return known
  const call: CallReplayState = { callId, scope: inside, startedAt: null, questions: [], asked: null, outcome: null }
  workflowCalls.set(inside, call)
  if (more !== undefined && agent !== undefined) addToTurn(scope, call, more, agent, iteration)
  return call
}

function countCall({ state, consumption }: ReplayScope, { tool, site, agent }: OpenCall, by: 1 | -1): void {
  const { toolCalls, siteCalls } = state
  toolCalls.set(tool, (toolCalls.get(tool) ?? 0) + by)
  if (site !== null) siteCalls.set(site, (siteCalls.get(site) ?? 0) + by)
  consumption.toolCalls(agent, by)
}

function callEnded(scope: ReplayScope, callId: string, outcome: CallOutcome): void {
  const open = scope.openCalls.get(callId)
  if (open === undefined) return
  open.call.outcome = outcome
  if (outcome.kind === "failed" && outcome.refused) countCall(scope, open, -1)
  scope.openCalls.delete(callId)
}

function askedBy(call: CallReplayState, { round, state }: ElicitationReplayData): AskedByServer {
  if (call.asked?.round !== round) call.asked = { round, state: state ?? null, questions: new Map() }
  return call.asked
}

function readTurn({ message, usage, calls, tool_calls, withdrawn }: TurnReplayData): AnsweredTurn {
  const parts = readMessages(message).flatMap((message) => (message.role === "assistant" ? message.parts : []))
  const answer = { message: { role: "assistant", parts }, usage, calls, tool_calls } as const
  return withdrawn === undefined ? answer : { ...answer, withdrawn }
}
