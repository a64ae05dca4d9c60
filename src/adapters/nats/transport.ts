import { jetstream, jetstreamManager, type JetStreamClient, type JetStreamManager } from "@nats-io/jetstream"
import type { Msg, NatsConnection } from "@nats-io/transport-node"
import { randomBytes } from "node:crypto"

/** How long one attempt may take. */
export const attemptMs = 2_000

export interface Stored {
  readonly subject: string
  readonly seq: number
  readonly data: Uint8Array
}

export type Announcement = Pick<Msg, "subject" | "data">

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
  /** The sequence. With `expected`: only if that is the last sequence of the subject, 0 for none. */
  publish(subject: string, data: Uint8Array, expected: number | null): Promise<number>
  /** `near`: as the nearest node has it, which may be a moment behind. */
  last(stream: string, subject: string, from: "near" | "leader"): Promise<Stored | null>
  /** The first message at or after a sequence, from the nearest node. */
  next(stream: string, filter: string, seq: number): Promise<Stored | null>
  at(stream: string, seq: number): Promise<Stored | null>
  /** Subjects that hold messages, and how many, as the leader knows them. */
  subjects(stream: string, filter: string): Promise<Readonly<Record<string, number>>>
  purge(stream: string, filter: string): Promise<void>
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

export class NatsTransport implements Transport {
  readonly #connection: NatsConnection
  readonly #stream: JetStreamClient
  readonly manager: JetStreamManager

  private constructor(connection: NatsConnection, manager: JetStreamManager) {
    this.#connection = connection
    this.#stream = jetstream(connection, { timeout: attemptMs })
    this.manager = manager
  }

  static async over(connection: NatsConnection): Promise<NatsTransport> {
    return new NatsTransport(connection, await jetstreamManager(connection, { timeout: attemptMs, checkAPI: false }))
  }

  get info(): BrokerInfo | undefined {
    return this.#connection.info
  }

  async publish(subject: string, data: Uint8Array, expected: number | null): Promise<number> {
    const expect = expected === null ? {} : { expect: { lastSubjectSequence: expected } }
    return (await this.#stream.publish(subject, data, { timeout: attemptMs, ...expect })).seq
  }

  async last(stream: string, subject: string, from: "near" | "leader"): Promise<Stored | null> {
    const query = { last_by_subj: subject }
    const { direct, streams } = this.manager
    return stored(await (from === "near" ? direct.getMessage(stream, query) : streams.getMessage(stream, query)))
  }

  async next(stream: string, filter: string, seq: number): Promise<Stored | null> {
    return stored(await this.manager.direct.getMessage(stream, { seq, next_by_subj: filter }))
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

  async purge(stream: string, filter: string): Promise<void> {
    await this.manager.streams.purge(stream, { filter })
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
  return message === null ? null : { subject: message.subject, seq: message.seq, data: message.data }
}
