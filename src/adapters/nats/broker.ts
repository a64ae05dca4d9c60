import { JetStreamApiError } from "@nats-io/jetstream"
import { connect, credsAuthenticator, type ConnectionOptions, type NatsConnection } from "@nats-io/transport-node"
import { setMaxListeners } from "node:events"
import { StoreFailure } from "../../ports/store.ts"
import type { BrokerAddress, BrokerProofs } from "./address.ts"
import { reasonOf } from "./broker-error.ts"
import type { Names, StreamName } from "./names.ts"
import {
  NatsTransport,
  realSurroundings,
  type Announcement,
  type PageLimits,
  type Stored,
  type Surroundings,
  type Transport,
  type Write,
} from "./transport.ts"

/** How long attempts go on while the broker is out of reach or elects a leader. */
export const holdMs = { read: 10_000, write: 20_000, parting: 1_500 } as const

const wrongLastSequence = new Set([10_071, 10_164])
/** The broker understood and refuses; asking again changes nothing until an operator makes room. */
const refusals = new Set([10_023, 10_047, 10_054, 10_077, 10_122])

/** From so many on a list is kept for a moment, and so many lists are. */
const manySubjects = 200
const maxLists = 8

/** What `/metrics` and `/readyz` can know of a broker. */
export interface BrokerHealth {
  readonly connected: boolean
  readonly reconnects: number
  /** Attempts that had to be made again. */
  readonly retries: number
}

/** The connection, and the few things that we ask of JetStream, each tried until it is done or its time is up. */
export class Broker<T extends Transport = Transport> {
  readonly names: Names
  readonly transport: T
  readonly #around: Surroundings
  readonly #reconnected = new Set<() => void>()
  readonly #closing = new AbortController()
  readonly #lists = new Map<string, { readonly subjects: readonly string[]; readonly at: number }>()
  #connected = true
  /** Why the node that we are connected to cannot be used. */
  #tooOld: string | null = null
  #reconnects = 0
  #retries = 0
  #full = false
  #troubledAt = Number.NEGATIVE_INFINITY

