import { FairQueue } from "../../base/fair-queue.ts"
import { Tally } from "../../base/tally.ts"
import { timerMs } from "../../base/timer-ms.ts"
import type { LookupFunction, Socket } from "node:net"
import { buildConnector, Client } from "undici"
import { loopTurns } from "../../event-loop/loop-turns.ts"
import { EgressFailure } from "../../ports/egress.ts"
import type { Call } from "./call.ts"

export interface PoolOptions {
  readonly connectMs: number
  /** Open connections to one origin; calls beyond them wait, and callers take turns. */
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

/** The part of the connections to an origin that every caller may have, also when others use all of them. */
const ownPart = 1 / 16

/** A connection with one exchange at a time. */
export interface Connection {
  readonly client: Client
  /** The exchange is over and whole: another may follow on this connection. */
  release(): void
  /** Closes the socket soon, in any state. */
  destroy(): void
}

/** What it takes to close a socket, in bytes of large work. The calls of a run end together, and may be hundreds. */
const closingBytes = 16 * 1024

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
  readonly #waiting = new FairQueue<Waiting>()
  /** Busy connections, by caller. */
  readonly #busy = new Tally()
  #asked = 0

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
    const { caller } = call
    if (this.#mayUse(caller)) return Promise.resolve(this.#use(caller))
    const turn = new Promise<Connection>((resolve, reject) => {
      const id = String(this.#asked++)
      this.#waiting.add(caller, id, { resolve, reject })
      call.during((error) => {
        this.#waiting.remove(id)
        reject(error)
      })
    })
    return call.waited.during(turn)
  }

  #mayUse(caller: string): boolean {
    const { maxConnections } = this.#options
    const busy = this.#open.size - this.#idle.length
    return busy < maxConnections || this.#busy.of(caller) < Math.ceil(maxConnections * ownPart)
  }

  #use(caller: string): PooledConnection {
    const connection = this.#idle.pop() ?? this.#create()
    connection.usedBy = caller
    this.#busy.add(caller)
    return connection
  }

  #endUse(connection: PooledConnection): void {
    if (connection.usedBy !== null) this.#busy.remove(connection.usedBy)
    connection.usedBy = null
  }

  destroy(): void {
    for (const id of this.#waiting.ids()) this.#waiting.remove(id)?.reject(new Error("The service is closing"))
    for (const connection of this.#open) connection.close()
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
    this.#endUse(connection)
    this.#idle.push(connection)
    this.#passOn()
  }

  #forget(connection: PooledConnection): void {
    if (!this.#open.delete(connection)) return
    const place = this.#idle.indexOf(connection)
    if (place >= 0) this.#idle.splice(place, 1)
    this.#endUse(connection)
    this.#passOn()
    if (this.#open.size === 0) this.#onEmpty()
  }

  /** The next call that waits gets the connection that is free now. */
  #passOn(): void {
    const id = this.#waiting.next((caller) => this.#mayUse(caller))
    if (id === undefined) return
    const caller = this.#waiting.callerOf(id) ?? ""
    this.#waiting.remove(id)?.resolve(this.#use(caller))
  }
}

class PooledConnection implements Connection {
  readonly client: Client
  /** The caller; null while it is idle. */
  usedBy: string | null = null
  readonly #onFree: () => void
  readonly #onGone: () => void
  #socket: Socket | null = null
  #state: "open" | "closing" | "gone" = "open"

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
      if (this.usedBy === null) this.destroy()
    })
  }

  release(): void {
    if (this.#state === "open") this.#onFree()
  }

  destroy(): void {
    if (this.#state !== "open") return
    this.#state = "closing"
    void loopTurns.spend(closingBytes).then(() => this.close())
  }

  /** Closes the socket at once. */
  close(): void {
    if (this.#state === "gone") return
    this.#state = "gone"
    this.#socket?.destroy()
    this.client.destroy().catch(() => {
      // It is closed either way, and nothing waits for it.
    })
    this.#onGone()
  }
}
