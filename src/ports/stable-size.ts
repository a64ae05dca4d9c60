import { Buffer } from "node:buffer"
import type { Message } from "../log/messages.ts"
import type { ModelRequest, StablePart, ToolDefinition } from "./model.ts"

/** Tokens from which on a beginning is worth a place in the backend's cache. */
export const leastCachedTokens = 1024

type Asked = Pick<ModelRequest, "tools" | "hosted_tools" | "system" | "input">

/** The texts of the beginning that stays the same, in the order in which backends read them. */
export function* stableTexts(
  { tools, hosted_tools = [], system, input }: Asked,
  stable: StablePart,
): Generator<string> {
  for (const tool of tools) yield toolText(tool)
  for (const tool of hosted_tools) yield JSON.stringify(tool)
  if (system !== null) yield stable.system === null ? system : system.slice(0, stable.system)
  if (stable.system !== null) return
  for (const message of input.slice(0, stable.messages)) yield* textsOf(message)
  const last = input[stable.messages]
  if (last?.role !== "user") return
  for (const part of last.parts.slice(0, stable.parts)) yield part.type === "text" ? part.text : part.url
  const cut = last.parts[stable.parts]
  if (cut?.type === "text") yield cut.text.slice(0, stable.characters)
}

/** About its tokens: UTF-8 bytes / 4. */
export function stableTokens(asked: Asked, stable: StablePart): number {
  let bytes = 0
  for (const text of stableTexts(asked, stable)) bytes += bytesOf(text)
  return Math.floor(bytes / 4)
}

/** A data URL counts with the bytes that it holds. */
function bytesOf(text: string): number {
  return /^data:[^,]{0,200};base64,/i.test(text) ? Math.floor((text.length * 3) / 4) : Buffer.byteLength(text)
}

function toolText({ name, description, parameters }: ToolDefinition): string {
  return `${name}\n${description}\n${JSON.stringify(parameters)}`
}

function* textsOf(message: Message): Generator<string> {
  if (message.role === "tool") yield message.output
  else {
    for (const part of message.parts) {
      if (part.type === "text") yield part.text
      else if (part.type === "tool_call") yield part.arguments
      else if (part.type !== "provider") yield part.url
    }
  }
}
