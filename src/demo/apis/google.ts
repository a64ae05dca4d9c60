import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { DemoResponse } from "../respond.ts"
import { googleMetadata, googleParts } from "../hosted-work.ts"
import { demoPicture } from "../demo-picture.ts"
import { demoSamples, samplesPerSecond } from "../demo-samples.ts"
import { tokens } from "../stream-events.ts"
import { saidIn, textIn, usageIn, type DemoApi, type Said } from "./demo-api.ts"

/** Google's `generateContent` and `streamGenerateContent`. */
export const googleDemo: DemoApi = {
  route(path) {
    const call = /^\/v1beta\/(?:models|tunedModels)\/(.+):(generateContent|streamGenerateContent)$/.exec(path)
    return call && { model: decoded(call[1] ?? ""), stream: call[2] === "streamGenerateContent" }
  },

  toResponses(body, { model, stream }) {
    const { contents, systemInstruction, tools, toolConfig } = body
    if (!Array.isArray(contents)) return "contents is not specified"
    const config = isJsonObject(body["generationConfig"]) ? body["generationConfig"] : {}
    const { maxOutputTokens, temperature } = config
    const instructions = isJsonObject(systemInstruction) ? textIn(systemInstruction["parts"]) : ""
    const functions = [...functionsIn(tools), ...hostedIn(tools, contents)]
    const format = formatOf(config)
    const calling = isJsonObject(toolConfig) ? toolConfig["functionCallingConfig"] : undefined
    return {
      model: model ?? "",
      input: contents.flatMap((content): JsonValue[] => (isJsonObject(content) ? itemsOf(content) : [content])),
      stream: stream === true,
      ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens }),
      ...(temperature !== undefined && { temperature }),
      ...(instructions !== "" && { instructions }),
      ...(functions.length > 0 && { tools: functions }),
      ...(isJsonObject(calling) && calling["mode"] === "NONE" && { tool_choice: "none" }),
      ...(format !== null && { text: { format } }),
    }
  },

  answer(response, asked) {
    const said = saidIn(response)
    const answered = candidate([...mediaOf(asked, said), ...partsOf(said)], finishOf(said))
    return { candidates: [{ ...answered, ...googleMetadata(said.hosted) }], ...tail(response) }
  },

  *stream(response) {
    const said = saidIn(response)
    const step = (data: JsonObject, token = false): { text: string; token: boolean } => ({
      text: `data: ${JSON.stringify(data)}\n\n`,
      token,
    })
    for (const part of googleParts(said.hosted)) yield step({ candidates: [candidate([part], null)] })
    for (const text of tokens(said.text ?? "")) yield step({ candidates: [candidate([{ text }], null)] }, true)
    const calls = partsOf({ ...said, text: null, hosted: [] })
    const last = candidate(calls.length > 0 ? calls : [{ text: "" }], finishOf(said))
    yield step({ candidates: [{ ...last, ...googleMetadata(said.hosted) }], ...tail(response) })
  },

  error: ({ status, message }) => ({ error: { code: status, message, status: errorStatus(status) } }),
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function errorStatus(status: number): string {
  if (status === 404) return "NOT_FOUND"
  if (status === 429) return "RESOURCE_EXHAUSTED"
  if (status === 500) return "INTERNAL"
  return status > 500 ? "UNAVAILABLE" : "INVALID_ARGUMENT"
}

function itemsOf({ role, parts }: JsonObject): JsonObject[] {
  const items: JsonObject[] = []
  let said: JsonObject[] = []
  const close = (): void => {
    const speaker = role === "model" ? "assistant" : "user"
    if (said.length > 0) items.push({ type: "message", role: speaker, content: said })
    said = []
  }
  for (const part of Array.isArray(parts) ? parts.filter(isJsonObject) : []) {
    const { functionCall, functionResponse } = part
    if (isJsonObject(functionCall)) {
      close()
      const { id, name = "", args = {} } = functionCall
      items.push({ type: "function_call", call_id: id ?? name, name, arguments: JSON.stringify(args) })
    } else if (isJsonObject(functionResponse)) {
      close()
      const { id, name = "", response } = functionResponse
      items.push({ type: "function_call_output", call_id: id ?? name, output: resultOf(response) })
    } else if (part["thought"] !== true) said.push(part)
  }
  close()
  return items
}

