import { jsonOf } from "../../base/bounded-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { DemoResponse } from "../respond.ts"
import { tokens } from "../stream-events.ts"
import { saidIn, textIn, usageIn, type DemoApi, type Said } from "./demo-api.ts"

/** Anthropic's `/messages`. */
export const anthropicDemo: DemoApi = {
  toResponses(body) {
    const { model, messages, max_tokens, system, tools, tool_choice, output_config, stream, temperature } = body
    if (max_tokens === undefined) return "max_tokens: Field required"
    if (!Array.isArray(messages)) return "messages: Field required"
    const input = messages.flatMap((message): JsonValue[] => (isJsonObject(message) ? itemsOf(message) : [message]))
    const instructions = textIn(system)
    const forced = forcedTool(body)
    const format = isJsonObject(output_config) && isJsonObject(output_config["format"]) ? output_config["format"] : null
    const unfit = format === null ? null : unfitIn(format["schema"])
    if (unfit !== null) return `output_config.format.schema: ${unfit}`
    const schema = forced?.["input_schema"] ?? format?.["schema"]
    return {
      // The arguments of a tool call are always an object: a sloppy model cannot spoil them.
      ...(model !== undefined && { model: forced !== null && model === "demo-sloppy" ? "demo" : model }),
      input,
      max_output_tokens: max_tokens,
      ...(stream !== undefined && { stream }),
      ...(temperature !== undefined && { temperature }),
      ...(instructions !== "" && { instructions }),
      ...(tools !== undefined && { tools: Array.isArray(tools) ? tools.map(toolOf) : tools }),
      // A tool that has to be called is asked for as the answer's format.
      ...((forced !== null || (isJsonObject(tool_choice) && tool_choice["type"] === "none")) && {
        tool_choice: "none",
      }),
      ...(schema !== undefined && { text: { format: { type: "json_schema", name: "answer", schema } } }),
    }
  },

  answer(response, asked) {
    const said = forcedCall(saidIn(response), asked)
    return { ...head(response), content: blocksOf(said), stop_reason: stopOf(said), usage: usageOf(response) }
  },

  *stream(response, asked) {
    const said = forcedCall(saidIn(response), asked)
    const step = (type: string, data: JsonObject, token = false): { text: string; token: boolean } => ({
      text: `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`,
      token,
    })
    const usage = usageOf(response)
    yield step("message_start", {
      message: { ...head(response), content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    })
    yield step("ping", {})
    for (const [index, block] of blocksOf(said).entries()) {
      const isText = block["type"] === "text"
      yield step("content_block_start", {
        index,
        content_block: isText ? { type: "text", text: "" } : { ...block, input: {} },
      })
      const whole = isText ? (block["text"] as string) : JSON.stringify(block["input"])
      for (const piece of tokens(whole)) {
        const delta = isText ? { type: "text_delta", text: piece } : { type: "input_json_delta", partial_json: piece }
        yield step("content_block_delta", { index, delta }, true)
      }
      yield step("content_block_stop", { index })
    }
    yield step("message_delta", { delta: { stop_reason: stopOf(said), stop_sequence: null }, usage })
    yield step("message_stop", {})
  },

  error: ({ status, message }) => ({ type: "error", error: { type: errorType(status), message } }),
}

/** What the API's output format does not take: open objects, lengths of arrays, schemas that contain themselves. */
function unfitIn(schema: JsonValue | undefined): string | null {
  if (Array.isArray(schema)) return firstUnfit(schema)
  if (!isJsonObject(schema)) return null
  const { type, additionalProperties, minItems, properties, items, anyOf } = schema
  if ("$ref" in schema) return "Recursive schemas are not supported"
  if (type === "object" && additionalProperties !== false) {
    return "For 'object' type, 'additionalProperties' must be explicitly set to false"
  }
  if (minItems !== undefined && minItems !== 0 && minItems !== 1) {
    return "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
  }
  const unknown = ["maxItems", "prefixItems"].find((name) => name in schema)
  if (unknown !== undefined) return `For 'array' type, property '${unknown}' is not supported`
  return firstUnfit([...(isJsonObject(properties) ? Object.values(properties) : []), items ?? null, anyOf ?? null])
}

function firstUnfit(schemas: readonly JsonValue[]): string | null {
  for (const one of schemas) {
    const unfit = unfitIn(one)
    if (unfit !== null) return unfit
  }
  return null
}

function errorType(status: number): string {
  if (status === 404) return "not_found_error"
  if (status === 429) return "rate_limit_error"
  return status >= 500 ? "api_error" : "invalid_request_error"
}

/** The tool that has to be called, whatever the question. */
function forcedTool({ tools, tool_choice }: JsonObject): JsonObject | null {
  if (!isJsonObject(tool_choice) || tool_choice["type"] !== "tool" || !Array.isArray(tools)) return null
  return tools.filter(isJsonObject).find(({ name }) => name === tool_choice["name"]) ?? null
}

function forcedCall(said: Said, asked: JsonObject): Said {
  const name = forcedTool(asked)?.["name"]
  if (typeof name !== "string" || said.text === null) return said
  return { text: null, calls: [{ call_id: "toolu_demo_1", name, arguments: said.text }], cut: said.cut }
}

function itemsOf({ role, content }: JsonObject): JsonObject[] {
  if (!Array.isArray(content)) return [{ type: "message", role: role ?? null, content: content ?? null }]
  const items: JsonObject[] = []
  let parts: JsonObject[] = []
  const close = (): void => {
    if (parts.length > 0) items.push({ type: "message", role: role ?? null, content: parts })
    parts = []
  }
  for (const block of content.filter(isJsonObject)) {
    if (block["type"] === "tool_use") {
      close()
      const { id = "", name = "", input = {} } = block
      items.push({ type: "function_call", call_id: id, name, arguments: JSON.stringify(input) })
    } else if (block["type"] === "tool_result") {
      close()
      items.push({
        type: "function_call_output",
        call_id: block["tool_use_id"] ?? "",
        output: textIn(block["content"]),
      })
    } else {
      parts.push(block)
      // Clients join the user's messages into one: a summary of what was said before is not what is asked now.
      if (textIn([block]).startsWith("Summary of the conversation so far:")) close()
    }
  }
  close()
  return items
}

function toolOf(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool)) return tool
  const { type = "custom", name, description, input_schema } = tool
  return {
    type: type === "custom" || type === null ? "function" : type,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    // Required here, unlike in `/responses`.
    parameters: input_schema ?? "",
  }
}

function head(response: DemoResponse): JsonObject {
  const { id, model } = response
  const name = typeof id === "string" ? id.replace("resp_", "msg_") : ""
  return { id: name, type: "message", role: "assistant", model: model ?? "", stop_sequence: null }
}

function blocksOf({ text, calls }: Said): JsonObject[] {
  return [
    ...(text === null ? [] : [{ type: "text", text }]),
    ...calls.map(({ call_id, name, arguments: given }) => {
      return { type: "tool_use", id: call_id, name, input: parse(given) }
    }),
  ]
}

function parse(text: string): JsonValue {
  const value = jsonOf(text)
  return value === undefined ? {} : value
}

function stopOf({ calls, cut }: Said): string {
  if (cut) return "max_tokens"
  return calls.length > 0 ? "tool_use" : "end_turn"
}

function usageOf(response: DemoResponse): JsonObject {
  const { input, output, cached, written } = usageIn(response)
  return {
    input_tokens: input - cached - written,
    output_tokens: output,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
  }
}
