import type { IncomingMessage, ServerResponse } from "node:http"
import type { TestContext } from "node:test"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import type { Backend } from "../../src/ports/model.ts"
import type { Received, TestServer } from "./http-server.ts"
import { startServer } from "./http-server.ts"

/** What a backend under test does with a request: `n` counts them from 1. */
export type Behaviour = (request: FakeRequest, n: number) => FakeReply

export interface FakeRequest {
  readonly body: JsonObject
  readonly headers: Received["headers"]
  readonly url: string
}

export type FakeReply = (response: ServerResponse, raw: IncomingMessage) => void

export interface FakeBackend {
  readonly backend: Backend
  /** The same by a name that looks like a service on the internet. */
  readonly remote: Backend
  readonly server: TestServer
  /** Bodies of the requests, parsed. */
  readonly asked: JsonObject[]
}

/** A small real HTTP server that behaves like some backend, or misbehaves. */
export async function fakeBackend(t: TestContext, behave: Behaviour): Promise<FakeBackend> {
  const asked: JsonObject[] = []
  const server = await startServer((request, response, raw) => {
    const body = JSON.parse(request.body) as JsonObject
    asked.push(body)
    behave({ body, headers: request.headers, url: request.url }, asked.length)(response, raw)
  })
  t.after(() => server.close())
  const backend: Backend = { api: "responses", endpoint: `${server.origin}/v1`, api_key: "test-key", headers: {} }
  const remote = { ...backend, endpoint: `http://backend.example.com:${server.port}/v1` }
  return { backend, remote, server, asked }
}

export function json(body: JsonValue, status = 200, headers: Record<string, string> = {}): FakeReply {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(JSON.stringify(body))
  }
}

export function raw(
  body: string | Uint8Array,
  type: string | null,
  status = 200,
  headers: Record<string, string> = {},
): FakeReply {
  return (response) => {
    response.writeHead(status, { ...(type === null ? {} : { "content-type": type }), ...headers })
    response.end(body)
  }
}

/** An answer of text, as OpenAI writes it. */
export function says(text: string, more: JsonObject = {}): FakeReply {
  return json(response([messageItem(text)], more))
}

export function calls(name: string, args: JsonValue, call_id = "call_1"): FakeReply {
  return json(response([{ type: "function_call", id: "fc_1", call_id, name, arguments: JSON.stringify(args) }]))
}

export function response(output: JsonValue[], more: JsonObject = {}): JsonObject {
  return {
    id: "resp_1",
    object: "response",
    status: "completed",
    model: "test-model",
    output,
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 15,
    },
    ...more,
  }
}

export function messageItem(text: string): JsonObject {
  return {
    type: "message",
    id: "msg_1",
    status: "completed",
    role: "assistant",
    content: [{ type: "output_text", text, annotations: [] }],
  }
}

export function apiError(
  status: number,
  message: string,
  more: JsonObject = {},
  headers: Record<string, string> = {},
): FakeReply {
  return json({ error: { message, type: "invalid_request_error", param: null, code: null, ...more } }, status, headers)
}

/** The events of a stream that says this text in pieces. */
export function streamOf(text: string, pieces = 4): JsonObject[] {
  const size = Math.max(1, Math.ceil(text.length / pieces))
  const deltas = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    text.slice(at * size, (at + 1) * size),
  )
  const item = messageItem(text)
  return [
    { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
    ...deltas.map((delta) => ({ type: "response.output_text.delta", output_index: 0, content_index: 0, delta })),
    { type: "response.output_text.done", output_index: 0, content_index: 0, text },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: response([item]) },
  ]
}

export interface SseOptions {
  /** False: `data:` alone. */
  readonly names?: boolean
  readonly done?: boolean
  /** Cut the connection instead of ending the stream. */
  readonly cut?: boolean
  /** Leave the stream open. */
  readonly open?: boolean
  readonly type?: string
}

export function sse(events: readonly (JsonObject | string)[], options: SseOptions = {}): FakeReply {
  return (reply, request) => {
    reply.writeHead(200, { "content-type": options.type ?? "text/event-stream" })
    for (const event of events) {
      if (typeof event === "string") reply.write(event)
      else {
        const name = options.names === false ? "" : `event: ${event["type"] as string}\n`
        reply.write(`${name}data: ${JSON.stringify(event)}\n\n`)
      }
    }
    if (options.done === true) reply.write("data: [DONE]\n\n")
    if (options.cut === true) setImmediate(() => request.socket.destroy())
    else if (options.open !== true) reply.end()
  }
}
