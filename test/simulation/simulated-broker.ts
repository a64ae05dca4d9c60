import { JetStreamApiError } from "@nats-io/jetstream"
import {
  attemptMs,
  type Announcement,
  type PageLimits,
  type Stored,
  type Surroundings,
  type Transport,
  type Write,
} from "../../src/adapters/nats/transport.ts"
import type { Wanted } from "../../src/adapters/nats/streams.ts"
import type { Clock } from "../../src/ports/clock.ts"
import type { Machine, World } from "./world.ts"

interface Message extends Stored {
  readonly at: number
  /** When it was replaced, erased or purged. */
  removedAt: number
}

interface Stream {
  readonly config: Wanted
  readonly messages: Message[]
  readonly bySubject: Map<string, Message[]>
  last: number
}

interface Subscriber {
  readonly subject: string
  hear(message: Announcement): void
}

/** JetStream as far as the store uses it: what one cluster holds, decided in one order. */
export class SimulatedBroker {
  readonly #now: () => number
  readonly #clock: Pick<Clock, "now">
  readonly #streams = new Map<string, Stream>()
  readonly #byPrefix = new Map<string, Stream>()
  readonly subscribers = new Set<Subscriber>()
  /** Hears of every message that a stream has taken, and which machine sent it. */
  onStored: (message: Stored, sender: string) => void = () => undefined

  /** `clock`: what it takes for the time. */
  constructor(now: () => number, clock: Pick<Clock, "now">, streams: readonly Wanted[]) {
    this.#now = now
    this.#clock = clock
    for (const config of streams) {
      const stream: Stream = { config, messages: [], bySubject: new Map(), last: 0 }
      this.#streams.set(config.name, stream)
      for (const subject of config.subjects ?? []) this.#byPrefix.set(subject.replace(/\.>$/, ""), stream)
    }
  }

  /** All of them or none: what one of them expects is judged after those before it. */
  write(messages: readonly Write[], sender: string): number {
    const stream = this.#byPrefix.get((messages[0]?.subject ?? "").split(".", 2).join("."))
    if (stream === undefined) throw refusal(503, 0, "no responders")
    // What a client publishes is heard whether or not it is stored; what is republished, when it is.
    for (const { subject, data } of messages) this.#announce(subject, data)
    const written = new Set<string>()
    for (const { subject, expected } of messages) {
      const before = this.#newest(stream, subject, this.#now())?.seq ?? 0
      if (expected !== undefined && (written.has(subject) || before !== expected)) {
        throw refusal(400, 10_071, `wrong last sequence: ${before}`)
      }
      written.add(subject)
    }
    for (const message of messages) this.#store(stream, message, sender)
    return stream.last
  }

