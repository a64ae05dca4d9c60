import { jsonOf } from "../base/bounded-json.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import { setTimeout as delay } from "node:timers/promises"
import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import { composeAnswer, type Answer } from "./compose-answer.ts"
import { apiRequests, type TalkApiName } from "../check/provider-kinds.ts"
import type { JsonValue } from "../base/json-value.ts"
import { isJson } from "../types/value-fits.ts"
import { callerHeader } from "../ports/model.ts"
import { anthropicDemo } from "./apis/anthropic.ts"
import { chatDemo } from "./apis/chat.ts"
import type { DemoReply } from "./demo-reply.ts"
import type { DemoApi, DemoRoute } from "./apis/demo-api.ts"
import { googleDemo } from "./apis/google.ts"
import { DemoBatches, mostBatchBytes, type DemoBatchRequest } from "./demo-batches.ts"
import { Flakiness } from "./flakiness.ts"
import { DemoLimitExceeded } from "./make-value.ts"
import { DemoPromptCache, withoutMarks } from "./prompt-cache.ts"
import { readQuestion, refuse, type ApiError, type Question } from "./read-question.ts"
import { countTokens, respond } from "./respond.ts"
import { asResponses, streamEvents, type StreamStep } from "./stream-events.ts"

export interface DemoRequest {
  readonly route: DemoRoute
  /** Text, or the JSON that the server already made of it. */
  readonly body: unknown
  /** Who asks, where the request says so (`callerHeader`): `demo-flaky` fails each caller by itself. */
  readonly caller?: string
  /** Ends a slow answer early. */
  readonly signal?: AbortSignal
}

export interface DemoOptions {
  /** How long `demo-slow` thinks before its first byte, and how long over each token. */
  readonly slowFirstMs?: number
  readonly slowTokenMs?: number
  /** What `demo-flaky` asks its callers to wait. */
  readonly retry_after_seconds?: number
  readonly now?: () => number
  /** How long a batch takes: `WIRE_DEMO_BATCH_SECONDS`. */
  readonly batchSeconds?: number
  /** The most that files and batches take. */
  readonly batchBytes?: number
}

export interface DemoModel {
  handle(request: DemoRequest): Promise<DemoReply>
  /** Its batch APIs. */
  batch(request: DemoBatchRequest): Promise<DemoReply>
}

const json = { "content-type": "application/json; charset=utf-8" }

/** The longest that `demo-slow` takes over a whole answer that is not streamed. */
const slowest = 5_000

export const defaultBatchSeconds = 5

export function createDemoModel(options: DemoOptions = {}): DemoModel {
  const firstMs = options.slowFirstMs ?? 1_500
  const tokenMs = options.slowTokenMs ?? 40
  const now = options.now ?? Date.now
  const cache = new DemoPromptCache(now)
  const flakiness = new Flakiness(options.retry_after_seconds ?? 1, now)

  async function handle({ route, body, caller = "", signal }: DemoRequest): Promise<DemoReply> {
    const api = apis[route.api]
    const sent = typeof body === "string" ? jsonOf(body) : (body as JsonValue | undefined)
    const asked = route.api === "anthropic" && isJsonObject(sent) ? withoutMarks(sent) : sent
    const wrong = (message: string): DemoReply => errorReply(refuse(message, null, "invalid_json").error, route.api)
    if (!isJsonObject(asked)) return wrong("The body of the request is not a JSON object.")
    if (!isJson(asked, 0)) return wrong("The body of the request is nested too deeply.")
    const translated = api.toResponses(asked, route)
    const reading = typeof translated === "string" ? refuse(translated) : readQuestion(translated, route.api)
    if ("error" in reading) return errorReply(reading.error, route.api)
    const { question } = reading
    if (question.model === "demo-flaky") {
      const failure = flakiness.next(caller, question.seed)
      if (failure !== null) {
        return errorReply(failure.error, route.api, { "retry-after": String(failure.retry_after) })
      }
    }
    const answer = answerOrRefuse(question)
    if ("error" in answer) return errorReply(answer.error, route.api)
    const looked = cache.look(route.api, isJsonObject(sent) ? sent : asked, route.model)
    const response = respond(question, answer, now(), looked)
    const slow = question.model === "demo-slow"
    const tokens = answer.kind === "text" ? countTokens(answer.text) : 10
    if (slow)
      await delay(
        question.stream ? firstMs : Math.min(firstMs + tokens * tokenMs, firstMs + slowest),
        undefined,
        signal === undefined ? {} : { signal },
      )
    looked.keep()
    if (!question.stream) {
      return { status: 200, headers: json, body: JSON.stringify(api.answer(response, asked)) }
    }
    const steps = api.stream(response, asked)
    const headers = {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    }
    return {
      status: 200,
      headers,
      body: slow ? unhurried(steps, tokenMs, signal) : [...steps].map((step) => step.text).join(""),
    }
  }

  const batches = new DemoBatches(
    { handle },
    options.batchSeconds ?? defaultBatchSeconds,
    now,
    options.batchBytes ?? mostBatchBytes,
  )
  return { handle, batch: (request) => batches.handle(request) }
}

