import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { TokenUsage } from "../../log/events.ts"
import type { ModelToolCall } from "../../log/messages.ts"
import type { Answer } from "../model-turn/model-api.ts"
import { tokenCount } from "../model-turn/token-count.ts"
import type { Reading } from "./dialect.ts"
import type { HostedUse, MadeMedia } from "../../ports/model.ts"
import { countedUses, hostedUse, textsIn, typeOf } from "./hosted-uses.ts"
import { hidesReasoning, isHostedCall, toMessage } from "./responses-history.ts"
import { brokenAnswer, readInnerError, UnusableAnswer, UpstreamFailure } from "../model-turn/upstream-failure.ts"

/** A sentence for an answer, or an event, of another API; null for one that may be of this. */
export function otherApi({ output, choices }: JsonObject): string | null {
  return output === undefined && Array.isArray(choices)
    ? 'The backend answers as `/chat/completions` does: its provider is of the kind `openai_chat`, or the model has wire_api: "chat/completion"'
    : null
}

/** Reads a response object, once it counts as an answer. Throws an `UpstreamFailure`. */
export function readResponses(response: JsonObject, { retryAfterMs, origin, watch }: Reading): Answer {
  const { error, status, output } = response
  const uses = (Array.isArray(output) ? output : []).flatMap((item) => (isJsonObject(item) ? usesIn(item) : []))
  const usage = readUsage(response, uses)
  const hasOutput = Array.isArray(output) && output.length > 0
  if (isGiven(error) && (!hasOutput || status === "failed"))
    throw new UpstreamFailure(readInnerError(response, retryAfterMs, watch), undefined, usage)
  const problem = otherApi(response)
  if (problem !== null) throw brokenAnswer(problem, false, usage)
  refuseUnfinished(response, usage)
  const items = (Array.isArray(output) ? output : [])
    .filter((item) => isJsonObject(item))
    .map((item) => watch.redact(item))
  const text = textOfItems(items)
  const fallback = typeof response["output_text"] === "string" ? watch.redact(response["output_text"]) : ""
  const tool_calls = items.filter((item) => item["type"] === "function_call").map((item, at) => toolCall(item, at))
  if (text === "" && tool_calls.length === 0 && holdsRefusal(items)) {
    throw new UnusableAnswer("The model refused to answer", usage)
  }
  return {
    text: text === "" ? fallback : text,
    tool_calls,
    usage,
    hidesReasoning: hidesReasoning(items),
    ...(items.some(isImage) && { media: () => items.filter(isImage).map(imageOf) }),
    ...(uses.length > 0 && { hosted: watch.redact(uses as unknown as JsonValue) as unknown as typeof uses }),
    toMessage: (said, calls) => toMessage(items, said, calls, origin),
  }
}

function isImage({ type, result }: JsonObject): boolean {
  return type === "image_generation_call" && typeof result === "string" && result !== ""
}

function imageOf({ result, output_format }: JsonObject): MadeMedia {
  const format = typeof output_format === "string" && /^[a-z]+$/.test(output_format) ? output_format : "png"
  const bytes = Buffer.from(typeof result === "string" ? result : "", "base64")
  return { media_type: format === "svg" ? "image/svg+xml" : `image/${format}`, bytes }
}

function refuseUnfinished(response: JsonObject, usage: TokenUsage | null): void {
  switch (response["status"]) {
    case "incomplete": {
      const details = response["incomplete_details"]
      const reason =
        isJsonObject(details) && typeof details["reason"] === "string" ? details["reason"] : "no reason given"
      const short = /^[\w .-]{1,60}$/.test(reason) ? reason : "no reason given"
      const hint = short === "max_output_tokens" ? ": a larger max_tokens may help" : ""
      throw new UnusableAnswer(`The answer is incomplete (${short})${hint}`, usage, short === "max_output_tokens")
    }
    case "failed":
      throw brokenAnswer("The response failed without a reason", true, usage)
    case "cancelled":
    case "queued":
    case "in_progress":
      throw brokenAnswer(`The response is ${response["status"]}, not completed`, true, usage)
    default:
      return
  }
}

/** Text parts of the messages, whatever else they lack. */
export function textOfItems(items: readonly JsonObject[]): string {
  const texts: string[] = []
  for (const item of items) {
    const { type, role, content } = item
    if (type !== undefined && type !== "message") continue
    if (role !== undefined && role !== "assistant") continue
    texts.push(typeof content === "string" ? content : Array.isArray(content) ? content.map(textOfPart).join("") : "")
  }
  return texts.filter((text) => text !== "").join("\n")
}

function textOfPart(part: JsonValue): string {
  if (!isJsonObject(part) || typeof part["text"] !== "string") return ""
  const { type } = part
  return type === undefined || type === "output_text" || type === "text" ? part["text"] : ""
}

function holdsRefusal(items: readonly JsonObject[]): boolean {
  return items.some(
    ({ content }) => Array.isArray(content) && content.some((part) => isJsonObject(part) && part["type"] === "refusal"),
  )
}

function toolCall(item: JsonObject, at: number): ModelToolCall {
  const { call_id, id, name, arguments: given } = item
  return {
    call_id: firstText(call_id, id) ?? `call_${at + 1}`,
    name: firstText(name) ?? "",
    arguments: typeof given === "string" ? given || "{}" : JSON.stringify(given ?? {}),
  }
}

function firstText(...values: readonly (JsonValue | undefined)[]): string | undefined {
  for (const value of values) if (typeof value === "string" && value !== "") return value
  return undefined
}

function usesIn(item: JsonObject): HostedUse[] {
  if (!isHostedCall(item)) return []
  const { action, queries, results, code, outputs, revised_prompt } = item
  const { query, queries: more, url, pattern, sources } = isJsonObject(action) ? action : {}
  const asked = [query, ...textsIn(more).filter((one) => one !== query), url, pattern, ...textsIn(queries)]
  const found = [...textsIn(sources, "url"), ...textsIn(results, "filename"), ...textsIn(outputs, "logs")]
  return [hostedUse(typeOf(item).slice(0, -"_call".length), [...asked, code, revised_prompt, ...found])]
}

function readUsage({ usage, tool_usage }: JsonObject, uses: readonly HostedUse[]): TokenUsage | null {
  if (!isJsonObject(usage)) return null
  const input = usage["input_tokens_details"] ?? usage["prompt_tokens_details"]
  return {
    input_tokens: tokenCount(usage["input_tokens"] ?? usage["prompt_tokens"]),
    output_tokens: tokenCount(usage["output_tokens"] ?? usage["completion_tokens"]),
    cached_tokens: tokenCount(within(input, "cached_tokens")),
    written_tokens: tokenCount(within(input, "cache_write_tokens")),
    reasoning_tokens: tokenCount(
      within(usage["output_tokens_details"] ?? usage["completion_tokens_details"], "reasoning_tokens"),
    ),
    ...countedUses(uses, { web_search: within(within(tool_usage, "web_search"), "num_requests") }),
  }
}

function within(value: JsonValue | undefined, key: string): JsonValue | undefined {
  return isJsonObject(value) ? value[key] : undefined
}

function isGiven(value: JsonValue | undefined): boolean {
  return value !== undefined && value !== null && value !== false && value !== ""
}
