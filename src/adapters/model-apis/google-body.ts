import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { TokenUsage } from "../../log/events.ts"
import { tokenCount } from "../model-turn/token-count.ts"
import { objectsIn } from "./chat-body.ts"
import { ownText, type Attachment, type SaidText, type Turn } from "./conversation.ts"
import type { Conversation } from "./talk.ts"
import { essenceOf } from "../../base/media-type.ts"
import { waveFile } from "../../base/wave-file.ts"
import type { HostedUse, MadeMedia } from "../../ports/model.ts"
import { countedUses, hostedUse, textsIn, typeOf } from "./hosted-uses.ts"
import { callPart, type Part, type Result } from "./result.ts"

// The bodies of `generateContent`: requests and whole answers.

/** Says to the backend that the signature of a call's thought is not at hand: a model before this one made the call. */
const noSignature = "skip_thought_signature_validator"

export function writeGoogle({ model, system, turns, tools, hosted }: Conversation): JsonObject {
  // Gemma has no place for instructions, and Gemini from 3 on wants a signature with each first call.
  const isGemma = /(?:^|\/)gemma-/i.test(model)
  const signs = /gemini-(?:[3-9]|\d\d)/i.test(model)
  const contents = turns.map((turn) => ({
    role: turn.role === "assistant" ? "model" : "user",
    parts: partsOf(turn, signs),
  }))
  const [first] = contents
  if (isGemma && system !== null && first?.role === "user") first.parts.unshift({ text: `${system}\n\n` })
  return {
    ...(tools.length + hosted.length > 0 && { tools: [...functionsOf(tools), ...hosted.map(hostedTool)] }),
    ...(system !== null && !isGemma && { systemInstruction: { parts: [{ text: system }] } }),
    contents,
  }
}

type ModelPart = Extract<Turn, { role: "assistant" }>["parts"][number]

function functionsOf(tools: Conversation["tools"]): JsonObject[] {
  if (tools.length === 0) return []
  return [
    {
      functionDeclarations: tools.map(({ name, description, parameters }) => ({
        name,
        description,
        parametersJsonSchema: parameters,
      })),
    },
  ]
}

/** `{ googleSearch: { … } }` */
function hostedTool({ type, ...fields }: JsonObject): JsonObject {
  const name = typeOf({ type: type ?? "" }).replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return { [name]: fields }
}

function partsOf(turn: Turn, signs: boolean): JsonObject[] {
  switch (turn.role) {
    case "user":
      return turn.parts.map(userPart)
    case "tool":
      return turn.results.map(({ id, name, output }) => ({
        functionResponse: { id, name, response: { name, content: output } },
      }))
    case "assistant": {
      const isSigned = turn.parts.some((part) => part.type === "call" && signatureOf(part) !== null)
      const firstCall = turn.parts.find(({ type }) => type === "call")
      return turn.parts.map((part) => {
        if (part.type === "hosted") return part.block
        const own = signatureOf(part)
        const isMissing = part.type === "call" && own === null && signs && !isSigned && part === firstCall
        const signature = isMissing ? noSignature : own
        return { ...modelPart(part), ...(signature !== null && { thoughtSignature: signature }) }
      })
    }
  }
}

function signatureOf(part: ModelPart): string | null {
  if (part.type === "hosted") return null
  return ownText(part, "google", "thoughtSignature")
}

function modelPart(part: Exclude<ModelPart, { type: "hosted" }>): JsonObject {
  switch (part.type) {
    case "text":
      return { text: part.text }
    case "reasoning":
      return { text: part.text, thought: true }
    case "call":
      return { functionCall: { id: part.id, name: part.name, args: part.arguments } }
  }
}

function userPart(part: SaidText | Attachment): JsonObject {
  if (part.type === "text") return { text: part.text }
  const { media_type, content } = part
  if ("url" in content) return { fileData: { mimeType: media_type, fileUri: content.url } }
  const data = "base64" in content ? content.base64 : Buffer.from(content.text).toString("base64")
  return { inlineData: { mimeType: media_type, data } }
}

const ends: Readonly<Record<string, Result["end"]>> = {
  MAX_TOKENS: "length",
  CONTINUATION: "length",
  IMAGE_SAFETY: "blocked",
  RECITATION: "blocked",
  SAFETY: "blocked",
  BLOCKLIST: "blocked",
  PROHIBITED_CONTENT: "blocked",
  SPII: "blocked",
  MALFORMED_FUNCTION_CALL: "malformed",
}

