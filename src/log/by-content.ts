import type { Message, UserPart } from "./messages.ts"

/**
 * Messages in which a file of the service stands for its contents, and not for the id that it has: the same contents, sent again or made by another run, ask the same.
 */
export function byContent(messages: readonly Message[]): readonly Message[] {
  if (!messages.some(hasFile)) return messages
  return messages.map((message) =>
    message.role === "user" && hasFile(message) ? { ...message, parts: message.parts.map(partByContent) } : message,
  )
}

function hasFile(message: Message): boolean {
  return message.role === "user" && message.parts.some(isStored)
}

function isStored(part: UserPart): boolean {
  return part.type !== "text" && part.stored !== undefined
}

function partByContent(part: UserPart): UserPart {
  if (part.type === "text" || part.stored === undefined) return part
  return { ...part, url: `sha256:${part.stored.sha256}` }
}
