import type { JsonObject } from "../../base/json-value.ts"
import type { AudioApiName } from "../../check/provider-kinds.ts"
import type { EgressResponse } from "../../ports/egress.ts"
import type { ModelWatch } from "../../ports/model.ts"
import { estimateTokens } from "../model-turn/estimate-tokens.ts"
import type { Answer, ApiTurn, ApiTurnParts, Ask, Built, Call, ModelApi } from "../model-turn/model-api.ts"
import { bearer, requestHeaders } from "../model-turn/request-headers.ts"
import { optionNames } from "../model-turn/wire-options.ts"
import { apiUrl } from "./api-url.ts"
import { accepted } from "./exchange.ts"
import { withExtra } from "./talk.ts"

// APIs of one thing in, one thing out: they have no conversation, no tools and no formats.

export interface AudioDialect {
  readonly name: AudioApiName
  readonly path: string
  readonly otherKind: string
  /** The settings that it has, under its names. */
  options(inference: ApiTurnParts["request"]["inference"]): JsonObject
  /** Keys of its body that `extra` may not set. */
  readonly reserved: readonly string[]
  /** The fields of the body, and a file where there is one. Throws a `RunFailure`. */
  write(parts: ApiTurnParts, options: JsonObject): Written
  readonly max_bytes: number
  /** Reads an answer that is a success. Throws an `UpstreamFailure`, or what egress throws. */
  read(response: EgressResponse, parts: ApiTurnParts, watch: Pick<ModelWatch, "redact">): Promise<Answer>
}

export interface Written {
  readonly fields: JsonObject
  readonly file?: { readonly name: string; readonly media_type: string; readonly bytes: Uint8Array<ArrayBuffer> }
}

export function audioApi(dialect: AudioDialect): ModelApi {
  const { name, otherKind } = dialect
  return {
    name,
    otherKind,
    headers: ({ api_key }) => bearer(api_key),
    begin: (parts) => new AudioTurn(dialect, parts),
  }
}

class AudioTurn implements ApiTurn {
  readonly ladder = ["instruction_only"] as const
  readonly #dialect: AudioDialect
  readonly #parts: ApiTurnParts

  constructor(dialect: AudioDialect, parts: ApiTurnParts) {
    this.#dialect = dialect
    this.#parts = parts
  }

  takesStrict(): boolean {
    return false
  }

  options(): JsonObject {
    const { request } = this.#parts
    return withExtra(this.#dialect.options(request.inference), request, ["model", "stream", ...this.#dialect.reserved])
  }

  maxTokens(): JsonObject {
    return {}
  }

  excludesTools(): boolean {
    return false
  }

  build({ options }: Ask): Built {
    const dialect = this.#dialect
    const { request, endpoint } = this.#parts
    const url = apiUrl(endpoint, dialect.path)
    let written: Written | null = null
    const whole = (): Written => (written ??= dialect.write(this.#parts, options))
    const body = (): string => shownBody(whole())
    return {
      url,
      body,
      // Sound costs by its length, which nobody knows before.
      estimate: () => estimateTokens(body(), []),
      sent: {
        options: () => optionNames(options),
        format: false,
        tools: false,
        stream: false,
        reasoning: false,
        tool_strict: false,
      },
      send: (call) => this.#send(url, requestHeaders(request, bearer(request.backend.api_key)), whole(), call),
    }
  }

  async #send(url: string, own: Record<string, string>, written: Written, call: Call): Promise<Answer> {
    const { egress } = this.#parts
    const { watch, limits } = call
    const { body, contentType } = await sentBody(written)
    const headers = { ...own, accept: "*/*", "content-type": contentType }
    call.sent?.({ url, headers, body: shownBody(written) })
    const response = await egress.request({
      url,
      method: "POST",
      headers,
      body,
      signal: watch.signal,
      gate: watch.gate,
      arrival: watch.arrival,
      limits: { ...limits, max_bytes: this.#dialect.max_bytes },
    })
    await accepted(response, call)
    return this.#dialect.read(response, this.#parts, watch)
  }
}

/** The body as records show it: of a file its name and its size. */
function shownBody({ fields, file }: Written): string {
  const about = file && { file: { name: file.name, media_type: file.media_type, bytes: file.bytes.length } }
  return JSON.stringify({ ...fields, ...about })
}

async function sentBody({ fields, file }: Written): Promise<{ body: string | Uint8Array; contentType: string }> {
  if (file === undefined) return { body: JSON.stringify(fields), contentType: "application/json" }
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    // A list is a field for each of its values: `timestamp_granularities[]`.
    const list = Array.isArray(value) ? value : [value]
    for (const one of list) {
      form.append(Array.isArray(value) ? `${name}[]` : name, typeof one === "string" ? one : JSON.stringify(one))
    }
  }
  form.append("file", new Blob([file.bytes], { type: file.media_type }), file.name)
  const encoded = new Response(form)
  const body = new Uint8Array(await encoded.arrayBuffer())
  return { body, contentType: encoded.headers.get("content-type") ?? "multipart/form-data" }
}
