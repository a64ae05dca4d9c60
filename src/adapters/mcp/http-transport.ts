import { randomInt } from "node:crypto"
import { JsonWork } from "../../base/bounded-json.ts"
import { timerMs } from "../../base/timer-ms.ts"
import { WaitedTime } from "../../ports/waited-time.ts"
import type {
  FetchLike,
  JSONRPCMessage,
  JSONRPCResultResponse,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client"
import { SSEClientTransport, SseError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import type { JsonObject } from "../../base/json-value.ts"
import type { Arrival, Arrivals, Egress } from "../../ports/egress.ts"
import { EgressFailure } from "../../ports/egress.ts"
import { openGate, type Gate } from "../../ports/gate.ts"
import type { SentRequest } from "../../ports/sent-request.ts"
import { turnToParse } from "../model-turn/turn-for.ts"
import { boundedEvents, tooManyValues } from "./bounded-events.ts"
import { Cancellations, cancelledId, cancelMs, isCancellation } from "./cancel-requests.ts"
import { mcpCallEvents, mcpOpenSse, mcpOpenStream, mcpReconnectionMs, mcpReconnections } from "../../base/limits.ts"

export interface HttpTransportOptions {
  /** `sse` is the older transport: one stream for all answers, requests beside it. */
  readonly kind: "streamable" | "sse"
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly egress: Egress
  /** Passed right before every request that wants an answer. */
  readonly gate: Gate
  /** Count what has arrived of answers. */
  readonly arrivals?: Arrivals | undefined
  /** Called with each request of a tool call right before it is sent. */
  readonly sent?: (message: JsonObject, request: SentRequest) => void
  /** Requests may hold secrets: none goes on to another origin. */
  readonly secretBodies: boolean
  /** Largest answer of a call, and largest event of a stream that stays open. */
  readonly max_bytes: number
  /** Largest answer of anything else: a page of a list, the beginning of a session. */
  readonly maxListBytes: number
  /** No exchange but a stream that stays open lasts longer. */
  readonly longestMs: number
}

const neverAborted = new AbortController().signal

/** A stream that goes on after its answer is closed so long after. */
const lingerMs = 1000

const openStream = { streamable: mcpOpenStream, sse: mcpOpenSse }

/** These may have large answers. */
const calls = new Set(["tools/call", "resources/read", "prompts/get"])

/** The code of an error that this transport makes up: no answer came. Its data names the request. */
const unansweredCode = -32_099

interface Pending {
  /** A list is asked for. */
  readonly list: boolean
  readonly maxBytes: number
  readonly stop: AbortController
  answer: "open" | "json" | "nothing"
  failure: Error | null
}

/**
 * The SDK's transport on our egress, watched: a request whose exchange ends without an answer fails at once (the SDK
 * waits for its time to be up), a cancelled one leaves no stream open, and an answer that is too large ends the call.
 */
export class HttpTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport["onmessage"]>
  readonly kind: HttpTransportOptions["kind"]
  readonly hasPerRequestStream: boolean
  /** How long calls of this connection have waited for this service. */
  readonly waited = new WaitedTime()
  readonly #options: HttpTransportOptions
  readonly #inner: Transport
  readonly #pending = new Map<string | number, Pending>()
  readonly #failures = new Map<string | number, Error>()
  readonly #lingering = new Set<NodeJS.Timeout>()
  readonly #cancellations = new Cancellations()
  /**
   * Added to the SDK's request ids, which count from 0 on every connection. A call that is repeated with people's answers needs another id than the
   * first one, and the run has connected anew by then.
   */
  readonly #idOffset = randomInt(1, 2 ** 31)
  #reconnections = 0
  #closed = false

  constructor(options: HttpTransportOptions) {
    const { kind, url, headers } = options
    this.kind = kind
    this.#options = options
    this.hasPerRequestStream = kind === "streamable"
    const fetch: FetchLike = (to, init) => this.#fetch(to, init ?? {})
    // Egress judges every redirect and keeps credentials within their origin.
    const common = { fetch, requestInit: { headers: { ...headers } }, redirectPolicy: "follow" as const }
    this.#inner =
      kind === "sse"
        ? new SSEClientTransport(url, common)
        : new StreamableHTTPClientTransport(url, {
            ...common,
            reconnectionOptions: {
              initialReconnectionDelay: 500,
              maxReconnectionDelay: 5000,
              reconnectionDelayGrowFactor: 2,
              maxRetries: 2,
            },
            reconnectionScheduler: (reconnect, delay) => this.#reconnect(reconnect, delay),
          })
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId
  }

  get closed(): boolean {
    return this.#closed
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version)
  }

  async start(): Promise<void> {
    this.#inner.onmessage = (message) => this.#receive(message)
    this.#inner.onerror = (error) => {
      this.onerror?.(error)
      // Its stream is gone, and with it every answer under way. The SDK would open another one and wait in vain.
      if (error instanceof SseError) void this.close()
    }
    this.#inner.onclose = () => this.#close()
    try {
      await this.#inner.start()
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async send(sent: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    const message = withRequestIds(sent, this.#idOffset)
    if (isCancellation(message)) return this.#cancel(message)
    if (this.kind === "sse" || !("id" in message && "method" in message) || message.id === undefined) {
      return this.#inner.send(message, options)
    }
    const { id } = message
    const list = message.method.endsWith("/list")
    const { max_bytes, maxListBytes } = this.#options
    const maxBytes = calls.has(message.method) ? max_bytes : maxListBytes
    const pending: Pending = { list, maxBytes, stop: new AbortController(), answer: "open", failure: null }
    this.#pending.set(id, pending)
    const { requestSignal } = options
    const stopped = pending.stop.signal
    const signal = requestSignal === undefined ? stopped : AbortSignal.any([requestSignal, stopped])
    try {
      await this.#inner.send(message, {
        ...options,
        requestSignal: signal,
        onRequestStreamEnd: () => {
          options.onRequestStreamEnd?.()
          this.#unanswered(id)
        },
      })
    } catch (error) {
      this.#pending.delete(id)
      throw pending.failure ?? error
    }
    if (pending.answer !== "open") this.#unanswered(id)
  }

  async close(): Promise<void> {
    await this.#inner.close()
    this.#close()
  }

  /** Why the request that an error of this transport speaks of got no answer; undefined for an error of the server's. */
  failureBehind(code: number, data: unknown): Error | undefined {
    if (code !== unansweredCode || !isExchange(data)) return undefined
    const failure = this.#failures.get(data.exchange)
    this.#failures.delete(data.exchange)
    return failure
  }

  /** Resolves when the cancellations under way are delivered, or have been given up. */
  settled(): Promise<void> {
    return this.#cancellations.settled()
  }

  #reconnect(reconnect: () => void, delay: number): () => void {
    if (++this.#reconnections > mcpReconnections) return () => undefined
    const timer = setTimeout(reconnect, timerMs(Math.max(delay, mcpReconnectionMs)))
    return () => clearTimeout(timer)
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const timer of this.#lingering) clearTimeout(timer)
    this.#lingering.clear()
    this.#pending.clear()
    this.onclose?.()
  }

  #receive(message: JSONRPCMessage): void {
    let list = false
    if ("id" in message && message.id !== undefined && !("method" in message)) {
      const pending = this.#pending.get(message.id)
      this.#pending.delete(message.id)
      if (pending !== undefined) this.#linger(pending)
      list = pending?.list ?? false
    }
    if (!("result" in message)) this.#deliver(message)
    else this.#deliver(list ? asPublished(message) : withResultType(message))
  }

  #deliver(message: JSONRPCMessage): void {
    this.onmessage?.(withAnsweredId(message, this.#idOffset))
  }

  #linger({ stop }: Pending): void {
    const timer = setTimeout(() => {
      this.#lingering.delete(timer)
      stop.abort()
    }, lingerMs)
    timer.unref()
    this.#lingering.add(timer)
  }

  #cancel(message: JSONRPCMessage): Promise<void> {
    const id = cancelledId(message)
    if (id !== undefined) {
      const pending = this.#pending.get(id)
      this.#pending.delete(id)
      pending?.stop.abort()
    }
    return this.#cancellations.deliver(message, this.#inner)
  }

  /** The exchange is over: requests that still wait for an answer fail. */
  #unanswered(id: string | number): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    this.#pending.delete(id)
    pending.stop.abort()
    this.#failures.set(id, pending.failure ?? new Error("The server closed its response before it answered"))
    const error = { code: unansweredCode, message: "No answer", data: { exchange: id } }
    this.#deliver({ jsonrpc: "2.0", id, error })
  }

  /** What has arrived of an answer is counted until the SDK has passed it on. */
  async #fetch(url: string | URL, init: RequestInit): Promise<Response> {
    const arrival = this.#options.arrivals?.open(init.signal ?? neverAborted, this.waited)
    try {
      return await this.#exchange(url, init, arrival)
    } catch (error) {
      arrival?.close()
      throw error
    }
  }

  async #exchange(url: string | URL, init: RequestInit, arrival: Arrival | undefined): Promise<Response> {
    const { egress, gate, kind, secretBodies, max_bytes, maxListBytes, longestMs } = this.#options
    const over = (): void => void setImmediate(() => arrival?.close())
    if ((init.method ?? "GET") !== "POST") {
      const response = await egress.fetch(url, init, {
        firstByteMs: 0,
        silenceMs: 0,
        totalMs: init.method === "DELETE" ? cancelMs : 0,
        max_bytes: 0,
        arrival,
      })
      const most = { eventBytes: max_bytes, ...openStream[kind] }
      return withBody(
        response,
        (body) => watched(isStream(response) ? boundedEvents(body, most, arrival) : counted(body, arrival), { over }),
        over,
      )
    }
    const message = typeof init.body === "string" ? (JSON.parse(init.body) as JsonObject) : {}
    const id = requestId(message)
    if (message["method"] === "tools/call" && typeof init.body === "string") {
      const headers = Object.fromEntries(new Headers(init.headers))
      this.#options.sent?.(message, { url: kind === "sse" ? withoutQuery(url) : String(url), headers, body: init.body })
    }
    const pending = id === undefined ? undefined : this.#pending.get(id)
    const most = pending?.maxBytes ?? maxListBytes
    const limits = { firstByteMs: 0, silenceMs: 0, totalMs: longestMs, max_bytes: most, arrival }
    // Notifications to the server, such as a cancellation, may go out whichever process has the run.
    const passed = id === undefined ? openGate : gate
    const response = await egress.fetch(url, init, { ...limits, bodyStays: secretBodies }, passed)
    if (id === undefined || pending === undefined || !response.ok) {
      return withBody(response, (body) => watched(counted(body, arrival), { over }), over)
    }
    if (response.status === 202 || response.status === 204) pending.answer = "nothing"
    else if (!isStream(response)) pending.answer = "json"
    const events = { eventBytes: most, bytes: most, events: mcpCallEvents }
    const bounded = (body: Body): Body =>
      isStream(response) ? boundedEvents(body, events, arrival) : counted(body, arrival, new JsonWork())
    const failed = (error: Error): void => {
      pending.failure = error
      // Else the SDK would ask for the rest, which is as large as before.
      if (error instanceof EgressFailure && error.reason === "too_large") this.#unanswered(id)
    }
    return withBody(response, (body) => watched(bounded(body), { failed, over }), over)
  }
}

