import type { JsonObject } from "../../base/json-value.ts"
import { modelApis, type ApiName } from "../../check/provider-kinds.ts"
import type { ModelRequest, ToolDefinition } from "../../ports/model.ts"
import { failure } from "../../ports/run-failure.ts"
import type { ApiTurnParts, Ask } from "../model-turn/model-api.ts"
import { mergeOptions } from "../model-turn/wire-options.ts"
import { toTurns, type ConversationOptions, type Turn } from "./conversation.ts"
import type { Dialect } from "./dialect.ts"
import { UnsentFile } from "./unsent-file.ts"

/** What a request says, before its options and its output format. */
export interface Conversation {
  readonly model: string
  readonly system: string | null
  readonly turns: readonly Turn[]
  readonly tools: readonly ToolDefinition[]
  /** Tools that the provider hosts. */
  readonly hosted: readonly JsonObject[]
}

/** The ids that a tool call can have. */
export type IdRules = (endpoint: string) => Pick<ConversationOptions, "takesId" | "idLength">

/** Writes bodies for an API that takes the whole conversation in its own words. */
export function bodyWriter(
  api: ApiName,
  idRules: IdRules,
  write: (conversation: Conversation, ask: Ask, parts: ApiTurnParts) => JsonObject,
): Dialect["writer"] {
  return (parts) => {
    const { path } = parts.request
    return (ask, reasoning) => {
      try {
        return JSON.stringify(write(talkOf(api, idRules, parts, ask, reasoning), ask, parts))
      } catch (error) {
        if (!(error instanceof UnsentFile)) throw error
        throw failure("evaluation_error", path, error.message)
      }
    }
  }
}

function talkOf(
  api: ApiName,
  idRules: IdRules,
  { request, quirks, endpoint }: ApiTurnParts,
  ask: Ask,
  reasoning: boolean,
): Conversation {
  const system = [request.system, ask.instruction].filter((text) => text !== null).join("\n\n")
  try {
    const turns = toTurns([...ask.input, ...ask.added], {
      own: (provider) =>
        reasoning && provider.api === api && provider.origin === quirks.origin ? provider.data : null,
      ...idRules(endpoint),
      documentOptions: modelApis[api].documentOptions,
    })
    return { model: request.model, system: system === "" ? null : system, turns, tools: ask.tools, hosted: ask.hosted }
  } catch (error) {
    const isOfAddress = error instanceof URIError || (error instanceof TypeError && "code" in error)
    if (!isOfAddress) throw error
    throw failure("evaluation_error", request.path, "An asset is neither an address nor a data URL.")
  }
}

/** Options with what `extra` adds to them. It may not touch the `reserved` fields of a body. */
export function withExtra(options: JsonObject, { inference }: ModelRequest, reserved: readonly string[]): JsonObject {
  const allowed = Object.entries(inference.extra ?? {}).filter(([key]) => !reserved.includes(key))
  return allowed.length === 0 ? options : mergeOptions(options, Object.fromEntries(allowed))
}
