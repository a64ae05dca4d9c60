import type { ApiName } from "../check/provider-kinds.ts"
import { hostedBy } from "./hosted-work.ts"
import { jsonOf } from "../base/bounded-json.ts"
import { isJsonObject } from "../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../base/json-value.ts"

/** A request to the demo model, read and found in order. */
export interface Question {
  readonly model: string
  readonly stream: boolean
  /** The conversation in the wire's own items; a bare text is one user message. */
  readonly items: readonly JsonObject[]
  /** The latest instruction: the last user message that is not merely a complaint about an answer's form. */
  readonly instruction: string
  /** Schema of the answer, from `text.format` or, failing that, from what the system messages ask for. */
  readonly schema: JsonObject | null
  /** The answer has to be JSON of some kind. */
  readonly json: boolean
  /** Offered and not called yet in this conversation. */
  readonly uncalled: readonly { readonly name: string; readonly parameters: JsonObject }[]
  /** Types of its own tools that are offered and were not used yet in this conversation. */
  readonly unused: readonly string[]
  /** Text of the last assistant message. */
  readonly last_answer: string | null
  readonly max_output_tokens: number | null
  /** The same for the same question, streamed or not. */
  readonly seed: string
  readonly body: JsonObject
}

/** An error in OpenAI's form. */
export interface ApiError {
  readonly status: number
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string | null
}

export type Reading = { readonly question: Question } | { readonly error: ApiError }

const modelIds: readonly string[] = ["demo", "demo-slow", "demo-flaky", "demo-sloppy"]

/** It answers to the id of every vendor, so that any workflow can be tried; an id like its own is one of its own, or a mistake. */
function isAnswered(model: string): boolean {
  return model.startsWith("demo") ? modelIds.includes(model) : model.trim() !== ""
}

/** Null for the id of a model that answers. */
export function unknownModel(model: JsonValue | undefined): { readonly error: ApiError } | null {
  if (model === undefined || model === null) return missing("model")
  if (typeof model !== "string") return wrong("model", "a string")
  if (isAnswered(model)) return null
  const message = `The model '${model.slice(0, 100)}' does not exist here. This is the demo model of Wireworks: it answers to ${modelIds.join(", ")}, and to every id that does not begin with demo.`
  return { error: { status: 404, message, type: "invalid_request_error", param: "model", code: "model_not_found" } }
}

