import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { TokenUsage } from "../../log/events.ts"
import { tokenCount } from "../model-turn/token-count.ts"
import { ownText, type Attachment, type SaidText, type Turn } from "./conversation.ts"
import type { Conversation } from "./talk.ts"
import { UnsentFile } from "./unsent-file.ts"
import { callPart, type Part, type Result } from "./result.ts"

// The bodies of `/chat/completions`: requests and whole answers.

export function writeChat({ model, system, turns, tools }: Conversation): JsonObject {
  const messages: JsonObject[] = system === null ? [] : [{ role: "system", content: system }]
  for (const turn of turns) messages.push(...written(turn))
  return {
    model,
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function",
        function: { name, description, parameters },
      })),
    }),
    messages,
  }
}

function written(turn: Turn): JsonObject[] {
  switch (turn.role) {
    case "user": {
      const [only, ...others] = turn.parts
      const content = only?.type === "text" && others.length === 0 ? only.text : turn.parts.map(userPart)
      return [{ role: "user", content }]
    }
    case "tool":
      return turn.results.map(({ id, output }) => ({ role: "tool", tool_call_id: id, content: output }))
    case "assistant": {
      const texts = { text: "", reasoning: "" }
      const calls: JsonObject[] = []
      for (const part of turn.parts) {
        // No other API's hosted tools come back to this one.
        if (part.type === "hosted") continue
        if (part.type !== "call") texts[part.type] += part.text
        else {
          // Google's models want the signature of a thought back, by this API too.
          const signature = ownText(part, "chat", "thoughtSignature")
          calls.push({
            id: part.id,
            type: "function",
            function: { name: part.name, arguments: JSON.stringify(part.arguments) },
            ...(signature !== null && { extra_content: { google: { thought_signature: signature } } }),
          })
        }
      }
      return [
        {
          role: "assistant",
          content: calls.length > 0 && texts.text === "" ? null : texts.text,
          ...(texts.reasoning !== "" && { reasoning_content: texts.reasoning }),
          ...(calls.length > 0 && { tool_calls: calls }),
        },
      ]
    }
  }
}

function userPart(part: SaidText | Attachment): JsonObject {
  if (part.type === "text") return { type: "text", text: part.text }
  const { media_type, content, name } = part
  if ("text" in content) return { type: "text", text: content.text }
  const [kind] = media_type.split("/")
  const url = "url" in content ? content.url : `data:${media_type};base64,${content.base64}`
  if (kind === "image") return { type: "image_url", image_url: { url } }
  if (kind === "video") return { type: "video_url", video_url: { url } }
  if ("base64" in content) {
    const format = soundFormats[media_type]
    if (format !== undefined) return { type: "input_audio", input_audio: { data: content.base64, format } }
    if (media_type === "application/pdf") {
      return { type: "file", file: { filename: name ?? "document.pdf", file_data: url } }
    }
  }
  throw new UnsentFile(media_type, "url" in content)
}

const soundFormats: Readonly<Record<string, string>> = {
  "audio/wav": "wav",
  "audio/wave": "wav",
  "audio/x-wav": "wav",
  "audio/mp3": "mp3",
  "audio/mpeg": "mp3",
}

export function readChat(body: JsonObject): Result | null {
  const choice = Array.isArray(body["choices"]) ? body["choices"][0] : undefined
  const message = isJsonObject(choice) ? choice["message"] : undefined
  if (!isJsonObject(choice) || !isJsonObject(message)) return null
  const { content, refusal, tool_calls } = message
  const thought = textIn(message["reasoning_content"] ?? message["reasoning"], "text") + textIn(content, "thinking")
  const said = textIn(content, "text")
  const refused = typeof refusal === "string" ? refusal : ""
  const parts: Part[] = []
  if (thought !== "") parts.push({ type: "reasoning", text: thought, own: null })
  if (said !== "") parts.push({ type: "text", text: said, own: null })
  if (refused !== "") parts.push({ type: "text", text: refused, own: null })
  for (const [at, call] of objectsIn(tool_calls).entries()) {
    const given = isJsonObject(call["function"]) ? call["function"] : {}
    const extra = isJsonObject(call["extra_content"]) ? call["extra_content"]["google"] : undefined
    const signature = isJsonObject(extra) ? extra["thought_signature"] : undefined
    const own = typeof signature === "string" ? { chat: { thoughtSignature: signature } } : null
    parts.push(callPart({ id: call["id"], name: given["name"], input: given["arguments"] }, at, own))
  }
  const reason = typeof choice["finish_reason"] === "string" ? choice["finish_reason"] : ""
  const isRefusal = reason === "stop" && refused !== ""
  const end = isRefusal || reason === "content_filter" ? "blocked" : reason === "length" ? "length" : null
  return { parts, end, reason, usage: readUsage(body["usage"]) }
}

/** A text, or the texts of those parts. Thinking has parts of its own. */
export function textIn(value: JsonValue | undefined, type: "text" | "thinking"): string {
  if (typeof value === "string") return type === "text" ? value : ""
  return objectsIn(value)
    .filter((part) => part["type"] === type)
    .map((part) => (type === "thinking" ? textIn(part["thinking"], "text") : textIn(part["text"], "text")))
    .join("")
}

export function objectsIn(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter((item) => isJsonObject(item)) : []
}

function readUsage(usage: JsonValue | undefined): TokenUsage | null {
  if (!isJsonObject(usage)) return null
  const { prompt_tokens_details: read, completion_tokens_details: written } = usage
  return {
    input_tokens: tokenCount(usage["prompt_tokens"]),
    output_tokens: tokenCount(usage["completion_tokens"]),
    cached_tokens: tokenCount(isJsonObject(read) ? read["cached_tokens"] : usage["prompt_cache_hit_tokens"]),
    written_tokens: tokenCount(isJsonObject(read) ? read["cache_write_tokens"] : 0),
    reasoning_tokens: tokenCount(isJsonObject(written) ? written["reasoning_tokens"] : 0),
  }
}
