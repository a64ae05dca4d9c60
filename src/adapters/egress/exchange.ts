import { timerMs } from "../../base/timer-ms.ts"
import type { IncomingHttpHeaders } from "node:http"
import type { Dispatcher } from "undici"
import type { Arrival, EgressLimits, EgressReason, EgressRequest, EgressResponse } from "../../ports/egress.ts"
import { EgressFailure } from "../../ports/egress.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import type { Call } from "./call.ts"
import type { Connection } from "./connection-pool.ts"

/** Where a request goes: a URL that may be called, and what of it every call needs. */
export interface Address {
  readonly url: URL
  readonly origin: string
  readonly path: string
}

export interface ExchangeRequest extends Pick<EgressRequest, "method" | "headers" | "body" | "gate"> {
  readonly address: Address
  readonly limits: EgressLimits
  readonly arrival: Arrival | null
  /** The call goes on elsewhere after a response with such a head: nothing more of it is read. */
  readonly leaves: (status: number, headers: Readonly<Record<string, string>>) => boolean
}

/** How much of a body is taken from the socket before its reader asks for it. */
const highWater = 256 * 1024

/**
 * Sends one request on a connection and resolves with the head of its response, or, where the gate has closed by the time the
 * connection stands, with "held back": nothing was sent. Whatever the end, the connection goes back.
 */
