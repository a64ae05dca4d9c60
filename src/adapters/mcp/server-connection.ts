import { isJsonObject } from "../../base/is-json-object.ts"
import type {
  CallToolResult,
  Client,
  GetPromptResult,
  InputRequiredResult,
  ReadResourceResult,
  RequestOptions,
  StandardSchemaV1,
} from "@modelcontextprotocol/client"
import { CLIENT_CAPABILITIES_META_KEY, ProtocolError, SdkHttpError } from "@modelcontextprotocol/client"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { AskReply, ToolServer } from "../../ports/tools.ts"
import type { ConnectionOptions, ListedKind, LiveConnection } from "./connect-to.ts"
import { connectTo, legacyStatuses, ownHeaders } from "./connect-to.ts"
import { statusOf } from "./explain-failure.ts"
import { publishedKey, type HttpTransport } from "./http-transport.ts"
import { isDeeper } from "../../base/bounded-json.ts"
import { listOf, rememberList } from "./known-servers.ts"
import { timed, type Timeouts } from "./timed.ts"
import { mcpItemLevels, mcpListItems, mcpListPages } from "../../base/limits.ts"

const listKeys = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
} as const

export type ListMethod = keyof typeof listKeys

/** A list may take as long as so many of its pages. */
const patientPages = 2
/** Connections that their servers have forgotten, and that others may still wait on. */
const maxRetired = 4

/** The connection of one run to one server: made once, made again when it breaks. */
export class ServerConnection {
  readonly server: ToolServer
  readonly #options: ConnectionOptions
  #live: LiveConnection | null = null
  #opening: Promise<LiveConnection> | null = null
  /** Connections that their servers have forgotten. */
  readonly #retired = new Set<LiveConnection>()

  constructor(server: ToolServer, options: ConnectionOptions) {
    this.server = server
    this.#options = options
  }

  /** The revision of the protocol that was agreed upon. */
  get protocol(): string {
    return this.#live?.client.getNegotiatedProtocolVersion() ?? ""
  }

  async open(signal: AbortSignal): Promise<void> {
    await this.#ready(signal)
  }

  /** What the server says of itself. */
  about(): { readonly name: string; readonly version: string; readonly instructions: string } {
    const { name = "", version = "" } = this.#live?.client.getServerVersion() ?? {}
    return { name, version, instructions: this.#live?.client.getInstructions() ?? "" }
  }

  /** Whether the server says that it has such things at all. */
  offers(kind: ListedKind): boolean {
    return this.#live?.client.getServerCapabilities()?.[kind] !== undefined
  }

  /** All pages of a list, as the server publishes it; empty where the server has no such list. */
  async list(method: ListMethod, signal: AbortSignal): Promise<readonly JsonObject[]> {
    const { known, limits } = this.#options
    const kept = listOf(known, method)
    if (kept !== null) return kept
    const items: JsonObject[] = []
    const cursors = new Set<string>()
    const deadline = performance.now() + patientPages * limits.connectMs
    let bytes = 0
    let cursor: string | undefined
    let ttlMs = 0
    for (;;) {
      const page = await this.#page(method, cursor, Math.min(limits.connectMs, deadline - performance.now()), signal)
      if (page === null) return []
      if (isDeeper(page.items, mcpItemLevels)) {
        throw new Error(`The server's ${method} has an item that is nested over ${mcpItemLevels} levels deep`)
      }
      bytes += Buffer.byteLength(JSON.stringify(page.items))
      if (bytes > limits.maxListBytes) {
        throw new Error(`The server's ${method} has more than ${limits.maxListBytes} bytes`)
      }
      if (items.length + page.items.length > mcpListItems) {
        throw new Error(`The server's ${method} has more than ${mcpListItems} items`)
      }
      for (const item of page.items) items.push(item)
      if (cursor === undefined) ttlMs = page.ttlMs
      if (page.next === undefined) break
      if (cursors.has(page.next) || cursors.size >= mcpListPages || performance.now() > deadline) {
        throw new Error(`The server's ${method} never ends`)
      }
      cursors.add(page.next)
      cursor = page.next
    }
    rememberList(known, method, items, bytes, ttlMs)
    return items
  }

  /** `definition` is the tool as it was listed: the protocol has some arguments repeated in headers. */
  callTool(
    name: string,
    values: JsonObject,
    definition: JsonObject,
    meta: JsonObject,
    signal: AbortSignal,
    reply?: AskReply,
  ): Promise<CallToolResult | InputRequiredResult> {
    const inputSchema = { ...(definition["inputSchema"] as JsonObject), type: "object" as const }
    const allowInputRequired = this.server.elicitation === true
    return this.#use(signal, this.#callTimes(), ({ client }, options) =>
      client.callTool(
        {
          name,
          arguments: values,
          _meta: { ...this.#options.meta(), ...meta, ...(allowInputRequired && this.#mayAsk(client)) },
          ...(reply !== undefined && repliedWith(reply)),
        },
        // Without its output schema: results are validated by the code that knows what the workflow declared.
        { ...options, toolDefinition: { name, inputSchema }, allowInputRequired },
      ),
    )
  }

  /** Only a call of a tool may be answered with questions, and only in the newest era. */
  #mayAsk(client: Client): JsonObject {
    if (client.getProtocolEra() !== "modern") return {}
    return { [CLIENT_CAPABILITIES_META_KEY]: { elicitation: { form: {}, url: {} } } }
  }

