import { isJsonObject } from "../../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../../base/json-value.ts"
import { refuse, type HttpError } from "../../http-error.ts"

// Fields of requests of OpenAI's APIs: null counts as absent.

/** A request that cannot be answered in the form that it asks for. `code`: what that API calls it. */
export function wrongField(param: string, message: string, code = "invalid_request_error"): HttpError {
  return refuse("invalid_request", message, [{ path: param, message, code }])
}

export function given(body: JsonObject, name: string): JsonValue | undefined {
  const value = body[name]
  return value === null ? undefined : value
}

export function textIn(body: JsonObject, name: string): string | undefined {
  const value = given(body, name)
  if (value === undefined || typeof value === "string") return value
  throw wrongField(name, `\`${name}\` must be a string`)
}

export function flagIn(body: JsonObject, name: string, place = name): boolean | undefined {
  const value = given(body, name)
  if (value === undefined || typeof value === "boolean") return value
  throw wrongField(place, `\`${place}\` must be true or false`)
}

export function objectIn(body: JsonObject, name: string, place = name): JsonObject | undefined {
  const value = given(body, name)
  if (value === undefined || isJsonObject(value)) return value
  throw wrongField(place, `\`${place}\` must be an object`)
}

/** Texts by name, as OpenAI has them: at most 16, of up to 512 characters. */
export function metadataIn(body: JsonObject): Readonly<Record<string, string>> {
  const metadata = objectIn(body, "metadata") ?? {}
  const texts: Record<string, string> = {}
  for (const [name, value] of Object.entries(metadata)) {
    const place = `metadata.${name}`
    if (typeof value !== "string") throw wrongField(place, `\`${place}\` must be a string`)
    texts[name] = value
  }
  return texts
}

/** The model's name: that of a workflow. */
export function modelIn(body: JsonObject): string {
  const model = textIn(body, "model")
  if (model === undefined || model === "") throw wrongField("model", "`model` is missing: it names a workflow")
  return model
}

export function refuseForms(body: JsonObject): void {
  const count = given(body, "n")
  if (count !== undefined && count !== 1) throw wrongField("n", "`n` must be 1: a run gives one reply")
  for (const name of ["tool_choice", "function_call"]) {
    const choice = given(body, name)
    if (choice === undefined || choice === "auto" || choice === "none") continue
    throw wrongField(name, `\`${name}\` must be "auto" or "none": the workflow decides which tools are called`)
  }
  for (const name of ["conversation", "prompt"]) {
    if (given(body, name) === undefined) continue
    throw wrongField(name, `\`${name}\` is not supported: send the messages, or \`previous_response_id\``)
  }
  const modalities = given(body, "modalities")
  if (modalities !== undefined && JSON.stringify(modalities) !== '["text"]') {
    throw wrongField("modalities", '`modalities` must be ["text"]: replies are text')
  }
  if (given(body, "audio") !== undefined) throw wrongField("audio", "`audio` is not supported: replies are text")
}

/** Replies are text: the workflow's types say what it consists of. */
export function refuseFormat(format: JsonObject | undefined, param: string): void {
  const type = format === undefined ? "text" : format["type"]
  if (type === "text") return
  throw wrongField(param, `\`${param}\` must be of type "text": the reply of a workflow is text`)
}

/** Fields that a workflow cannot honour, in the order of the request. */
const notHonoured = new Set([
  "frequency_penalty",
  "function_call",
  "functions",
  "include",
  "logit_bias",
  "logprobs",
  "max_completion_tokens",
  "max_output_tokens",
  "max_tokens",
  "max_tool_calls",
  "parallel_tool_calls",
  "prediction",
  "presence_penalty",
  "reasoning",
  "reasoning_effort",
  "seed",
  "service_tier",
  "stop",
  "temperature",
  "tool_choice",
  "tools",
  "top_k",
  "top_logprobs",
  "top_p",
  "truncation",
  "verbosity",
  "web_search_options",
])

export function ignoredFields(body: JsonObject): string[] {
  return Object.keys(body).filter((name) => notHonoured.has(name) && given(body, name) !== undefined)
}
