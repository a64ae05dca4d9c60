import { createHash } from "node:crypto"
import type { JsonValue } from "../../../base/json-value.ts"
import type { FunctionCall } from "./function-call.ts"

/** Hashing or encoding a character takes as long as copying this many. */
const perEncoded = 4

function encoded(call: FunctionCall, growth: number): string {
  const text = call.text(0)
  call.spend(perEncoded * text.length)
  // Refused before it is made.
  call.checkSize(text.length * growth)
  return text
}

export function sha256(call: FunctionCall): JsonValue {
  return call.madeText(createHash("sha256").update(encoded(call, 0), "utf8").digest("hex"))
}

export function base64(call: FunctionCall): JsonValue {
  return call.madeText(Buffer.from(encoded(call, 1), "utf8").toString("base64"))
}

const fatal = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Null for a text that is not Base64, or whose bytes are no text. */
export function fromBase64(call: FunctionCall): JsonValue {
  const text = encoded(call, 0)
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null
  try {
    return call.madeText(fatal.decode(Buffer.from(text, "base64")))
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}

export function urlEncode(call: FunctionCall): JsonValue {
  return call.madeText(encodeURIComponent(encoded(call, 1).toWellFormed()))
}