  readResource(uri: string, signal: AbortSignal): Promise<ReadResourceResult> {
    return this.#use(signal, this.#callTimes(), ({ client }, options) =>
      client.readResource({ uri, _meta: this.#options.meta() }, { ...options, cacheMode: "bypass" }),
    )
  }

  getPrompt(name: string, values: Readonly<Record<string, string>>, signal: AbortSignal): Promise<GetPromptResult> {
    return this.#use(signal, this.#callTimes(), ({ client }, options) =>
      client.getPrompt({ name, arguments: { ...values }, _meta: this.#options.meta() }, options),
    )
  }

  /** When it resolves nothing is open but the request that ends the session, which `sessionEnd` waits for. */
  async close(): Promise<{ readonly sessionEnd: Promise<void> }> {
    const live = this.#live
    this.#live = null
    for (const { client } of this.#retired) await client.close()
    if (live === null) return { sessionEnd: Promise.resolve() }
    const { sessionId } = live.transport
    const protocol = live.client.getNegotiatedProtocolVersion() ?? ""
    await live.client.close()
    await live.transport.settled()
    return { sessionEnd: sessionId === undefined ? Promise.resolve() : this.#endSession(sessionId, protocol) }
  }

  async #endSession(sessionId: string, protocol: string): Promise<void> {
    const { endpoint, headers } = this.server
    try {
      const response = await this.#options.egress.fetch(
        endpoint,
        {
          method: "DELETE",
          headers: { ...ownHeaders(headers), "mcp-session-id": sessionId, "mcp-protocol-version": protocol },
        },
        { firstByteMs: 2000, totalMs: 2000, max_bytes: 64 * 1024 },
      )
      await response.body?.cancel()
    } catch {
      // The server forgets the session by itself, some day.
    }
  }

  #callTimes(): Timeouts {
    const { silenceMs, callMs } = this.#options.limits
    return { silenceMs, totalMs: callMs }
  }

  async #page(
    method: ListMethod,
    cursor: string | undefined,
    ms: number,
    signal: AbortSignal,
  ): Promise<{ items: JsonObject[]; next: string | undefined; ttlMs: number } | null> {
    const params = { _meta: this.#options.meta(), ...(cursor === undefined ? {} : { cursor }) }
    try {
      const answer = await this.#use(signal, { silenceMs: ms, totalMs: ms }, ({ client }, options) =>
        client.request({ method, params }, anyObject, options),
      )
      const whole = answer[publishedKey]
      const page = isJsonObject(whole) ? whole : answer
      const items = page[listKeys[method]]
      if (!Array.isArray(items)) throw new Error(`The server's ${method} is not a list`)
      const { nextCursor, ttlMs } = page
      return {
        items: items.filter(isJsonObject),
        next: typeof nextCursor === "string" ? nextCursor : undefined,
        ttlMs: typeof ttlMs === "number" ? ttlMs : 0,
      }
    } catch (error) {
      if (error instanceof ProtocolError && error.code === methodNotFound) return null
      throw error
    }
  }

