import { withoutTrailing } from "../../base/without-trailing.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { ModelRequest } from "../../ports/model.ts"
import { estimateTokens } from "../model-turn/estimate-tokens.ts"
import type { BackendQuirks } from "../model-turn/backend-memory.ts"
import type { Answer, ApiTurn, ApiTurnParts, Ask, Built, Call, ModelApi } from "../model-turn/model-api.ts"
import { wholeLadder, type ContractForm } from "../model-turn/output-format.ts"
import { requestHeaders } from "../model-turn/request-headers.ts"
import { optionNames } from "../model-turn/wire-options.ts"
import { formatText, itemsText, requestBody, toolsText, wireOptions } from "./build-request.ts"
import { hidesReasoning, holdsReasoning, systemItem, toItems, toMessage } from "./history.ts"
import { sendCall } from "./send-call.ts"

/** OpenAI's `/responses`, and everything that is compatible with it. */
export const responsesApi: ModelApi = {
  name: "responses",
  other_kind:
    'If it has no `/responses`, but `/chat/completions`, its provider is of the kind `openai_chat`, or the model has wire_api: "chat/completion"',
  demoEndpoint: (endpoint) => endpoint,
  begin: (parts) => new ResponsesTurn(parts),
}

class ResponsesTurn implements ApiTurn {
  readonly ladder = wholeLadder
  readonly #parts: ApiTurnParts
  readonly #request: ModelRequest
  readonly #quirks: BackendQuirks
  readonly #options: JsonObject
  readonly #headers: Readonly<Record<string, string>>
  readonly #url: string
  readonly #holdsReasoning: boolean
  #inputText: { readonly reasoning: boolean; readonly text: string } | null = null

  constructor(parts: ApiTurnParts) {
    const { request, quirks } = parts
    this.#parts = parts
    this.#request = request
    this.#quirks = quirks
    this.#options = wireOptions(request.inference)
    this.#headers = requestHeaders(request, bearer(request.backend.api_key))
    this.#url = responsesUrl(parts.endpoint)
    this.#holdsReasoning = holdsReasoning(request.input)
  }

  takesStrict({ strict_schema }: ContractForm): boolean {
    return strict_schema !== null
  }

  /** Reasoning goes back to the model in the next turn of a tool loop; where it is hidden, in its encrypted form. */
  options(tools: boolean): JsonObject {
    const reasons = this.#quirks.hides_reasoning || this.#request.inference.reasoning_effort !== undefined
    if (!reasons || !tools || this.#options["include"] !== undefined) return this.#options
    return { ...this.#options, include: ["reasoning.encrypted_content"] }
  }

  maxTokens(most: number): JsonObject {
    return { max_output_tokens: most }
  }

  excludesTools(): boolean {
    return false
  }

  build({ added, instruction, options, format, tools, stream }: Ask): Built {
    const { origin, no_tool_strict, no_reasoning_back } = this.#quirks
    const reasoning = !no_reasoning_back && this.#holdsReasoning
    const body = requestBody({
      model: this.#request.model,
      system: this.#request.system,
      input: [
        instruction === null ? "" : itemsText([systemItem(instruction)]),
        this.#input(reasoning),
        itemsText(toItems(added, origin, reasoning)),
      ],
      options,
      format: format === null ? null : formatText(format.formatLevel, format.form),
      tools: toolsText(tools, !no_tool_strict),
      stream,
    })
    const sent = {
      options: () => optionNames(options),
      format: format !== null,
      tools: tools.length > 0,
      stream,
      reasoning,
      tool_strict: tools.length > 0 && !no_tool_strict,
    }
    const estimate = (): number => estimateTokens(body, [...this.#request.input, ...added])
    return { text: body, url: this.#url, estimate, sent, send: (call) => this.#send(body, stream, call) }
  }

  #send(body: string, stream: boolean, { attempt, limits, watch, now, sent }: Call): Promise<Answer> {
    const { egress, quirks } = this.#parts
    sent?.({ url: this.#url, headers: this.#headers, body })
    const call = { url: this.#url, headers: this.#headers, body, attempt, stream, limits }
    return sendCall(egress, call, watch, now).then(({ text, tool_calls, usage, items }) => ({
      text,
      tool_calls,
      usage,
      hides_reasoning: hidesReasoning(items),
      toMessage: (said, calls) => toMessage(items, said, calls, quirks.origin),
    }))
  }

  #input(reasoning: boolean): string {
    if (this.#inputText?.reasoning !== reasoning) {
      const items = toItems(this.#request.input, this.#quirks.origin, reasoning)
      this.#inputText = { reasoning, text: itemsText(items) }
    }
    return this.#inputText.text
  }
}

export function bearer(api_key: string | null): Record<string, string> {
  return api_key === null || api_key === "" ? {} : { authorization: `Bearer ${api_key}` }
}

/** An address without anything that has to be read to find where its path ends. */
const plainAddress = /^https?:\/\/[a-z0-9.-]+(?::\d{1,5})?(?:\/[\w-]+)*$/

/** `{endpoint}/responses`, before a query string where there is one. Egress refuses text that is not a URL. */
function responsesUrl(endpoint: string): string {
  if (plainAddress.test(endpoint)) return endpoint.endsWith("/responses") ? endpoint : `${endpoint}/responses`
  const url = URL.parse(endpoint)
  if (url === null) return endpoint
  const path = withoutTrailing(url.pathname, "/")
  url.pathname = path.endsWith("/responses") ? path : `${path}/responses`
  url.hash = ""
  return url.href
}
