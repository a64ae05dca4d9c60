import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type {
  AssistantMessage,
  AssistantPart,
  FilePart,
  Message,
  ModelToolCall,
  ProviderData,
  UserPart,
} from "../../log/messages.ts"
import { hostedType } from "../../syntax/property-table.ts"

const api = "responses"

/** An item of the `/responses` wire format, in a request's `input` or a response's `output`. */
export type Item = JsonObject

/**
 * The conversation as this backend takes it. Reasoning and ids go back to the backend and model that made them and to no
 * other; `reasoning: false` leaves all of them out.
 */
export function toItems(messages: readonly Message[], origin: string, reasoning: boolean): Item[] {
  const items: Item[] = []
  for (const message of messages) {
    switch (message.role) {
      case "user":
        items.push({ type: "message", role: "user", content: message.parts.map(contentPart) })
        break
      case "assistant":
        for (const part of message.parts) {
          const item = assistantItem(part, origin, reasoning)
          if (item !== null) items.push(item)
        }
        break
      case "tool":
        items.push({ type: "function_call_output", call_id: message.call_id, output: message.output })
    }
  }
  return items
}

function assistantItem(part: AssistantPart, origin: string, reasoning: boolean): Item | null {
  const data = reasoning && part.provider !== undefined ? ownData(part.provider, origin) : null
  switch (part.type) {
    case "text": {
      const content = [{ type: "output_text", text: part.text, annotations: [] }]
      const id = data?.["id"]
      const ids = typeof id === "string" ? { id, status: "completed" } : {}
      return { type: "message", role: "assistant", content, ...ids }
    }
    case "tool_call":
      return { type: "function_call", call_id: part.call_id, name: part.name, arguments: part.arguments }
    case "provider":
      return data
  }
}

function ownData(provider: ProviderData, origin: string): JsonObject | null {
  return provider.api === api && provider.origin === origin ? provider.data : null
}

function contentPart(part: UserPart): JsonObject {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text }
    case "image":
      return { type: "input_image", image_url: part.url }
    default:
      return filePart(part)
  }
}

function filePart({ type, url, name }: FilePart): JsonObject {
  if (!url.startsWith("data:")) return { type: "input_file", file_url: url }
  return { type: "input_file", filename: name ?? `${type}${extensionOf(url)}`, file_data: url }
}

function extensionOf(dataUrl: string): string {
  const subtype = /^data:[\w.+-]+\/([\w.+-]+)/i.exec(dataUrl)?.[1]?.toLowerCase()
  return subtype === undefined ? "" : `.${subtype === "plain" ? "txt" : subtype.split("+", 1)[0]}`
}

export function systemItem(text: string): Item {
  return { type: "message", role: "system", content: text }
}

/** The part of an answer that goes into the history. `text` stands in for the text of its messages. */
export function toMessage(
  items: readonly Item[],
  text: string,
  tool_calls: readonly ModelToolCall[],
  origin: string,
): AssistantMessage {
  const reasonings = items.filter((item) => item["type"] === "reasoning")
  // A backend refuses an item that refers to reasoning that is not there: ids are then left out.
  const ids = reasonings.every(canGoBack)
  const own = (data: JsonObject): ProviderData => ({ api, origin, data })
  // Images are large, and nobody needs them in the history: those that a workflow wants are files.
  const before = items.filter(
    (item) => item["type"] === "reasoning" || (isHostedCall(item) && item["type"] !== "image_generation_call"),
  )
  const parts: AssistantPart[] = ids
    ? before.map((item) => ({
        type: "provider",
        provider: own(item["type"] === "reasoning" ? reasoningData(item) : item),
      }))
    : []
  if (text !== "") {
    const id = ids ? messageId(items) : null
    parts.push({ type: "text", text, ...(id === null ? {} : { provider: own({ id }) }) })
  }
  for (const { call_id, name, arguments: given } of tool_calls) {
    parts.push({ type: "tool_call", call_id, name, arguments: given })
  }
  return { role: "assistant", parts }
}

/** The work of a tool that the provider hosts: `web_search_call`. */
export function isHostedCall({ type }: Item): boolean {
  return typeof type === "string" && type.endsWith("_call") && hostedType(type) !== undefined
}

function messageId(items: readonly Item[]): string | null {
  const message = items.findLast((item) => item["type"] === undefined || item["type"] === "message")
  const id = message?.["id"]
  return typeof id === "string" && id !== "" ? id : null
}

/** Nothing is stored upstream: the backend understands only reasoning that carries its content. */
function canGoBack(item: Item): boolean {
  const { encrypted_content, content } = item
  if (typeof encrypted_content === "string" && encrypted_content !== "") return true
  return Array.isArray(content) && content.some((part) => isJsonObject(part) && typeof part["text"] === "string")
}

function reasoningData(item: Item): JsonObject {
  const { id, summary, content, encrypted_content } = item
  const data: Record<string, JsonValue> = { type: "reasoning" }
  if (typeof id === "string") data["id"] = id
  data["summary"] = Array.isArray(summary) ? summary : []
  if (Array.isArray(content) && content.length > 0) data["content"] = content
  if (typeof encrypted_content === "string") data["encrypted_content"] = encrypted_content
  return data
}

/** Whether the answer holds reasoning that has to be asked for in its encrypted form. */
export function hidesReasoning(items: readonly Item[]): boolean {
  return items.some((item) => item["type"] === "reasoning" && !canGoBack(item))
}
