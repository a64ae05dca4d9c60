import { Buffer } from "node:buffer"
import type { JsonValue } from "../../base/json-value.ts"
import { sizeOfData } from "./size-of-data.ts"
import type { ShownMessage, ShownPart } from "../../ports/content.ts"

/** Bytes of one attribute. */
const most = 32 * 1024

const cut = { type: "text", content: "[cut]" } as const
/** The note, and the brackets of a list. */
const reserved = 80

/** JSON that fits into an attribute: whole messages, then a note that there were more. */
export const cutTexts = {
  messages(messages: readonly (() => ShownMessage)[]): string {
    return listOf(messages, { role: "user", parts: [cut] })
  },

  parts(parts: readonly ShownPart[]): string {
    return listOf(
      parts.map((part) => () => part),
      cut,
    )
  },

  value(value: JsonValue): string {
    const json = JSON.stringify(value, withoutFiles)
    return Buffer.byteLength(json) > most ? JSON.stringify(cut.content) : json
  },
}

/** The contents of a file appear as type and size. */
function withoutFiles(_key: string, value: unknown): unknown {
  const isFile = typeof value === "string" && value.startsWith("data:") && /^data:[\w.+/-]*;base64,/.test(value)
  return isFile ? sizeOfData(value) : value
}

function listOf(items: readonly (() => unknown)[], note: unknown): string {
  const written: string[] = []
  let left = most - reserved
  for (const make of items) {
    const json = JSON.stringify(make(), withoutFiles)
    left -= Buffer.byteLength(json) + 1
    if (left < 0) {
      written.push(JSON.stringify(note))
      break
    }
    written.push(json)
  }
  return `[${written.join(",")}]`
}
