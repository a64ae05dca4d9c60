import { setTimeout as delay } from "node:timers/promises"
import type { ServerResponse } from "node:http"
import type { Answer } from "./compose-answer.ts"
import { composeAnswer } from "./compose-answer.ts"
import { Flakiness } from "./flakiness.ts"
import { TooMuchAsked } from "./make-value.ts"
import type { ApiError, Question } from "./read-question.ts"
import { readQuestion } from "./read-question.ts"
import { countTokens, respond } from "./respond.ts"
import type { StreamStep } from "./stream-events.ts"
import { streamEvents } from "./stream-events.ts"

export interface DemoRequest {
  /** Text, or the JSON that the server already made of it. */
  readonly body: unknown
  /** Ends a slow answer early. */
  readonly signal?: AbortSignal
}

export interface DemoReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | AsyncIterable<string>
}

export interface DemoOptions {
  /** How long `demo-slow` thinks before its first byte, and how long over each token. */
  readonly slow_first_ms?: number
  readonly slow_token_ms?: number
  /** What `demo-flaky` asks its callers to wait. */
  readonly retry_after_seconds?: number
  readonly now?: () => number
}

export interface DemoModel {
  handle(request: DemoRequest): Promise<DemoReply>
}

const json = { "content-type": "application/json; charset=utf-8" }

/** The longest that `demo-slow` takes over a whole answer that is not streamed. */
const slowest = 5_000

export function createDemoModel(options: DemoOptions = {}): DemoModel {
  const first_ms = options.slow_first_ms ?? 1_500
  const token_ms = options.slow_token_ms ?? 40
  const now = options.now ?? Date.now
  const flakiness = new Flakiness(options.retry_after_seconds ?? 1, now)

  async function handle({ body, signal }: DemoRequest): Promise<DemoReply> {
    const reading = readQuestion(body)
    if ("error" in reading) return errorReply(reading.error)
    const { question } = reading
    if (question.model === "demo-flaky") {
      const failure = flakiness.next(question.seed)
      if (failure !== null) return errorReply(failure.error, { "retry-after": String(failure.retry_after) })
    }
    const answer = answerOrRefuse(question)
    if ("error" in answer) return errorReply(answer.error)
    const response = respond(question, answer, now())
    const slow = question.model === "demo-slow"
    const tokens = answer.kind === "text" ? countTokens(answer.text) : 10
    if (slow)
      await delay(
        question.stream ? first_ms : Math.min(first_ms + tokens * token_ms, first_ms + slowest),
        undefined,
        signal === undefined ? {} : { signal },
      )
    if (!question.stream) return { status: 200, headers: json, body: JSON.stringify(response) }
    const steps = streamEvents(response)
    const headers = {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    }
    return {
      status: 200,
      headers,
      body: slow ? unhurried(steps, token_ms, signal) : [...steps].map((step) => step.text).join(""),
    }
  }

  return { handle }
}

function answerOrRefuse(question: Question): Answer | { readonly error: ApiError } {
  try {
    return composeAnswer(question)
  } catch (error) {
    if (!(error instanceof TooMuchAsked)) throw error
    const param = question.uncalled.length > 0 ? "tools" : "text.format.schema"
    return {
      error: { status: 400, message: error.message, type: "invalid_request_error", param, code: "invalid_value" },
    }
  }
}

async function* unhurried(
  steps: Iterable<StreamStep>,
  token_ms: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  for (const { text, token } of steps) {
    if (token) await delay(token_ms, undefined, signal === undefined ? {} : { signal })
    yield text
  }
}

/** An error in OpenAI's shape. */
export function errorReply(error: ApiError, headers: Readonly<Record<string, string>> = {}): DemoReply {
  const { status, message, type, param, code } = error
  return { status, headers: { ...json, ...headers }, body: JSON.stringify({ error: { message, type, param, code } }) }
}

/** Answers on a response of `node:http` (Fastify's, once hijacked). Stops when the caller goes away. */
export async function answerDemo(model: DemoModel, body: unknown, response: ServerResponse): Promise<void> {
  const gone = new AbortController()
  const onClose = (): void => gone.abort()
  response.on("close", onClose)
  try {
    const reply = await model.handle({ body, signal: gone.signal })
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
