import { boundedJson } from "../../base/bounded-json.ts"
import { EventReader, type SentEvent } from "../../base/event-reader.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { ModelWatch } from "../../ports/model.ts"
import { readAnswer, textOfItems, type Answer } from "./read-answer.ts"
import { brokenAnswer, readInnerError, UpstreamFailure } from "../model-turn/upstream-failure.ts"

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
 * Reads a stream of events to its terminal one. Needs neither `[DONE]`, nor names of events, nor sequence numbers; a
 * stream that ends before a terminal event is a failure, and so is one with an unreadable piece.
 */
export class StreamReader {
  readonly #watch: Pick<ModelWatch, "redact">
  readonly #onDelta: (text: string) => void
  readonly #events: EventReader
  readonly #decoder = new TextDecoder()
  /** Items that were announced as done, by their place in the output. */
  readonly #items = new Map<number, JsonObject>()
  readonly #most: number
  #text = ""
  #itemLength = 0
  #damaged = false
  #final: JsonObject | null = null
  #failure: Error | null = null

  constructor(watch: Pick<ModelWatch, "redact">, max_bytes: number, onDelta: (text: string) => void) {
    this.#watch = watch
    this.#onDelta = onDelta
    this.#most = max_bytes
    const onTooLong = (): void => void (this.#failure ??= brokenAnswer("An event of the stream is too large", false))
    this.#events = new EventReader({ onEvent: (event) => this.#event(event), onTooLong }, max_bytes)
  }

  /** True once the terminal event is there. */
  feed(chunk: Uint8Array): boolean {
    this.#events.feed(this.#decoder.decode(chunk, { stream: true }))
    return this.#final !== null || this.#failure !== null
  }

  /** Characters that are kept of the stream so far. */
  get held(): number {
    return this.#events.held + this.#text.length + this.#itemLength
  }

  /** The whole answer, after the terminal event or the end of the stream. Throws an `UpstreamFailure`. */
  finish(retryAfterMs: number | null): Answer {
    if (this.#final === null && this.#failure === null) this.#events.end()
    if (this.#failure !== null) throw this.#failure
    if (this.#final === null) throw brokenAnswer("The stream ended before its terminal event", true)
    const given = this.#final["output"]
    if (Array.isArray(given) && given.length > 0) return readAnswer(this.#final, retryAfterMs, this.#watch)
    if (this.#damaged) throw brokenAnswer("A piece of the stream could not be read", true)
    return readAnswer({ ...this.#final, output: this.#collected() }, retryAfterMs, this.#watch)
  }

  #event({ event, data }: SentEvent): void {
    if (this.#final !== null || this.#failure !== null || data === "[DONE]") return
    if (event !== undefined && event !== "message" && !used.has(event)) return
    const body = boundedJson(data)
    if (!isJsonObject(body)) {
      this.#damaged = true
      return
    }
    const type = typeof body["type"] === "string" ? body["type"] : (event ?? "")
    switch (type) {
      case "response.output_text.delta":
        if (typeof body["delta"] !== "string") return
        this.#text += body["delta"]
        if (this.#text.length > this.#most) this.#failure = brokenAnswer("The streamed answer is too large", false)
        return this.#onDelta(body["delta"])
      case "response.output_item.done":
        this.#itemLength += data.length
        if (isJsonObject(body["item"]))
          this.#items.set(
            typeof body["output_index"] === "number" ? body["output_index"] : this.#items.size,
            body["item"],
          )
        return
      case "response.completed":
      case "response.done":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled":
        this.#final = this.#finalOf(type, body)
        return
      case "error":
        this.#failure = new UpstreamFailure(readInnerError(body, null, this.#watch))
        return
      default:
        // No type at all, only an error: a proxy's way to fail after its 200.
        if (body["type"] === undefined && isFailure(body["error"])) {
          this.#failure = new UpstreamFailure(readInnerError(body, null, this.#watch))
        }
    }
  }

  #finalOf(type: string, body: JsonObject): JsonObject {
    const response = isJsonObject(body["response"]) ? body["response"] : {}
    const status = type === "response.done" ? (response["status"] ?? "completed") : type.slice("response.".length)
    return { ...response, status }
  }

  #collected(): JsonValue[] {
    const items = [...this.#items].sort(([a], [b]) => a - b).map(([, item]) => item)
    if (this.#text === "" || textOfItems(items) !== "") return items
    return [...items, { type: "message", role: "assistant", content: [{ type: "output_text", text: this.#text }] }]
  }
}

function isFailure(error: JsonValue | undefined): boolean {
  return isJsonObject(error) || (typeof error === "string" && error !== "")
}
