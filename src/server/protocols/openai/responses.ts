import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import * as api from "../../../api/openai.ts"
import { jsonEqual } from "../../../base/json-equal.ts"
import type { JsonObject, JsonValue } from "../../../base/json-value.ts"
import { isTerminal, type LogEvent } from "../../../log/events.ts"
import { readWaitingFor } from "../../../log/waiting-for.ts"
import { mayWait } from "../../../plan/may-wait.ts"
import type { Plan } from "../../../plan/plan-shape.ts"
import type { ChatRequest } from "../../../ports/store.ts"
import { answerAs } from "../../answer-as.ts"
import { asHttpError, sendError } from "../../answer-error.ts"
import { callerOf } from "../../caller-of.ts"
import { corsOf } from "../../cors.ts"
import { refuse, type HttpError } from "../../http-error.ts"
import type { RouteDependencies } from "../../route-dependencies.ts"
import { serve } from "../../serve-route.ts"
import { hasFreeKey } from "../../idempotency-key.ts"
import { admitRun, clientLeft, unended } from "../../start-run.ts"
import { awaitTurn, cancelledError, cancelTurn, mayAnswer, type OpenTurn } from "../chat/answer-turn.ts"
import { inputOf, othersFromTexts, type ChatMessage, type ChatTurn } from "../chat/chat-input.ts"
import { chatRun, type ChatWorkflow } from "../chat/chat-workflow.ts"
import { followReply, turnEnd } from "../chat/follow-reply.ts"
import { replySource } from "../chat/reply-source.ts"
import { readAnswer, textAnswerOf, waitingReply } from "../chat/waiting-reply.ts"
import { noRetry, rejectedError } from "./face-errors.ts"
import {
  flagIn,
  given,
  ignoredFields,
  metadataIn,
  modelIn,
  objectIn,
  refuseFormat,
  refuseForms,
  textIn,
  wrongField,
} from "./fields.ts"
import { endState, findResponse, laterTurn, storedObject, turnEnds, type StoredResponse } from "./find-response.ts"
import { modelOf } from "./models.ts"
import { readMessages } from "./read-messages.ts"
import { ResponseEvents } from "./response-events.ts"
import { responseId, responseObject, type ResponseFacts, type ResponseState } from "./response-object.ts"

/** A conversation continues with at most this many pairs of earlier messages. */
const maxPairs = 100
/** How long a cancel waits for the run's end. */
const cancelMs = 10_000

/** `/v1/responses`: turns with a workflow that are stored, and can be continued. */
export function responseRoutes(app: FastifyInstance, parts: RouteDependencies): void {
  serve(app, api.createResponse, (request, reply) =>
    create(parts, request, reply, request.body as unknown as JsonObject),
  )

  serve(app, api.getResponse, async (request) => {
    const { stream } = request.query as { readonly stream?: string }
    if (stream === "true")
      throw wrongField("stream", "A response that is stored cannot be streamed: leave `stream` out")
    return storedObject(parts, request, await stored(parts, request, request.params.id))
  })

  serve(app, api.deleteResponse, async (request) => {
    const { id } = request.params
    const response = await stored(parts, request, id)
    const { run_id } = response.row
    await cancelAndWait(parts, request, run_id)
    if ((await parts.store.delete(run_id)) === "open")
      throw refuse("conflict", "The run is still being stopped: try again")
    parts.audit({ act: "deleted", run_id, caller: callerOf(request) })
    return { id, object: "response", deleted: true }
  })

  serve(app, api.cancelResponse, async (request) => {
    const { id } = request.params
    const response = await stored(parts, request, id)
    if (!response.facts.asked.background) {
      throw wrongField("id", "Only a response with `background: true` can be cancelled: leaving cancels the others")
    }
    const { run_id } = response.row
    await cancelAndWait(parts, request, run_id)
    return storedObject(parts, request, await stored(parts, request, id))
  })
}

