import type { JsonObject } from "../../../base/json-value.ts"
import { messageItem, responseObject, textPart, type ResponseFacts, type ResponseState } from "./response-object.ts"

/** The events of a streamed response, in the order of OpenAI's API. */
export class ResponseEvents {
  readonly #facts: ResponseFacts
  #sequence = 0
  #text = ""
  /** The message has begun. */
  #isOpen = false

  constructor(facts: ResponseFacts) {
    this.#facts = facts
  }

  begin(): string {
    const response = responseObject(this.#facts, { status: "in_progress" })
    return this.#event("response.created", { response }) + this.#event("response.in_progress", { response })
  }

  text(delta: string): string {
    const opening = this.#open()
    this.#text += delta
    return opening + this.#event("response.output_text.delta", { ...this.#place, delta, logprobs: [] })
  }

  /** `state` is how the response ends; a completed one has said its text already. */
  end(state: Exclude<ResponseState, { readonly status: "queued" | "in_progress" }>): string {
    const whole = state.status !== "completed" && this.#isOpen ? { ...state, text: this.#text } : state
    const closing =
      state.status === "completed"
        ? this.#open() + this.#close("completed")
        : this.#isOpen
          ? this.#close("incomplete")
          : ""
    // A stream has no event of its own for a run that was cancelled.
    const shown = whole.status === "cancelled" ? { ...whole, status: "failed" as const } : whole
    const response = responseObject(this.#facts, shown)
    return `${closing}${this.#event(`response.${shown.status}`, { response })}data: [DONE]\n\n`
  }

  get #place(): JsonObject {
    return { item_id: `msg_${this.#facts.run_id}_${this.#facts.turn}`, output_index: 0, content_index: 0 }
  }

  #open(): string {
    if (this.#isOpen) return ""
    this.#isOpen = true
    const item = messageItem(this.#facts, "in_progress", [])
    return (
      this.#event("response.output_item.added", { output_index: 0, item }) +
      this.#event("response.content_part.added", { ...this.#place, part: textPart("") })
    )
  }

  #close(status: "completed" | "incomplete"): string {
    const part = textPart(this.#text)
    const item = messageItem(this.#facts, status, [part])
    return (
      this.#event("response.output_text.done", { ...this.#place, text: this.#text, logprobs: [] }) +
      this.#event("response.content_part.done", { ...this.#place, part }) +
      this.#event("response.output_item.done", { output_index: 0, item })
    )
  }

  #event(type: string, data: JsonObject): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence++, ...data })}\n\n`
  }
}