export function exchange(
  connection: Connection,
  request: ExchangeRequest,
  call: Call,
): Promise<EgressResponse | "held back"> {
  return new Promise((resolve, reject) => {
    const handler = new Exchange(connection, request, call, resolve, reject)
    if (handler.isOver) return
    connection.client.dispatch(
      {
        path: request.address.path,
        method: request.method,
        headers: request.headers,
        body: request.body,
        // Timers of our own: the client's are off by up to a second.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      handler,
    )
  })
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #connection: Connection
  readonly #request: ExchangeRequest
  readonly #call: Call
  readonly #onHead: (response: EgressResponse | "held back") => void
  readonly #onFailure: (error: Error) => void
  #controller: Dispatcher.DispatchController | null = null
  #chunks: Uint8Array[] = []
  #buffered = 0
  #received = 0
  #state: "open" | "ended" | Error = "open"
  /** Reads whole: nothing is held back. */
  #greedy = false
  /** There is no room for more in memory. */
  #waits = false
  #wake: (() => void) | null = null
  /** Until the head: the limit for the first byte; then the one for silence, save while the reader holds things back. */
  #watchdog: NodeJS.Timeout | null = null

  constructor(
    connection: Connection,
    request: ExchangeRequest,
    call: Call,
    onHead: (response: EgressResponse | "held back") => void,
    onFailure: (error: Error) => void,
  ) {
    this.#connection = connection
    this.#request = request
    this.#call = call
    this.#onHead = onHead
    this.#onFailure = onFailure
    call.during((error) => this.#fail(error))
  }

  /** The call has already stopped. */
  get isOver(): boolean {
    return this.#state !== "open"
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    const { gate } = this.#request
    const closed = gate()
    if (closed !== null) {
      // Nothing is sent now. The caller waits for the gate, sees its error if there is one, and sends the request again.
      closed.catch(() => undefined)
      this.#holdBack(controller)
      return
    }
    const { firstByteMs } = this.#request.limits
    this.#watch("first_byte_timeout", firstByteMs, `did not begin to answer within ${firstByteMs} ms`)
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#watchSilence()
    const joined = joinHeaders(headers)
    if (this.#request.leaves(status, joined)) {
      this.#state = "ended"
      this.#unwatch()
      this.#connection.destroy()
    }
    this.#onHead({
      status,
      headers: joined,
      url: this.#request.address.url.href,
      body: { [Symbol.asyncIterator]: () => this.#iterate() },
      text: () => this.#text(),
      discard: () => this.#fail(new EgressFailure("connection", "The answer was discarded")),
    })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // The client passes an empty one each time that it is resumed. What comes before a failed exchange's socket is closed is not wanted.
    if (chunk.length === 0 || this.#state !== "open") return
    this.#received += chunk.length
    const { max_bytes } = this.#request.limits
    if (max_bytes > 0 && this.#received > max_bytes) {
      this.#fail(
        new EgressFailure("too_large", `${this.#request.address.url.host} answered with more than ${max_bytes} bytes`),
      )
      return
    }
    this.#chunks.push(chunk)
    this.#buffered += chunk.length
    this.#watchdog?.refresh()
    const room = this.#request.arrival?.add(chunk.length) ?? null
    if (room !== null) this.#awaitRoom(room)
    if (this.#waits || (!this.#greedy && this.#buffered > highWater)) {
      controller.pause()
      this.#unwatch()
    }
    if (!this.#greedy) this.#stir()
  }

  #awaitRoom(room: Promise<void>): void {
    this.#waits = true
    void room.then(() => {
      this.#waits = false
      if (this.#state !== "open") return
      if (this.#greedy || this.#buffered <= highWater) this.#resume()
    })
  }

  onResponseEnd(): void {
    if (this.#state !== "open") return
    this.#state = "ended"
    this.#unwatch()
    this.#call.end()
    this.#connection.release()
    this.#stir()
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#fail(explain(error, this.#request))
  }

  #holdBack(controller: Dispatcher.DispatchController): void {
    if (this.#state !== "open") return
    this.#state = "ended"
    controller.abort(new Error("Held back"))
    this.#connection.destroy()
    this.#onHead("held back")
  }

  #fail(error: Error): void {
    if (this.#state !== "open") return
    this.#state = error
    this.#unwatch()
    this.#call.end()
    this.#connection.destroy()
    this.#chunks = []
    this.#onFailure(error)
    this.#stir()
  }

  #watch(reason: EgressReason, ms: number, what: string): void {
    this.#unwatch()
    if (ms <= 0) return
    const late = (): void => this.#fail(new EgressFailure(reason, `${this.#request.address.url.host} ${what}`))
    this.#watchdog = setTimeout(late, timerMs(ms))
  }

  #watchSilence(): void {
    const { silenceMs } = this.#request.limits
    this.#watch("silence_timeout", silenceMs, `fell silent for ${silenceMs} ms within its answer`)
  }

  #unwatch(): void {
    if (this.#watchdog !== null) clearTimeout(this.#watchdog)
    this.#watchdog = null
  }

  /** The reader wants more. */
  #resume(): void {
    if (this.#waits || this.#controller?.paused !== true) return
    this.#watchSilence()
    this.#controller.resume()
  }

  #stir(): void {
    const wake = this.#wake
    this.#wake = null
    wake?.()
  }

  async *#iterate(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      while (true) {
        // The chunks that came before a failure are not worth reading: half an answer is useless.
        if (this.#state instanceof Error) throw this.#state
        const chunks = this.#chunks
        this.#chunks = []
        this.#buffered = 0
        this.#resume()
        for (const chunk of chunks) {
          yield chunk
          // Who keeps it counts it.
          this.#request.arrival?.remove(chunk.length)
        }
        if (chunks.length > 0) continue
        if (this.#state === "ended") return
        await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      if (this.#state === "open") this.#fail(new EgressFailure("connection", "The answer was not read to its end"))
    }
  }

  async #text(): Promise<string> {
    this.#greedy = true
    this.#resume()
    while (this.#state === "open") await new Promise<void>((resolve) => (this.#wake = resolve))
    if (this.#state instanceof Error) throw this.#state
    const [first] = this.#chunks
    const whole =
      this.#chunks.length === 1 && first !== undefined
        ? Buffer.from(first.buffer, first.byteOffset, first.byteLength)
        : Buffer.concat(this.#chunks)
    const text = whole.toString("utf8")
    return text.startsWith("\uFEFF") ? text.slice(1) : text
  }
}

/** By their names in lower case, which is how they come; one that came more than once as a list. */
function joinHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const joined: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) joined[name] = typeof value === "string" ? value : value.join(", ")
  }
  return joined
}

/** undici's and Node's errors in our words; none of them holds anything of the request but its host. */
function explain(error: Error & { readonly code?: unknown }, request: ExchangeRequest): Error {
  if (error instanceof RunFailure || error instanceof EgressFailure) return error
  const code = typeof error.code === "string" ? error.code : ""
  const { host } = request.address.url
  switch (code) {
    case "UND_ERR_INVALID_ARG":
      return error
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "EAI_NODATA":
      return new EgressFailure("connection", `${host} could not be resolved`, error)
    case "EMFILE":
    case "ENFILE":
      return new EgressFailure("descriptors", `This service is out of file descriptors: ${host} was not called`, error)
    case "ECONNREFUSED":
      return new EgressFailure("connection", `${host} refused the connection`, error)
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ETIMEDOUT":
      return new EgressFailure("connection", `${host} could not be reached`, error)
    case "ECONNRESET":
    case "EPIPE":
    case "UND_ERR_SOCKET":
      return new EgressFailure("connection", `${host} closed the connection before its answer was whole`, error)
    default:
      break
  }
  if (code.startsWith("HPE_") || code.startsWith("UND_ERR_RES") || code === "UND_ERR_HEADERS_OVERFLOW") {
    return new EgressFailure("connection", `${host} did not answer in HTTP`, error)
  }
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)) {
    return new EgressFailure("connection", `The TLS connection to ${host} failed (${code})`, error)
  }
  return new EgressFailure("connection", `The connection to ${host} failed${code === "" ? "" : ` (${code})`}`, error)
}