  #store(stream: Stream, { subject, data, replaces, ttlMs }: Write, sender: string): void {
    const now = this.#now()
    const same = stream.bySubject.get(subject) ?? []
    if (replaces === true || stream.config.max_msgs_per_subject === 1) {
      for (const before of same) before.removedAt = Math.min(before.removedAt, now)
    }
    const removedAt = ttlMs === undefined ? Number.POSITIVE_INFINITY : now + Math.max(1_000, ttlMs)
    const message: Message = { subject, data, seq: ++stream.last, at: now, removedAt }
    stream.messages.push(message)
    same.push(message)
    stream.bySubject.set(subject, same)
    this.onStored(message, sender)
    const { republish } = stream.config
    if (republish !== undefined && matches(republish.src ?? ">", subject)) {
      this.#announce(republished(republish.src ?? ">", republish.dest, subject), data)
    }
  }

  /** As it was then: other nodes may be behind the leader. */
  last(name: string, subject: string, at = this.#now()): Stored | null {
    return shown(this.#newest(this.#stream(name), subject, at))
  }

  next(name: string, filter: string, seq: number): Stored | null {
    return this.page(name, filter, seq, 1)[0] ?? null
  }

  page(name: string, filter: string, seq: number, count: number, at = this.#now()): Stored[] {
    const stream = this.#stream(name)
    const found: Stored[] = []
    // Messages are numbered from 1 without gaps.
    const literal = wildOf(filter) === null ? (stream.bySubject.get(filter) ?? []) : null
    const messages = literal ?? stream.messages.slice(Math.max(0, seq - 1))
    for (const one of messages) {
      if (found.length >= count) break
      if (one.seq >= seq && matches(filter, one.subject) && isThere(stream, one, at)) found.push(one)
    }
    return found.map((one) => ({ subject: one.subject, seq: one.seq, data: one.data }))
  }

  at(name: string, seq: number): Stored | null {
    const stream = this.#stream(name)
    const found = stream.messages[seq - 1]
    return found !== undefined && isThere(stream, found, this.#now()) ? shown(found) : null
  }

  subjects(name: string, filter: string): Record<string, number> {
    const stream = this.#stream(name)
    const now = this.#now()
    const found: Record<string, number> = {}
    for (const [subject, messages] of stream.bySubject) {
      if (!matches(filter, subject)) continue
      const count = messages.reduce((sum, message) => sum + (isThere(stream, message, now) ? 1 : 0), 0)
      if (count > 0) found[subject] = count
    }
    return found
  }

  purge(name: string, filter: string, keep: number): void {
    const stream = this.#stream(name)
    const now = this.#now()
    const all = wildOf(filter) === null ? (stream.bySubject.get(filter) ?? []) : stream.messages
    const found = all.filter((message) => matches(filter, message.subject) && isThere(stream, message, now))
    for (const message of found.slice(0, found.length - keep)) message.removedAt = now
  }

  time(): number {
    return this.#clock.now()
  }

  erase(name: string, seq: number): boolean {
    const stream = this.#stream(name)
    const found = stream.messages[seq - 1]
    if (found === undefined || !isThere(stream, found, this.#now())) throw refusal(404, 10_037, "no message found")
    found.removedAt = this.#now()
    return true
  }

  #announce(subject: string, data: Uint8Array): void {
    for (const subscriber of this.subscribers) {
      if (matches(subscriber.subject, subject)) subscriber.hear({ subject, data })
    }
  }

  #stream(name: string): Stream {
    const stream = this.#streams.get(name)
    if (stream === undefined) throw refusal(404, 10_059, "stream not found")
    return stream
  }

  #newest(stream: Stream, subject: string, at: number): Message | null {
    return stream.bySubject.get(subject)?.findLast((message) => isThere(stream, message, at)) ?? null
  }
}

function isThere({ config }: Stream, message: Message, at: number): boolean {
  const age = (config.max_age ?? 0) / 1_000_000
  return message.at <= at && at < message.removedAt && (age === 0 || at < message.at + age)
}

function shown(message: Message | null): Stored | null {
  return message === null ? null : { subject: message.subject, seq: message.seq, data: message.data }
}

function refusal(code: number, err_code: number, description: string): JetStreamApiError {
  return new JetStreamApiError({ code, err_code, description })
}

function matches(filter: string, subject: string): boolean {
  if (filter === subject) return true
  const wild = wildOf(filter)
  if (wild === null || !subject.startsWith(wild.start)) return false
  const { wanted } = wild
  const tokens = subject.split(".")
  for (const [at, token] of wanted.entries()) {
    if (token === ">") return tokens.length > at
    if (token !== "*" && token !== tokens[at]) return false
    if (tokens[at] === undefined) return false
  }
  return wanted.length === tokens.length
}

interface Wild {
  /** What comes before the first token that stands for others. */
  readonly start: string
  readonly wanted: readonly string[]
}

const wilds = new Map<string, Wild | null>()

/** The parts of a filter that stands for many subjects; null for one that does not. */
function wildOf(filter: string): Wild | null {
  let wild = wilds.get(filter)
  if (wild === undefined) {
    const first = filter.search(/[*>]/)
    wild = first < 0 ? null : { start: filter.slice(0, first), wanted: filter.split(".") }
    if (wilds.size > 1000) wilds.clear()
    wilds.set(filter, wild)
  }
  return wild
}

/** `live.{{wildcard(1)}}`: the first `*` of the source; `live.>`: what the `>` of the source stands for. */
function republished(source: string, destination: string, subject: string): string {
  if (source.endsWith(".>")) return destination.slice(0, -1) + subject.slice(source.length - 1)
  const tokens = subject.split(".")
  const wild = source.split(".").flatMap((token, at) => (token === "*" ? [tokens[at] ?? ""] : []))
  return destination.replaceAll(/\{\{wildcard\((\d+)\)\}\}/g, (_, number) => wild[Number(number) - 1] ?? "")
}

