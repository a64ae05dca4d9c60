import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { DemoResponse } from "../respond.ts"
import { tokens } from "../stream-events.ts"
import { saidIn, textIn, usageIn, type DemoApi, type Said } from "./demo-api.ts"

/** OpenAI's `/chat/completions`. */
export const chatDemo: DemoApi = {
  toResponses(body) {
    const { messages, tools, response_format, max_tokens, max_completion_tokens, ...rest } = body
    if (!Array.isArray(messages)) return "Missing required parameter: 'messages'."
    const input = messages.flatMap((message): JsonValue[] => (isJsonObject(message) ? itemsOf(message) : [message]))
    const most = max_completion_tokens ?? max_tokens
    return {
      ...rest,
      input,
      ...(tools !== undefined && { tools: Array.isArray(tools) ? tools.map(toolOf) : tools }),
      ...(response_format !== undefined && { text: { format: formatOf(response_format) } }),
      ...(most !== undefined && most !== null && { max_output_tokens: most }),
    }
  },

  answer(response) {
    const said = saidIn(response)
    return {
      ...head(response, "chat.completion"),
      choices: [{ index: 0, message: messageOf(said), logprobs: null, finish_reason: finishOf(said) }],
      usage: usageOf(response),
    }
  },

  *stream(response, asked) {
    const said = saidIn(response)
    const top = head(response, "chat.completion.chunk")
    const step = (data: JsonObject, token = false): { text: string; token: boolean } => ({
      text: `data: ${JSON.stringify({ ...top, ...data })}\n\n`,
      token,
    })
    const chunk = (delta: JsonObject, finish_reason: string | null = null): JsonObject => ({
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    })
    yield step(chunk({ role: "assistant", content: said.text === null ? null : "" }))
    for (const content of tokens(said.text ?? "")) yield step(chunk({ content }), true)
    for (const [index, { call_id, name, arguments: given }] of said.calls.entries()) {
      const call = { index, id: call_id, type: "function", function: { name, arguments: "" } }
      yield step(chunk({ tool_calls: [call] }))
      for (const piece of tokens(given)) {
        yield step(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }), true)
      }
    }
    yield step(chunk({}, finishOf(said)))
    const { stream_options } = asked
    if (isJsonObject(stream_options) && stream_options["include_usage"] === true) {
      yield step({ choices: [], usage: usageOf(response) })
    }
    yield { text: "data: [DONE]\n\n", token: false }
  },

  error: ({ message, type, param, code }) => ({ error: { message, type, param, code } }),
}

function itemsOf(message: JsonObject): JsonObject[] {
  const { role, content, tool_calls, tool_call_id } = message
  if (role === "tool") return [{ type: "function_call_output", call_id: tool_call_id ?? "", output: textIn(content) }]
  const calls = Array.isArray(tool_calls) ? tool_calls.filter(isJsonObject) : []
  const said: JsonObject = { type: "message", role: role ?? null, content: content ?? "" }
  return [
    ...(calls.length > 0 && (content === null || content === undefined || content === "") ? [] : [said]),
    ...calls.map((call) => {
      const called = isJsonObject(call["function"]) ? call["function"] : {}
      const { name = "", arguments: given = "" } = called
      return { type: "function_call", call_id: call["id"] ?? "", name, arguments: given }
    }),
  ]
}

function toolOf(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool)) return tool
  const { type, function: described } = tool
  return { ...(isJsonObject(described) && described), ...(type !== undefined && { type }) }
}

function formatOf(format: JsonValue): JsonValue {
  if (!isJsonObject(format)) return format
  const { json_schema } = format
  return isJsonObject(json_schema) ? { type: "json_schema", ...json_schema } : format
}

function head(response: DemoResponse, object: string): JsonObject {
  const { id, created_at, model } = response
  const name = typeof id === "string" ? id.replace("resp_", "chatcmpl-") : ""
  return { id: name, object, created: created_at ?? 0, model: model ?? "", system_fingerprint: null }
}

function messageOf({ text, calls }: Said): JsonObject {
  const message: JsonObject = { role: "assistant", content: text, refusal: null }
  if (calls.length === 0) return message
  const tool_calls = calls.map(({ call_id, name, arguments: given }) => {
    return { id: call_id, type: "function", function: { name, arguments: given } }
  })
  return { ...message, tool_calls }
}

function finishOf({ calls, cut }: Said): string {
  if (cut) return "length"
  return calls.length > 0 ? "tool_calls" : "stop"
}

function usageOf(response: DemoResponse): JsonObject {
  const { input, output, cached, written } = usageIn(response)
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, ...(written > 0 && { cache_write_tokens: written }) },
    completion_tokens_details: { reasoning_tokens: 0 },
  }
}
