import type { ServerResponse } from "node:http"
import type { JsonObject, JsonValue } from "../../../src/base/json-value.ts"
import type { ApiName } from "../../../src/check/provider-kinds.ts"
import type { FakeReply } from "../../support/fake-backend.ts"
import { json } from "../../support/fake-backend.ts"

export interface SaidCall {
  readonly id: string
  readonly name: string
  readonly args: JsonObject
}

export interface Said {
  readonly text?: string
  readonly calls?: readonly SaidCall[]
  /** Reasoning, with what only this API understands. */
  readonly thought?: string
  /** Ends otherwise than well. */
  readonly end?: "length" | "refusal" | "blocked"
}

/** What a request asked for, whichever API it came by. */
export interface Asked {
  readonly system: string
  /** `user: text`, `assistant: text`, `call: name id args`, `result: id output`, `image: …`, `file: …`, `thought: …` */
  readonly conversation: readonly string[]
  readonly tools: readonly string[]
  readonly format: "strict" | "json_schema" | "json_object" | null
  readonly max_tokens: JsonValue
}

/** How one API sounds: a backend that speaks it, and what can be read from a request to it. */
export interface Voice {
  readonly api: ApiName
  /** A kind of provider that speaks it. */
  readonly kind: string
  /** Its name for the most tokens of an answer. */
  readonly maxTokens: string
  readonly url: (stream: boolean) => string
  readonly key: (headers: Readonly<Record<string, unknown>>) => unknown
  says(said: Said): JsonObject
  /** The events of a stream, as `data` lines. */
  streams(said: Said): JsonObject[]
  readonly names: boolean
  error(status: number, message: string, about?: { readonly param?: string }): JsonObject
  /** Says that the field is unknown, in the words of the vendor. */
  unknownField(name: string): JsonObject
  refusesFormat(): JsonObject
  asked(body: JsonObject): Asked
}

export function reply(voice: Voice, said: Said, stream: boolean): FakeReply {
  return stream ? sse(voice, voice.streams(said)) : json(voice.says(said))
}

/** `end`: how the stream ends, the whole of it or a part. */
export function sse(voice: Voice, events: readonly JsonObject[], end: "end" | "cut" | "open" = "end"): FakeReply {
  return (response, request) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const event of events) {
      const name = voice.names ? `event: ${event["type"] as string}\n` : ""
      response.write(`${name}data: ${JSON.stringify(event)}\n\n`)
    }
    if (end === "end") finish(voice, response)
    if (end === "cut") setImmediate(() => request.socket.destroy())
  }
}

function finish(voice: Voice, response: ServerResponse): void {
  if (voice.api === "chat") response.write("data: [DONE]\n\n")
  response.end()
}

/** 10 tokens in, 4 of them cached; 5 out, 2 of them reasoning. */
export const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 4, written_tokens: 0, reasoning_tokens: 2 }

function pieces(text: string): string[] {
  const size = Math.max(1, Math.ceil(text.length / 4))
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size))
}

const list = (value: JsonValue | undefined): JsonObject[] => (Array.isArray(value) ? (value as JsonObject[]) : [])
const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "")

