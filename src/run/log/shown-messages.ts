import type { JsonValue } from "../../base/json-value.ts"
import type { ShownMessage, ShownMessages } from "../../log/events.ts"
import type { Message, PromptMessage } from "../../log/messages.ts"
import { shown } from "./log.ts"

/** What was added to a conversation, as events show it. */
export function shownMessages(messages: readonly Message[]): ShownMessages {
  return withinSize(
    messages.flatMap(({ role, ...message }) =>
      role === "tool" || !("parts" in message)
        ? []
        : [{ role, text: message.parts.map((part) => (part.type === "text" ? part.text : "")).join("") }],
    ),
  )
}

/** The messages of a prompt, as events show them. */
export function shownPrompt(messages: readonly PromptMessage[]): ShownMessages {
  return withinSize(
    messages.map(({ role, text, images }) => ({ role, text, ...(images.length === 0 ? {} : { images }) })),
  )
}

function withinSize(messages: readonly ShownMessage[]): ShownMessages {
  return shown(messages as unknown as JsonValue) as unknown as ShownMessages
}
