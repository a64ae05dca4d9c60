import { createAnthropic } from "@ai-sdk/anthropic"
import type { JsonObject } from "../../base/json-value.ts"
import { mergeOptions } from "../model-turn/wire-options.ts"
import { aiSdkApi } from "./ai-sdk-api.ts"
import { apiUrl } from "./api-url.ts"

/** Required by the API; sent where the workflow sets none. */
const defaultMaxTokens = 8192

/** Anthropic's `/messages`. */
export const anthropicApi = aiSdkApi({
  name: "anthropic",
  other_kind: "If it has no `/messages`, but `/chat/completions`, its provider is of the kind `openai_chat`",
  // `strict` is the API's own output format, `json_schema` a forced tool call with the schema.
  ladder: ["strict", "json_schema", "instruction_only"],
  excludes_citations: ["strict"],
  excludes_tools: ["json_schema"],
  demoEndpoint: (endpoint) => endpoint,
  model: (id, fetch) => createAnthropic({ apiKey: "unused", baseURL: "http://unused", fetch })(id),
  url: (endpoint) => apiUrl(endpoint, "/messages"),
  headers: ({ api_key }) => ({
    "anthropic-version": "2023-06-01",
    ...(api_key === null || api_key === "" ? {} : { "x-api-key": api_key }),
  }),
  options: ({ inference }) => {
    const { temperature, top_p, top_k, max_tokens = defaultMaxTokens, reasoning_effort, stop } = inference
    const options: JsonObject = { max_tokens }
    if (temperature !== undefined) options["temperature"] = temperature
    if (top_p !== undefined) options["top_p"] = top_p
    if (top_k !== undefined) options["top_k"] = top_k
    if (stop !== undefined) options["stop_sequences"] = typeof stop === "string" ? [stop] : [...stop]
    if (reasoning_effort !== undefined) options["output_config"] = { effort: reasoning_effort }
    return options
  },
  maxTokens: (most) => ({ max_tokens: most }),
  reserved: ["model", "messages", "tools", "stream"],
  finish: (body, { options, format }) => {
    const { max_tokens: _, ...own } = body
    const finished = mergeOptions(own, options)
    if (format?.rung !== "strict") return finished
    const schema = JSON.parse(format.form.strict_schema ?? format.form.schema) as JsonObject
    return mergeOptions(finished, { output_config: { format: { type: "json_schema", schema } } })
  },
  problem: (body) =>
    Array.isArray(body["choices"])
      ? "The backend answers as `/chat/completions` does: its provider is of the kind `openai_chat`"
      : null,
  takesId: (id) => /^[A-Za-z0-9_-]{1,64}$/.test(id),
  id_length: () => 40,
})