const responses: Voice = {
  api: "responses",
  kind: "openai",
  maxTokens: "max_output_tokens",
  url: () => "/v1/responses",
  key: (headers) => headers["authorization"],
  names: true,
  says: ({ text: said, calls = [], thought, end }) => {
    const output: JsonObject[] = []
    if (thought !== undefined) {
      output.push({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: thought })
    }
    if (end === "refusal") {
      output.push({ type: "message", role: "assistant", content: [{ type: "refusal", refusal: "I will not." }] })
    } else if (said !== undefined) {
      const content = [{ type: "output_text", text: said, annotations: [] }]
      output.push({ type: "message", id: "msg_1", status: "completed", role: "assistant", content })
    }
    for (const { id, name, args } of calls) {
      output.push({ type: "function_call", id: `fc_${id}`, call_id: id, name, arguments: JSON.stringify(args) })
    }
    const cut = end === "length" ? "max_output_tokens" : end === "blocked" ? "content_filter" : null
    return {
      id: "resp_1",
      object: "response",
      status: cut === null ? "completed" : "incomplete",
      ...(cut === null ? {} : { incomplete_details: { reason: cut } }),
      output,
      usage: {
        input_tokens: 10,
        input_tokens_details: { cached_tokens: 4 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 2 },
      },
    }
  },
  streams: (said) => {
    const response = responses.says(said)
    const deltas = pieces(said.text ?? "").map((delta) => ({ type: "response.output_text.delta", delta }))
    return [
      { type: "response.created", response: { status: "in_progress" } },
      ...deltas,
      { type: response["status"] === "incomplete" ? "response.incomplete" : "response.completed", response },
    ]
  },
  error: (status, message, { param } = {}) => ({
    error: { message, type: openAiError(status), param: param ?? null, code: null },
  }),
  unknownField: (name) => responses.error(400, `Unknown parameter: '${name}'.`, { param: name }),
  refusesFormat: () => responses.error(400, "Unsupported parameter: 'text.format'.", { param: "text.format" }),
  asked: (body) => {
    const format = (body["text"] as { format?: JsonObject } | undefined)?.format
    const items = list(body["input"])
    const system = items.filter(({ role }) => role === "system").map(({ content }) => text(content))
    return {
      system: [text(body["instructions"]), ...system].filter(Boolean).join("\n\n"),
      conversation: items.flatMap((item): string[] => {
        const { type, role, content } = item
        if (role === "system") return []
        if (type === "reasoning") return [`thought: ${text(item["encrypted_content"])}`]
        if (type === "function_call")
          return [`call: ${text(item["name"])} ${text(item["call_id"])} ${text(item["arguments"])}`]
        if (type === "function_call_output") return [`result: ${text(item["call_id"])} ${text(item["output"])}`]
        return list(content).map((part) => {
          if (part["type"] === "input_image") return `image: ${text(part["image_url"])}`
          if (part["type"] === "input_file") return `file: ${text(part["file_data"] ?? part["file_url"])}`
          return `${text(role)}: ${text(part["text"])}`
        })
      }),
      tools: list(body["tools"]).map(({ name }) => text(name)),
      format:
        format === undefined
          ? null
          : format["type"] === "json_object"
            ? "json_object"
            : format["strict"] === true
              ? "strict"
              : "json_schema",
      max_tokens: body["max_output_tokens"] ?? null,
    }
  },
}

