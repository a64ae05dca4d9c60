import { jsonOf } from "../../base/bounded-json.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AssistantPart, ModelToolCall, ProviderData } from "../../log/messages.ts"
import type { ModelWatch } from "../../ports/model.ts"
import type { TokenUsage } from "../../log/events.ts"
import type { Answer } from "../model-turn/model-api.ts"
import { brokenAnswer, UnusableAnswer } from "../model-turn/upstream-failure.ts"
import { answerTool } from "./answer-tool.ts"

/** A part of an answer, in its order. `own`: what only the API that said it understands, under the API's name. */
export type Part =
  | { readonly type: "text" | "reasoning"; readonly text: string; readonly own: JsonObject | null }
  | { readonly type: "call"; readonly call: ModelToolCall; readonly own: JsonObject | null }

/** An answer of any API. */
export interface Result {
  readonly parts: readonly Part[]
  /** Null where the answer ended well, or in a way that nobody knows. */
  readonly end: "length" | "blocked" | "malformed" | null
  /** The API's own word for how it ended. */
  readonly reason: string
  readonly usage: TokenUsage | null
}

/** A call as a part. Arguments that are no text are written as JSON. */
export function callPart(
  {
    id,
    name,
    input,
  }: {
    readonly id: JsonValue | undefined
    readonly name: JsonValue | undefined
    readonly input: JsonValue | undefined
  },
  at: number,
  own: JsonObject | null,
): Part {
  const text = typeof input === "string" ? withinQuotes(input) : JSON.stringify(input ?? {})
  const call = {
    call_id: typeof id === "string" && id !== "" ? id : `call_${at + 1}`,
    name: typeof name === "string" ? name : "",
    arguments: text === "" ? "{}" : text,
  }
  return { type: "call", call, own }
}

/** Arguments that are a text in JSON are the text: some models write them so. */
function withinQuotes(input: string): string {
  if (!input.startsWith('"')) return input
  const value = jsonOf(input)
  return typeof value === "string" ? value : input
}

export interface AnswerOf {
  readonly api: string
  readonly origin: string
  readonly watch: ModelWatch
}

/** Judges how the answer ended, and replaces secrets in it. Throws an `UpstreamFailure`. */
export function toAnswer(result: Result, { api, origin, watch }: AnswerOf): Answer {
  const { usage } = result
  refuseUnfinished(result)
  const parts = watch.redact(result.parts as unknown as JsonValue) as unknown as readonly Part[]
  const answered = parts.find((part) => part.type === "call" && part.call.name === answerTool)
  const said = parts.flatMap((part) => (part.type === "text" && part.text !== "" ? [part] : []))
  const text = answered?.type === "call" ? answered.call.arguments : said.map((part) => part.text).join("\n")
  const calls = parts.flatMap((part) => (part.type === "call" && part.call.name !== answerTool ? [part] : []))
  const ofApi = (data: JsonObject): ProviderData => ({ api, origin, data })
  const withOwn = (own: JsonObject | null): { provider?: ProviderData } =>
    own === null ? {} : { provider: ofApi({ options: own }) }
  return {
    text,
    tool_calls: calls.map(({ call }) => call),
    usage,
    hides_reasoning: false,
    toMessage: (kept, tool_calls) => {
      const message: AssistantPart[] = parts.flatMap((part): AssistantPart[] => {
        if (part.type !== "reasoning") return []
        const data: JsonObject = { text: part.text }
        if (part.own !== null) data["options"] = part.own
        return [{ type: "provider", provider: ofApi(data) }]
      })
      if (kept !== "") message.push({ type: "text", text: kept, ...withOwn(said.at(-1)?.own ?? null) })
      for (const [at, call] of tool_calls.entries()) {
        message.push({ type: "tool_call", ...call, ...withOwn(calls[at]?.own ?? null) })
      }
      return { role: "assistant", parts: message }
    },
  }
}

function refuseUnfinished({ parts, end, reason: raw, usage }: Result): void {
  const reason = /^[\w .-]{1,60}$/.test(raw) ? raw : "no reason given"
  switch (end) {
    case "length":
      throw new UnusableAnswer(`The answer is incomplete (${reason}): a larger max_tokens may help`, usage)
    case "blocked": {
      const refused = raw === "refusal" || raw === "stop"
      throw new UnusableAnswer(refused ? "The model refused to answer" : `The answer was blocked (${reason})`, usage)
    }
    case "malformed":
      // Google's word for a call that the model wrote wrongly; another attempt may bring a right one.
      if (parts.length === 0) throw brokenAnswer(`The model gave no answer (${reason})`, true, usage)
      return
    case null:
  }
}
