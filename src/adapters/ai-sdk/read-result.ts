import type {
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AssistantPart, ModelToolCall, ProviderData } from "../../log/messages.ts"
import type { ModelWatch } from "../../ports/model.ts"
import type { TokenUsage } from "../../log/events.ts"
import type { Answer, Call } from "../model-turn/model-api.ts"
import { tokenCount } from "../model-turn/token-count.ts"
import { brokenAnswer, readInnerError, UpstreamFailure } from "../model-turn/upstream-failure.ts"
import type { Dialect } from "./dialect.ts"
import { answerTool } from "./dialect.ts"

type Metadata = LanguageModelV4GenerateResult["providerMetadata"]

/** A part of an answer, in its order. */
type Part =
  | { readonly type: "text" | "reasoning"; text: string; options: JsonObject | null }
  | { readonly type: "call"; readonly call: ModelToolCall; readonly options: JsonObject | null }

export interface Result {
  readonly parts: readonly Part[]
  readonly finish: LanguageModelV4FinishReason
  readonly usage: LanguageModelV4Usage | null
}

export function readGenerated({ content, finishReason, usage }: LanguageModelV4GenerateResult): Result {
  const parts: Part[] = []
  for (const part of content) {
    if (part.type === "text" || part.type === "reasoning") {
      parts.push({ type: part.type, text: part.text, options: optionsOf(part.providerMetadata) })
    } else if (part.type === "tool-call" && part.providerExecuted !== true) parts.push(callPart(part))
  }
  return { parts, finish: finishReason, usage }
}

/** Reads a stream to its end. `show`: text is reported as it comes. */
export async function readStreamed(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  dialect: Dialect,
  { attempt, watch, limits }: Call,
  show: boolean,
): Promise<Result> {
  const redacted = watch.redactStream()
  const shown = (text: string): void => {
    if (show && text !== "") watch.delta(attempt, text)
  }
  const parts: Part[] = []
  const open = new Map<string, Part & { type: "text" | "reasoning" }>()
  const answers = new Set<string>()
  let finish: LanguageModelV4FinishReason | null = null
  let usage: LanguageModelV4Usage | null = null
  let length = 0
  for await (const part of stream) {
    if ("delta" in part) length += part.delta.length
    if (length > limits.max_bytes) throw brokenAnswer("The streamed answer is too large", false)
    switch (part.type) {
      case "raw":
        readRaw(part.rawValue as JsonValue | undefined, dialect, watch)
        break
      case "text-start":
      case "reasoning-start": {
        const type = part.type === "text-start" ? "text" : "reasoning"
        const begun = { type, text: "", options: optionsOf(part.providerMetadata) } as const
        const entry = { ...begun } as Part & { type: "text" | "reasoning" }
        open.set(`${type} ${part.id}`, entry)
        parts.push(entry)
        break
      }
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end": {
        const type = part.type.startsWith("text") ? "text" : "reasoning"
        const entry = open.get(`${type} ${part.id}`)
        if (entry === undefined) break
        entry.options = { ...entry.options, ...optionsOf(part.providerMetadata) }
        if ("delta" in part) {
          entry.text += part.delta
          if (type === "text") shown(redacted.push(part.delta))
        }
        break
      }
      case "tool-input-start":
        if (part.toolName === answerTool) answers.add(part.id)
        break
      case "tool-input-delta":
        if (answers.has(part.id)) shown(redacted.push(part.delta))
        break
      case "tool-call":
        if (part.providerExecuted !== true) parts.push(callPart(part))
        break
      case "error":
        throw readStreamError(part.error, watch)
      case "finish":
        finish = part.finishReason
        usage = part.usage
        break
      default:
    }
  }
  shown(redacted.end())
  if (finish === null || finish.raw === undefined) {
    throw brokenAnswer("The stream ended before its terminal event", true)
  }
  return { parts, finish, usage }
}

/** An event as the backend sent it: an error in a stream that began well. */
function readRaw(value: JsonValue | undefined, dialect: Dialect, watch: ModelWatch): void {
  if (!isJsonObject(value)) return
  const { error } = value
  if (isJsonObject(error) || (typeof error === "string" && error !== "")) {
    throw new UpstreamFailure(readInnerError(value, null, watch))
  }
  const problem = dialect.problem(value)
  if (problem !== null) throw brokenAnswer(problem, false)
}