async function cancelAndWait(parts: RouteDependencies, request: FastifyRequest, run_id: string): Promise<void> {
  const { store } = parts
  await cancelTurn(parts, request, run_id)
  const found = await store.lookup(run_id)
  if (found.found !== "run" || found.run.finished_at !== null) return
  for await (const event of store.follow(run_id, found.run.last_event_id, AbortSignal.timeout(cancelMs))) {
    if (isTerminal(event.type)) return
  }
}

async function stored(parts: RouteDependencies, request: FastifyRequest, id: string): Promise<StoredResponse> {
  const found = await findResponse(parts, request, id)
  if (found !== null) return found
  throw refuse("not_found", `There is no response ${id.slice(0, 200)}`)
}

async function create(
  parts: RouteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  body: JsonObject,
): Promise<FastifyReply> {
  const isStream = flagIn(body, "stream") ?? false
  const background = flagIn(body, "background") ?? false
  const store = flagIn(body, "store") ?? true
  if (background && !store)
    throw wrongField("background", "`background` needs `store`: else nobody could fetch the response")
  const instructions = textIn(body, "instructions") ?? null
  const previous = textIn(body, "previous_response_id") ?? null
  const metadata = metadataIn(body)
  refuseForms(body)
  const text = objectIn(body, "text") ?? {}
  refuseFormat(objectIn(text, "format", "text.format"), "text.format")
  const workflow = await modelOf(parts, request, modelIn(body))
  const { plan, chat, name } = workflow
  const { turn, ignores } = readMessages(itemsOf(given(body, "input")), "input", chat, instructions)
  const ignored = [...(ignores ? ["input"] : []), ...ignoredFields(body)]
  if (Object.keys(text).some((name) => name !== "format" && given(text, name) !== undefined)) ignored.push("text")
  if (instructions !== null && chat.system === undefined) ignored.push("instructions")
  const earlier = previous === null ? null : await earlierResponse(parts, request, workflow, previous)
  const isRepeated = earlier !== null && hasKey(request) && (await isAnswer(parts, earlier, turn.message))
  if (earlier !== null && !isRepeated) refuseUnfit(earlier)
  const asked: ChatRequest = { api: "responses", store, background, metadata, instructions, previous }
  const source = replySource(plan)
  const headers: Record<string, string> = {}
  const sendHeaders = (run_id: string): Record<string, string> => ({
    ...headers,
    "x-service-run-id": run_id,
    ...(ignored.length > 0 && { "x-ignored": ignored.join(",") }),
  })
  if (earlier !== null && (isRepeated || earlier.row.waiting)) {
    const { facts, row, ends } = earlier
    const { run_id } = row
    // There is a run, whatever becomes of this message.
    void reply.headers(noRetry)
    const keyed = await hasFreeKey(parts, request)
    if (isRepeated) headers["idempotency-replayed"] = "true"
    else await answerWith(parts, request, earlier, turn.message)
    void reply.removeHeader("x-should-retry")
    const next = { run_id, turn: facts.turn + 1, created_at: row.created_at, model: name }
    const later = { ...laterTurn(asked, { run_id, turn: facts.turn }), metadata }
    const open: OpenTurn = {
      run_id,
      chat: earlier.chat,
      source: earlier.run.options.deltas ? replySource(earlier.plan) : null,
      after: ends[facts.turn - 1]?.id ?? row.last_event_id,
      goesOn: background || keyed,
      ended: ends[facts.turn],
    }
    return answer(parts, request, reply, open, { ...next, asked: later }, isStream, sendHeaders(run_id))
  }
  const history = earlier === null ? [] : await historyOf(earlier)
  if (earlier !== null && chat.history === undefined) ignored.push("previous_response_id")
  const whole: ChatTurn =
    earlier === null ? turn : { ...turn, history: [...history, ...turn.history].slice(-2 * maxPairs) }
  const input = inputOf(plan, chat, whole, othersFromTexts(plan, chat, metadata))
  // A run that waits may be asked for a stream with its next message.
  const deltas = source !== null && (isStream || (store && mayWait(plan)))
  const run = await chatRun(parts, request, workflow, input, { deltas, chat: asked })
  const { run_id, key, replayed } = await admitRun(parts, request, plan, run)
  if (replayed) headers["idempotency-replayed"] = "true"
  const before = replayed ? await firstTurn(parts, run_id, plan) : null
  const open: OpenTurn = { run_id, chat, source, after: 0, goesOn: background || key !== undefined, ended: before?.end }
  const facts: ResponseFacts = { run_id, turn: 1, created_at: before?.created_at ?? Date.now(), model: name, asked }
  return answer(parts, request, reply, open, facts, isStream, sendHeaders(run_id))
}

