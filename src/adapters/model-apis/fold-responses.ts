import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { Fold } from "./fold-events.ts"
import { textOfItems } from "./read-responses.ts"

/** Events that carry something we use. The others are known by name, and not even parsed. */
const used = new Set([
  "response.output_text.delta",
  "response.output_item.done",
  "response.completed",
  "response.done",
  "response.incomplete",
  "response.failed",
  "response.cancelled",
  "error",
])

/**
 * The events of `/responses`, to the terminal one. Needs neither `[DONE]`, nor names of events, nor sequence numbers. A piece that cannot be
 * read does no harm where the terminal event has the whole answer.
 */
export class ResponsesFold implements Fold {
  readonly toleratesUnreadable = true
  /** Items that were announced as done, by their place in the output. */
  readonly #items = new Map<number, JsonObject>()
  #text = ""
  #itemLength = 0
  #final: JsonObject | null = null

  get length(): number {
    return this.#text.length
  }

  get held(): number {
    return this.#text.length + this.#itemLength
  }

  get ended(): boolean {
    return this.#final !== null
  }

  uses(name: string): boolean {
    return used.has(name)
  }

  /** Beside events that are errors: no type at all, only an error, is a proxy's way to fail after its 200. */
  fails({ type, error }: JsonObject): boolean {
    if (type !== undefined) return type === "error"
    return isJsonObject(error) || (typeof error === "string" && error !== "")
  }

  add({ type, delta, item, output_index, response }: JsonObject, size: number): string {
    switch (type) {
      case "response.output_text.delta":
        if (typeof delta !== "string") return ""
        this.#text += delta
        return delta
      case "response.output_item.done":
        this.#itemLength += size
        if (isJsonObject(item)) {
          this.#items.set(typeof output_index === "number" ? output_index : this.#items.size, item)
        }
        return ""
      case "response.completed":
      case "response.done":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled": {
        const given = isJsonObject(response) ? response : {}
        const status = type === "response.done" ? (given["status"] ?? "completed") : type.slice("response.".length)
        this.#final = { ...given, status }
        return ""
      }
      default:
        return ""
    }
  }

  whole(unreadable: boolean): JsonObject | null {
    const given = this.#final?.["output"]
    if (this.#final === null || (Array.isArray(given) && given.length > 0)) return this.#final
    return unreadable ? null : { ...this.#final, output: this.#collected() }
  }

  #collected(): JsonValue[] {
    const items = [...this.#items].sort(([a], [b]) => a - b).map(([, item]) => item)
    if (this.#text === "" || textOfItems(items) !== "") return items
    return [...items, { type: "message", role: "assistant", content: [{ type: "output_text", text: this.#text }] }]
  }
}
