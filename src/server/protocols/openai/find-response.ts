import type { FastifyRequest } from "fastify"
import type { JsonObject } from "../../../base/json-value.ts"
import type { ChatFields } from "../../../check/program.ts"
import { isTerminal, type LogEvent } from "../../../log/events.ts"
import { mayWait } from "../../../plan/may-wait.ts"
import type { Plan } from "../../../plan/plan-shape.ts"
import type { ChatRequest, RunRequest, RunRow } from "../../../ports/store.ts"
import { callerOf, tenantOf } from "../../caller-of.ts"
import type { RouteDependencies } from "../../route-dependencies.ts"
import { waitingFacts } from "../chat/answer-turn.ts"
import { turnEnd, type TurnEnd } from "../chat/follow-reply.ts"
import { questionIn, waitingReply } from "../chat/waiting-reply.ts"
import {
  readResponseId,
  responseId,
  responseObject,
  type ResponseFacts,
  type ResponseState,
} from "./response-object.ts"

/** A response that can be fetched and continued. */
export interface StoredResponse {
  readonly facts: ResponseFacts
  readonly row: RunRow
  readonly run: RunRequest
  readonly plan: Plan
  readonly chat: ChatFields
  /** How the turns of the run have ended so far. */
  readonly ends: readonly LogEvent[]
}

/** Null for a response that is not the caller's, was not stored, or has been deleted. */
export async function findResponse(
  parts: RouteDependencies,
  request: FastifyRequest,
  id: string,
): Promise<StoredResponse | null> {
  const parsed = readResponseId(id)
  if (parsed === null) return null
  const { run_id, turn } = parsed
  const caller = callerOf(request)
  const found = await parts.store.lookup(run_id)
  if (found.found !== "run" || found.run.caller !== caller) return null
  const { run: row } = found
  const run = await parts.store.request(run_id)
  if (run.chat?.api !== "responses" || !run.chat.store || run.workflow === undefined) return null
  const compiled = await parts.planOf(run, tenantOf(request))
  const plan = "error" in compiled ? undefined : compiled.plan
  if (plan?.chat === undefined) return null
  const ends = await turnEnds(parts, row, plan)
  const isOpen = row.finished_at === null && !row.waiting
  if (turn > ends.length + (isOpen ? 1 : 0)) return null
  const asked: ChatRequest = turn === 1 ? run.chat : laterTurn(run.chat, { run_id, turn: turn - 1 })
  const facts = { run_id, turn, created_at: row.created_at, model: run.workflow.name, asked }
  return { facts, row, run, plan, chat: plan.chat, ends }
}

/** A turn that answered a question: what came with the first one is not its own. */
export function laterTurn(first: ChatRequest, before: { readonly run_id: string; readonly turn: number }): ChatRequest {
  const { metadata: _, instructions: __, ...asked } = first
  return { ...asked, previous: responseId(before) }
}

/** How the turns of a run have ended so far. */
export async function turnEnds({ store }: RouteDependencies, row: RunRow, plan: Plan): Promise<LogEvent[]> {
  const { run_id, last_event_id, finished_at } = row
  if (!mayWait(plan)) return finished_at === null ? [] : store.read(run_id, last_event_id - 1, 1)
  const ends: LogEvent[] = []
  let waits = false
  for (let after = 0; after < last_event_id;) {
    const page = await store.read(run_id, after, 500)
    const last = page.at(-1)
    if (last === undefined) break
    for (const event of page) {
      const { type } = event
      if (type === "question_answered" || type === "question_expired") waits = false
      // The questions of the version before are not those of this turn any more.
      if (type === "run_moved") ends.pop()
      if (type !== "run_waiting" && !isTerminal(type)) continue
      // Cancelled before anyone answered: that is how this turn ended.
      if (type === "workflow_cancelled" && waits) ends.pop()
      ends.push(event)
      waits = type === "run_waiting"
    }
    after = last.id
  }
  return ends
}

/** The response as it is now. */
export async function storedObject(
  parts: RouteDependencies,
  request: FastifyRequest,
  { facts, chat, ends, row }: StoredResponse,
): Promise<JsonObject> {
  const event = ends[facts.turn - 1]
  const end = event === undefined ? null : turnEnd(event, chat.reply)
  if (event === undefined || end === null) {
    return responseObject(facts, { status: row.last_event_id === 0 ? "queued" : "in_progress" })
  }
  return responseObject(facts, await endState(parts, request, facts, end, Date.parse(event.at)))
}

export type EndState = Exclude<ResponseState, { readonly status: "queued" | "in_progress" }>

/** How a turn ended, as a response says it. */
export async function endState(
  parts: RouteDependencies,
  request: FastifyRequest,
  { run_id, asked }: ResponseFacts,
  end: TurnEnd,
  completed_at: number,
): Promise<EndState> {
  switch (end.kind) {
    case "completed":
      return { status: "completed", text: end.reply, usage: end.usage, completed_at }
    case "waiting": {
      const { questions, usage, isTextual } = await waitingFacts(parts, request, run_id, end.waitingFor)
      // A response that is not stored has no next message.
      const text = waitingReply(run_id, questions, end.waitingFor, isTextual && asked.store)
      const metadata = questionIn(end.waitingFor)
      return { status: "completed", text, usage, completed_at, metadata }
    }
    case "failed": {
      const { kind, message } = end.error
      const status = kind === "limit_exceeded" ? "incomplete" : "failed"
      return { status, error: { code: kind, message }, usage: end.usage }
    }
    case "cancelled":
      return { status: "cancelled", error: { code: "cancelled", message: "The run was cancelled" }, usage: end.usage }
  }
}