/** A result comes as `{ name, content }`, `{ output }`, `{ result }` or as the fields themselves. */
function resultOf(response: JsonValue | undefined): string {
  if (!isJsonObject(response)) return JSON.stringify(response ?? null)
  const only = response["content"] ?? response["output"] ?? response["result"]
  if (only === undefined) return JSON.stringify(response)
  return typeof only === "string" ? only : JSON.stringify(only)
}

function functionsIn(tools: JsonValue | undefined): JsonValue[] {
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool) => {
    const functions = isJsonObject(tool) ? tool["functionDeclarations"] : undefined
    return Array.isArray(functions) ? functions.map(functionOf) : []
  })
}

/** `{ googleSearch: {} }`. In a tool loop it is not searched again: searches leave no part behind. */
function hostedIn(tools: JsonValue | undefined, contents: readonly JsonValue[]): JsonValue[] {
  const isLater = contents.some(
    (content) => isJsonObject(content) && JSON.stringify(content["parts"] ?? "").includes('"functionResponse"'),
  )
  const entries = Array.isArray(tools) && !isLater ? tools.filter(isJsonObject) : []
  return entries.flatMap((tool) =>
    Object.keys(tool)
      .filter((name) => name !== "functionDeclarations")
      .map((name) => ({ type: name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) })),
  )
}

function functionOf(declared: JsonValue): JsonValue {
  if (!isJsonObject(declared)) return declared
  const { name, description, parameters, parametersJsonSchema } = declared
  return {
    type: "function",
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    parameters: parametersJsonSchema ?? toJsonSchema(parameters ?? {}),
  }
}

function formatOf(config: JsonObject): JsonObject | null {
  const { responseMimeType, responseSchema, responseJsonSchema } = config
  if (responseMimeType !== "application/json") return null
  const schema = responseJsonSchema ?? (responseSchema === undefined ? undefined : toJsonSchema(responseSchema))
  return schema === undefined ? { type: "json_object" } : { type: "json_schema", name: "answer", schema }
}

/** Google's schemas write their types in capitals and have `nullable`. */
function toJsonSchema(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(toJsonSchema)
  if (!isJsonObject(schema)) return schema
  const { nullable, propertyOrdering: _, ...rest } = schema
  const plain: JsonObject = {}
  for (const [key, value] of Object.entries(rest)) {
    if (key === "properties" && isJsonObject(value)) {
      plain[key] = Object.fromEntries(
        Object.entries(value).map(([name, field]): [string, JsonValue] => [name, toJsonSchema(field)]),
      )
    } else if (key === "type" && typeof value === "string") plain[key] = value.toLowerCase()
    else plain[key] = key === "items" || key === "anyOf" ? toJsonSchema(value) : value
  }
  return nullable === true && typeof plain["type"] === "string" ? { ...plain, type: [plain["type"], "null"] } : plain
}

function partsOf({ text, calls, hosted }: Said): JsonObject[] {
  return [
    ...googleParts(hosted),
    ...(text === null ? [] : [{ text }]),
    ...calls.map(({ call_id, name, arguments: given }) => {
      return { functionCall: { id: call_id, name, args: JSON.parse(given) as JsonValue } }
    }),
  ]
}

/** An image, or sound, where the request asks for it. */
function mediaOf({ generationConfig }: JsonObject, { text }: Said): JsonObject[] {
  const modalities = isJsonObject(generationConfig) ? generationConfig["responseModalities"] : undefined
  const words = text ?? ""
  if (!Array.isArray(modalities)) return []
  if (modalities.includes("IMAGE")) {
    return [{ inlineData: { mimeType: "image/png", data: demoPicture(words).toString("base64") } }]
  }
  if (!modalities.includes("AUDIO")) return []
  const mimeType = `audio/L16;codec=pcm;rate=${samplesPerSecond}`
  return [{ inlineData: { mimeType, data: demoSamples(words).toString("base64") } }]
}

function candidate(parts: JsonObject[], finishReason: string | null): JsonObject {
  return { content: { role: "model", parts }, ...(finishReason !== null && { finishReason }), index: 0 }
}

function finishOf({ cut }: Said): string {
  return cut ? "MAX_TOKENS" : "STOP"
}

function tail(response: DemoResponse): JsonObject {
  const { input, output, cached } = usageIn(response)
  const usageMetadata = {
    promptTokenCount: input,
    ...(cached > 0 && { cachedContentTokenCount: cached }),
    candidatesTokenCount: output,
    totalTokenCount: input + output,
  }
  return { usageMetadata, modelVersion: response["model"] ?? "", responseId: response["id"] ?? "" }
}
