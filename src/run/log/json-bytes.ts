import { Buffer } from "node:buffer"
import type { JsonValue } from "../../base/json-value.ts"

/** Whether a value's JSON text is over a limit, in UTF-8 bytes. Small values, nearly all, are judged without writing it. */
export function bytesOver(value: JsonValue, limit: number): number | null {
  if (mostBytes(value, limit) <= limit) return null
  const bytes = Buffer.byteLength(JSON.stringify(value), "utf8")
  return bytes > limit ? bytes : null
}

/** No JSON text of the value is longer than this; stops counting when over `enough`. */
function mostBytes(value: JsonValue, enough: number): number {
  if (typeof value === "string") return mostStringBytes(value)
  if (typeof value !== "object" || value === null) return 24
  let bytes = 2
  if (Array.isArray(value)) {
    for (const item of value) {
      bytes += 1 + mostBytes(item, enough - bytes)
      if (bytes > enough) return bytes
    }
    return bytes
  }
  for (const key in value) {
    bytes += 2 + mostStringBytes(key) + mostBytes(value[key] ?? null, enough - bytes)
    if (bytes > enough) return bytes
  }
  return bytes
}

/** A control character is written in six bytes, everything else takes at most three a UTF-16 unit (escapes take two). */
function mostStringBytes(text: string): number {
  return text.length * 6 + 2
}
