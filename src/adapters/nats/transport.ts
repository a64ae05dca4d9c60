import { JetStreamApiError, jetstreamManager, type JetStreamManager, type MsgRequest } from "@nats-io/jetstream"
import { headers, type Msg, type MsgHdrs, type NatsConnection } from "@nats-io/transport-node"
import { randomBytes } from "node:crypto"

/** How long one attempt may take. */
export const attemptMs = 2_000

export interface Stored {
  readonly subject: string
  readonly seq: number
  readonly data: Uint8Array
}

/** A message that is to be stored. */
export interface Write {
  readonly subject: string
  readonly data: Uint8Array
  /** Only if this is the last sequence of the subject, 0 for none; absent: whatever is there. */
  readonly expected?: number
  /** Those that were on the subject before are dropped. */
  readonly replaces?: true
  /** The broker drops the message after so long. */
  readonly ttlMs?: number
}

/** The broker takes 50 unfinished batches at a time from all of its clients, and drops others without an answer. */
const batchesAtOnce = 4
/** The broker takes no more messages in a batch. */
const maxBatch = 1_000
const batchBytes = 4 * 1024 * 1024

export type Announcement = Pick<Msg, "subject" | "data">

export interface PageLimits {
  readonly count: number
  readonly bytes: number
}

/** What a broker says of itself. */
export interface BrokerInfo {
  readonly version?: string
  readonly max_payload?: number
  readonly cluster?: string
}

/**
 * The few operations of JetStream that we use, each tried once. What the broker refuses rejects with a `JetStreamApiError`; an
 * answer that does not come rejects with any other error.
 */
export interface Transport {
  readonly info: BrokerInfo | undefined
  /** Stores all of them, at most 1,000, or none. The sequence of the last; those before it have the numbers before. */
  write(messages: readonly Write[]): Promise<number>
  /** `near`: as the nearest node has it, which may be a moment behind. */
  last(stream: string, subject: string, from: "near" | "leader"): Promise<Stored | null>
  /** The first message at or after a sequence, from the leader. */
  next(stream: string, filter: string, seq: number): Promise<Stored | null>
  /** The first messages at or after a sequence, from the nearest node: at most so many, and fewer where they are large. */
  page(stream: string, filter: string, seq: number, limits: PageLimits): Promise<Stored[]>
  at(stream: string, seq: number): Promise<Stored | null>
  /** Subjects that hold messages, and how many, as the leader knows them. */
  subjects(stream: string, filter: string): Promise<Readonly<Record<string, number>>>
  /** Drops messages; the newest `keep` of them stay. */
  purge(stream: string, filter: string, keep: number): Promise<void>
  /** The time by the clock of the stream's leader, in milliseconds since the epoch. */
  time(stream: string): Promise<number>
  /** Overwrites the message on the disk. */
  erase(stream: string, seq: number): Promise<boolean>
  listen(subject: string, listener: (message: Announcement) => void): () => void
  /** Resolves when the nearest node knows what we listen to. */
  flush(): Promise<void>
  onStatus(listener: (type: string) => void): void
  close(): Promise<void>
}

/** Time and chance. Differ only in simulations. */
export interface Surroundings {
  /** Milliseconds, monotonic. */
  now(): number
  /** The result ends it early. */
  after(ms: number, act: () => void): () => void
  /** Keeps no process alive. The result ends it. */
  every(ms: number, act: () => void): () => void
  /** A random name of this many bytes. */
  token(bytes: number): string
}

export const realSurroundings: Surroundings = {
  now: () => performance.now(),
  after: (ms, act) => {
    const timer = setTimeout(act, ms)
    return () => clearTimeout(timer)
  },
  every: (ms, act) => {
    const timer = setInterval(act, ms).unref()
    return () => clearInterval(timer)
  },
  token: (bytes) => randomBytes(bytes).toString("base64url"),
}

interface WaitingBatch {
  readonly messages: readonly Write[]
  readonly resolve: (seq: number) => void
  readonly reject: (error: unknown) => void
}

export class NatsTransport implements Transport {
  readonly #connection: NatsConnection
  readonly manager: JetStreamManager
  /** Batches under way, and those that wait for their turn. */
  #batches = 0
  readonly #waiting: WaitingBatch[] = []

