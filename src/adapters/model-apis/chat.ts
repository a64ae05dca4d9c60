import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { Backend } from "../../ports/model.ts"
import { bearer } from "../model-turn/request-headers.ts"
import { wholeLadder } from "../model-turn/output-format.ts"
import { logProbabilities } from "./exchange.ts"
import { answerReader } from "./result.ts"
import { bodyWriter, withExtra } from "./talk.ts"
import { mergeOptions } from "../model-turn/wire-options.ts"
import { modelApi } from "./api.ts"
import { openAiBatches } from "./openai-batches.ts"
import { apiUrl } from "./api-url.ts"
import { isOpenAi } from "../../ports/openai-endpoint.ts"
import { readChat, writeChat } from "./chat-body.ts"
import { ChatFold } from "./fold-chat.ts"

/** OpenAI's `/chat/completions`, and everything that is compatible with it. */
export const chatApi = modelApi({
  name: "chat",
  ladder: wholeLadder,
  otherKind:
    'If it has no `/chat/completions`, but `/responses`, its provider is of the kind `openai`, or the model has wire_api: "responses"',
  unread: logProbabilities,
  url: (endpoint) => apiUrl(endpoint, "/chat/completions"),
  batches: openAiBatches("/v1/chat/completions"),
  headers: ({ api_key }) => bearer(api_key),
  options: (request) => {
    const { inference, backend } = request
    const { temperature, top_p, top_k, max_tokens, reasoning_effort, verbosity, seed, stop } = inference
    const { frequency_penalty, presence_penalty, repeat_penalty } = inference
    const options = given({
      ...(max_tokens === undefined ? {} : maxTokensField(max_tokens, backend)),
      temperature,
      top_p,
      frequency_penalty,
      presence_penalty,
      // OpenAI's own endpoint has neither, those of local servers do.
      ...(isOpenAi(backend.endpoint) ? {} : { top_k, repeat_penalty }),
      reasoning_effort,
      verbosity,
      seed,
      stop: typeof stop === "object" ? [...stop] : stop,
      stream_options: { include_usage: true },
    })
    return withExtra(options, request, ["model", "messages", "tools", "stream", "response_format"])
  },
  maxTokens: maxTokensField,
  writer: bodyWriter(
    "chat",
    (endpoint) =>
      isMistral(endpoint)
        ? { takesId: (id) => /^[A-Za-z0-9]{9}$/.test(id), idLength: 9 }
        : { takesId: (id) => id.length > 0 && id.length <= 40, idLength: 40 },
    (conversation, { options, format, stream }) => {
      const { stream_options, ...others } = options
      const finished = mergeOptions(writeChat(conversation), others)
      if (stream) finished["stream"] = true
      if (stream && stream_options !== undefined) finished["stream_options"] = stream_options
      if (format === null) return finished
      const { name, schema, strictSchema } = format.form
      const strict = format.formatLevel === "strict"
      finished["response_format"] =
        format.formatLevel === "json_object"
          ? { type: "json_object" }
          : {
              type: "json_schema",
              json_schema: {
                name,
                strict,
                schema: JSON.parse(strict ? (strictSchema ?? schema) : schema) as JsonObject,
              },
            }
      return finished
    },
  ),
  read: answerReader("chat", problem, readChat),
  fold: () => new ChatFold(),
  problem,
})

/** OpenAI's own endpoint takes `max_completion_tokens`; others know only the older name. */
function maxTokensField(most: number, { endpoint }: Backend): JsonObject {
  return isOpenAi(endpoint) ? { max_completion_tokens: most } : { max_tokens: most }
}

function isMistral(endpoint: string): boolean {
  return URL.parse(endpoint)?.hostname.endsWith("mistral.ai") === true
}

function given(options: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as JsonObject
}

/** An answer of another API. */
function problem(body: JsonObject): string | null {
  if (Array.isArray(body["output"]) && body["choices"] === undefined) {
    return 'The backend answers as `/responses` does: its provider is of the kind `openai`, or the model has wire_api: "responses"'
  }
  return isJsonObject(body["message"]) && body["choices"] === undefined
    ? "The backend does not answer as `/chat/completions` does"
    : null
}