function readStreamError(error: unknown, watch: ModelWatch): Error {
  if (isJsonObject(error) && !(error instanceof Error)) {
    return new UpstreamFailure(readInnerError({ error }, null, watch))
  }
  if (error instanceof Error && /finish reason/i.test(error.message)) {
    return brokenAnswer("The stream ended before its terminal event", true)
  }
  if (error instanceof UpstreamFailure) return error
  // Kept by the exchange, where it is a failure of the connection.
  return brokenAnswer("A piece of the stream could not be read", true)
}

function callPart(part: { toolCallId: string; toolName: string; input: string; providerMetadata?: Metadata }): Part {
  const call = { call_id: part.toolCallId, name: part.toolName, arguments: part.input === "" ? "{}" : part.input }
  return { type: "call", call, options: optionsOf(part.providerMetadata) }
}

function optionsOf(metadata: Metadata): JsonObject | null {
  return metadata === undefined ? null : (JSON.parse(JSON.stringify(metadata)) as JsonObject)
}

export interface AnswerOf {
  readonly api: string
  readonly origin: string
  readonly watch: ModelWatch
}

/** Judges how the answer ended, and replaces secrets in it. Throws an `UpstreamFailure`. */
export function toAnswer(result: Result, { api, origin, watch }: AnswerOf): Answer {
  const usage = readUsage(result.usage)
  refuseUnfinished(result, usage)
  const parts = watch.redact(result.parts as unknown as JsonValue) as unknown as readonly Part[]
  const answered = parts.find((part) => part.type === "call" && part.call.name === answerTool)
  const said = parts.flatMap((part) => (part.type === "text" && part.text !== "" ? [part] : []))
  const text = answered?.type === "call" ? answered.call.arguments : said.map((part) => part.text).join("\n")
  const calls = parts.flatMap((part) => (part.type === "call" && part.call.name !== answerTool ? [part] : []))
  const own = (data: JsonObject): ProviderData => ({ api, origin, data })
  const withOptions = (options: JsonObject | null): { provider?: ProviderData } =>
    options === null || Object.keys(options).length === 0 ? {} : { provider: own({ options }) }
  return {
    text,
    tool_calls: calls.map(({ call }) => call),
    usage,
    hides_reasoning: false,
    toMessage: (kept, tool_calls) => {
      const message: AssistantPart[] = parts.flatMap((part): AssistantPart[] => {
        if (part.type !== "reasoning") return []
        const data: JsonObject = { text: part.text }
        if (part.options !== null) data["options"] = part.options
        return [{ type: "provider", provider: own(data) }]
      })
      if (kept !== "") message.push({ type: "text", text: kept, ...withOptions(said.at(-1)?.options ?? null) })
      for (const [at, call] of tool_calls.entries()) {
        message.push({ type: "tool_call", ...call, ...withOptions(calls[at]?.options ?? null) })
      }
      return { role: "assistant", parts: message }
    },
  }
}

function refuseUnfinished({ parts, finish }: Result, usage: TokenUsage | null): void {
  const raw = finish.raw ?? ""
  const reason = /^[\w .-]{1,60}$/.test(raw) ? raw : "no reason given"
  switch (finish.unified) {
    case "length":
      throw brokenAnswer(`The answer is incomplete (${reason}): a larger max_tokens may help`, false, usage)
    case "content-filter": {
      const refused = raw === "refusal" || raw === "stop"
      throw brokenAnswer(refused ? "The model refused to answer" : `The answer was blocked (${reason})`, false, usage)
    }
    case "error":
      // Google's word for a call that the model wrote wrongly; another attempt may bring a right one.
      if (parts.length === 0) throw brokenAnswer(`The model gave no answer (${reason})`, true, usage)
      return
    case "interrupted":
      throw brokenAnswer("The answer broke off", true, usage)
    default:
  }
}

function readUsage(usage: LanguageModelV4Usage | null): TokenUsage | null {
  const input = usage?.inputTokens.total
  const output = usage?.outputTokens.total
  if (usage === null || (input === undefined && output === undefined)) return null
  return {
    input_tokens: tokenCount(input),
    output_tokens: tokenCount(output),
    cached_tokens: tokenCount(usage.inputTokens.cacheRead),
    reasoning_tokens: tokenCount(usage.outputTokens.reasoning),
  }
}