const chat: Voice = {
  api: "chat",
  kind: "openai_chat",
  maxTokens: "max_tokens",
  url: () => "/v1/chat/completions",
  key: (headers) => headers["authorization"],
  names: false,
  says: ({ text: said, calls = [], thought, end }) => ({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "test-model",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: end === "refusal" ? null : (said ?? null),
          ...(end === "refusal" ? { refusal: "I will not." } : {}),
          ...(thought === undefined ? {} : { reasoning_content: thought }),
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map(({ id, name, args }) => ({
                  id,
                  type: "function",
                  function: { name, arguments: JSON.stringify(args) },
                })),
              }),
        },
        finish_reason: chatEnd(end, calls.length > 0),
      },
    ],
    usage: chatUsage,
  }),
  streams: (said) => {
    const { text: words = "", calls = [], thought, end } = said
    const chunk = (delta: JsonObject, finish_reason: string | null = null): JsonObject => ({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model: "test-model",
      choices: [{ index: 0, delta, finish_reason }],
    })
    return [
      chunk({ role: "assistant", content: "" }),
      ...(thought === undefined ? [] : [chunk({ reasoning_content: thought })]),
      ...(end === "refusal" ? [chunk({ refusal: "I will not." })] : pieces(words).map((content) => chunk({ content }))),
      ...calls.flatMap(({ id, name, args }, index) => [
        chunk({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }),
        ...pieces(JSON.stringify(args)).map((piece) =>
          chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
        ),
      ]),
      chunk({}, chatEnd(end, calls.length > 0)),
      { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m", choices: [], usage: chatUsage },
    ]
  },
  error: (...given) => responses.error(...given),
  unknownField: (name) => responses.error(400, `Unrecognized request argument supplied: ${name}`),
  refusesFormat: () =>
    responses.error(400, "'response_format' of this type is not supported with this model.", {
      param: "response_format",
    }),
  asked: (body) => {
    const format = body["response_format"] as { type?: string; json_schema?: JsonObject } | undefined
    const messages = list(body["messages"])
    return {
      system: messages
        .filter(({ role }) => role === "system")
        .map(({ content }) => text(content))
        .join("\n\n"),
      conversation: messages.flatMap((message): string[] => {
        const { role, content } = message
        if (role === "system") return []
        if (role === "tool") return [`result: ${text(message["tool_call_id"])} ${text(content)}`]
        const said = typeof content === "string" ? [{ type: "text", text: content }] : list(content)
        return [
          ...(typeof message["reasoning_content"] === "string" ? [`thought: ${message["reasoning_content"]}`] : []),
          ...said
            .filter((part) => part["type"] !== "text" || part["text"] !== "")
            .map((part) => {
              if (part["type"] === "image_url") return `image: ${text((part["image_url"] as JsonObject)["url"])}`
              if (part["type"] === "file") return `file: ${text((part["file"] as JsonObject)["file_data"])}`
              if (part["type"] === "input_audio") {
                const { data, format } = part["input_audio"] as JsonObject
                return `file: data:audio/${text(format)};base64,${text(data)}`
              }
              return `${text(role)}: ${text(part["text"])}`
            }),
          ...list(message["tool_calls"]).map((call) => {
            const called = call["function"] as JsonObject
            return `call: ${text(called["name"])} ${text(call["id"])} ${text(called["arguments"])}`
          }),
        ]
      }),
      tools: list(body["tools"]).map((tool) => text((tool["function"] as JsonObject)["name"])),
      format:
        format === undefined
          ? null
          : format.type === "json_object"
            ? "json_object"
            : format.json_schema?.["strict"] === true
              ? "strict"
              : "json_schema",
      max_tokens: body["max_tokens"] ?? null,
    }
  },
}

function openAiError(status: number): string {
  if (status === 429) return "rate_limit_exceeded"
  return status >= 500 ? "server_error" : "invalid_request_error"
}

const chatUsage = {
  prompt_tokens: 10,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens: 5,
  completion_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 15,
}

function chatEnd(end: Said["end"], calls: boolean): string {
  if (end === "length") return "length"
  if (end === "blocked") return "content_filter"
  return calls ? "tool_calls" : "stop"
}

