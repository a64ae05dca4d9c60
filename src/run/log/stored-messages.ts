import type { JsonValue } from "../../base/json-value.ts"
import type { Message } from "../../ports/messages.ts"
import { readFirstFormat } from "./first-message-format.ts"

/** Messages as the log and the cache keep them. */
export interface StoredMessages {
  readonly version: 1
  readonly messages: readonly Message[]
}

export function storeMessages(messages: readonly Message[]): StoredMessages {
  return { version: 1, messages }
}

/** Reads what this release or an earlier one stored. The first release stored a bare array of another format. */
export function readMessages(stored: StoredMessages | readonly JsonValue[]): readonly Message[] {
  if (!("version" in stored)) return readFirstFormat(stored)
  // A later release may have written the log: better to stop than to continue a conversation that is read wrongly.
  if (stored.version !== 1) throw new Error(`Messages of the unknown version ${String(stored.version)} cannot be read`)
  return stored.messages
}
