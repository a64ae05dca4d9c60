import { isJsonObject } from "../base/is-json-object.ts"
import { FrameReader, frame } from "./framing.ts"
import { RpcError, rpcCodes } from "./rpc-error.ts"

type Id = number | string

/** Answers requests. Throws an `RpcError` to refuse; anything else that it throws is a bug, reported to the peer and the log. */
export interface Handler {
  request(method: string, params: unknown): unknown
  notification(method: string, params: unknown): void
  /** Everything that has arrived is worked off. */
  idle(): void
  log(line: string): void
}

type Task =
  | { readonly kind: "request"; readonly id: Id; readonly method: string; readonly params: unknown }
  | { readonly kind: "notification"; readonly method: string; readonly params: unknown }
  | { readonly kind: "failure"; readonly id: Id | null; readonly error: RpcError }

/**
 * JSON-RPC over a byte stream. Messages are worked off in the order in which they came, one in each turn of the event
 * loop, so that a cancellation that is already on its way finds its request still waiting.
 */
export class Connection {
  readonly #write: (bytes: Buffer) => void
  readonly #handler: Handler
  readonly #reader = new FrameReader()
  readonly #tasks: Task[] = []
  readonly #cancelled = new Set<Id>()
  #scheduled = false
  #closed = false
  #asked = 0

  constructor(write: (bytes: Buffer) => void, handler: Handler) {
    this.#write = write
    this.#handler = handler
  }

  receive(chunk: Buffer): void {
    for (const received of this.#reader.read(chunk)) {
      if (received.kind === "message") this.#take(received.text)
      else this.#fail(null, new RpcError("parseError", received.problem))
    }
    this.#schedule()
  }

  notify(method: string, params: object): void {
    this.#send({ jsonrpc: "2.0", method, params })
  }

  /** Asks the client for something whose answer says nothing. */
  ask(method: string): void {
    this.#send({ jsonrpc: "2.0", id: `wire-${++this.#asked}`, method })
  }

  /** Nothing more comes: what has come is worked off at once. */
  finish(): void {
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) this.#work(task)
    this.close()
  }

  /** Nothing that arrives from now on is answered. */
  close(): void {
    this.#closed = true
    this.#tasks.length = 0
  }

  #send(message: object): void {
    if (!this.#closed) this.#write(frame(message))
  }

  #fail(id: Id | null, error: RpcError): void {
    this.#tasks.push({ kind: "failure", id, error })
  }

  #take(text: string): void {
    let message: unknown
    try {
      message = JSON.parse(text)
    } catch {
      return this.#fail(null, new RpcError("parseError", "A message is not JSON"))
    }
    if (!isJsonObject(message) || message["jsonrpc"] !== "2.0") {
      const id = isJsonObject(message) && isId(message["id"]) ? message["id"] : null
      return this.#fail(id, new RpcError("invalidRequest", "A message is not a JSON-RPC 2.0 object"))
    }
    const { id, method, params } = message
    if (typeof method !== "string") {
      // An answer to a request of ours: nothing waits for it.
      if (isId(id) && ("result" in message || "error" in message)) return
      return this.#fail(isId(id) ? id : null, new RpcError("invalidRequest", "A message has no method"))
    }
    if (!("id" in message)) this.#takeNotification(method, params)
    else if (isId(id)) this.#tasks.push({ kind: "request", id, method, params })
    else this.#fail(null, new RpcError("invalidRequest", "The id of a request is a number or a string"))
  }

  #takeNotification(method: string, params: unknown): void {
    if (method !== "$/cancelRequest") {
      this.#tasks.push({ kind: "notification", method, params })
      return
    }
    const id = isJsonObject(params) ? params["id"] : undefined
    const waits = this.#tasks.some((task) => task.kind === "request" && task.id === id)
    if (isId(id) && waits) this.#cancelled.add(id)
  }

  #schedule(): void {
    if (this.#scheduled || this.#closed) return
    this.#scheduled = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    this.#scheduled = false
    const task = this.#tasks.shift()
    if (task !== undefined) this.#work(task)
    if (this.#tasks.length > 0) this.#schedule()
    else if (!this.#closed) this.#handler.idle()
  }

  #work(task: Task): void {
    if (task.kind === "failure") return this.#answerError(task.id, task.error)
    if (task.kind === "notification") {
      try {
        this.#handler.notification(task.method, task.params)
      } catch (error) {
        this.#handler.log(`${task.method}: ${describe(error)}`)
      }
      return
    }
    if (this.#cancelled.delete(task.id)) {
      return this.#answerError(task.id, new RpcError("requestCancelled", "The request was cancelled"))
    }
    try {
      this.#send({ jsonrpc: "2.0", id: task.id, result: this.#handler.request(task.method, task.params) ?? null })
    } catch (error) {
      this.#answerError(task.id, error)
      if (!(error instanceof RpcError)) this.#handler.log(`${task.method}: ${describe(error)}`)
    }
  }

  #answerError(id: Id | null, error: unknown): void {
    const code = error instanceof RpcError ? error.code : rpcCodes.internalError
    const message = error instanceof Error ? error.message : String(error)
    this.#send({ jsonrpc: "2.0", id, error: { code, message } })
  }
}

function describe(error: unknown): string {
  if (error instanceof RpcError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function isId(value: unknown): value is Id {
  return typeof value === "number" || typeof value === "string"
}