function answerOrRefuse(question: Question): Answer | { readonly error: ApiError } {
  try {
    return composeAnswer(question)
  } catch (error) {
    if (!(error instanceof DemoLimitExceeded)) throw error
    const param = question.uncalled.length > 0 ? "tools" : "text.format.schema"
    return refuse(error.message, param, "invalid_value")
  }
}

async function* unhurried(
  steps: Iterable<StreamStep>,
  tokenMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  for (const { text, token } of steps) {
    if (token) await delay(tokenMs, undefined, signal === undefined ? {} : { signal })
    yield text
  }
}

/** `/responses` is what the others are translated to. */
const responsesDemo: DemoApi = {
  toResponses: (body) => body,
  answer: asResponses,
  stream: (response) => streamEvents(response),
  error: ({ message, type, param, code }) => ({ error: { message, type, param, code } }),
}

const apis: Readonly<Record<TalkApiName, DemoApi>> = {
  responses: responsesDemo,
  chat: chatDemo,
  anthropic: anthropicDemo,
  google: googleDemo,
}

/** The API that an address of the demo model belongs to; null where there is nothing. With or without `/demo` before it. */
export function demoRoute(url: string): DemoRoute | null {
  const [address = ""] = url.split("?")
  const path = address.replace(/^\/demo(?=\/)/, "")
  for (const [name, speaks] of Object.entries(apis)) {
    const api = name as TalkApiName
    const isHere = `/demo${path}` === apiRequests[api].demo?.path
    const found = speaks.route === undefined ? (isHere ? {} : null) : speaks.route(path)
    if (found !== null) return { api, ...found }
  }
  return null
}

/** An error in the vendor's shape. */
export function errorReply(
  error: ApiError,
  api: TalkApiName = "responses",
  headers: Readonly<Record<string, string>> = {},
): DemoReply {
  return { status: error.status, headers: { ...json, ...headers }, body: JSON.stringify(apis[api].error(error)) }
}

/** Answers on a response of `node:http` (Fastify's, once hijacked). Stops when the caller goes away. */
export async function answerDemo(
  model: DemoModel,
  route: DemoRoute,
  { headers, body }: { readonly headers: IncomingHttpHeaders; readonly body: unknown },
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  const onClose = (): void => gone.abort()
  response.on("close", onClose)
  try {
    const caller = String(headers[callerHeader] ?? "").slice(0, 200)
    const reply = await model.handle({ route, body, caller, signal: gone.signal })
    response.writeHead(reply.status, reply.headers)
    if (typeof reply.body === "string") {
      response.end(reply.body)
      return
    }
    for await (const text of reply.body) response.write(text)
    response.end()
  } catch (error) {
    if (!gone.signal.aborted) throw error
  } finally {
    response.off("close", onClose)
  }
}
