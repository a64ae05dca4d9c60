import type {
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider"
import type { JsonObject } from "../../base/json-value.ts"
import type { ModelRequest } from "../../ports/model.ts"
import { failure } from "../../ports/run-failure.ts"
import { estimateTokens } from "../model-turn/estimate-tokens.ts"
import type { Answer, ApiTurn, ApiTurnParts, Ask, Built, Call, ModelApi } from "../model-turn/model-api.ts"
import type { Rung } from "../model-turn/output-format.ts"
import { assetOptions } from "../../check/provider-kinds.ts"
import { requestHeaders } from "../model-turn/request-headers.ts"
import { mergeOptions, optionNames } from "../model-turn/wire-options.ts"
import type { Dialect } from "./dialect.ts"
import { answerTool } from "./dialect.ts"
import { Exchange } from "./exchange.ts"
import { toPrompt } from "./prompt.ts"
import { readGenerated, readStreamed, toAnswer } from "./read-result.ts"
import { callWith, sharedModel } from "./shared-models.ts"

/** A model API that a provider package of the AI SDK speaks. */
export function aiSdkApi(dialect: Dialect): ModelApi {
  return {
    name: dialect.name,
    other_kind: dialect.other_kind,
    demoEndpoint: (endpoint) => dialect.demoEndpoint(endpoint),
    begin: (parts) => new AiSdkTurn(dialect, parts),
  }
}

class AiSdkTurn implements ApiTurn {
  readonly ladder: readonly Rung[]
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
      ? dialect.ladder.filter((rung) => !dialect.excludes_citations.includes(rung))
      : dialect.ladder
    this.#holdsOwn = request.input.some(
      (message) =>
        message.role === "assistant" &&
        message.parts.some(({ provider }) => provider?.api === dialect.name && provider.origin === parts.quirks.origin),
    )
  }

  options(): JsonObject {
    return this.#options
  }

  maxTokens(most: number): JsonObject {
    return this.#dialect.maxTokens(most, this.#parts.request.backend)
  }

  excludesTools(rung: Rung): boolean {
    return this.#dialect.excludes_tools.includes(rung)
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
      format?.rung ?? null,
      ask.instruction,
      tools.length,
      stream,
      reasoning,
      ask.added,
    ])
    return {
      text,
      url: this.#dialect.url(this.#parts.endpoint, this.#parts.request.model, stream),
      estimate: () => this.#estimate(ask),
      sent,
      send: (call) => this.#send(ask, reasoning, call),
    }
  }

  /** The package makes the body when it is sent: until then its parts stand for it. */
  #estimate({ input, added, instruction, options, format, tools }: Ask): number {
    const { system, model } = this.#parts.request
    const schema = format === null ? null : (format.form.strict_schema ?? format.form.schema)
    const body = JSON.stringify([model, system, instruction, input, added, options, tools]) + (schema ?? "")
    return estimateTokens(body, [...input, ...added])
  }

  async #send(ask: Ask, reasoning: boolean, call: Call): Promise<Answer> {
    const { egress, endpoint, request, quirks } = this.#parts
    const dialect = this.#dialect
    const { watch } = call
    const exchange = new Exchange({
      dialect,
      egress,
      url: dialect.url(endpoint, request.model, ask.stream),
      headers: this.#headers,
      call,
      stream: ask.stream,
      finish: (body) => dialect.finish(body, ask),
    })
    const model = sharedModel(dialect, request.model)
    const options = this.#callOptions(ask, reasoning, call)
    try {
      // A backend may answer a request for a stream with a whole answer, and the reverse.
      const streamed = await exchange.open(ask.stream, (stream) =>
        callWith(exchange.fetch, (): PromiseLike<LanguageModelV4GenerateResult | LanguageModelV4StreamResult> =>
          stream ? model.doStream({ ...options, includeRawChunks: true }) : model.doGenerate(options),
        ),
      )
      const result =
        "stream" in streamed ? await readStreamed(streamed.stream, dialect, call, ask.stream) : readGenerated(streamed)
      return toAnswer(result, { api: dialect.name, origin: quirks.origin, watch })
    } catch (error) {
      watch.signal.throwIfAborted()
      throw exchange.failureOf(error)
    }
  }

  #callOptions(ask: Ask, reasoning: boolean, { watch }: Call): LanguageModelV4CallOptions {
    const { request, quirks, endpoint } = this.#parts
    const dialect = this.#dialect
    const system = [request.system, ask.instruction].filter((text) => text !== null).join("\n\n")
    let prompt: LanguageModelV4CallOptions["prompt"]
    try {
      prompt = toPrompt([...ask.input, ...ask.added], {
        system: system === "" ? null : system,
        own: ({ api, origin, data }) => (reasoning && api === dialect.name && origin === quirks.origin ? data : null),
        takesId: (id) => dialect.takesId(id, endpoint),
        idLength: dialect.id_length(endpoint),
        documentOptions: Object.entries(assetOptions).flatMap(([name, apis]) =>
          apis.includes(dialect.name) ? name : [],
        ),
      })
    } catch {
      throw failure("evaluation_error", request.path, "An asset is neither an address nor a data URL.")
    }
    const tools = ask.tools.map(({ name, description, parameters }) => ({
      type: "function" as const,
      name,
      description,
      inputSchema: parameters,
    }))
    const { format } = ask
    if (dialect.name === "anthropic" && format?.rung === "json_schema") {
      const inputSchema = JSON.parse(format.form.schema) as JsonObject
      tools.push({ type: "function", name: answerTool, description: "Gives the answer.", inputSchema })
      return { prompt, tools, toolChoice: { type: "tool", toolName: answerTool }, abortSignal: watch.signal }
    }
    return { prompt, ...(tools.length > 0 && { tools }), abortSignal: watch.signal }
  }
}

function citesDocuments({ input }: ModelRequest): boolean {
  return input.some((message) => message.role === "user" && message.parts.some((part) => "citations" in part))
}
