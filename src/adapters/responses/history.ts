import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { HistoryItem } from "../../ports/model.ts"
import type { Answer } from "./read-answer.ts"

/**
 * Marks an item that only the backend that made it understands (encrypted reasoning, ids): it goes back to that one and
 * to no other. The mark itself is never sent.
 */
const originKey = "wireworks:origin"

/** The conversation as this backend takes it. `reasoning: false` leaves all reasoning out. */
export function toWire(input: readonly HistoryItem[], origin: string, reasoning: boolean): readonly HistoryItem[] {
  if (!input.some((item) => item["type"] === "reasoning" || Object.hasOwn(item, originKey))) return input
  const sent: HistoryItem[] = []
  for (const item of input) {
    const { [originKey]: from, ...rest } = item
    const foreign = from !== undefined && from !== origin
    if (rest["type"] === "reasoning") {
      if (!foreign && reasoning) sent.push(rest)
    } else if (foreign || (from !== undefined && !reasoning)) {
      const { id: _id, status: _status, ...bare } = rest
      sent.push(bare)
    } else sent.push(rest)
  }
  return sent
}

export function holdsReasoning(input: readonly HistoryItem[]): boolean {
  return input.some((item) => item["type"] === "reasoning")
}

/** What of an answer goes into the history. `text` stands in for the text of its messages. */
export function toHistory(answer: Answer, text: string, origin: string): HistoryItem[] {
  const reasonings = answer.items.filter((item) => item["type"] === "reasoning")
  // An item that refers to reasoning that is not there would be refused: then ids are left out.
  const ids = reasonings.every(canGoBack)
  const items: HistoryItem[] = ids ? reasonings.map((item) => reasoningItem(item, origin)) : []
  const message = answer.items.findLast((item) => item["type"] === undefined || item["type"] === "message")
  if (text !== "") items.push(messageItem(text, ids ? message?.["id"] : undefined, origin))
  for (const { call_id, name, arguments: given } of answer.tool_calls) {
    items.push({ type: "function_call", call_id, name, arguments: given })
  }
  return items
}

export function userItem(text: string): HistoryItem {
  return { type: "message", role: "user", content: text }
}

export function systemItem(text: string): HistoryItem {
  return { type: "message", role: "system", content: text }
}

function messageItem(text: string, id: JsonObject[string] | undefined, origin: string): HistoryItem {
  const message: HistoryItem = {
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text, annotations: [] }],
  }
  if (typeof id !== "string" || id === "") return message
  return { ...message, id, status: "completed", [originKey]: origin }
}

/** Nothing is stored upstream: only reasoning that brings its content along can be understood there. */
function canGoBack(item: HistoryItem): boolean {
  const { encrypted_content, content } = item
  if (typeof encrypted_content === "string" && encrypted_content !== "") return true
  return Array.isArray(content) && content.some((part) => isJsonObject(part) && typeof part["text"] === "string")
}

function reasoningItem(item: HistoryItem, origin: string): HistoryItem {
  const { id, summary, content, encrypted_content } = item
  return {
    type: "reasoning",
    ...(typeof id === "string" ? { id } : {}),
    summary: Array.isArray(summary) ? summary : [],
    ...(Array.isArray(content) && content.length > 0 ? { content } : {}),
    ...(typeof encrypted_content === "string" ? { encrypted_content } : {}),
    [originKey]: origin,
  }
}

/** Whether the answer holds reasoning that would have to be asked for in its encrypted form. */
export function hidesReasoning(answer: Answer): boolean {
  return answer.items.some((item) => item["type"] === "reasoning" && !canGoBack(item))
}