export interface BrokerFaults {
  /** Chance that a request never arrives, and that its answer does not. */
  readonly failed: number
  readonly unanswered: number
  /** Chance that a message takes seconds. */
  readonly slow: number
  /** Chance that an announcement gets lost, and that it arrives twice. */
  readonly unheard: number
  readonly twice: number
  /** By how many milliseconds the nearest node is behind the leader at most. */
  readonly behind: number
}

export const noBrokerFaults: BrokerFaults = { failed: 0, unanswered: 0, slow: 0, unheard: 0, twice: 0, behind: 0 }

/** One machine's connection. Its writes arrive in the order in which they were sent, if they arrive. */
export class SimulatedConnection implements Transport {
  readonly info = { version: "2.12.0" }
  readonly #broker: SimulatedBroker
  readonly #world: World
  readonly #machine: Machine
  readonly #statusListeners: ((type: string) => void)[] = []
  readonly #subscribers = new Set<Subscriber>()
  /** What was sent while the connection was down, and goes out when it is back. */
  #kept: (() => void)[] | null = null
  #arrival = 0
  #heardAt = 0
  #closed = false
  faults: BrokerFaults

  constructor(broker: SimulatedBroker, world: World, machine: Machine, faults: BrokerFaults) {
    this.#broker = broker
    this.#world = world
    this.#machine = machine
    this.faults = faults
  }

  write(messages: readonly Write[]): Promise<number> {
    return this.#request(() => this.#broker.write(messages, this.#machine.name), true)
  }

  last(stream: string, subject: string, from: "near" | "leader"): Promise<Stored | null> {
    return this.#request(() => this.#broker.last(stream, subject, from === "near" ? this.#near() : undefined))
  }

  next(stream: string, filter: string, seq: number): Promise<Stored | null> {
    return this.#request(() => this.#broker.next(stream, filter, seq))
  }

  page(stream: string, filter: string, seq: number, { count }: PageLimits): Promise<Stored[]> {
    return this.#request(() => this.#broker.page(stream, filter, seq, count, this.#near()))
  }

  at(stream: string, seq: number): Promise<Stored | null> {
    return this.#request(() => this.#broker.at(stream, seq))
  }

  subjects(stream: string, filter: string): Promise<Readonly<Record<string, number>>> {
    return this.#request(() => this.#broker.subjects(stream, filter))
  }

  purge(stream: string, filter: string, keep: number): Promise<void> {
    return this.#request(() => this.#broker.purge(stream, filter, keep), true)
  }

  time(): Promise<number> {
    return this.#request(() => this.#broker.time())
  }

  erase(stream: string, seq: number): Promise<boolean> {
    return this.#request(() => this.#broker.erase(stream, seq), true)
  }

  listen(subject: string, listener: (message: Announcement) => void): () => void {
    const { random } = this.#world
    const subscriber: Subscriber = {
      subject,
      hear: (message) => {
        if (this.#kept !== null || this.#machine.state === "dead") return
        if (random.chance(this.faults.unheard)) return this.#world.count("announcement: gets lost")
        const twice = random.chance(this.faults.twice)
        if (twice) this.#world.count("announcement: arrives twice")
        for (let times = twice ? 2 : 1; times > 0; times--) {
          this.#heardAt = Math.max(this.#heardAt, this.#world.now + this.#latency())
          this.#world.after(this.#heardAt - this.#world.now, this.#machine, () => {
            if (this.#subscribers.has(subscriber)) listener(message)
          })
        }
      },
    }
    this.#subscribers.add(subscriber)
    this.#broker.subscribers.add(subscriber)
    return () => {
      this.#subscribers.delete(subscriber)
      this.#broker.subscribers.delete(subscriber)
    }
  }

  flush(): Promise<void> {
    return this.#request(() => undefined)
  }

  onStatus(listener: (type: string) => void): void {
    this.#statusListeners.push(listener)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.leave()
  }

