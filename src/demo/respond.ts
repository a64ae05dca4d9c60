import type { JsonObject } from "../base/json-value.ts"
import type { Answer } from "./compose-answer.ts"
import type { Question } from "./read-question.ts"
import type { CacheUse } from "./prompt-cache.ts"
import { hostedItem, type HostedItem } from "./hosted-work.ts"
import { hashText } from "./seeded.ts"
import { about, readTopic } from "./topic.ts"

export interface DemoResponse extends JsonObject {
  status: "completed" | "incomplete"
  output: (MessageItem | CallItem | HostedItem)[]
}

interface MessageItem extends JsonObject {
  type: "message"
  id: string
  content: { type: "output_text"; text: string; annotations: [] }[]
}

interface CallItem extends JsonObject {
  type: "function_call"
  id: string
  call_id: string
  name: string
  arguments: string
}

/** The response object, as a backend that answers at once would send it. */
export function respond(question: Question, answer: Answer, created_at: number, cache: CacheUse): DemoResponse {
  const id = hashText(question.seed).toString(16).padStart(8, "0")
  const { text, cut } = limit(answer, question.max_output_tokens)
  const query = about(readTopic(question.instruction), 6)
  const hosted = question.unused.map((tool) => hostedItem(tool, query, question.seed))
  const said = answer.kind === "calls" ? answer.calls.map((call) => callItem(call, id)) : [messageItem(text, id, cut)]
  const output = [...hosted, ...said]
  const searches = question.unused.filter((tool) => tool === "web_search").length
  const asked = countTokens(JSON.stringify(question.items)) + countTokens(JSON.stringify(question.schema ?? ""))
  const input_tokens = Math.max(asked, cache.cached + cache.written)
  const output_tokens = countTokens(answer.kind === "calls" ? JSON.stringify(answer.calls) : text)
  const { body } = question
  return {
    id: `resp_demo_${id}`,
    object: "response",
    created_at: Math.floor(created_at / 1000),
    status: cut ? "incomplete" : "completed",
    error: null,
    incomplete_details: cut ? { reason: "max_output_tokens" } : null,
    instructions: body["instructions"] ?? null,
    max_output_tokens: question.max_output_tokens,
    metadata: { demo: "Made by the demo model of Wireworks from the request alone; no language model wrote this." },
    model: question.model,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: body["temperature"] ?? 1,
    text: body["text"] ?? { format: { type: "text" } },
    tool_choice: body["tool_choice"] ?? "auto",
    tools: body["tools"] ?? [],
    top_p: body["top_p"] ?? 1,
    truncation: "disabled",
    usage: {
      input_tokens,
      input_tokens_details: {
        cached_tokens: cache.cached,
        ...(cache.written > 0 && { cache_write_tokens: cache.written }),
      },
      output_tokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input_tokens + output_tokens,
    },
    ...(searches > 0 && { tool_usage: { web_search: { num_requests: searches } } }),
    user: null,
  }
}

function callItem(
  call: { readonly name: string; readonly call_id: string; readonly arguments: string },
  id: string,
): CallItem {
  return { type: "function_call", id: `fc_${id}_${call.call_id.slice(5)}`, status: "completed", ...call }
}

function messageItem(text: string, id: string, cut: boolean): MessageItem {
  return {
    type: "message",
    id: `msg_demo_${id}`,
    status: cut ? "incomplete" : "completed",
    role: "assistant",
    content: [{ type: "output_text", text, annotations: [] }],
  }
}

/** About four characters each, as with the usual tokenisers on English text. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / 4)
}

function limit(answer: Answer, most: number | null): { readonly text: string; readonly cut: boolean } {
  if (answer.kind === "calls") return { text: "", cut: false }
  if (most === null || countTokens(answer.text) <= most) return { text: answer.text, cut: false }
  return { text: answer.text.slice(0, most * 4), cut: true }
}
