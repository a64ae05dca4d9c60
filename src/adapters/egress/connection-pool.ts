import { timerMs } from "../../base/timer-ms.ts"
import type { LookupFunction, Socket } from "node:net"
import { buildConnector, Client } from "undici"
import { EgressFailure } from "../../ports/egress.ts"
import type { Call } from "./call.ts"

export interface PoolOptions {
  readonly connectMs: number
  /** Open connections to one origin; a call beyond them waits for its turn, in order. */
  readonly maxConnections: number
  /** Judges while it resolves: sockets are connected to what it returns and to nothing else. */
  readonly lookup: (origin: string) => LookupFunction
  /** Certificates to trust beside the system's. */
  readonly ca?: string
}

/**
 * However long a server offers to keep an idle connection: its origin is known here while one is open, and the name of a host
 * may hold a secret.
 */
const longestIdleMs = 60_000

/** A connection with one exchange at a time. */
export interface Connection {
  readonly client: Client
  /** The exchange is over and whole: another may follow on this connection. */
  release(): void
  /** Closes the socket at once, in any state. */
  destroy(): void
}

/**
 * Keep-alive connections by origin. undici's own pool is not used because an aborted call would go on to wait there for
 * its turn, and for a connection in the making; here both end with the call.
 */
export class ConnectionPool {
  readonly #options: PoolOptions
  readonly #origins = new Map<string, Origin>()

  constructor(options: PoolOptions) {
    this.#options = options
  }

  acquire(origin: string, call: Call): Promise<Connection> {
    let known = this.#origins.get(origin)
    if (known === undefined) {
      known = new Origin(origin, this.#options, () => this.#origins.delete(origin))
      this.#origins.set(origin, known)
    }
    return known.acquire(call)
  }

  destroy(): void {
    for (const origin of this.#origins.values()) origin.destroy()
    this.#origins.clear()
  }
}

interface Waiting {
  readonly resolve: (connection: Connection) => void
  readonly reject: (error: Error) => void
}

class Origin {
  readonly #url: string
  readonly #options: PoolOptions
  readonly #connect: (socket: (socket: Socket) => void) => buildConnector.connector
  readonly #onEmpty: () => void
  readonly #open = new Set<PooledConnection>()
  /** The one used last is used first, so that those that are not needed grow old and close. */
  readonly #idle: PooledConnection[] = []
  readonly #waiting = new Set<Waiting>()

  constructor(url: string, options: PoolOptions, onEmpty: () => void) {
    this.#url = url
    this.#options = options
    this.#onEmpty = onEmpty
    const connector = buildConnector({
      timeout: 0,
      lookup: options.lookup(url),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: 500,
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    })
    this.#connect = (onSocket) => (target, callback) => {
      // A timer of our own: the connector's is off by up to a second.
      const timer = setTimeout(() => {
        socket.destroy(
          new EgressFailure(
            "connect_timeout",
            `${target.host} did not accept a connection within ${options.connectMs} ms`,
          ),
        )
      }, timerMs(options.connectMs))
      const done: buildConnector.Callback = (...outcome) => {
        clearTimeout(timer)
        callback(...outcome)
      }
      // The connector returns the socket that it is connecting; the types do not say so.
      const socket = (connector as unknown as (...args: Parameters<typeof connector>) => Socket)(target, done)
      socket.once("close", () => clearTimeout(timer))
      onSocket(socket)
    }
  }

  acquire(call: Call): Promise<Connection> {
    const idle = this.#idle.pop()
    if (idle !== undefined) {
      idle.busy = true
      return Promise.resolve(idle)
    }
    if (this.#open.size < this.#options.maxConnections) return Promise.resolve(this.#create())
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { resolve, reject }
      this.#waiting.add(waiting)
      call.during((error) => {
        this.#waiting.delete(waiting)
        reject(error)
      })
    })
  }

  destroy(): void {
    for (const waiting of this.#waiting) waiting.reject(new Error("The service is closing"))
    this.#waiting.clear()
    for (const connection of this.#open) connection.destroy()
  }

  #create(): PooledConnection {
    const connection: PooledConnection = new PooledConnection(
      this.#url,
      this.#connect,
      () => this.#free(connection),
      () => this.#forget(connection),
    )
    this.#open.add(connection)
    return connection
  }

  #free(connection: PooledConnection): void {
    const [next] = this.#waiting
    if (next !== undefined) return this.#hand(next, connection)
    connection.busy = false
    this.#idle.push(connection)
  }

  #forget(connection: PooledConnection): void {
    if (!this.#open.delete(connection)) return
    const place = this.#idle.indexOf(connection)
    if (place >= 0) this.#idle.splice(place, 1)
    const [next] = this.#waiting
    if (next !== undefined) this.#hand(next, this.#create())
    else if (this.#open.size === 0) this.#onEmpty()
  }

  #hand(waiting: Waiting, connection: PooledConnection): void {
    this.#waiting.delete(waiting)
    waiting.resolve(connection)
  }
}

class PooledConnection implements Connection {
  readonly client: Client
  busy = true
  readonly #onFree: () => void
  readonly #onGone: () => void
  #socket: Socket | null = null
  #gone = false

  constructor(
    url: string,
    connect: (onSocket: (socket: Socket) => void) => buildConnector.connector,
    onFree: () => void,
    onGone: () => void,
  ) {
    this.#onFree = onFree
    this.#onGone = onGone
    this.client = new Client(url, {
      connect: connect((socket) => (this.#socket = socket)),
      pipelining: 1,
      keepAliveMaxTimeout: longestIdleMs,
    })
    // An idle connection that the other side closes, or that grew too old, leaves the pool.
    this.client.on("disconnect", () => {
      if (!this.busy) this.destroy()
    })
  }

  release(): void {
    if (!this.#gone) this.#onFree()
  }

  destroy(): void {
    if (this.#gone) return
    this.#gone = true
    this.#socket?.destroy()
    this.client.destroy().catch(() => {
      // It is closed either way, and nothing waits for it.
    })
    this.#onGone()
  }
}
