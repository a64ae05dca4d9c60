import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { ContractForm } from "../model-turn/output-format.ts"
import { logProbabilities } from "./exchange.ts"
import { answerReader } from "./result.ts"
import { bodyWriter, withExtra } from "./talk.ts"
import { mergeOptions } from "../model-turn/wire-options.ts"
import { modelApi } from "./api.ts"
import { apiUrl } from "./api-url.ts"
import { readGoogle, writeGoogle } from "./google-body.ts"
import { GoogleFold } from "./fold-google.ts"
import { toOpenApiSchema } from "./open-api-schema.ts"

/** Google's `generateContent`. */
export const googleApi = modelApi({
  name: "google",
  otherKind: "If it has no `generateContent`, but `/chat/completions`, its provider is of the kind `openai_chat`",
  // `strict` is `responseSchema`, `json_schema` is `responseJsonSchema`, which takes more of JSON Schema.
  ladder: ["strict", "json_schema", "json_object", "instruction_only"],
  unread: logProbabilities,
  url: (endpoint, model, stream) => {
    const id = model.startsWith("models/") || model.startsWith("tunedModels/") ? model : `models/${model}`
    const path = `/${id.split("/").map(encodeURIComponent).join("/")}`
    return stream
      ? apiUrl(endpoint, `${path}:streamGenerateContent`, { alt: "sse" })
      : apiUrl(endpoint, `${path}:generateContent`)
  },
  headers: ({ api_key }) => (api_key === null || api_key === "" ? {} : { "x-goog-api-key": api_key }),
  options: (request) => {
    const { inference } = request
    const { temperature, top_p, top_k, max_tokens, reasoning_effort, seed, stop } = inference
    const { frequency_penalty, presence_penalty } = inference
    const config: JsonObject = {}
    if (temperature !== undefined) config["temperature"] = temperature
    if (top_p !== undefined) config["topP"] = top_p
    if (top_k !== undefined) config["topK"] = top_k
    if (max_tokens !== undefined) config["maxOutputTokens"] = max_tokens
    if (seed !== undefined) config["seed"] = seed
    if (stop !== undefined) config["stopSequences"] = typeof stop === "string" ? [stop] : [...stop]
    if (frequency_penalty !== undefined) config["frequencyPenalty"] = frequency_penalty
    if (presence_penalty !== undefined) config["presencePenalty"] = presence_penalty
    if (reasoning_effort !== undefined) config["thinkingConfig"] = { thinkingLevel: reasoning_effort }
    const options: JsonObject = Object.keys(config).length === 0 ? {} : { generationConfig: config }
    return withExtra(options, request, ["model", "contents", "tools", "stream"])
  },
  maxTokens: (most) => ({ generationConfig: { maxOutputTokens: most } }),
  writer: bodyWriter(
    "google",
    () => ({ takesId: (id) => id.length > 0 && id.length <= 64, idLength: 40 }),
    (conversation, { options, format }, { request: { outputs = [] } }) => {
      const finished = mergeOptions(writeGoogle(conversation), options)
      const config = isJsonObject(finished["generationConfig"]) ? { ...finished["generationConfig"] } : {}
      // A model that speaks gives no text beside its sound.
      if (outputs.length > 0) config["responseModalities"] ??= outputs.includes("image") ? ["TEXT", "IMAGE"] : ["AUDIO"]
      for (const key of ["responseMimeType", "responseSchema", "responseJsonSchema"]) delete config[key]
      if (format !== null) {
        config["responseMimeType"] = "application/json"
        const simple = format.formatLevel === "strict" ? openApiSchema(format.form) : null
        if (simple !== null) config["responseSchema"] = simple
        else if (format.formatLevel !== "json_object")
          config["responseJsonSchema"] = JSON.parse(format.form.schema) as JsonObject
      }
      return { ...finished, generationConfig: config }
    },
  ),
  read: answerReader("google", problem, readGoogle),
  fold: () => new GoogleFold(),
  problem,
})

const openApiSchemas = new WeakMap<ContractForm, JsonObject | null>()

/** Made once for a contract. */
function openApiSchema(form: ContractForm): JsonObject | null {
  const known = openApiSchemas.get(form)
  if (known !== undefined) return known
  const made = toOpenApiSchema(JSON.parse(form.schema) as JsonObject)
  openApiSchemas.set(form, made)
  return made
}

/** A blocked prompt, or an answer of another API. */
function problem(body: JsonObject): string | null {
  const feedback = body["promptFeedback"]
  const reason = isJsonObject(feedback) ? feedback["blockReason"] : undefined
  if (typeof reason === "string") {
    return `The prompt was blocked (${/^[\w ]{1,60}$/.test(reason) ? reason : "no reason given"})`
  }
  return Array.isArray(body["choices"])
    ? "The backend answers as `/chat/completions` does: its provider is of the kind `openai_chat`"
    : null
}
