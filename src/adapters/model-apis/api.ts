import type { JsonObject } from "../../base/json-value.ts"
import type { Message } from "../../log/messages.ts"
import type { ModelRequest } from "../../ports/model.ts"
import { estimateTokens } from "../model-turn/estimate-tokens.ts"
import type { ApiTurn, ApiTurnParts, Ask, Built, ModelApi } from "../model-turn/model-api.ts"
import type { ContractForm, FormatLevel } from "../model-turn/output-format.ts"
import { requestHeaders } from "../model-turn/request-headers.ts"
import { mergeOptions, optionNames } from "../model-turn/wire-options.ts"
import type { BodyWriter, Dialect } from "./dialect.ts"
import { exchange } from "./exchange.ts"
import { cacheOptions } from "./prompt-cache.ts"
import { responseFacts } from "./response-facts.ts"
import { withoutSeam, withSeam } from "./stable-seam.ts"

/** A model API, by the way in which it differs from others. */
export function modelApi(dialect: Dialect): ModelApi {
  const { name, otherKind, batches } = dialect
  return {
    name,
    otherKind,
    ...(batches !== undefined && { batches }),
    headers: (backend) => dialect.headers(backend),
    begin: (parts) => new DialectTurn(dialect, parts),
  }
}

class DialectTurn implements ApiTurn {
  readonly ladder: readonly FormatLevel[]
  readonly #dialect: Dialect
  readonly #parts: ApiTurnParts
  readonly #options: JsonObject
  readonly #headers: Readonly<Record<string, string>>
  readonly #write: BodyWriter
  readonly #holdsOwn: boolean

  constructor(dialect: Dialect, parts: ApiTurnParts) {
    const { request } = parts
    const { excludesCitations = [] } = dialect
    this.#dialect = dialect
    this.#parts = { ...parts, request: withSeam(request) }
    const own = cacheOptions(request, parts.beginnings)
    const options = dialect.options(request)
    this.#options = Object.keys(own).length === 0 ? options : mergeOptions(own, options)
    this.#headers = requestHeaders(request, dialect.headers(request.backend))
    this.#write = dialect.writer(this.#parts)
    this.ladder =
      excludesCitations.length > 0 && citesDocuments(request)
        ? dialect.ladder.filter((formatLevel) => !excludesCitations.includes(formatLevel))
        : dialect.ladder
    this.#holdsOwn = this.#areOwn(request.input)
  }

  /** Whether messages hold what only this backend and model understand. */
  #areOwn(messages: readonly Message[]): boolean {
    const { name } = this.#dialect
    const { origin } = this.#parts.quirks
    return messages.some(
      (message) =>
        message.role === "assistant" &&
        message.parts.some(({ provider }) => provider?.api === name && provider.origin === origin),
    )
  }

  takesStrict(form: ContractForm): boolean {
    return this.#dialect.takesStrict?.(form) ?? form.strictSchema !== null
  }

  options(tools: boolean): JsonObject {
    const { request, quirks } = this.#parts
    return (tools ? this.#dialect.toolOptions?.(this.#options, request, quirks) : null) ?? this.#options
  }

  maxTokens(most: number): JsonObject {
    return this.#dialect.maxTokens(most, this.#parts.request.backend)
  }

  excludesTools(formatLevel: FormatLevel): boolean {
    return this.#dialect.excludesTools?.includes(formatLevel) ?? false
  }

  build(ask: Ask): Built {
    const dialect = this.#dialect
    const { quirks, request, endpoint, egress } = this.#parts
    const asked = { ...ask, input: request.input }
    const reasoning = (this.#holdsOwn || this.#areOwn(ask.added)) && !quirks.noReasoningBack
    const { options, format, tools, hosted, stream } = ask
    const url = dialect.url(endpoint, request.model, stream)
    const headers = this.#headers
    let written: ReturnType<typeof withoutSeam> | null = null
    const whole = (): ReturnType<typeof withoutSeam> => (written ??= withoutSeam(this.#write(asked, reasoning)))
    const body = (): string => whole().body
    return {
      url,
      body,
      estimate: () => estimateTokens(body(), [...ask.input, ...ask.added]),
      sent: {
        options: () => optionNames(options),
        format: format !== null,
        tools: tools.length + hosted.length > 0,
        stream,
        reasoning,
        tool_strict: dialect.strict_tools === true && tools.length > 0 && !quirks.noToolStrict,
      },
      send: (call) =>
        exchange({
          dialect,
          egress,
          url,
          headers,
          ...whole(),
          call,
          stream,
          read(answer, retryAfterMs) {
            const { watch } = call
            const read = dialect.read(answer, { retryAfterMs, origin: quirks.origin, watch })
            if (watch.responded === undefined) return read
            return { ...read, response: watch.redact(responseFacts(answer)) }
          },
        }),
    }
  }
}

function citesDocuments({ input }: ModelRequest): boolean {
  return input.some((message) => message.role === "user" && message.parts.some((part) => "citations" in part))
}
