import { Client, type PriorDiscovery } from "@modelcontextprotocol/client"
import type { JsonObject } from "../../base/json-value.ts"
import type { Arrivals, Egress } from "../../ports/egress.ts"
import type { Gate } from "../../ports/gate.ts"
import type { SentRequest } from "../../ports/sent-request.ts"
import { failure } from "../../ports/run-failure.ts"
import type { ToolServer } from "../../ports/tools.ts"
import { statusOf } from "./explain-failure.ts"
import { HttpTransport } from "./http-transport.ts"
import { rememberWay, wayTo, type KnownServer } from "./known-servers.ts"
import { never } from "./timed.ts"

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
  readonly maxListBytes: number
}

export interface ConnectionOptions {
  readonly egress: Egress
  /** Passed right before every request that wants an answer. */
  readonly gate: Gate
  /** Count what has arrived of answers. */
  readonly arrivals?: Arrivals | undefined
  /** Version of this service, for servers that ask who calls. */
  readonly version: string
  readonly limits: McpLimits
  readonly known: KnownServer
  /** Called with each request of a tool call right before it is sent. */
  readonly sent?: (message: JsonObject, request: SentRequest) => void
  /** Goes along in `_meta` with every request. */
  readonly meta: () => JsonObject
  /** The server says that one of its lists is another now. */
  readonly changed: (list: ListedKind) => void
}

export type ListedKind = "tools" | "prompts" | "resources"

/** A connection that stands. */
export interface LiveConnection {
  readonly client: Client
  readonly transport: HttpTransport
  /** Nothing has been asked yet: that the server speaks so is taken from an earlier connection. */
  assumed: boolean
}

/** What servers of an older era answer to the newest. */
export const legacyStatuses = [400, 404, 405]

/** How a server is approached: a step is tried when the one before it failed with such a status. */
const ladder: readonly (readonly [HttpTransport["kind"], PriorDiscovery | null, readonly number[]])[] = [
  ["streamable", null, []],
  // Some older servers break over a question that they do not know.
  ["streamable", { kind: "legacy" }, [500, 501]],
  ["sse", { kind: "legacy" }, legacyStatuses],
]

/** The newest era first, the older transport last; the way that was found before any other. */
export async function connectTo(
  server: ToolServer,
  options: ConnectionOptions,
  signal: AbortSignal,
): Promise<LiveConnection> {
  const { known } = options
  const way = wayTo(known)
  if (way !== null) {
    try {
      return await attempt(server, options, way.kind, way.prior, signal)
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
      return await attempt(server, options, kind, prior, signal)
    } catch (error) {
      if (signal.aborted) throw error
      failures.push(error)
    }
  }
  throw failures[0]
}

async function attempt(
  server: ToolServer,
  options: ConnectionOptions,
  kind: HttpTransport["kind"],
  prior: PriorDiscovery | null,
  signal: AbortSignal,
): Promise<LiveConnection> {
  const { egress, gate, arrivals, version, limits, known, sent, changed } = options
  const { connectMs, max_bytes, maxListBytes, callMs } = limits
  signal.throwIfAborted()
  const { endpoint } = server
  const headers = ownHeaders(server.headers)
  const transport = new HttpTransport({
    kind,
    url: urlOf(endpoint),
    headers,
    egress,
    gate,
    arrivals,
    ...(sent !== undefined && { sent }),
    secretBodies: server.secretBodies ?? false,
    max_bytes,
    maxListBytes,
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
  // A known way is not renewed by use: a server that is called all the time may be upgraded too.
  if (wayTo(known) === null) {
    rememberWay(known, kind, discover === undefined ? { kind: "legacy" } : { kind: "modern", discover })
  }
  listen(client)
  return { client, transport, assumed: prior?.kind === "modern" }
}

/** In the newest era, news of changed lists come only to those who ask for them. */
function listen(client: Client): void {
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

function urlOf(endpoint: string): URL {
  const url = URL.parse(endpoint)
  if (url === null) throw failure("blocked_destination", "", "The endpoint is not a URL.")
  return url
}

/** Drops the headers of the protocol, which a workflow may not set. */
export function ownHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !/^(?:mcp-|accept$|content-type$|last-event-id$)/i.test(name)),
  )
}
