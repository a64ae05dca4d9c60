import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { Fold } from "./fold-events.ts"

/** The chunks of `streamGenerateContent`. */
export class GoogleFold implements Fold {
  length = 0
  readonly ended = false
  readonly #parts: JsonObject[] = []
  /** What the chunks say of the candidate besides its content, the last of each. */
  readonly #candidate = new Map<string, JsonValue>()
  #usage: JsonValue = null

  add(event: JsonObject): string {
    if (isJsonObject(event["usageMetadata"])) this.#usage = event["usageMetadata"]
    const candidate = Array.isArray(event["candidates"]) ? event["candidates"][0] : undefined
    if (!isJsonObject(candidate)) return ""
    const { content } = candidate
    for (const key of Object.keys(candidate)) if (key !== "content") this.#candidate.set(key, candidate[key] ?? null)
    const parts = isJsonObject(content) && Array.isArray(content["parts"]) ? content["parts"] : []
    let shown = ""
    for (const part of parts) if (isJsonObject(part)) shown += this.#addPart(part)
    return shown
  }

  whole(): JsonObject | null {
    if (typeof this.#candidate.get("finishReason") !== "string") return null
    const content = { role: "model", parts: this.#parts }
    return { candidates: [{ ...Object.fromEntries(this.#candidate), content }], usageMetadata: this.#usage }
  }

  #addPart(part: JsonObject): string {
    const { text } = part
    if (typeof text !== "string") {
      this.#parts.push(part)
      return ""
    }
    this.length += text.length
    const last = this.#parts.at(-1)
    if (typeof last?.["text"] === "string" && isThought(last) === isThought(part)) {
      part["text"] = last["text"] + text
      Object.assign(last, part)
    } else this.#parts.push(part)
    return isThought(part) ? "" : text
  }
}

function isThought({ thought }: JsonObject): boolean {
  return thought === true
}