/** What a vendor refuses is refused: a request that works here does not fail there for its form. */
export function readQuestion(parsed: JsonObject, api: ApiName): Reading {
  const { model, input } = parsed
  const unknown = unknownModel(model)
  if (unknown !== null) return unknown
  if (typeof model !== "string") return wrong("model", "a string")
  if (input === undefined || input === null) return missing("input")
  if (typeof input !== "string" && !Array.isArray(input)) return wrong("input", "a string or an array of items")
  if (input.length === 0) return refuse("'input' is empty.", "input", "invalid_value")
  const given: readonly JsonValue[] =
    typeof input === "string" ? [{ type: "message", role: "user", content: input }] : input
  const items: JsonObject[] = []
  for (const [at, item] of given.entries()) {
    const problem = isJsonObject(item) ? problemOf(item) : "is not an object"
    if (problem !== null) return refuse(`'input[${at}]' ${problem}.`, `input[${at}]`, "invalid_value")
    items.push(item as JsonObject)
  }
  if (isGiven(parsed["previous_response_id"])) {
    return refuse(
      "The demo model keeps no responses: send the whole 'input'.",
      "previous_response_id",
      "unsupported_parameter",
    )
  }
  const { stream, max_output_tokens, temperature } = parsed
  if (isGiven(stream) && typeof stream !== "boolean") return wrong("stream", "a boolean")
  if (isGiven(max_output_tokens) && !(Number.isSafeInteger(max_output_tokens) && Number(max_output_tokens) > 0)) {
    return wrong("max_output_tokens", "a positive integer")
  }
  if (isGiven(temperature) && !(typeof temperature === "number" && temperature >= 0 && temperature <= 2)) {
    return wrong("temperature", "a number from 0 to 2")
  }
  const { instructions, tool_choice } = parsed
  if (isGiven(instructions) && typeof instructions !== "string" && !Array.isArray(instructions)) {
    return wrong("instructions", "a string")
  }
  const tools = readTools(parsed["tools"], api)
  if ("error" in tools) return tools
  if (isGiven(tool_choice) && !isToolChoice(tool_choice)) {
    return wrong("tool_choice", "none, auto, required, or an object with a type")
  }
  const format = readFormat(parsed["text"])
  if ("error" in format) return format

  const asked = systemText(parsed, items)
  const schema = format.schema ?? findSchema(asked)
  const called = new Set(items.filter((item) => item["type"] === "function_call").map((item) => item["name"]))
  const offered = tool_choice === "none" ? [] : tools.tools
  return {
    question: {
      model,
      stream: stream === true,
      items,
      instruction: instructionOf(items),
      schema,
      json: schema !== null || format.json,
      uncalled: offered.filter((tool) => !called.has(tool.name)),
      unused:
        tool_choice === "none"
          ? []
          : tools.hosted.filter((type) => !items.some((item) => item["type"] === `${type}_call`)),
      last_answer: lastAnswer(items),
      max_output_tokens: typeof max_output_tokens === "number" ? max_output_tokens : null,
      seed: JSON.stringify([model, input, instructions ?? null, parsed["tools"] ?? null, parsed["text"] ?? null]),
      body: parsed,
    },
  }
}

function problemOf(item: JsonObject): string | null {
  const type = item["type"] ?? "message"
  if (type === "message") {
    if (typeof item["role"] !== "string") return "has no role"
    const { content } = item
    if (typeof content !== "string" && !Array.isArray(content)) return "has no content"
    if (Array.isArray(content) && !content.every(isJsonObject)) return "has content that is not an object"
    return null
  }
  if (type === "function_call") {
    return typeof item["name"] === "string" && typeof item["call_id"] === "string" ? null : "lacks name or call_id"
  }
  if (type === "function_call_output") {
    return typeof item["call_id"] === "string" && item["output"] !== undefined ? null : "lacks call_id or output"
  }
  return typeof type === "string" ? null : "has no type"
}

function readTools(
  value: JsonValue | undefined,
  api: ApiName,
): { tools: { name: string; parameters: JsonObject }[]; hosted: string[] } | { error: ApiError } {
  if (!isGiven(value)) return { tools: [], hosted: [] }
  if (!Array.isArray(value)) return wrong("tools", "an array")
  const tools: { name: string; parameters: JsonObject }[] = []
  const used: string[] = []
  for (const [at, tool] of value.entries()) {
    const place = `tools[${at}]`
    if (!isJsonObject(tool)) return wrong(place, "an object")
    const { type, name, description, parameters, strict } = tool
    if (!isGiven(type)) return missing(`${place}.type`)
    const hosted = hostedBy(api, type)
    if (hosted !== undefined) {
      if (hosted === "code_interpreter" && !isGiven(tool["container"])) return missing(`${place}.container`)
      if (api === "anthropic" && name !== hosted) return missing(`${place}.name`)
      used.push(hosted)
      continue
    }
    if (type !== "function") return wrong(`${place}.type`, "function, or a tool that the API of this address hosts")
    if (!isGiven(name)) return missing(`${place}.name`)
    if (typeof name !== "string" || !toolName.test(name)) {
      return wrong(`${place}.name`, "1 to 128 letters, digits, _, -, . and :")
    }
    if (isGiven(description) && typeof description !== "string") return wrong(`${place}.description`, "a string")
    if (isGiven(strict) && typeof strict !== "boolean") return wrong(`${place}.strict`, "a boolean")
    if (isGiven(parameters) && !isObjectSchema(parameters)) {
      return wrong(`${place}.parameters`, "a JSON Schema of the type object")
    }
    tools.push({ name, parameters: isJsonObject(parameters) ? parameters : {} })
  }
  return { tools, hosted: used }
}

