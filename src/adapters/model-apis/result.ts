import type { ApiName } from "../../check/provider-kinds.ts"
import { jsonOf } from "../../base/bounded-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AssistantPart, ModelToolCall, ProviderData } from "../../log/messages.ts"
import type { TokenUsage } from "../../log/events.ts"
import type { HostedUse } from "../../ports/model.ts"
import type { Answer } from "../model-turn/model-api.ts"
import { brokenAnswer, readInnerError, UnusableAnswer, UpstreamFailure } from "../model-turn/upstream-failure.ts"
import type { Dialect, Reading } from "./dialect.ts"
import { holdsError } from "./fold-events.ts"

/** A part of an answer, in its order. `own`: what only the API that said it understands, under the API's name. */
export type Part =
  | { readonly type: "text" | "reasoning"; readonly text: string; readonly own: JsonObject | null }
  | { readonly type: "call"; readonly call: ModelToolCall; readonly own: JsonObject | null }
  /** The work of a tool that the provider hosts: it goes back as it came, in its place. */
  | { readonly type: "hosted"; readonly block: JsonObject }

/** An answer of any API. */
export interface Result {
  readonly parts: readonly Part[]
  /** Null where the answer ended well, or in a way that nobody knows. */
  readonly end: "length" | "blocked" | "malformed" | null
  /** The API's own word for how it ended. */
  readonly reason: string
  readonly usage: TokenUsage | null
  /** Absent where the provider's own tools did nothing. */
  readonly uses?: readonly HostedUse[]
  readonly isPaused?: boolean
  /** Images or sound. Absent where the model made none. */
  readonly media?: Answer["media"]
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

/** Reads whole answers with the parts that all APIs have. `read`: null for a body that is no answer. */
export function answerReader(
  api: ApiName,
  problem: Dialect["problem"],
  read: (body: JsonObject) => Result | null,
): Dialect["read"] {
  return (body, { retryAfterMs, origin, watch }) => {
    if (holdsError(body)) throw new UpstreamFailure(readInnerError(body, retryAfterMs, watch))
    const reason = problem(body)
    if (reason !== null) throw brokenAnswer(reason, false)
    const result = read(body)
    if (result === null) throw brokenAnswer("The answer of the model backend could not be read", true)
    refuseUnfinished(result)
    return toAnswer(result, api, origin, watch)
  }
}

/** Replaces secrets in the answer. */
function toAnswer(result: Result, api: ApiName, origin: string, watch: Reading["watch"]): Answer {
  const parts = watch.redact(result.parts as unknown as JsonValue) as unknown as readonly Part[]
  const said = parts.flatMap((part) => (part.type === "text" && part.text !== "" ? [part] : []))
  const calls = parts.flatMap((part) => (part.type === "call" ? [part] : []))
  const ofApi = (data: JsonObject): ProviderData => ({ api, origin, data })
  const withOwn = (own: JsonObject | null): { provider?: ProviderData } =>
    own === null ? {} : { provider: ofApi({ options: own }) }
  const { uses = [] } = result
  const text = said.map((part) => part.text).join("\n")
  return {
    text,
    tool_calls: calls.map(({ call }) => call),
    usage: result.usage,
    hidesReasoning: false,
    ...(uses.length > 0 && { hosted: watch.redact(uses as unknown as JsonValue) as unknown as typeof uses }),
    ...(result.media !== undefined && { media: result.media }),
    ...(result.isPaused === true && { isPaused: true as const }),
    toMessage: (kept, tool_calls) => {
      // What the provider's own tools did goes back between the texts around it.
      const isWhole = parts.some(({ type }) => type === "hosted") && kept === text
      const message: AssistantPart[] = parts.flatMap((part): AssistantPart[] => {
        if (part.type === "hosted") return [{ type: "provider", provider: ofApi({ block: part.block }) }]
        if (part.type === "text" && isWhole && part.text !== "") {
          return [{ type: "text", text: part.text, ...withOwn(part.own) }]
        }
        if (part.type !== "reasoning") return []
        const data: JsonObject = { text: part.text }
        if (part.own !== null) data["options"] = part.own
        return [{ type: "provider", provider: ofApi(data) }]
      })
      const last = said.at(-1)?.own ?? null
      if (kept !== "" && !isWhole)
        message.push({ type: "text", text: kept, ...withOwn(kept === text ? last : ownOf(last)) })
      for (const [at, call] of tool_calls.entries()) {
        message.push({ type: "tool_call", ...call, ...withOwn(calls[at]?.own ?? null) })
      }
      return { role: "assistant", parts: message }
    },
  }
}

/** Without what stands for the text itself: another text stands in its place. */
function ownOf(own: JsonObject | null): JsonObject | null {
  if (own === null) return null
  const kept = Object.entries(own).filter(([, value]) => !isJsonObject(value) || value["blocks"] === undefined)
  return kept.length === 0 ? null : Object.fromEntries(kept)
}

function refuseUnfinished({ parts, end, reason: raw, usage }: Result): void {
  const reason = /^[\w .-]{1,60}$/.test(raw) ? raw : "no reason given"
  switch (end) {
    case "length":
      throw new UnusableAnswer(`The answer is incomplete (${reason}): a larger max_tokens may help`, usage, true)
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
