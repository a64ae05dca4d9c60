import { jsonOf } from "../../base/bounded-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { answerTool } from "./anthropic-body.ts"
import type { Fold } from "./fold-events.ts"

/** Which field of a block a delta goes on with. */
const fields: Readonly<Record<string, readonly [delta: string, block: string]>> = {
  text_delta: ["text", "text"],
  thinking_delta: ["thinking", "thinking"],
  signature_delta: ["signature", "signature"],
}

/** The events of `/messages`. */
export class AnthropicFold implements Fold {
  length = 0
  /** Characters of what a provider's own tools found. */
  #found = 0
  ended = false
  #message: JsonObject = {}
  readonly #blocks = new Map<number, JsonObject>()
  /** The text of a block's `input`, which is JSON. */
  readonly #inputs = new Map<number, string>()

  get held(): number {
    return this.length + this.#found
  }

  add(event: JsonObject, size: number): string {
    const index = typeof event["index"] === "number" ? event["index"] : this.#blocks.size
    switch (event["type"]) {
      case "message_start":
        if (isJsonObject(event["message"])) this.#message = { ...event["message"] }
        return ""
      case "content_block_start":
        this.#found += size
        return isJsonObject(event["content_block"]) ? this.#begin(index, event["content_block"]) : ""
      case "content_block_delta":
        return isJsonObject(event["delta"]) ? this.#goOn(index, event["delta"]) : ""
      case "message_delta":
        if (isJsonObject(event["delta"])) this.#message = { ...this.#message, ...event["delta"] }
        if (isJsonObject(event["usage"])) this.#message["usage"] = { ...usageOf(this.#message), ...event["usage"] }
        return ""
      case "message_stop":
        this.ended = true
        return ""
      default:
        return ""
    }
  }

  whole(): JsonObject | null {
    if (typeof this.#message["stop_reason"] !== "string") return null
    const content = [...this.#blocks]
      .sort(([a], [b]) => a - b)
      .map(([index, block]) => {
        const input = this.#inputs.get(index)
        return input === undefined || input === "" ? block : { ...block, input: valueOf(input) }
      })
    const usage = { input_tokens: 0, output_tokens: 0, ...usageOf(this.#message) }
    return { ...this.#message, type: "message", content, usage }
  }

  #begin(index: number, block: JsonObject): string {
    this.#blocks.set(index, block["type"] === "thinking" ? { signature: "", ...block } : { ...block })
    return block["type"] === "text" && typeof block["text"] === "string" ? block["text"] : ""
  }

  #goOn(index: number, delta: JsonObject): string {
    const block = this.#blocks.get(index)
    if (block === undefined) return ""
    const { type, partial_json, citation } = delta
    if (type === "citations_delta" && isJsonObject(citation)) {
      block["citations"] = [...(Array.isArray(block["citations"]) ? block["citations"] : []), citation]
      this.#found += JSON.stringify(citation).length
      return ""
    }
    if (type === "input_json_delta" && typeof partial_json === "string") {
      this.length += partial_json.length
      this.#inputs.set(index, (this.#inputs.get(index) ?? "") + partial_json)
      return block["name"] === answerTool ? partial_json : ""
    }
    const [from, to] = fields[typeof type === "string" ? type : ""] ?? ["", ""]
    const text = delta[from]
    if (typeof text !== "string") return ""
    const before = block[to]
    block[to] = (typeof before === "string" ? before : "") + text
    this.length += text.length
    return type === "text_delta" ? text : ""
  }
}

function usageOf({ usage }: JsonObject): JsonObject {
  return isJsonObject(usage) ? usage : {}
}

/** Text that is no JSON stays text. */
function valueOf(text: string): JsonValue {
  const value = jsonOf(text)
  return value === undefined ? text : value
}