  constructor(names: Names, transport: T, around: Surroundings) {
    this.names = names
    this.transport = transport
    this.#around = around
    setMaxListeners(0, this.#closing.signal)
    transport.onStatus((type) => this.#hearStatus(type))
  }

  /** Rejects with a `StoreFailure` whose sentence names the addresses, never what is before their `@`. */
  static async connect(address: BrokerAddress, proofs: BrokerProofs, names: Names): Promise<Broker<NatsTransport>> {
    const options: ConnectionOptions = {
      servers: [...address.servers],
      name: "wireworks",
      timeout: 5_000,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 200,
      reconnectJitter: 100,
      pingInterval: 2_000,
      maxPingOut: 2,
      ignoreAuthErrorAbort: true,
      ...(address.user === null ? {} : { user: address.user, pass: address.password ?? "" }),
      ...(address.token === null ? {} : { token: address.token }),
      ...(proofs.creds === null ? {} : { authenticator: credsAuthenticator(proofs.creds) }),
      ...tlsOptions(address, proofs),
    }
    const where = address.servers.join(", ")
    let connection: NatsConnection
    try {
      connection = await connect(options)
    } catch (error) {
      throw new StoreFailure(`The broker at ${where} cannot be reached: ${reasonOf(error)}`, error)
    }
    const tooOld = whyTooOld(connection.info?.version ?? "")
    if (tooOld !== null) {
      await connection.close()
      throw new StoreFailure(`The broker at ${where} cannot be used: ${tooOld}`)
    }
    try {
      return new Broker(names, await NatsTransport.over(connection), realSurroundings)
    } catch (error) {
      await connection.close()
      throw new StoreFailure(`The broker at ${where} has no JetStream for this user: ${reasonOf(error)}`, error)
    }
  }

  get clustered(): boolean {
    return this.transport.info?.cluster !== undefined
  }

  /** Most bytes of one message, headers included. */
  get maxPayload(): number {
    return this.transport.info?.max_payload ?? 1_048_576
  }

  get health(): BrokerHealth {
    return { connected: this.#connected, reconnects: this.#reconnects, retries: this.#retries }
  }

  /** It has refused something for lack of room, and nothing has been written since. */
  get isFull(): boolean {
    return this.#full
  }

  foundRoom(): void {
    this.#full = false
  }

  /** How long all has gone well. */
  get calmMs(): number {
    return this.#connected ? this.now() - this.#troubledAt : 0
  }

  onReconnect(listener: () => void): void {
    this.#reconnected.add(listener)
  }

  /**
   * Stores all of these messages, or none: the sequence of the last. Null: an expectation does not hold. It may be that an earlier attempt of this very call, whose
   * answer was lost, has changed what was expected: the caller looks.
   */
  write(messages: readonly Write[], hold: number = holdMs.write): Promise<number | null> {
    return this.#held(hold, async () => {
      try {
        return await this.transport.write(messages)
      } catch (error) {
        if (error instanceof JetStreamApiError && wrongLastSequence.has(error.code)) return null
        throw error
      }
    })
  }

  /** Stores a message that replaces the one that is there. */
  async put(subject: string, data: Uint8Array, hold: number = holdMs.write): Promise<void> {
    await this.write([{ subject, data }], hold)
  }

  /** The message on a subject of the rows, as the leader has it. */
  row(subject: string): Promise<Stored | null> {
    return this.getFromLeader("rows", subject)
  }

  /**
   * The message on a subject. `near`: as the nearest node has it, which may be a moment behind. `sure`: what the nearest node
   * lacks is asked of the leader.
   */
  async get(stream: StreamName, subject: string, how: "near" | "sure"): Promise<Stored | null> {
    const name = this.names.stream(stream)
    const near = await this.#held(holdMs.read, () => this.transport.last(name, subject, "near"))
    if (near !== null) return near
    return how === "near" ? null : this.getFromLeader(stream, subject)
  }

  getFromLeader(stream: StreamName, subject: string): Promise<Stored | null> {
    const name = this.names.stream(stream)
    return this.#held(holdMs.read, () => this.transport.last(name, subject, "leader"))
  }

  /** The message of the rows with this sequence. */
  at(seq: number): Promise<Stored | null> {
    return this.#held(holdMs.read, () => this.transport.at(this.names.stream("rows"), seq))
  }

  /** The first of these rows at or after a sequence. */
  next(filter: string, seq: number): Promise<Stored | null> {
    return this.#held(holdMs.read, () => this.transport.next(this.names.stream("rows"), filter, seq))
  }

  /** The first of these rows at or after a sequence, as the nearest node has them. */
  page(filter: string, seq: number, limits: PageLimits): Promise<Stored[]> {
    return this.#held(holdMs.read, () => this.transport.page(this.names.stream("rows"), filter, seq, limits))
  }

  /** Subjects that hold a message, as the leader knows them. */
  async list(stream: StreamName, filter: string): Promise<string[]> {
    return Object.keys(await this.count(stream, filter))
  }

  /** The same, with how many messages each holds. */
  count(stream: StreamName, filter: string): Promise<Readonly<Record<string, number>>> {
    return this.#held(holdMs.read, () => this.transport.subjects(this.names.stream(stream), filter))
  }

  /**
   * As `list`, except that a list of many subjects may be this many milliseconds old: listing thousands costs the leader, the network
   * and this process a lot, and requests may ask for it often.
   */
  async listRecent(stream: StreamName, filter: string, maxMs: number): Promise<readonly string[]> {
    const known = this.#lists.get(filter)
    if (known !== undefined && this.now() - known.at < maxMs) return known.subjects
    const subjects = await this.list(stream, filter)
    this.#lists.delete(filter)
    if (subjects.length >= manySubjects) {
      this.#lists.set(filter, { subjects, at: this.now() })
      const [oldest] = this.#lists.keys()
      if (this.#lists.size > maxLists && oldest !== undefined) this.#lists.delete(oldest)
    }
    return subjects
  }

  purge(stream: StreamName, filter: string, hold: number = holdMs.write): Promise<void> {
    return this.#held(hold, () => this.transport.purge(this.names.stream(stream), filter, 0))
  }

  /** Drops all messages of a row but the newest. */
  dropHistory(subject: string): Promise<void> {
    return this.#held(holdMs.write, () => this.transport.purge(this.names.stream("rows"), subject, 1))
  }

  /**
   * Overwrites the message on a subject on the disk, or exactly the one with that sequence; false when it was gone already. A
   * sequence alone is never trusted with a deletion: what it stands for is looked at first.
   */
  async erase(stream: StreamName, subject: string, expected?: number): Promise<boolean> {
    const name = this.names.stream(stream)
    return this.#held(holdMs.write, async () => {
      const found = await this.transport.last(name, subject, "leader")
      if (found === null || (expected !== undefined && found.seq !== expected)) return false
      const { seq } = found
      try {
        return await this.transport.erase(name, seq)
      } catch (error) {
        if (!(error instanceof JetStreamApiError)) throw error
        // A cluster says of what is gone that its deletion failed, which may mean anything.
        if (error.status >= 500 && (await this.transport.at(name, seq)) !== null) throw error
        return false
      }
    })
  }