  private constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.#connection = connection
    this.manager = manager
  }

  static async over(connection: NatsConnection): Promise<NatsTransport> {
    return new NatsTransport(connection, await jetstreamManager(connection, { timeout: attemptMs, checkAPI: false }))
  }

  get info(): BrokerInfo | undefined {
    return this.#connection.info
  }

  write(messages: readonly Write[]): Promise<number> {
    return messages.length === 1 ? this.#send(messages, null) : this.#inTurn(messages)
  }

  #inTurn(messages: readonly Write[]): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ messages, resolve, reject })
      if (this.#batches < batchesAtOnce) void this.#work()
    })
  }

  /** Sends what waits. A node that is alone takes as long for a large batch as for a small one, so those that wait are sent as one. */
  async #work(): Promise<void> {
    this.#batches++
    while (this.#waiting.length > 0) {
      const group = this.#nextGroup()
      try {
        let seq = await this.#sendBatch(group.flatMap(({ messages }) => messages))
        for (const { messages, resolve } of group.toReversed()) {
          resolve(seq)
          seq -= messages.length
        }
      } catch (error) {
        // Nothing was stored, or it is not known. One of them may be why: each is tried alone.
        if (group.length === 1 || !(error instanceof JetStreamApiError)) for (const { reject } of group) reject(error)
        else for (const { messages, resolve, reject } of group) await this.#sendBatch(messages).then(resolve, reject)
      }
    }
    this.#batches--
  }

  #nextGroup(): WaitingBatch[] {
    let [count, messages, bytes] = [0, 0, 0]
    for (const waiting of this.#waiting) {
      messages += waiting.messages.length
      bytes += waiting.messages.reduce((sum, { data }) => sum + data.length, 0)
      if (count > 0 && (messages > maxBatch || bytes > batchBytes)) break
      count++
    }
    return this.#waiting.splice(0, count)
  }

  #sendBatch(messages: readonly Write[]): Promise<number> {
    return this.#send(messages, randomBytes(12).toString("base64url"))
  }

  async #send(messages: readonly Write[], batch: string | null): Promise<number> {
    for (const [index, message] of messages.entries()) {
      const more = headersOf(message)
      if (batch !== null) {
        more.set("Nats-Batch-Id", batch)
        more.set("Nats-Batch-Sequence", String(index + 1))
      }
      if (index < messages.length - 1) {
        this.#connection.publish(message.subject, message.data, { headers: more })
        continue
      }
      if (batch !== null) more.set("Nats-Batch-Commit", "1")
      const answer = await this.#connection.request(message.subject, message.data, {
        headers: more,
        timeout: attemptMs,
      })
      const said = answer.json<{ readonly seq: number; readonly error?: ApiError }>()
      if (said.error !== undefined) throw new JetStreamApiError(said.error)
      return said.seq
    }
    throw new Error("Nothing is to be written")
  }

  async last(stream: string, subject: string, from: "near" | "leader"): Promise<Stored | null> {
    const query = { last_by_subj: subject }
    const { direct, streams } = this.manager
    return stored(await (from === "near" ? direct.getMessage(stream, query) : streams.getMessage(stream, query)))
  }

  async next(stream: string, filter: string, seq: number): Promise<Stored | null> {
    // The client's types lack this form of the request.
    const query = { seq, next_by_subj: filter } as MsgRequest
    return stored(await this.manager.streams.getMessage(stream, query))
  }

  async page(stream: string, filter: string, seq: number, { count, bytes }: PageLimits): Promise<Stored[]> {
    const found: Stored[] = []
    const query = { seq, next_by_subj: filter, batch: count, max_bytes: bytes }
    try {
      for await (const message of await this.manager.direct.getBatch(stream, query)) found.push(shown(message))
    } catch (error) {
      // There is none.
      if (!(error instanceof Error && "code" in error && error.code === 404)) throw error
    }
    return found
  }

  async at(stream: string, seq: number): Promise<Stored | null> {
    return stored(await this.manager.streams.getMessage(stream, { seq }))
  }

  async subjects(stream: string, filter: string): Promise<Readonly<Record<string, number>>> {
    return (await this.manager.streams.info(stream, { subjects_filter: filter })).state.subjects ?? {}
  }

  async time(stream: string): Promise<number> {
    const { ts } = (await this.manager.streams.info(stream)) as { readonly ts?: string }
    const time = Date.parse(ts ?? "")
    if (Number.isNaN(time)) throw new Error("The broker does not say what time it is")
    return time
  }

  async purge(stream: string, filter: string, keep: number): Promise<void> {
    await this.manager.streams.purge(stream, { filter, keep })
  }

  erase(stream: string, seq: number): Promise<boolean> {
    return this.manager.streams.deleteMessage(stream, seq, true)
  }

  listen(subject: string, listener: (message: Announcement) => void): () => void {
    const callback = (error: Error | null, message: Msg): void => {
      if (error === null) listener(message)
    }
    const subscription = this.#connection.subscribe(subject, { callback })
    return () => {
      if (!this.#connection.isClosed()) subscription.unsubscribe()
    }
  }

  flush(): Promise<void> {
    return this.#connection.flush()
  }

  onStatus(listener: (type: string) => void): void {
    void (async () => {
      for await (const { type } of this.#connection.status()) listener(type)
    })()
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}

function stored(message: Stored | null): Stored | null {
  return message === null ? null : shown(message)
}

function shown({ subject, seq, data }: Stored): Stored {
  return { subject, seq, data }
}

type ApiError = ConstructorParameters<typeof JetStreamApiError>[0]

function headersOf({ expected, ttlMs, replaces }: Write): MsgHdrs {
  const more = headers()
  if (replaces === true) more.set("Nats-Rollup", "sub")
  if (expected !== undefined) more.set("Nats-Expected-Last-Subject-Sequence", String(expected))
  if (ttlMs !== undefined) more.set("Nats-TTL", `${Math.max(1, Math.ceil(ttlMs / 1_000))}s`)
  return more
}
