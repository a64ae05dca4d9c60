import { jsonOf } from "../../base/bounded-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { objectsIn, textIn } from "./chat-body.ts"
import type { Fold } from "./fold-events.ts"

interface ToolCall {
  readonly index: number | null
  id: string
  name: string
  arguments: string
  extra_content: JsonValue
}

/** The chunks of `/chat/completions`. */
export class ChatFold implements Fold {
  length = 0
  // `usage` follows the chunk with the reason, and then `[DONE]`.
  readonly ended = false
  #text = ""
  #reasoning = ""
  #refusal = ""
  readonly #calls: ToolCall[] = []
  #finish: JsonValue = null
  #usage: JsonValue = null

  add(event: JsonObject): string {
    if (isJsonObject(event["usage"])) this.#usage = event["usage"]
    const choice = Array.isArray(event["choices"]) ? event["choices"][0] : undefined
    if (!isJsonObject(choice)) return ""
    this.#finish = choice["finish_reason"] ?? this.#finish
    const { delta } = choice
    if (!isJsonObject(delta)) return ""
    const reasoning = textIn(delta["reasoning_content"] ?? delta["reasoning"], "text")
    const said = textIn(delta["content"], "text")
    const refusal = textIn(delta["refusal"], "text")
    this.#text += said
    this.#refusal += refusal
    this.#reasoning += reasoning + textIn(delta["content"], "thinking")
    this.length += reasoning.length + said.length + refusal.length
    for (const call of objectsIn(delta["tool_calls"])) this.#addCall(call)
    return said + refusal
  }

  whole(): JsonObject | null {
    if (typeof this.#finish !== "string") return null
    const message: JsonObject = { role: "assistant", content: this.#text }
    if (this.#reasoning !== "") message["reasoning_content"] = this.#reasoning
    if (this.#refusal !== "") message["refusal"] = this.#refusal
    if (this.#calls.length > 0) message["tool_calls"] = inOrder(this.#calls).map(written)
    return { choices: [{ message, finish_reason: this.#finish }], usage: this.#usage }
  }

  /** Backends number calls, name them, or do neither; some number them all 0. */
  #addCall(delta: JsonObject): void {
    const given = isJsonObject(delta["function"]) ? delta["function"] : {}
    const index = typeof delta["index"] === "number" ? delta["index"] : null
    const id = textIn(delta["id"], "text").trim()
    const name = textIn(given["name"], "text").trim()
    const text = textIn(given["arguments"], "text")
    this.length += text.length
    let call = this.#known(index, id, name)
    if (call !== undefined && name !== "" && isAnother(call, id, text)) call = undefined
    if (call === undefined) {
      call = { index, id: "", name: "", arguments: "", extra_content: null }
      this.#calls.push(call)
    }
    if (call.id === "") call.id = id
    if (call.name === "") call.name = name
    call.arguments += text
    call.extra_content ??= delta["extra_content"] ?? null
  }

  #known(index: number | null, id: string, name: string): ToolCall | undefined {
    if (index !== null) return this.#calls.findLast((call) => call.index === index)
    if (id !== "") return this.#calls.findLast((call) => call.id === id)
    return name === "" ? this.#calls.at(-1) : undefined
  }
}

/** Whether a piece that names its call begins one that has the number of another. */
function isAnother(known: ToolCall, id: string, text: string): boolean {
  if (known.name === "" || id === "" || known.id === "" || id === known.id) return false
  return text.trimStart().startsWith("{") || (text.trim() === "" && jsonOf(known.arguments) !== undefined)
}

function inOrder(calls: readonly ToolCall[]): readonly ToolCall[] {
  if (!calls.every(({ index }) => index !== null)) return calls
  return calls.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
}

function written({ id, name, arguments: text, extra_content }: ToolCall): JsonObject {
  return {
    id,
    type: "function",
    function: { name, arguments: text },
    ...(extra_content === null ? {} : { extra_content }),
  }
}
