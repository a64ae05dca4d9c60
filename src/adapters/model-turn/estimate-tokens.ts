import { Buffer } from "node:buffer"
import type { Message } from "../../log/messages.ts"

const perImage = 2000

/** Tokens that a request is taken for before it is sent: its UTF-8 bytes / 2, and 2,000 for each image in its messages. */
export function estimateTokens(body: string, messages: readonly Message[]): number {
  let bytes = Buffer.byteLength(body)
  let images = 0
  for (const message of messages) {
    if (message.role !== "user") continue
    for (const part of message.parts) {
      if (part.type !== "image") continue
      images++
      bytes -= Buffer.byteLength(part.url)
    }
  }
  return Math.ceil(Math.max(0, bytes) / 2) + images * perImage
}