function hasKey({ headers }: FastifyRequest): boolean {
  return headers["idempotency-key"] !== undefined
}

function itemsOf(input: JsonValue | undefined): readonly JsonValue[] {
  if (typeof input === "string") return [{ role: "user", content: input }]
  if (Array.isArray(input)) return input
  throw wrongField("input", api.inputRefusal)
}

// ------------------------------------------------------------------------------------------------- conversations

async function earlierResponse(
  parts: RouteDependencies,
  request: FastifyRequest,
  { name }: ChatWorkflow,
  id: string,
): Promise<StoredResponse> {
  const found = await findResponse(parts, request, id)
  const missing = `There is no response ${id.slice(0, 200)} of the model ${name}`
  if (found === null || found.facts.model !== name) throw notFound(missing)
  return found
}

function refuseUnfit({ row, facts, ends }: StoredResponse): void {
  const id = responseId(facts)
  if (row.waiting && facts.turn !== ends.length) throw notFound(`${id} is not the last of its conversation`)
  if (!row.waiting && ends.at(-1)?.type !== "workflow_completed") throw notFound(`${id} is not completed`)
}

/**
 * Whether the message is the answer that the question of this response has. No store knows the keys of answers: a request with a key that
 * gives the same answer again is the same request.
 */
async function isAnswer(
  { store }: RouteDependencies,
  { row, facts, ends }: StoredResponse,
  message: string,
): Promise<boolean> {
  const end = ends[facts.turn - 1]
  const [id, ...others] = end?.type === "run_waiting" ? end.data.questions : []
  const question = id === undefined || others.length > 0 ? null : await store.questions.one(row.run_id, id)
  if (question?.status !== "answered") return false
  const textual = textAnswerOf(question)
  const value = textual === null ? undefined : readAnswer(textual, message)
  return textual !== null && value !== undefined && jsonEqual(question.answer ?? null, { [textual.field]: value })
}

/** When a run was made, and how its first turn ended: the run may have gone on since. */
async function firstTurn(
  parts: RouteDependencies,
  run_id: string,
  plan: Plan,
): Promise<{ readonly created_at: number; readonly end: LogEvent | undefined } | null> {
  const found = await parts.store.lookup(run_id)
  if (found.found !== "run") return null
  return { created_at: found.run.created_at, end: (await turnEnds(parts, found.run, plan))[0] }
}

function notFound(message: string): HttpError {
  return wrongField("previous_response_id", message, "previous_response_not_found")
}

/** The messages that an earlier run had, its own and its reply. */
async function historyOf({ run, chat, ends }: StoredResponse): Promise<ChatMessage[]> {
  const before = chat.history === undefined ? [] : run.input[chat.history]
  const message = run.input[chat.message]
  const last = ends.at(-1)
  const end = last === undefined ? null : turnEnd(last, chat.reply)
  const pair: ChatMessage[] = [{ role: "user", text: typeof message === "string" ? message : "" }]
  if (end?.kind === "completed") pair.push({ role: "assistant", text: end.reply })
  return [...((Array.isArray(before) ? before : []) as unknown as ChatMessage[]), ...pair]
}