const anthropic: Voice = {
  api: "anthropic",
  kind: "anthropic",
  maxTokens: "max_tokens",
  url: () => "/v1/messages",
  key: (headers) => headers["x-api-key"],
  names: true,
  says: (said) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "test-model",
    content: anthropicContent(said),
    stop_reason: anthropicEnd(said),
    stop_sequence: null,
    usage: anthropicUsage,
  }),
  streams: (said) => {
    const events: JsonObject[] = [
      {
        type: "message_start",
        message: {
          ...anthropic.says(said),
          content: [],
          stop_reason: null,
          usage: { ...anthropicUsage, output_tokens: 1 },
        },
      },
    ]
    for (const [index, block] of anthropicContent(said).entries()) {
      const { type } = block
      const empty =
        type === "text"
          ? { type, text: "" }
          : type === "thinking"
            ? { type, thinking: "", signature: "" }
            : { ...block, input: {} }
      events.push({ type: "content_block_start", index, content_block: empty })
      if (type === "thinking") {
        events.push({
          type: "content_block_delta",
          index,
          delta: { type: "thinking_delta", thinking: block["thinking"] ?? "" },
        })
        events.push({
          type: "content_block_delta",
          index,
          delta: { type: "signature_delta", signature: block["signature"] ?? "" },
        })
      } else {
        const whole = type === "text" ? text(block["text"]) : JSON.stringify(block["input"])
        for (const piece of pieces(whole)) {
          const delta =
            type === "text" ? { type: "text_delta", text: piece } : { type: "input_json_delta", partial_json: piece }
          events.push({ type: "content_block_delta", index, delta })
        }
      }
      events.push({ type: "content_block_stop", index })
    }
    events.push({
      type: "message_delta",
      delta: { stop_reason: anthropicEnd(said), stop_sequence: null },
      usage: anthropicUsage,
    })
    events.push({ type: "message_stop" })
    return events
  },
  error: (status, message) => ({
    type: "error",
    error: {
      type:
        status === 529
          ? "overloaded_error"
          : status === 429
            ? "rate_limit_error"
            : status >= 500
              ? "api_error"
              : "invalid_request_error",
      message,
    },
  }),
  unknownField: (name) => anthropic.error(400, `${name}: Extra inputs are not permitted`),
  refusesFormat: () => anthropic.error(400, "output_config.format: Extra inputs are not permitted"),
  asked: (body) => {
    const { system } = body
    const config = body["output_config"] as JsonObject | undefined
    const forced = (body["tool_choice"] as JsonObject | undefined)?.["name"]
    const tools = list(body["tools"]).map(({ name }) => text(name))
    return {
      system:
        typeof system === "string"
          ? system
          : list(system)
              .map((part) => text(part["text"]))
              .join("\n\n"),
      conversation: list(body["messages"]).flatMap(({ role, content }) =>
        (typeof content === "string" ? [{ type: "text", text: content }] : list(content)).map((part) => {
          const source = part["source"] as JsonObject | undefined
          const at = source?.["url"] ?? `data:${text(source?.["media_type"])};base64,${text(source?.["data"])}`
          switch (part["type"]) {
            case "thinking":
              return `thought: ${text(part["signature"])}`
            case "tool_use":
              return `call: ${text(part["name"])} ${text(part["id"])} ${JSON.stringify(part["input"])}`
            case "tool_result": {
              const said = part["content"]
              const result =
                typeof said === "string"
                  ? said
                  : list(said)
                      .map((one) => text(one["text"]))
                      .join("")
              return `result: ${text(part["tool_use_id"])} ${result}`
            }
            case "image":
              return `image: ${text(at)}`
            case "document":
              return `file: ${text(at)}`
            default:
              return `${text(role)}: ${text(part["text"])}`
          }
        }),
      ),
      tools: tools.filter((name) => name !== forced),
      format: config?.["format"] !== undefined ? "strict" : forced !== undefined ? "json_schema" : null,
      max_tokens: body["max_tokens"] ?? null,
    }
  },
}

const anthropicUsage = {
  // The API counts cached tokens apart.
  input_tokens: 6,
  cache_read_input_tokens: 4,
  cache_creation_input_tokens: 0,
  output_tokens: 5,
  output_tokens_details: { thinking_tokens: 2 },
}

function anthropicContent({ text: said, calls = [], thought, end }: Said): JsonObject[] {
  return [
    ...(thought === undefined ? [] : [{ type: "thinking", thinking: "Hm.", signature: thought }]),
    ...(said === undefined || end === "refusal" ? [] : [{ type: "text", text: said }]),
    ...calls.map(({ id, name, args }) => ({ type: "tool_use", id, name, input: args })),
  ]
}

function anthropicEnd({ calls = [], end }: Said): string {
  if (end === "length") return "max_tokens"
  if (end === "refusal" || end === "blocked") return "refusal"
  return calls.length > 0 ? "tool_use" : "end_turn"
}

