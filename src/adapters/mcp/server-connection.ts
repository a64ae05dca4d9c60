import { isJsonObject } from "../../base/is-json-object.ts"
import type {
  CallToolResult,
  GetPromptResult,
  PriorDiscovery,
  ReadResourceResult,
  RequestOptions,
  StandardSchemaV1,
} from "@modelcontextprotocol/client"
import { Client, ProtocolError, SdkHttpError } from "@modelcontextprotocol/client"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { Egress } from "../../ports/egress.ts"
import type { Gate } from "../../ports/gate.ts"
import { failure } from "../../ports/run-failure.ts"
import type { ToolServer } from "../../ports/tools.ts"
import { statusOf } from "./explain-failure.ts"
import { HttpTransport, publishedKey } from "./http-transport.ts"
import { isDeeper } from "./is-deeper.ts"
import type { KnownServer } from "./known-servers.ts"
import { listOf, rememberList, rememberWay, wayTo } from "./known-servers.ts"
import { unwrapSdkError } from "./unwrap-sdk-error.ts"
import type { Timeouts } from "./timed.ts"
import { never, timed } from "./timed.ts"

/** Milliseconds, or bytes. */
export interface McpLimits {
  /** For a connection to stand, and for each page of a list. */
  readonly connectMs: number
  /** For an answer, or the next news of its progress. */
  readonly silenceMs: number
  /** For an answer, however much progress is reported. */
  readonly callMs: number
  /** Bytes of one answer to a call. */
  readonly max_bytes: number
  /** Bytes of one list, all its pages together. */
  readonly max_list_bytes: number
}

export interface ConnectionOptions {
  readonly egress: Egress
  /** Passed right before every request that wants an answer. */
  readonly gate: Gate
  /** Of this service, for servers that ask who calls. */
  readonly version: string
  readonly limits: McpLimits
  readonly known: KnownServer
  /** Goes along in `_meta` with every request. */
  readonly meta: () => JsonObject
  /** The server says that one of its lists is another now. */
  readonly changed: (list: ListedKind) => void
}

export type ListedKind = "tools" | "prompts" | "resources"

const listKeys = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
} as const

export type ListMethod = keyof typeof listKeys

const mostPages = 100
const mostItems = 10_000
/** Far more than any item needs, and little enough for everything that walks over one. */
const deepestItem = 500
/** A list may take as long as so many of its pages. */
const patientPages = 2
/** Connections that their servers have forgotten, and that others may still wait on. */
const mostRetired = 4

interface Live {
  readonly client: Client
  readonly transport: HttpTransport
  /** Nothing has been asked yet: that the server speaks so is taken from an earlier connection. */
  assumed: boolean
}