/** What one vendor or another takes. */
const toolName = /^[A-Za-z0-9_.:-]{1,128}$/

function isObjectSchema(schema: JsonValue): boolean {
  return isJsonObject(schema) && (!isGiven(schema["type"]) || schema["type"] === "object")
}

function isToolChoice(choice: JsonValue): boolean {
  if (isJsonObject(choice)) return typeof choice["type"] === "string"
  return choice === "none" || choice === "auto" || choice === "required"
}

function readFormat(text: JsonValue | undefined): { schema: JsonObject | null; json: boolean } | { error: ApiError } {
  if (isGiven(text) && !isJsonObject(text)) return wrong("text", "an object")
  const format = isJsonObject(text) ? text["format"] : undefined
  if (!isGiven(format)) return { schema: null, json: false }
  if (!isJsonObject(format)) return wrong("text.format", "an object")
  switch (format["type"]) {
    case "text":
      return { schema: null, json: false }
    case "json_object":
      return { schema: null, json: true }
    case "json_schema": {
      const { name, schema } = format
      if (typeof name !== "string" || name === "") return missing("text.format.name")
      if (!isJsonObject(schema)) return missing("text.format.schema")
      return { schema, json: true }
    }
    default:
      return wrong("text.format.type", "text, json_object or json_schema")
  }
}

function systemText(body: JsonObject, items: readonly JsonObject[]): string {
  const { instructions } = body
  const texts = items.filter((item) => item["role"] === "system" || item["role"] === "developer").map(textOf)
  return [typeof instructions === "string" ? instructions : "", ...texts].join("\n")
}

/** Characters that are parsed in search of a schema, all tries together. */
const maxSearched = 1024 * 1024

/** A JSON Schema of an object within a text: the last balanced pair of braces that is one. */
function findSchema(text: string): JsonObject | null {
  let read = 0
  for (
    let start = text.indexOf("{"), tries = 0;
    start >= 0 && tries < 50;
    start = text.indexOf("{", start + 1), tries++
  ) {
    const end = text.lastIndexOf("}")
    if (end < start) return null
    read += end + 1 - start
    if (read > maxSearched) return null
    const value = jsonOf(text.slice(start, end + 1))
    if (isJsonObject(value) && value["type"] === "object" && isJsonObject(value["properties"])) return value
  }
  return null
}

function instructionOf(items: readonly JsonObject[]): string {
  const texts = items.filter((item) => item["role"] === "user").map(textOf)
  return texts.findLast((text) => !/^(Your answer does not fit|Now give the result)/.test(text)) ?? texts.at(-1) ?? ""
}

function lastAnswer(items: readonly JsonObject[]): string | null {
  const item = items.findLast((one) => one["role"] === "assistant")
  return item === undefined ? null : textOf(item)
}

/** The text of a message, its other parts left out. */
export function textOf(item: JsonObject): string {
  const { content } = item
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content
    .map((part) => (isJsonObject(part) && typeof part["text"] === "string" ? part["text"] : ""))
    .filter((text) => text !== "")
    .join("\n")
}

function isGiven(value: JsonValue | undefined): value is Exclude<JsonValue, null> {
  return value !== undefined && value !== null
}

export function refuse(
  message: string,
  param: string | null = null,
  code: string | null = null,
): { readonly error: ApiError } {
  return { error: { status: 400, message, type: "invalid_request_error", param, code } }
}

export function missing(param: string): { error: ApiError } {
  return refuse(`Missing required parameter: '${param}'.`, param, "missing_required_parameter")
}

export function wrong(param: string, expected: string): { error: ApiError } {
  return refuse(`Invalid value for '${param}': expected ${expected}.`, param, "invalid_value")
}
