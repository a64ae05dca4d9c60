import { stringType } from "../types/primitives.ts"
import type { Type } from "../types/types.ts"

/** A list of what was said, with the text in a field of this name. */
function listOfMessages(text: "content" | "text"): Type {
  const fields = [
    { name: "role", type: { kind: "enum", values: ["user", "assistant"] } },
    { name: text, type: stringType },
  ] as const
  return { kind: "array", element: { kind: "record", fields } }
}

/** The `messages` of an agent, and `chat.history`. */
export const messagesType = listOfMessages("content")

/** The field of the input that takes the history of a chat. */
export const historyType = listOfMessages("text")
