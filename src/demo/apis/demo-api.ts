import type { TalkApiName } from "../../check/provider-kinds.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { ApiError } from "../read-question.ts"
import type { HostedItem } from "../hosted-work.ts"
import type { DemoResponse } from "../respond.ts"
import type { StreamStep } from "../stream-events.ts"

/** What a request's address says. */
export interface DemoRoute {
  readonly api: TalkApiName
  /** Where the address has them. */
  readonly model?: string
  readonly stream?: boolean
}

/** One of the APIs that the demo model speaks: it answers as `/responses` does, and each API is a translation of that. */
export interface DemoApi {
  /** For an API whose addresses have parameters: reads them from a path; null where there is nothing. */
  route?(path: string): Omit<DemoRoute, "api"> | null
  /** The request as a body for `/responses`; or a sentence that says what is wrong with it. */
  toResponses(body: JsonObject, route: DemoRoute): JsonObject | string
  answer(response: DemoResponse, asked: JsonObject): JsonObject
  stream(response: DemoResponse, asked: JsonObject): Generator<StreamStep, void, undefined>
  error(error: ApiError): JsonObject
}

/** What an answer consists of. */
export interface Said {
  readonly text: string | null
  readonly calls: readonly { readonly call_id: string; readonly name: string; readonly arguments: string }[]
  /** Uses of its own tools, before all else. */
  readonly hosted: readonly HostedItem[]
  readonly cut: boolean
}

export function saidIn({ output, status }: DemoResponse): Said {
  let text: string | null = null
  const calls: Said["calls"][number][] = []
  const hosted: HostedItem[] = []
  for (const item of output) {
    if (item.type === "hosted_call") hosted.push(item)
    else if (item.type === "message") text = item.content.map((part) => part.text).join("")
    else calls.push({ call_id: item.call_id, name: item.name, arguments: item.arguments })
  }
  return { text, calls, hosted, cut: status === "incomplete" }
}

export interface DemoUsage {
  /** All of it: what was read from the cache, and what went into it, too. */
  readonly input: number
  readonly output: number
  readonly cached: number
  readonly written: number
}

export function usageIn(response: DemoResponse): DemoUsage {
  const { input_tokens, output_tokens, input_tokens_details } = response["usage"] as {
    input_tokens: number
    output_tokens: number
    input_tokens_details: { cached_tokens: number; cache_write_tokens?: number }
  }
  const { cached_tokens: cached, cache_write_tokens: written = 0 } = input_tokens_details
  return { input: input_tokens, output: output_tokens, cached, written }
}

/** A text, or the texts of its parts. */
export function textIn(content: JsonValue | undefined): string {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content.map((part) => (isJsonObject(part) && typeof part["text"] === "string" ? part["text"] : "")).join("\n")
}
