import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AssistantPart, Message, ProviderData, UserPart } from "../../ports/messages.ts"

// The logs of release 0.1 hold conversations as items of OpenAI's `/responses` API, marked with the backend that made them.
// Nothing writes this format any more; runs that were interrupted under that release still have to be continued.

const originKey = "wireworks:origin"

/** Converts the stored items of a log of release 0.1. */
export function readFirstFormat(items: readonly JsonValue[]): Message[] {
  const messages: Message[] = []
  const toolNames = new Map<string, string>()
  let said: AssistantPart[] | null = null
  const say = (part: AssistantPart): void => {
    if (said === null) {
      said = []
      messages.push({ role: "assistant", parts: said })
    }
    said.push(part)
  }
  const add = (message: Message): void => {
    said = null
    messages.push(message)
  }
  for (const item of items) {
    if (!isJsonObject(item)) continue
    switch (item["type"]) {
      case "reasoning": {
        const { [originKey]: origin, ...data } = item
        say({ type: "provider", provider: { api: "responses", origin: text(origin), data } })
        break
      }
      case "function_call": {
        const call = { call_id: text(item["call_id"]), name: text(item["name"]), arguments: text(item["arguments"]) }
        toolNames.set(call.call_id, call.name)
        say({ type: "tool_call", ...call })
        break
      }
      case "function_call_output": {
        const call_id = text(item["call_id"])
        add({ role: "tool", call_id, name: toolNames.get(call_id) ?? "", output: text(item["output"]) })
        break
      }
      default:
        if (item["role"] === "assistant") for (const part of spokenParts(item)) say(part)
        else add({ role: "user", parts: userParts(item["content"]) })
    }
  }
  return messages
}

function spokenParts(item: JsonObject): AssistantPart[] {
  const { [originKey]: origin, id, content } = item
  const provider: ProviderData | null =
    typeof id === "string" && typeof origin === "string" ? { api: "responses", origin, data: { id } } : null
  const parts = Array.isArray(content) ? content.filter(isJsonObject) : []
  return parts.map((part) => ({
    type: "text",
    text: text(part["text"]),
    ...(provider === null ? {} : { provider }),
  }))
}

function userParts(content: JsonValue | undefined): UserPart[] {
  if (typeof content === "string") return [{ type: "text", text: content }]
  return Array.isArray(content) ? content.filter(isJsonObject).map(userPart) : []
}

function userPart(part: JsonObject): UserPart {
  const { type, filename, file_data, file_url } = part
  if (type === "input_image") return { type: "image", url: text(part["image_url"]) }
  if (type === "input_file") {
    const url = text(file_data ?? file_url)
    const name = typeof filename === "string" ? filename : null
    return { type: /^data:video\//i.test(url) ? "video" : "document", url, name }
  }
  return { type: "text", text: text(part["text"]) }
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : ""
}
