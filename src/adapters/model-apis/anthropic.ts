import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { logProbabilities } from "./exchange.ts"
import { answerReader } from "./result.ts"
import { bodyWriter, withExtra } from "./talk.ts"
import { mergeOptions } from "../model-turn/wire-options.ts"
import { modelApi } from "./api.ts"
import { markOption } from "./prompt-cache.ts"
import { anthropicBatches } from "./anthropic-batches.ts"
import { apiUrl } from "./api-url.ts"
import { readAnthropic, writeAnthropic } from "./anthropic-body.ts"
import { anthropicSchema } from "./anthropic-schema.ts"
import { AnthropicFold } from "./fold-anthropic.ts"

/** Required by the API; sent where the workflow sets none. */
const defaultMaxTokens = 8192

/** Anthropic's `/messages`. */
export const anthropicApi = modelApi({
  name: "anthropic",
  otherKind: "If it has no `/messages`, but `/chat/completions`, its provider is of the kind `openai_chat`",
  // `strict` is the API's own output format, `json_schema` a forced tool call with the schema, which newer models refuse.
  ladder: ["strict", "json_schema", "instruction_only"],
  takesStrict: (form) => anthropicSchema(form) !== null,
  excludesCitations: ["strict"],
  excludesTools: ["json_schema"],
  unread: logProbabilities,
  url: (endpoint) => apiUrl(endpoint, "/messages"),
  batches: anthropicBatches,
  headers: ({ api_key }) => ({
    "anthropic-version": "2023-06-01",
    ...(api_key === null || api_key === "" ? {} : { "x-api-key": api_key }),
  }),
  options: (request) => {
    const { temperature, top_p, top_k, max_tokens = defaultMaxTokens, reasoning_effort, stop } = request.inference
    const options: JsonObject = { max_tokens }
    if (temperature !== undefined) options["temperature"] = temperature
    if (top_p !== undefined) options["top_p"] = top_p
    if (top_k !== undefined) options["top_k"] = top_k
    if (stop !== undefined) options["stop_sequences"] = typeof stop === "string" ? [stop] : [...stop]
    if (reasoning_effort !== undefined) options["output_config"] = { effort: reasoning_effort }
    return withExtra(options, request, ["model", "messages", "tools", "stream"])
  },
  maxTokens: (most) => ({ max_tokens: most }),
  writer: bodyWriter(
    "anthropic",
    () => ({ takesId: (id) => /^[A-Za-z0-9_-]{1,64}$/.test(id), idLength: 40 }),
    (conversation, { options: all, format, stream }, { request }) => {
      const isOwn = request.inference.extra?.[markOption] === undefined
      const { [markOption]: mark, ...others } = all
      const options = isOwn ? others : all
      const forced = format?.formatLevel === "json_schema" ? (JSON.parse(format.form.schema) as JsonObject) : null
      const body = writeAnthropic(conversation, forced, isOwn ? mark : undefined)
      const finished = mergeOptions(body, options)
      if (stream) finished["stream"] = true
      if (stream && Array.isArray(body["tools"])) finished["tools"] = body["tools"].map(eager)
      const schema = format?.formatLevel === "strict" ? anthropicSchema(format.form) : null
      return schema === null
        ? finished
        : mergeOptions(finished, { output_config: { format: { type: "json_schema", schema } } })
    },
  ),
  read: answerReader("anthropic", otherApi, readAnthropic),
  fold: () => new AnthropicFold(),
  problem: otherApi,
})

/** The pieces of a tool's input come as the model writes them, and not when the input is whole. */
function eager(tool: JsonValue): JsonValue {
  return isJsonObject(tool) && tool["input_schema"] !== undefined ? { ...tool, eager_input_streaming: true } : tool
}

function otherApi(body: JsonObject): string | null {
  return Array.isArray(body["choices"])
    ? "The backend answers as `/chat/completions` does: its provider is of the kind `openai_chat`"
    : null
}