/** The connection of one run to one server: made once, made again when it breaks. */
export class ServerConnection {
  readonly server: ToolServer
  readonly #options: ConnectionOptions
  #live: Live | null = null
  #opening: Promise<Live> | null = null
  /** Connections that their servers have forgotten. */
  readonly #retired = new Set<Live>()

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
      if (isDeeper(page.items, deepestItem)) {
        throw new Error(`The server's ${method} has an item that is nested over ${deepestItem} levels deep`)
      }
      bytes += Buffer.byteLength(JSON.stringify(page.items))
      if (bytes > limits.max_list_bytes) {
        throw new Error(`The server's ${method} has more than ${limits.max_list_bytes} bytes`)
      }
      if (items.length + page.items.length > mostItems) {
        throw new Error(`The server's ${method} has more than ${mostItems} items`)
      }
      for (const item of page.items) items.push(item)
      if (cursor === undefined) ttlMs = page.ttlMs
      if (page.next === undefined) break
      if (cursors.has(page.next) || cursors.size >= mostPages || performance.now() > deadline) {
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
  ): Promise<CallToolResult> {
    const inputSchema = { ...(definition["inputSchema"] as JsonObject), type: "object" as const }
    return this.#use(signal, this.#callTimes(), ({ client }, options) =>
      client.callTool(
        { name, arguments: values, _meta: { ...this.#options.meta(), ...meta } },
        // Without its output schema: results are validated by the code that knows what the workflow declared.
        { ...options, toolDefinition: { name, inputSchema } },
      ),
    )
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

  /** Nothing is open when it resolves, save the farewell to the server, which `farewell` waits for. */
  async close(): Promise<{ readonly farewell: Promise<void> }> {
    const live = this.#live
    this.#live = null
    for (const { client } of this.#retired) await client.close()
    if (live === null) return { farewell: Promise.resolve() }
    const { sessionId } = live.transport
    const protocol = live.client.getNegotiatedProtocolVersion() ?? ""
    await live.client.close()
    await live.transport.settled()
    return { farewell: sessionId === undefined ? Promise.resolve() : this.#endSession(sessionId, protocol) }
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
    work: (live: Live, options: RequestOptions) => Promise<T>,
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
        if (this.#retired.size > mostRetired && oldest !== undefined) {
          this.#retired.delete(oldest)
          await oldest.client.close()
        }
        if (this.#live === live) this.#live = null
      }
    }
  }

  #isForgotten({ transport, assumed }: Live, error: unknown): boolean {
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

  async #ready(signal: AbortSignal): Promise<Live> {
    signal.throwIfAborted()
    if (this.#live !== null && !this.#live.transport.closed) return this.#live
    this.#opening ??= this.#connect(signal).finally(() => (this.#opening = null))
    return (this.#live = await this.#opening)
  }

  /** The newest era first, the older transport last; the way that was found before any other. */
  async #connect(signal: AbortSignal): Promise<Live> {
    const { known } = this.#options
    const way = wayTo(known)
    if (way !== null) {
      try {
        return await this.#attempt(way.kind, way.prior, signal)
      } catch (error) {
        known.way = null
        if (signal.aborted || statusOf(error) === undefined) throw error
      }
    }
    const failures: unknown[] = []
    for (const [kind, prior, after] of ladder) {
      const before = failures.at(-1)
      if (before !== undefined && !after.includes(statusOf(before) ?? 0)) continue
      try {
        return await this.#attempt(kind, prior, signal)
      } catch (error) {
        if (signal.aborted) throw error
        failures.push(error)
      }
    }
    throw failures[0]
  }

  async #attempt(kind: HttpTransport["kind"], prior: PriorDiscovery | null, signal: AbortSignal): Promise<Live> {
    const { egress, gate, version, limits, known, changed } = this.#options
    const { connectMs, max_bytes, max_list_bytes, callMs } = limits
    signal.throwIfAborted()
    const { endpoint } = this.server
    const headers = ownHeaders(this.server.headers)
    const transport = new HttpTransport({
      kind,
      url: urlOf(endpoint),
      headers,
      egress,
      gate,
      secret_bodies: this.server.secret_bodies ?? false,
      max_bytes,
      max_list_bytes,
      longestMs: callMs,
    })
    const client = new Client(
      { name: "wireworks", version },
      {
        capabilities: {},
        versionNegotiation: { mode: "auto", probe: { timeoutMs: never } },
      },
    )
    for (const list of ["tools", "prompts", "resources"] as const) {
      client.setNotificationHandler(`notifications/${list}/list_changed`, () => changed(list))
    }
    const stop = Promise.withResolvers<never>()
    const onAbort = (): void => stop.reject(signal.reason as Error)
    signal.addEventListener("abort", onAbort, { once: true })
    const late = new Error(`The server did not answer within ${connectMs} ms`)
    const timer = setTimeout(() => stop.reject(late), connectMs)
    try {
      await Promise.race([
        client.connect(transport, { timeout: never, ...(prior === null ? {} : { prior }) }),
        stop.promise,
      ])
    } catch (error) {
      await transport.close()
      throw error
    } finally {
      clearTimeout(timer)
      signal.removeEventListener("abort", onAbort)
    }
    const discover = client.getDiscoverResult()
    // What is taken for granted keeps its term: a server that is asked all the time may be upgraded too.
    if (wayTo(known) === null) {
      rememberWay(known, kind, discover === undefined ? { kind: "legacy" } : { kind: "modern", discover })
    }
    this.#listen(client)
    return { client, transport, assumed: prior?.kind === "modern" }
  }

  /** In the newest era, news of changed lists come only to those who ask for them. */
  #listen(client: Client): void {
    if (client.getProtocolEra() !== "modern") return
    const offered = client.getServerCapabilities()
    const filter = {
      ...(offered?.tools?.listChanged === true ? { toolsListChanged: true } : {}),
      ...(offered?.prompts?.listChanged === true ? { promptsListChanged: true } : {}),
      ...(offered?.resources?.listChanged === true ? { resourcesListChanged: true } : {}),
    }
    if (Object.keys(filter).length === 0) return
    client.listen(filter, { timeout: never }).catch(() => {
      // Without them, a change shows when a call meets it.
    })
  }
}

/** How a server is approached: a step is tried when the one before it failed with such a status. */
const legacyStatuses = [400, 404, 405]
const ladder: readonly (readonly [HttpTransport["kind"], PriorDiscovery | null, readonly number[]])[] = [
  ["streamable", null, []],
  // Some older servers break over a question that they do not know.
  ["streamable", { kind: "legacy" }, [500, 501]],
  ["sse", { kind: "legacy" }, legacyStatuses],
]

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

function urlOf(endpoint: string): URL {
  const url = URL.parse(endpoint)
  if (url === null) throw failure("blocked_destination", "", "The endpoint is not a URL.")
  return url
}

/** Those that belong to the protocol are not the workflow's to set. */
function ownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !/^(?:mcp-|accept$|content-type$|last-event-id$)/i.test(name)),
  )
}
