import type { JsonObject } from "../../base/json-value.ts"
import type { ModelRequest } from "../../ports/model.ts"
import { failure } from "../../ports/run-failure.ts"
import { estimateTokens } from "../model-turn/estimate-tokens.ts"
import type { Answer, ApiTurn, ApiTurnParts, Ask, Built, Call, ModelApi } from "../model-turn/model-api.ts"
import type { ContractForm, FormatLevel } from "../model-turn/output-format.ts"
import { assetOptions } from "../../check/provider-kinds.ts"
import { requestHeaders } from "../model-turn/request-headers.ts"
import { mergeOptions, optionNames } from "../model-turn/wire-options.ts"
import { brokenAnswer } from "../model-turn/upstream-failure.ts"
import { toTurns, type Turn } from "./conversation.ts"
import type { Dialect, Conversation } from "./dialect.ts"
import { answerTool } from "./answer-tool.ts"
import { exchange } from "./exchange.ts"
import { toAnswer } from "./result.ts"
import { UnsentFile } from "./unsent-file.ts"

/** A model API, by the way in which it differs from others. */
export function modelApi(dialect: Dialect): ModelApi {
  return {
    name: dialect.name,
    other_kind: dialect.other_kind,
    demoEndpoint: (endpoint) => dialect.demoEndpoint(endpoint),
    begin: (parts) => new DialectTurn(dialect, parts),
  }
}

class DialectTurn implements ApiTurn {
  readonly ladder: readonly FormatLevel[]
  readonly #dialect: Dialect
  readonly #parts: ApiTurnParts
  readonly #options: JsonObject
  readonly #headers: Readonly<Record<string, string>>
  readonly #holdsOwn: boolean

  constructor(dialect: Dialect, parts: ApiTurnParts) {
    const { request } = parts
    this.#dialect = dialect
    this.#parts = parts
    const { extra } = request.inference
    const allowed = Object.entries(extra ?? {}).filter(([key]) => !dialect.reserved.includes(key))
    this.#options = mergeOptions(dialect.options(request), Object.fromEntries(allowed))
    this.#headers = requestHeaders(request, dialect.headers(request.backend))
    this.ladder = citesDocuments(request)
      ? dialect.ladder.filter((formatLevel) => !dialect.excludes_citations.includes(formatLevel))
      : dialect.ladder
    this.#holdsOwn = request.input.some(
      (message) =>
        message.role === "assistant" &&
        message.parts.some(({ provider }) => provider?.api === dialect.name && provider.origin === parts.quirks.origin),
    )
  }

  takesStrict(form: ContractForm): boolean {
    return this.#dialect.takesStrict?.(form) ?? form.strict_schema !== null
  }

  options(): JsonObject {
    return this.#options
  }

  maxTokens(most: number): JsonObject {
    return this.#dialect.maxTokens(most, this.#parts.request.backend)
  }

  excludesTools(formatLevel: FormatLevel): boolean {
    return this.#dialect.excludes_tools.includes(formatLevel)
  }

  build(ask: Ask): Built {
    const { quirks } = this.#parts
    const reasoning = this.#holdsOwn && !quirks.no_reasoning_back
    const { options, format, tools, stream } = ask
    const sent = {
      options: () => optionNames(options),
      format: format !== null,
      tools: tools.length > 0,
      stream,
      reasoning,
      tool_strict: false,
    }
    const text = JSON.stringify([
      options,
      format?.formatLevel ?? null,
      ask.instruction,
      tools.length,
      stream,
      reasoning,
      ask.added,
    ])
    const url = this.#dialect.url(this.#parts.endpoint, this.#parts.request.model, stream)
    return {
      text,
      url,
      estimate: () => this.#estimate(ask),
      sent,
      send: (call) => this.#send(ask, url, reasoning, call),
    }
  }

  /** The body is made when it is sent: until then its parts stand for it. */
  #estimate({ input, added, instruction, options, format, tools }: Ask): number {
    const { system, model } = this.#parts.request
    const schema = format === null ? null : (format.form.strict_schema ?? format.form.schema)
    const body = JSON.stringify([model, system, instruction, input, added, options, tools]) + (schema ?? "")
    return estimateTokens(body, [...input, ...added])
  }

  async #send(ask: Ask, url: string, reasoning: boolean, call: Call): Promise<Answer> {
    const { egress, quirks } = this.#parts
    const dialect = this.#dialect
    const body = this.#body(ask, reasoning)
    const answer = await exchange({ dialect, egress, url, headers: this.#headers, body, call, stream: ask.stream })
    const result = dialect.read(answer)
    if (result === null) throw brokenAnswer("The answer of the model backend could not be read", true)
    return toAnswer(result, { api: dialect.name, origin: quirks.origin, watch: call.watch })
  }

  #body(ask: Ask, reasoning: boolean): string {
    const conversation = this.#conversation(ask, reasoning)
    try {
      return JSON.stringify(this.#dialect.finish(this.#dialect.write(conversation), ask))
    } catch (error) {
      if (!(error instanceof UnsentFile)) throw error
      throw failure("evaluation_error", this.#parts.request.path, error.message)
    }
  }

  #conversation(ask: Ask, reasoning: boolean): Conversation {
    const { request, quirks, endpoint } = this.#parts
    const dialect = this.#dialect
    const system = [request.system, ask.instruction].filter((text) => text !== null).join("\n\n")
    let turns: readonly Turn[]
    try {
      turns = toTurns([...ask.input, ...ask.added], {
        own: ({ api, origin, data }) => (reasoning && api === dialect.name && origin === quirks.origin ? data : null),
        takesId: (id) => dialect.takesId(id, endpoint),
        idLength: dialect.id_length(endpoint),
        documentOptions: Object.entries(assetOptions).flatMap(([name, apis]) =>
          apis.includes(dialect.name) ? name : [],
        ),
      })
    } catch (error) {
      const isOfAddress = error instanceof URIError || (error instanceof TypeError && "code" in error)
      if (!isOfAddress) throw error
      throw failure("evaluation_error", request.path, "An asset is neither an address nor a data URL.")
    }
    const conversation = { model: request.model, system: system === "" ? null : system, turns }
    const { format, tools } = ask
    if (dialect.name !== "anthropic" || format?.formatLevel !== "json_schema")
      return { ...conversation, tools, forced: null }
    const parameters = JSON.parse(format.form.schema) as JsonObject
    const answer = { name: answerTool, description: "Gives the answer.", parameters }
    return { ...conversation, tools: [...tools, answer], forced: answerTool }
  }
}

function citesDocuments({ input }: ModelRequest): boolean {
  return input.some((message) => message.role === "user" && message.parts.some((part) => "citations" in part))
}