/** The id of a request, or of the request that is cancelled, raised. Ids that are not numbers differ by themselves; other messages have none of ours. */
function withRequestIds(message: JSONRPCMessage, offset: number): JSONRPCMessage {
  if (!("method" in message)) return message
  if ("id" in message) return typeof message.id === "number" ? { ...message, id: message.id + offset } : message
  const id = isCancellation(message) ? cancelledId(message) : undefined
  return typeof id === "number" ? { ...message, params: { ...message.params, requestId: id + offset } } : message
}

/** The id of an answer as the SDK knows it. Some servers send it back as a string. */
function withAnsweredId(message: JSONRPCMessage, offset: number): JSONRPCMessage {
  if ("method" in message || message.id === undefined) return message
  const id = Number(message.id) - offset
  return Number.isInteger(id) ? { ...message, id } : message
}

/** A result without a kind counts as complete; the SDK takes only a result that names its kind. */
function withResultType(message: JSONRPCResultResponse): JSONRPCResultResponse {
  return "resultType" in message.result
    ? message
    : { ...message, result: { resultType: "complete", ...message.result } }
}

/** Where a list is found as the server sent it. */
export const publishedKey = "wireworks/published"

/** The SDK refuses a whole list for one item that is published badly: it is shown an empty one, with the list beside it. */
function asPublished(message: JSONRPCResultResponse): JSONRPCResultResponse {
  const none = { tools: [], prompts: [], resources: [], resourceTemplates: [] }
  const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", ...none, [publishedKey]: message.result }
  return { ...message, result }
}