const google: Voice = {
  api: "google",
  kind: "google",
  maxTokens: "maxOutputTokens",
  url: (stream) =>
    stream ? "/v1/models/test-model:streamGenerateContent?alt=sse" : "/v1/models/test-model:generateContent",
  key: (headers) => headers["x-goog-api-key"],
  names: false,
  says: (said) => {
    if (said.end === "blocked")
      return { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: googleUsage }
    const parts = googleParts(said)
    return {
      candidates: [{ content: { role: "model", parts }, finishReason: googleEnd(said), index: 0 }],
      usageMetadata: googleUsage,
      modelVersion: "test-model",
    }
  },
  streams: (said) => {
    if (said.end === "blocked") return [google.says(said)]
    const { text: words = "", ...others } = said
    const chunk = (parts: JsonObject[], finishReason?: string): JsonObject => ({
      candidates: [
        { content: { role: "model", parts }, index: 0, ...(finishReason === undefined ? {} : { finishReason }) },
      ],
      ...(finishReason === undefined ? {} : { usageMetadata: googleUsage }),
    })
    const rest = googleParts(others)
    const isThought = (part: JsonObject): boolean => part["thought"] === true
    return [
      ...rest.filter(isThought).map((part) => chunk([part])),
      ...(said.end === "refusal" ? [] : pieces(words).map((piece) => chunk([{ text: piece }]))),
      ...rest.filter((part) => !isThought(part)).map((part) => chunk([part])),
      chunk([{ text: "" }], googleEnd(said)),
    ]
  },
  error: (status, message) => ({
    error: {
      code: status,
      message,
      status:
        status === 429
          ? "RESOURCE_EXHAUSTED"
          : status >= 500
            ? "UNAVAILABLE"
            : status === 404
              ? "NOT_FOUND"
              : "INVALID_ARGUMENT",
    },
  }),
  unknownField: (name) =>
    google.error(400, `Invalid JSON payload received. Unknown name "${name}" at 'generation_config'`),
  refusesFormat: () =>
    google.error(400, "Invalid JSON payload received. Unknown name \"responseSchema\" at 'generation_config'"),
  asked: (body) => {
    const config = (body["generationConfig"] ?? {}) as JsonObject
    const instruction = body["systemInstruction"] as JsonObject | undefined
    return {
      system: list(instruction?.["parts"])
        .map((part) => text(part["text"]))
        .join("\n\n"),
      conversation: list(body["contents"]).flatMap(({ role, parts }) =>
        list(parts).flatMap((part): string[] => {
          const signed = typeof part["thoughtSignature"] === "string" ? [`thought: ${part["thoughtSignature"]}`] : []
          const called = part["functionCall"] as JsonObject | undefined
          const result = part["functionResponse"] as JsonObject | undefined
          const inline = part["inlineData"] as JsonObject | undefined
          if (called !== undefined)
            return [...signed, `call: ${text(called["name"])} ${text(called["id"])} ${JSON.stringify(called["args"])}`]
          if (result !== undefined) {
            const response = result["response"] as JsonObject
            return [`result: ${text(result["id"])} ${text(response["content"])}`]
          }
          if (inline !== undefined) {
            const mime = text(inline["mimeType"])
            return [`${mime.startsWith("image/") ? "image" : "file"}: data:${mime};base64,${text(inline["data"])}`]
          }
          if (part["thought"] === true) return signed
          return [...signed, `${role === "model" ? "assistant" : "user"}: ${text(part["text"])}`]
        }),
      ),
      tools: list(body["tools"]).flatMap((tool) => list(tool["functionDeclarations"]).map(({ name }) => text(name))),
      format:
        config["responseSchema"] !== undefined
          ? "strict"
          : config["responseJsonSchema"] !== undefined
            ? "json_schema"
            : config["responseMimeType"] === "application/json"
              ? "json_object"
              : null,
      max_tokens: config["maxOutputTokens"] ?? null,
    }
  },
}

const googleUsage = {
  promptTokenCount: 10,
  cachedContentTokenCount: 4,
  candidatesTokenCount: 3,
  thoughtsTokenCount: 2,
  totalTokenCount: 15,
}

function googleParts({ text: said, calls = [], thought, end }: Said): JsonObject[] {
  return [
    ...(thought === undefined ? [] : [{ text: "Hm.", thought: true, thoughtSignature: thought }]),
    ...(said === undefined || end === "refusal" ? [] : [{ text: said }]),
    ...calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } })),
  ]
}

function googleEnd({ end }: Said): string {
  if (end === "length") return "MAX_TOKENS"
  return end === "refusal" ? "SAFETY" : "STOP"
}

export const voices: readonly Voice[] = [responses, chat, anthropic, google]
