import type { Message } from "./messages.ts"

/** Messages as the log and the cache keep them. */
export interface StoredMessages {
  readonly version: 1
  readonly messages: readonly Message[]
}

export function storeMessages(messages: readonly Message[]): StoredMessages {
  return { version: 1, messages }
}

export function readMessages({ version, messages }: StoredMessages): readonly Message[] {
  // A later release may have written the log: better to stop than to continue a conversation that is read wrongly.
  if (version !== 1) throw new Error(`Messages of the unknown version ${String(version)} cannot be read`)
  return messages
}
