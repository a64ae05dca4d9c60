import type { Message, StoredContents } from "../../log/messages.ts"
import { fileIdIn } from "../../types/file-value.ts"

/** The files of the service that a conversation names, by id. */
export function storedFilesIn(messages: readonly Message[]): ReadonlyMap<string, StoredContents> {
  const found = new Map<string, StoredContents>()
  for (const message of messages) {
    if (message.role !== "user") continue
    for (const part of message.parts) {
      const file_id = part.type === "text" ? null : fileIdIn(part.url)
      if (part.type !== "text" && part.stored !== undefined && file_id !== null) found.set(file_id, part.stored)
    }
  }
  return found
}