export function readGoogle(body: JsonObject): Result {
  const candidate = objectsIn(body["candidates"])[0] ?? {}
  const { content, finishReason } = candidate
  const parts: Part[] = []
  for (const [at, part] of objectsIn(isJsonObject(content) ? content["parts"] : undefined).entries()) {
    const { text, thought, thoughtSignature: signature, functionCall: call } = part
    if (hostedParts.some((name) => isJsonObject(part[name]))) {
      parts.push({ type: "hosted", block: part })
      continue
    }
    const own = typeof signature === "string" && signature !== "" ? { google: { thoughtSignature: signature } } : null
    if (isJsonObject(call)) parts.push(callPart({ id: call["id"], name: call["name"], input: call["args"] }, at, own))
    else if (typeof text === "string" && text !== "") {
      parts.push({ type: thought === true ? "reasoning" : "text", text, own })
    } else if (text === "" && own !== null) {
      // An empty text carries the signature of what stands before it.
      const last = parts.pop()
      if (last !== undefined) parts.push(last.type === "hosted" ? last : { ...last, own })
    }
  }
  const reason = typeof finishReason === "string" ? finishReason : ""
  const uses = usesIn(candidate)
  const usage = readUsage(body["usageMetadata"], uses)
  const made = objectsIn(isJsonObject(content) ? content["parts"] : undefined).flatMap(mediaIn)
  return {
    parts,
    end: ends[reason] ?? null,
    reason,
    usage,
    uses,
    ...(made.length > 0 && { media: () => made.map(decoded) }),
  }
}

interface InlineData {
  readonly mimeType: string
  readonly data: string
}

/** What a model thinks in images is not its answer. */
function mediaIn({ inlineData, thought }: JsonObject): InlineData[] {
  const { mimeType, data } = isJsonObject(inlineData) ? inlineData : {}
  return typeof mimeType === "string" && typeof data === "string" && thought !== true ? [{ mimeType, data }] : []
}

/** Sound comes as bare samples: players want a head before them. */
function decoded({ mimeType, data }: InlineData): MadeMedia {
  const bytes = Buffer.from(data, "base64")
  const media_type = essenceOf(mimeType)
  if (media_type !== "audio/l16" && media_type !== "audio/pcm") return { media_type, bytes }
  return { media_type: "audio/wav", bytes: waveFile(bytes, Number(/rate=(\d{4,6})/.exec(mimeType)?.[1] ?? 24_000)) }
}

/** Parts in which a provider's own tools show. */
const hostedParts = ["executableCode", "codeExecutionResult", "toolCall", "toolResponse"]

function usesIn({ content, groundingMetadata, urlContextMetadata }: JsonObject): HostedUse[] {
  const { webSearchQueries, groundingChunks } = isJsonObject(groundingMetadata) ? groundingMetadata : {}
  const pages = objectsIn(groundingChunks).flatMap(({ web }) => (isJsonObject(web) ? [web["uri"]] : []))
  const addresses = objectsIn(isJsonObject(urlContextMetadata) ? urlContextMetadata["urlMetadata"] : undefined)
  const said = objectsIn(isJsonObject(content) ? content["parts"] : undefined)
  const outputs = said.flatMap(({ codeExecutionResult: one }) => (isJsonObject(one) ? [one["output"]] : []))
  const code = said.flatMap(({ executableCode: one }) => (isJsonObject(one) ? [one["code"]] : []))
  return [
    ...textsIn(webSearchQueries).map((query, at) => hostedUse("google_search", [query, ...(at === 0 ? pages : [])])),
    ...addresses.map((one) => hostedUse("url_context", [one["retrievedUrl"], one["urlRetrievalStatus"]])),
    ...code.map((one, at) => hostedUse("code_execution", [one, outputs[at]])),
  ]
}

function readUsage(usage: JsonValue | undefined, uses: readonly HostedUse[]): TokenUsage | null {
  if (!isJsonObject(usage)) return null
  const thoughts = tokenCount(usage["thoughtsTokenCount"])
  return {
    input_tokens: tokenCount(usage["promptTokenCount"]) + tokenCount(usage["toolUsePromptTokenCount"]),
    output_tokens: tokenCount(usage["candidatesTokenCount"]) + thoughts,
    cached_tokens: tokenCount(usage["cachedContentTokenCount"]),
    written_tokens: 0,
    reasoning_tokens: thoughts,
    ...countedUses(uses),
  }
}
