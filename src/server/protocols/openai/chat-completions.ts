import type { FastifyInstance, FastifyRequest } from "fastify"
import { createChatCompletion } from "../../../api/openai.ts"
import type { JsonObject } from "../../../base/json-value.ts"
import type { LogEvent, Usage, WaitingFor } from "../../../log/events.ts"
import { asHttpError, sendError } from "../../answer-error.ts"
import { corsOf } from "../../cors.ts"
import type { RouteDependencies } from "../../route-dependencies.ts"
import { serve } from "../../serve-route.ts"
import { admitRun, clientLeft, unended } from "../../start-run.ts"
import {
  awaitTurn,
  cancelTurn,
  cancelledError,
  waitingFacts,
  type OpenTurn,
  type WaitingFacts,
} from "../chat/answer-turn.ts"
import { inputOf, othersFromTexts } from "../chat/chat-input.ts"
import { chatRun } from "../chat/chat-workflow.ts"
import { followReply } from "../chat/follow-reply.ts"
import { replySource } from "../chat/reply-source.ts"
import { questionIn, waitingReply } from "../chat/waiting-reply.ts"
import { errorFrame, noRetry, rejectedError } from "./face-errors.ts"
import {
  flagIn,
  given,
  ignoredFields,
  metadataIn,
  modelIn,
  objectIn,
  refuseFormat,
  refuseForms,
  wrongField,
} from "./fields.ts"
import { modelOf } from "./models.ts"
import { readMessages } from "./read-messages.ts"
import { seconds } from "./response-object.ts"
import { completionUsage } from "./usage.ts"

/** `POST /v1/chat/completions`: one turn with a workflow. */
export function chatCompletionRoute(app: FastifyInstance, parts: RouteDependencies): void {
  serve(app, createChatCompletion, async (request, reply) => {
    const body = request.body as unknown as JsonObject
    const isStream = flagIn(body, "stream") ?? false
    const withUsage = flagIn(objectIn(body, "stream_options") ?? {}, "include_usage", "stream_options.include_usage")
    const metadata = metadataIn(body)
    refuseForms(body)
    refuseFormat(objectIn(body, "response_format"), "response_format")
    const workflow = await modelOf(parts, request, modelIn(body))
    const { plan, chat, name } = workflow
    const messages = given(body, "messages")
    if (!Array.isArray(messages)) throw wrongField("messages", "`messages` must be a list")
    const { turn, ignores } = readMessages(messages, "messages", chat, null)
    const ignored = [...(ignores ? ["messages"] : []), ...ignoredFields(body)]
    const source = isStream ? replySource(plan) : null
    const input = inputOf(plan, chat, turn, othersFromTexts(plan, chat, metadata))
    const asked = { deltas: source !== null, chat: { api: "chat", store: false, background: false } } as const
    const run = await chatRun(parts, request, workflow, input, asked)
    const { run_id, key, replayed } = await admitRun(parts, request, plan, run)
    const before = replayed ? await parts.store.lookup(run_id) : null
    const created_at = before?.found === "run" ? before.run.created_at : Date.now()
    const headers: Record<string, string> = { "x-service-run-id": run_id }
    if (replayed) headers["idempotency-replayed"] = "true"
    if (ignored.length > 0) headers["x-ignored"] = ignored.join(",")
    const open: OpenTurn = { run_id, chat, source, after: 0, goesOn: key !== undefined }
    const base = { id: `chatcmpl-${run_id}`, created: seconds(created_at), model: name }
    const waiting = (of: WaitingFor): Promise<WaitingFacts> => waitingFacts(parts, request, run_id, of)
    if (isStream) {
      const frames = (signal: AbortSignal): AsyncIterable<string> =>
        chunks(parts, request, open, base, withUsage === true, waiting, parts.store.follow(run_id, 0, signal))
      reply.hijack()
      const left = await parts.streams.sendText(reply.raw, { ...corsOf(reply), ...headers }, frames)
      if (left && !open.goesOn) await clientLeft(parts, request, run_id)
      return reply
    }
    void reply.headers({ ...headers, ...noRetry })
    const ended = await awaitTurn(parts, reply, open)
    if (ended === null) return reply
    const { end } = ended
    switch (end.kind) {
      case "completed":
        return reply.removeHeader("x-should-retry").send(completion(base, end.reply, end.usage))
      case "waiting": {
        const facts = await waiting(end.waitingFor)
        const text = waitingReply(run_id, facts.questions, end.waitingFor, false)
        return reply.removeHeader("x-should-retry").send({
          ...completion(base, text, facts.usage),
          metadata: questionIn(end.waitingFor),
        })
      }
      case "failed":
        return sendError(reply, end.error)
      case "cancelled":
        return sendError(reply, cancelledError)
    }
  })
}

interface CompletionBase {
  readonly id: string
  readonly created: number
  readonly model: string
}

function completion(base: CompletionBase, content: string, usage: Usage): JsonObject {
  const message = { role: "assistant", content, refusal: null, annotations: [] }
  return {
    ...base,
    object: "chat.completion",
    choices: [{ index: 0, message, logprobs: null, finish_reason: "stop" }],
    usage: completionUsage(usage),
    service_tier: "default",
    system_fingerprint: null,
  }
}

async function* chunks(
  parts: RouteDependencies,
  request: FastifyRequest,
  { run_id, source, chat }: OpenTurn,
  base: CompletionBase,
  withUsage: boolean,
  waiting: (of: WaitingFor) => Promise<WaitingFacts>,
  events: AsyncIterable<LogEvent>,
): AsyncGenerator<string> {
  const chunk = (more: JsonObject): string => {
    const data = {
      ...base,
      object: "chat.completion.chunk",
      system_fingerprint: null,
      ...(withUsage && { usage: null }),
    }
    return `data: ${JSON.stringify({ ...data, ...more })}\n\n`
  }
  const delta = (content: JsonObject, finish_reason: string | null = null): string =>
    chunk({ choices: [{ index: 0, delta: content, logprobs: null, finish_reason }] })
  const finish = (usage: Usage): string =>
    `${delta({}, "stop")}${withUsage ? chunk({ choices: [], usage: completionUsage(usage) }) : ""}data: [DONE]\n\n`
  try {
    yield delta({ role: "assistant", content: "", refusal: null })
    for await (const news of followReply(events, source, chat.reply)) {
      switch (news.kind) {
        case "text":
          yield delta({ content: news.text })
          break
        case "completed":
          yield finish(news.usage)
          return
        case "waiting": {
          const { questions, usage } = await waiting(news.waitingFor)
          const metadata = questionIn(news.waitingFor)
          const content = waitingReply(run_id, questions, news.waitingFor, false)
          yield chunk({ choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: null }], metadata })
          yield finish(usage)
          return
        }
        case "failed":
          yield errorFrame(news.error)
          return
        case "cancelled":
          yield errorFrame(cancelledError)
          return
        case "rejected":
          await cancelTurn(parts, request, run_id)
          yield errorFrame(rejectedError)
          return
      }
    }
    throw unended(parts, run_id)
  } catch (error) {
    const known = asHttpError(error)
    if (known === undefined) throw error
    yield errorFrame(known.error)
  }
}