/** A message answers the question that the run waits for. */
async function answerWith(
  parts: RouteDependencies,
  request: FastifyRequest,
  { row, ends }: StoredResponse,
  message: string,
): Promise<void> {
  const { run_id } = row
  const last = ends.at(-1)
  const waitingFor = last?.type === "run_waiting" ? readWaitingFor(last.data) : null
  const ids = waitingFor?.questions ?? []
  if (waitingFor !== null && ids.length === 0) {
    throw wrongField("input", `${waitingReply(run_id, [], waitingFor, false)} No message answers that.`)
  }
  const found = await Promise.all(ids.slice(0, 2).map((id) => parts.store.questions.one(run_id, id)))
  const open = found.filter((question) => question?.status === "open")
  const [question] = open
  const address = `POST /execute/${run_id}/questions/${ids.length === 1 ? ids[0] : "{id}"}`
  const textual = question === undefined || question === null ? null : textAnswerOf(question)
  if (
    question === undefined ||
    question === null ||
    open.length > 1 ||
    textual === null ||
    !mayAnswer(parts, request, question)
  ) {
    throw wrongField("input", `The run waits for an answer that a message cannot give: use ${address}`)
  }
  const value = readAnswer(textual, message)
  if (value === undefined) throw wrongField("input", `Answer with yes or no, or at ${address}`)
  await answerAs(parts, request, question, { answer: { [textual.field]: value }, digest: null, by: null })
}

// ------------------------------------------------------------------------------------------------- answers

async function answer(
  parts: RouteDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  open: OpenTurn,
  facts: ResponseFacts,
  isStream: boolean,
  headers: Readonly<Record<string, string>>,
): Promise<FastifyReply> {
  const { run_id } = open
  if (isStream) {
    reply.hijack()
    const frames = (signal: AbortSignal): AsyncIterable<string> =>
      events(parts, request, open, facts, parts.store.follow(run_id, open.after, signal))
    const left = await parts.streams.sendText(reply.raw, { ...corsOf(reply), ...headers }, frames)
    if (left && !open.goesOn) await clientLeft(parts, request, run_id)
    return reply
  }
  void reply.headers(headers)
  if (facts.asked.background) return reply.send(responseObject(facts, await presentState(parts, request, open, facts)))
  void reply.headers(noRetry)
  const ended = await awaitTurn(parts, reply, open)
  if (ended === null) return reply
  if (ended.end.kind === "failed") return sendError(reply, ended.end.error)
  if (ended.end.kind === "cancelled") return sendError(reply, cancelledError)
  const state = await endState(parts, request, facts, ended.end, ended.at)
  // The same object as when the response is fetched later.
  const found = await parts.store.lookup(run_id)
  const created_at = found.found === "run" ? found.run.created_at : facts.created_at
  return reply.removeHeader("x-should-retry").send(responseObject({ ...facts, created_at }, state))
}

async function presentState(
  parts: RouteDependencies,
  request: FastifyRequest,
  { run_id, chat, ended }: OpenTurn,
  facts: ResponseFacts,
): Promise<ResponseState> {
  const end = ended === undefined ? null : turnEnd(ended, chat.reply)
  if (ended !== undefined && end !== null) return endState(parts, request, facts, end, Date.parse(ended.at))
  return { status: (await parts.runs.status(run_id)) === "queued" ? "queued" : "in_progress" }
}

async function* events(
  parts: RouteDependencies,
  request: FastifyRequest,
  { run_id, source, chat }: OpenTurn,
  facts: ResponseFacts,
  log: AsyncIterable<LogEvent>,
): AsyncGenerator<string> {
  const written = new ResponseEvents(facts)
  const failed = ({ kind, message }: { readonly kind: string; readonly message: string }): string =>
    written.end({ status: "failed", error: { code: kind, message }, usage: null })
  yield written.begin()
  try {
    for await (const news of followReply(log, source, chat.reply)) {
      if (news.kind === "text") yield written.text(news.text)
      else if (news.kind === "rejected") {
        await cancelTurn(parts, request, run_id)
        yield failed(rejectedError)
        return
      } else {
        const state = await endState(parts, request, facts, news, Date.now())
        if (news.kind === "waiting" && state.status === "completed") yield written.text(state.text)
        yield written.end(state)
        return
      }
    }
    throw unended(parts, run_id)
  } catch (error) {
    const known = asHttpError(error)
    if (known === undefined) throw error
    yield failed(known.error)
  }
}