  /** The time by the clock of the leader that all processes ask. */
  time(): Promise<number> {
    return this.#held(holdMs.read, () => this.transport.time(this.names.stream("rows")))
  }

  listen(subject: string, listener: (message: Announcement) => void): () => void {
    return this.transport.listen(subject, listener)
  }

  /** Resolves when the nearest node knows what we listen to. */
  async flush(): Promise<void> {
    await this.#held(holdMs.read, () => this.transport.flush())
  }

  /** Ends what is being tried again, too. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.transport.close()
  }

  /** Milliseconds by a monotonic clock. */
  now(): number {
    return this.#around.now()
  }

  /** Ends with the result. */
  every(ms: number, act: () => void): () => void {
    return this.#around.every(ms, act)
  }

  /** A random name of this many bytes. */
  token(bytes: number): string {
    return this.#around.token(bytes)
  }

  #hearStatus(type: string): void {
    if (type === "disconnect") {
      this.#connected = false
      this.#troubled()
    } else if (type === "reconnect") {
      this.#reconnects++
      this.#troubled()
      // A cluster may have nodes of several releases. What one of them cannot be trusted with waits for another.
      this.#tooOld = whyTooOld(this.transport.info?.version ?? "")
      if (this.#tooOld !== null) return
      this.#connected = true
      for (const listener of this.#reconnected) listener()
    }
  }

  #troubled(): void {
    this.#troubledAt = this.now()
  }

  async #held<T>(hold: number, attempt: () => Promise<T>): Promise<T> {
    const deadline = this.now() + hold
    for (let pause = 25; ; pause = Math.min(pause * 2, 400)) {
      if (this.#closing.signal.aborted) throw new StoreFailure("The store is closed")
      if (this.#tooOld !== null) throw new StoreFailure(`The broker cannot be used: ${this.#tooOld}`)
      try {
        return await this.#unlessClosed(attempt())
      } catch (error) {
        if (error instanceof StoreFailure) throw error
        if (this.#closing.signal.aborted) throw new StoreFailure("The store is closed", error)
        if (error instanceof JetStreamApiError && refusals.has(error.code)) {
          this.#full = true
          throw new StoreFailure(`The broker is full: ${error.message}. Give it more room.`, error)
        }
        this.#troubled()
        if (this.now() + pause > deadline) {
          throw new StoreFailure(`The broker does not answer: ${reasonOf(error)}`, error)
        }
        this.#retries++
      }
      await this.pause(pause)
    }
  }

  /** What was asked of a connection that is then closed may never be answered. */
  #unlessClosed<T>(attempt: Promise<T>): Promise<T> {
    const { signal } = this.#closing
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(new StoreFailure("The store is closed"))
      signal.addEventListener("abort", stop, { once: true })
      attempt.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop))
    })
  }

  /** Ends early when the connection is closed. */
  pause(ms: number): Promise<void> {
    const { signal } = this.#closing
    return new Promise((resolve) => {
      const over = (): void => {
        stop()
        signal.removeEventListener("abort", over)
        resolve()
      }
      const stop = this.#around.after(ms, over)
      signal.addEventListener("abort", over, { once: true })
    })
  }
}

function tlsOptions(address: BrokerAddress, { ca, cert, key }: BrokerProofs): ConnectionOptions {
  if (!address.tls && ca === null && cert === null) return {}
  return {
    tls: {
      ...(ca === null ? {} : { ca }),
      ...(cert === null ? {} : { cert }),
      ...(key === null ? {} : { key }),
    },
  }
}

/** The first release that stores several messages at once, or none of them. */
const oldestServer = [2, 12] as const

/** Why a broker of this version cannot be used; null if it can. A version that cannot be read is accepted. */
function whyTooOld(version: string): string | null {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? []
  if (major === undefined || minor === undefined) return null
  const isOlder =
    Number(major) < oldestServer[0] || (Number(major) === oldestServer[0] && Number(minor) < oldestServer[1])
  if (!isOlder) return null
  return `nats-server ${version} is too old: it cannot store several messages in one step. Wireworks needs ${oldestServer.join(".")} or newer, on every node.`
}
