import type { JsonObject } from "../../src/base/json-value.ts"
import type { Usage } from "../../src/log/events.ts"
import { pricedUsage } from "../../src/log/usage.ts"
import type { Message, UserMessage } from "../../src/log/messages.ts"
import { assistantText } from "../../src/log/messages.ts"
import type { ModelClient, ModelRequest, ModelTurn, ModelWatch } from "../../src/ports/model.ts"
import type { RetryProgress } from "../../src/log/turn-progress.ts"

export const usage = (input_tokens: number, output_tokens: number): Usage => ({
  input_tokens,
  output_tokens,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
  cost: null,
})

export const noRetryProgress: RetryProgress = {
  new_calls: [],
  retries: 0,
  repairs: 0,
  not_before: 0,
  closing: false,
  format: null,
}

type Script = (request: ModelRequest, watch: ModelWatch) => ModelTurn | Promise<ModelTurn>

/** A model client in this process that does what the test says, and remembers what it was asked. */
export class ScriptedModel implements ModelClient {
  readonly requests: ModelRequest[] = []
  readonly #script: Script
  open = 0
  maxOpen = 0

  constructor(script: Script) {
    this.#script = script
  }

  async turn(request: ModelRequest, watch: ModelWatch): Promise<ModelTurn> {
    // The engine goes on adding to the history that it handed over.
    this.requests.push({ ...request, input: structuredClone(request.input) })
    this.open++
    this.maxOpen = Math.max(this.maxOpen, this.open)
    try {
      return await this.#script(request, watch)
    } finally {
      this.open--
    }
  }
}

export function answers(output: JsonObject, request?: ModelRequest): ModelTurn {
  const text = JSON.stringify(output)
  return {
    kind: "output",
    output,
    message: assistantText(text),
    calls: [callRecord(request, usage(10, 5))],
    usage: usage(10, 5),
  }
}

export function says(text: string, request?: ModelRequest): ModelTurn {
  return {
    kind: "text",
    text,
    message: assistantText(text),
    calls: [callRecord(request, usage(7, 3))],
    usage: usage(7, 3),
  }
}

export function callsTools(
  calls: readonly { readonly name: string; readonly arguments: string | JsonObject; readonly call_id?: string }[],
  request?: ModelRequest,
): ModelTurn {
  const tool_calls = calls.map((call, index) => ({
    name: call.name,
    call_id: call.call_id ?? `call_${index}`,
    arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
  }))
  return {
    kind: "tool_calls",
    tool_calls,
    message: { role: "assistant", parts: tool_calls.map((call) => ({ type: "tool_call", ...call })) },
    calls: [callRecord(request, usage(4, 2))],
    usage: usage(4, 2),
  }
}

function callRecord(request: ModelRequest | undefined, used: Usage): ModelTurn["calls"][number] {
  const { cost: _, ...tokens } = used
  return {
    turn: request?.turn ?? 1,
    attempt: 1 + (request?.attempts_before ?? 0),
    started_at: "2026-11-15T00:00:00.000Z",
    duration_ms: 0,
    ...(request === undefined ? {} : { model: request.name, id: request.model, provider: request.provider }),
    usage: pricedUsage(tokens, request?.price ?? null),
    format: "json_schema",
  }
}

/** The text of the last message of the request. */
export function lastText(request: ModelRequest): string {
  const last = request.input.at(-1)
  return last === undefined || last.role === "tool" ? "" : textOf(last)
}

/** The text of a message; the output of a tool. */
export function textOf(message: Message | undefined): string {
  if (message === undefined) return ""
  if (message.role === "tool") return message.output
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("")
}

export function partsOf(message: Message | undefined): UserMessage["parts"] {
  if (message?.role !== "user") throw new Error(`Not a message of the user: ${JSON.stringify(message)}`)
  return message.parts
}

/** Never answers; rejects when the call is aborted. */
export function hangs(watch: { readonly signal: AbortSignal }): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(watch.signal.reason as Error)
    if (watch.signal.aborted) stop()
    else watch.signal.addEventListener("abort", stop, { once: true })
  })
}
