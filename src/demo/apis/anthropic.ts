import { jsonOf } from "../../base/bounded-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { DemoResponse } from "../respond.ts"
import { anthropicBlocks, citationsOf, hostedBy, sealOf } from "../hosted-work.ts"
import { tokens } from "../stream-events.ts"
import { saidIn, textIn, usageIn, type DemoApi, type Said } from "./demo-api.ts"

/** Anthropic's `/messages`. */
export const anthropicDemo: DemoApi = {
  toResponses(body) {
    const { model, messages, max_tokens, system, tools, tool_choice, output_config, stream, temperature } = body
    if (max_tokens === undefined) return "max_tokens: Field required"
    if (!Array.isArray(messages)) return "messages: Field required"
    const input = messages.flatMap((message): JsonValue[] => (isJsonObject(message) ? itemsOf(message) : [message]))
    const broken = brokenSeal(messages)
    if (broken !== null) return broken
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
    const said = paused(forcedCall(saidIn(response), asked))
    return { ...head(response), content: blocksOf(said), stop_reason: stopOf(said), usage: usageOf(response, said) }
  },

  *stream(response, asked) {
    const said = paused(forcedCall(saidIn(response), asked))
    const step = (type: string, data: JsonObject, token = false): { text: string; token: boolean } => ({
      text: `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`,
      token,
    })
    const usage = usageOf(response, said)
    yield step("message_start", {
      message: { ...head(response), content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    })
    yield step("ping", {})
    for (const [index, block] of blocksOf(said).entries()) {
      if (typeof block["type"] === "string" && block["type"].endsWith("_tool_result")) {
        yield step("content_block_start", { index, content_block: block })
        yield step("content_block_stop", { index })
        continue
      }
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
      for (const citation of isText && Array.isArray(block["citations"]) ? block["citations"] : []) {
        yield step("content_block_delta", { index, delta: { type: "citations_delta", citation } })
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
  return { ...said, text: null, calls: [{ call_id: "toolu_demo_1", name, arguments: said.text }] }
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
    } else if (block["type"] === "server_tool_use") {
      const name = typeof block["name"] === "string" ? block["name"] : ""
      const type = hostedBy("anthropic", name.replace(/^(?:bash|text_editor)_/, ""))
      items.push({ type: `${type ?? ""}_call`, id: block["id"] ?? "" })
    } else if (typeof block["type"] === "string" && block["type"].endsWith("_tool_result")) {
      continue
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
  if (hostedBy("anthropic", type) !== undefined) return tool
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

/** The API stops after some rounds of its own tools; the demo model after each but the last, so that clients have to go on. */
function paused(said: Said): Said & { readonly isPaused: boolean } {
  const [first] = said.hosted
  const isPaused = first !== undefined && said.hosted.length > 1
  return isPaused ? { text: null, calls: [], hosted: [first], cut: false, isPaused } : { ...said, isPaused }
}

/** What its own tools found has to come back as it was sent. */
function brokenSeal(messages: readonly JsonValue[]): string | null {
  const blocks = messages.flatMap((message) =>
    isJsonObject(message) && Array.isArray(message["content"]) ? message["content"].filter(isJsonObject) : [],
  )
  const uses = new Set(blocks.flatMap(({ type, id }) => (type === "server_tool_use" ? [id] : [])))
  for (const { type, tool_use_id: id, content } of blocks) {
    if (typeof type !== "string" || !type.endsWith("_tool_result")) continue
    if (!uses.has(id)) return `messages: ${type} has no server_tool_use before it`
    if (type !== "web_search_tool_result" || !Array.isArray(content)) continue
    for (const found of content.filter(isJsonObject)) {
      if (found["encrypted_content"] !== sealOf(typeof id === "string" ? id : ""))
        return "messages: Invalid encrypted_content in search_result block"
    }
  }
  return null
}

function blocksOf({ text, calls, hosted }: Said): JsonObject[] {
  const citations = citationsOf(hosted)
  return [
    ...hosted.flatMap(anthropicBlocks),
    ...(text === null ? [] : [{ type: "text", text, ...(citations.length > 0 && { citations }) }]),
    ...calls.map(({ call_id, name, arguments: given }) => {
      return { type: "tool_use", id: call_id, name, input: parse(given) }
    }),
  ]
}

function parse(text: string): JsonValue {
  const value = jsonOf(text)
  return value === undefined ? {} : value
}

function stopOf({ calls, cut, isPaused }: ReturnType<typeof paused>): string {
  if (isPaused) return "pause_turn"
  if (cut) return "max_tokens"
  return calls.length > 0 ? "tool_use" : "end_turn"
}

function usageOf(response: DemoResponse, { hosted }: Said): JsonObject {
  const used = (type: string): number => hosted.filter(({ tool }) => tool === type).length
  const { input, output, cached, written } = usageIn(response)
  return {
    input_tokens: input - cached - written,
    output_tokens: output,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    ...(hosted.length > 0 && {
      server_tool_use: { web_search_requests: used("web_search"), web_fetch_requests: used("web_fetch") },
    }),
  }
}