  /** The process is gone. */
  leave(): void {
    for (const subscriber of this.#subscribers) this.#broker.subscribers.delete(subscriber)
    this.#subscribers.clear()
  }

  /** The connection breaks, and is back after so long. */
  breakFor(ms: number): void {
    if (this.#kept !== null || this.#closed) return
    this.#kept = []
    this.#say("disconnect")
    this.#world.after(ms, null, () => {
      const kept = this.#kept ?? []
      this.#kept = null
      for (const send of kept) send()
      this.#say("reconnect")
    })
  }

  #say(type: string): void {
    for (const listener of this.#statusListeners) this.#world.after(0, this.#machine, () => listener(type))
  }

  #near(): number {
    return this.#world.now - this.#world.random.next() * this.faults.behind
  }

  #latency(): number {
    const { random } = this.#world
    if (!random.chance(this.faults.slow)) return random.next() * 3
    this.#world.count("store: slow")
    return 100 + random.next() * 4_000
  }

  #request<T>(apply: () => T, inOrder = false): Promise<T> {
    const { random } = this.#world
    const fate = random.next()
    const { failed, unanswered } = this.faults
    if (fate < failed) this.#world.count("store: fails")
    else if (fate < failed + unanswered) this.#world.count("store: done without an answer")
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) return reject(new Error("closed connection"))
      const forget = this.#world.after(attemptMs, this.#machine, () => reject(new Error("timeout")))
      const answer = (act: () => void): void => {
        if (fate < failed + unanswered || this.#kept !== null) return
        this.#world.after(this.#latency(), this.#machine, () => {
          forget()
          act()
        })
      }
      const arrive = (): void => {
        // What a machine had sent when it died may still arrive.
        if (this.#machine.state === "dead") {
          if (random.chance(0.5)) return
          this.#world.count("store: done for a process that is dead")
        }
        try {
          const value = apply()
          answer(() => resolve(value))
        } catch (error) {
          answer(() => reject(error instanceof Error ? error : new Error(String(error))))
        }
      }
      const send = (): void => {
        let way = this.#latency()
        if (inOrder) {
          this.#arrival = Math.max(this.#arrival, this.#world.now + way)
          way = this.#arrival - this.#world.now
        }
        this.#world.after(way, null, arrive)
      }
      if (fate < failed) return
      if (this.#kept === null) send()
      else if (random.chance(0.5)) this.#kept.push(send)
    })
  }
}

/** Time and chance of one machine. */
export function surroundingsOf(world: World, machine: Machine): Surroundings {
  return {
    now: () => world.now,
    after: (ms, act) => world.after(ms, machine, act),
    every: (ms, act) => {
      let stop = (): void => undefined
      const next = (): void => {
        stop = world.after(ms, machine, () => {
          next()
          act()
        })
      }
      next()
      return () => stop()
    },
    token: (bytes) => {
      let text = ""
      while (text.length < bytes) text += world.random.below(2 ** 30).toString(36)
      return text
    },
  }
}

/** A connection without latency and faults, to read what is stored at the end. */
export function directTransport(broker: SimulatedBroker): Transport {
  const done = async <T>(act: () => T): Promise<T> => act()
  return {
    info: { version: "2.12.0" },
    write: (messages) => done(() => broker.write(messages, "")),
    last: (stream, subject) => done(() => broker.last(stream, subject)),
    next: (stream, filter, seq) => done(() => broker.next(stream, filter, seq)),
    page: (stream, filter, seq, { count }) => done(() => broker.page(stream, filter, seq, count)),
    at: (stream, seq) => done(() => broker.at(stream, seq)),
    subjects: (stream, filter) => done(() => broker.subjects(stream, filter)),
    purge: (stream, filter, keep) => done(() => broker.purge(stream, filter, keep)),
    time: () => done(() => broker.time()),
    erase: (stream, seq) => done(() => broker.erase(stream, seq)),
    listen: (subject, listener) => {
      const subscriber = { subject, hear: listener }
      broker.subscribers.add(subscriber)
      return () => void broker.subscribers.delete(subscriber)
    },
    flush: () => done(() => undefined),
    onStatus: () => undefined,
    close: () => done(() => undefined),
  }
}
