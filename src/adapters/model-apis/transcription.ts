import { jsonOf } from "../../base/bounded-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { modelAnswerBytes } from "../../base/limits.ts"
import type { TokenUsage } from "../../log/events.ts"
import type { FilePart, Message, UserPart } from "../../log/messages.ts"
import type { ModelRequest } from "../../ports/model.ts"
import { failure } from "../../ports/run-failure.ts"
import type { ApiTurnParts } from "../model-turn/model-api.ts"
import { contractForm } from "../model-turn/output-format.ts"
import { tokenCount } from "../model-turn/token-count.ts"
import { brokenAnswer } from "../model-turn/upstream-failure.ts"
import { audioApi, type Written } from "./audio-api.ts"

/** OpenAI's `/audio/transcriptions`: one audio asset becomes the one string of an output. */
export const transcriptionApi = audioApi({
  name: "transcription",
  path: "/audio/transcriptions",
  otherKind: "The backend of the model may have no `/audio/transcriptions`",
  options: ({ temperature }) => (temperature === undefined ? {} : { temperature }),
  reserved: ["file", "prompt"],
  write: writeTranscription,
  max_bytes: modelAnswerBytes,
  async read(response, { request }, { redact }) {
    const isJson = (response.headers["content-type"] ?? "").includes("json")
    const body = await response.text()
    const value = isJson ? jsonOf(body) : undefined
    // Subtitles (`extra { response_format: "srt" }`) come as they are.
    const said = isJson ? (isJsonObject(value) ? value["text"] : undefined) : body
    if (typeof said !== "string") throw brokenAnswer("The answer of the model backend has no `text`", false)
    const text = redact(said)
    const field = textField(request)
    return {
      text: field === null ? text : JSON.stringify({ [field]: text }),
      tool_calls: [],
      usage: isJsonObject(value) ? readUsage(value["usage"]) : null,
      hidesReasoning: false,
      toMessage: (kept) => ({ role: "assistant", parts: [{ type: "text", text: kept }] }),
    }
  },
})

function writeTranscription({ request }: ApiTurnParts, options: JsonObject): Written {
  const { model, path, input } = request
  if (request.contract !== null && textField(request) === null) {
    throw failure(
      "evaluation_error",
      path,
      "A model that transcribes gives one string: the output has one string field",
    )
  }
  const parts = lastSaid(input)
  const sounds = parts.filter((part): part is FilePart => part.type === "audio")
  const [sound, ...others] = sounds
  if (sound === undefined || others.length > 0) {
    const found = sounds.length === 0 ? "none" : String(sounds.length)
    throw failure(
      "evaluation_error",
      path,
      `A model that transcribes takes one audio asset in the instruction, found ${found}`,
    )
  }
  const file = soundFile(sound)
  if (file === null) {
    const message =
      "A model that transcribes takes the sound itself, as a file, a data URL or Base64, and no address of it"
    throw failure("evaluation_error", path, message)
  }
  const prompt = textOf(parts)
  return { fields: { model, ...options, ...(prompt !== "" && { prompt }) }, file }
}

function textField({ contract }: ModelRequest): string | null {
  return contract === null ? null : contractForm(contract).onlyTextField
}

/** The parts of the last message of the user. */
export function lastSaid(input: readonly Message[]): readonly UserPart[] {
  const last = input.findLast((message) => message.role === "user")
  return last?.role === "user" ? last.parts : []
}

export function textOf(parts: readonly UserPart[]): string {
  return parts
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("")
    .trim()
}

/** Backends tell the format by the extension. */
const extensions: Readonly<Record<string, string>> = {
  "audio/wave": "wav",
  "audio/x-wav": "wav",
  "audio/mpeg": "mp3",
  "audio/mp4": "m4a",
  "audio/x-m4a": "m4a",
}

function soundFile({ url, name }: FilePart): NonNullable<Written["file"]> | null {
  const [head, mediaType = ""] = /^data:([^;,]+)(?:;[^,]*)?;base64,/i.exec(url.slice(0, 300)) ?? []
  if (head === undefined) return null
  const media_type = mediaType.toLowerCase()
  const extension = extensions[media_type] ?? media_type.replace(/^audio\/(?:x-)?/, "")
  const hasOwn = name !== null && /\.[a-z0-9]{2,4}$/i.test(name)
  const bytes = new Uint8Array(Buffer.from(url.slice(head.length), "base64"))
  return { name: hasOwn ? name : `${name ?? "audio"}.${extension}`, media_type, bytes }
}

/** Some models count tokens, and some seconds. */
function readUsage(usage: JsonValue | undefined): TokenUsage | null {
  if (!isJsonObject(usage) || usage["type"] === "duration") return null
  return {
    input_tokens: tokenCount(usage["input_tokens"]),
    output_tokens: tokenCount(usage["output_tokens"]),
    cached_tokens: 0,
    written_tokens: 0,
    reasoning_tokens: 0,
  }
}
