import type { JsonObject, JsonValue } from "../../../base/json-value.ts"
import type { Usage } from "../../../log/events.ts"
import type { ChatRequest } from "../../../ports/store.ts"
import { responseUsage } from "./usage.ts"

/** One turn of a conversation that a run answers. */
export interface ResponseFacts {
  readonly run_id: string
  /** Counted from 1. */
  readonly turn: number
  readonly created_at: number
  readonly model: string
  readonly asked: ChatRequest
}

export type ResponseState =
  | { readonly status: "queued" | "in_progress" }
  | {
      readonly status: "completed"
      readonly text: string
      readonly usage: Usage
      readonly completed_at: number
      readonly metadata?: Readonly<Record<string, string>>
    }
  | {
      readonly status: "failed" | "incomplete" | "cancelled"
      readonly error: { readonly code: string; readonly message: string }
      readonly usage: Usage | null
      readonly text?: string
    }

export function responseId({ run_id, turn }: Pick<ResponseFacts, "run_id" | "turn">): string {
  return `resp_${run_id}_${turn}`
}

export function readResponseId(id: string): { readonly run_id: string; readonly turn: number } | null {
  const [, run_id, turn] = /^resp_(.+)_([1-9]\d{0,5})$/.exec(id) ?? []
  return run_id === undefined ? null : { run_id, turn: Number(turn) }
}

export function messageItem(facts: ResponseFacts, status: string, content: readonly JsonObject[]): JsonObject {
  const id = `msg_${facts.run_id}_${facts.turn}`
  return { id, type: "message", status, role: "assistant", content: [...content] }
}

export function textPart(text: string): JsonObject {
  return { type: "output_text", text, annotations: [], logprobs: [] }
}

/** A response as OpenAI's API has it. What a workflow does not know stands at its default. */
export function responseObject(facts: ResponseFacts, state: ResponseState): JsonObject {
  const { asked, model, created_at } = facts
  const text = "text" in state ? state.text : undefined
  const itemStatus = state.status === "completed" ? "completed" : "incomplete"
  const output: JsonValue[] = text === undefined ? [] : [messageItem(facts, itemStatus, [textPart(text)])]
  const usage = "usage" in state ? state.usage : null
  return {
    id: responseId(facts),
    object: "response",
    created_at: seconds(created_at),
    completed_at: state.status === "completed" ? seconds(state.completed_at) : null,
    status: state.status,
    background: asked.background,
    error: state.status === "failed" ? { ...state.error } : null,
    incomplete_details: state.status === "incomplete" ? { reason: "max_output_tokens" } : null,
    instructions: asked.instructions ?? null,
    max_output_tokens: null,
    max_tool_calls: null,
    metadata: { ...asked.metadata, ...(state.status === "completed" ? state.metadata : {}) },
    model,
    output,
    parallel_tool_calls: true,
    previous_response_id: asked.previous ?? null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: "default",
    store: asked.store,
    presence_penalty: 0,
    frequency_penalty: 0,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: "disabled",
    user: null,
    usage: usage === null ? null : responseUsage(usage),
  }
}

export function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}