function isExchange(data: unknown): data is { exchange: string | number } {
  return typeof data === "object" && data !== null && "exchange" in data
}

/** The id of a request. */
function requestId({ id, method }: JsonObject): string | number | undefined {
  return typeof method === "string" && (typeof id === "string" || typeof id === "number") ? id : undefined
}

/** In the older transport the query is the name of the session, which lets others in. */
function withoutQuery(url: string | URL): string {
  const own = new URL(url)
  own.search = ""
  return own.href
}

function isStream(response: Response): boolean {
  return /^\s*text\/event-stream\s*(?:;|$)/i.test(response.headers.get("content-type") ?? "")
}

type Body = ReadableStream<Uint8Array<ArrayBuffer>>

/** `none` is called where there is no body. */
function withBody(response: Response, change: (body: Body) => Body, none: () => void): Response {
  if (response.body === null) {
    none()
    return response
  }
  const changed = new Response(change(response.body), { status: response.status, headers: response.headers })
  Object.defineProperty(changed, "url", { value: response.url })
  return changed
}

/** The same body, which is kept whole by whoever reads it. It breaks off where it holds too many values, and its end waits for a turn. */
function counted(body: Body, arrival: Arrival | undefined, values?: JsonWork): Body {
  let bytes = 0
  return body.pipeThrough(
    new TransformStream({
      async transform(chunk: Uint8Array<ArrayBuffer>, controller) {
        if (values?.add(chunk) === false) throw tooManyValues()
        bytes += chunk.length
        const room = arrival?.add(chunk.length)
        if (room) await room
        controller.enqueue(chunk)
      },
      flush: () => turnToParse(bytes, arrival),
    }),
  )
}

interface BodyWatch {
  /** Hears why it broke off. */
  readonly failed?: (error: Error) => void
  /** Nothing more of it is read. */
  readonly over: () => void
}

/** The same body. */
function watched(body: Body, { failed, over }: BodyWatch): Body {
  const reader = body.getReader()
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        controller.close()
        over()
      } catch (error) {
        over()
        if (error instanceof Error) failed?.(error)
        throw error
      }
    },
    cancel(reason) {
      over()
      return reader.cancel(reason)
    },
  })
}