  /**
   * Makes a request, again on a new connection when the server has forgotten this one (it has then not looked at the
   * request). When it rejects, nothing of the request is open any more.
   */
  async #use<T>(
    signal: AbortSignal,
    times: Timeouts,
    work: (live: LiveConnection, options: RequestOptions) => Promise<T>,
  ): Promise<T> {
    for (let again = false; ; again = true) {
      const live = await this.#ready(signal)
      try {
        const result = await timed(live.transport, signal, times, (options) => work(live, options))
        live.assumed = false
        return result
      } catch (error) {
        const why = unwrapSdkError(error, live.client, live.transport)
        if (signal.aborted || again || !this.#isForgotten(live, why)) throw why
        if (live.assumed) this.#options.known.way = null
        // Others may still wait there for the same news: it is closed at the end.
        this.#retired.add(live)
        const [oldest] = this.#retired
        if (this.#retired.size > maxRetired && oldest !== undefined) {
          this.#retired.delete(oldest)
          await oldest.client.close()
        }
        if (this.#live === live) this.#live = null
      }
    }
  }

  #isForgotten({ transport, assumed }: LiveConnection, error: unknown): boolean {
    const status = statusOf(error)
    if (transport.sessionId !== undefined) {
      if (status === 404) return true
      // Some servers say so with a 400 instead.
      const text = error instanceof SdkHttpError ? error.data["text"] : undefined
      if (status === 400 && typeof text === "string" && /session/i.test(text)) return true
    }
    const otherEra = error instanceof ProtocolError && error.code === unsupportedVersion
    return assumed && (otherEra || (status !== undefined && legacyStatuses.includes(status)))
  }

  async #ready(signal: AbortSignal): Promise<LiveConnection> {
    signal.throwIfAborted()
    if (this.#live !== null && !this.#live.transport.closed) return this.#live
    this.#opening ??= connectTo(this.server, this.#options, signal).finally(() => (this.#opening = null))
    return (this.#live = await this.#opening)
  }
}

function repliedWith({ responses, state }: AskReply): { inputResponses?: JsonObject; requestState?: string } {
  return {
    ...(Object.keys(responses).length > 0 && { inputResponses: responses }),
    ...(state !== null && { requestState: state }),
  }
}

const methodNotFound = -32_601
const unsupportedVersion = -32_022

/** One tool that is published badly must not hide the others. */
const anyObject: StandardSchemaV1<unknown, { readonly [key: string]: JsonValue | undefined }> = {
  "~standard": {
    version: 1,
    vendor: "wireworks",
    validate: (value) => (isJsonObject(value) ? { value } : { issues: [{ message: "expected an object" }] }),
  },
}

/** The failure behind the SDK's error. */
function unwrapSdkError(error: unknown, client: Client, transport: HttpTransport): unknown {
  if (error instanceof ProtocolError) return transport.failureBehind(error.code, error.data) ?? error
  // In the newest era errors of the protocol come with a status of their own; the SDK reads those of one only.
  if (client.getProtocolEra() !== "modern" || !(error instanceof SdkHttpError)) return error
  const { status, data } = error
  if (status === undefined || status < 400 || status >= 500 || status === 401 || status === 403) return error
  return protocolErrorIn(data["text"]) ?? error
}

function protocolErrorIn(body: unknown): ProtocolError | undefined {
  if (typeof body !== "string") return undefined
  try {
    const { error } = JSON.parse(body) as { error?: { code?: unknown; message?: unknown; data?: unknown } }
    if (typeof error?.code !== "number" || typeof error.message !== "string") return undefined
    return ProtocolError.fromError(error.code, error.message, error.data)
  } catch {
    return undefined
  }
}
