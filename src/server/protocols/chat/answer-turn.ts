import type { FastifyReply, FastifyRequest } from "fastify"
import type { ChatFields } from "../../../check/program.ts"
import type { ApiError } from "../../../api/error-kinds.ts"
import type { LogEvent, Question, Usage, WaitingFor } from "../../../log/events.ts"
import { usageOf } from "../../../log/usage.ts"
import { callerOf } from "../../caller-of.ts"
import type { RouteDependencies } from "../../route-dependencies.ts"
import { clientGone, clientLeft, unended } from "../../start-run.ts"
import { turnEnd, type TurnEnd } from "./follow-reply.ts"
import type { ReplySource } from "./reply-source.ts"
import { textAnswerOf } from "./waiting-reply.ts"

/** A turn that a run is answering. */
export interface OpenTurn {
  readonly run_id: string
  readonly chat: ChatFields
  readonly source: ReplySource | null
  /** The event of the run that the turn begins after. */
  readonly after: number
  /** The run goes on when the client leaves. */
  readonly goesOn: boolean
  /** How the turn ended, where it has: the run may have gone on since. */
  readonly ended?: LogEvent | undefined
}

export const cancelledError: ApiError = { kind: "cancelled", message: "The run was cancelled", issues: [] }

/** How a turn ends, for an answer in one piece; null when the client has left, which cancels the run. */
export async function awaitTurn(
  parts: RouteDependencies,
  reply: FastifyReply,
  { run_id, chat, goesOn, ended }: OpenTurn,
): Promise<{ readonly end: TurnEnd; readonly at: number } | null> {
  const { gone, stop } = clientGone(reply)
  const event = ended ?? (await parts.runs.ending(run_id, gone))
  stop()
  if (gone.isGiven) {
    if (!goesOn) await clientLeft(parts, reply.request, run_id)
    reply.hijack()
    return null
  }
  const end = event === null ? null : turnEnd(event, chat.reply)
  if (event !== null && end !== null) return { end, at: Date.parse(event.at) }
  throw unended(parts, run_id)
}

/** The client does not want what comes, or cannot use it. */
export async function cancelTurn(parts: RouteDependencies, request: FastifyRequest, run_id: string): Promise<void> {
  if (await parts.runs.cancel(run_id)) parts.audit({ act: "cancelled", run_id, caller: callerOf(request) })
}

/** The questions that a waiting run asks. */
export interface WaitingFacts {
  readonly questions: readonly Question[]
  readonly usage: Usage
  /** There is one question, and a text of this caller can answer it. */
  readonly isTextual: boolean
}

/** More are not shown. */
const maxRead = 20

export async function waitingFacts(
  parts: RouteDependencies,
  request: FastifyRequest,
  run_id: string,
  { questions: ids }: WaitingFor,
): Promise<WaitingFacts> {
  const found = await Promise.all(ids.slice(0, maxRead).map((id) => parts.store.questions.one(run_id, id)))
  const questions = found.filter((question) => question !== null)
  const record = await parts.runs.record(run_id)
  const [only] = questions
  const isTextual =
    ids.length === 1 && only !== undefined && textAnswerOf(only) !== null && mayAnswer(parts, request, only)
  return { questions, usage: record?.state.usage ?? usageOf([]), isTextual }
}

/** The run is the caller's own. */
export function mayAnswer({ groups }: RouteDependencies, request: FastifyRequest, { to }: Question): boolean {
  const caller = callerOf(request)
  return groups.mayAnswer(caller, to, caller)
}
