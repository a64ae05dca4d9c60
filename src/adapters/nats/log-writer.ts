import type { LogEvent } from "../../log/events.ts"
import { LeaseLost, OutOfSequence, type Lease } from "../../ports/store.ts"
import type { DataKey } from "../../ports/vault.ts"
import { causedBy } from "../../ports/notices.ts"
import { holdMs, type Broker } from "./broker.ts"
import { cutPart, packFrame } from "./frame.ts"
import type { LogReader } from "./log-reader.ts"
import {
  carriedBy,
  carriedOn,
  endOf,
  endWith,
  parksWith,
  sealEvents,
  type Carried,
  type EventsFacts,
  type SlotFacts,
} from "./slot.ts"

/** What one message of ours holds at most; more is stored in pieces before it. */
const inlineBytes = 96 * 1024
const pieceBytes = 512 * 1024
/** Appends that wait are stored together up to here. */
const batchEvents = 500

/** What a writer tells the store that it belongs to. */
export interface WriterEvents {
  /** After a slot is stored, before its appends resolve. */
  stored(run_id: string, slot: number, facts: EventsFacts, events: readonly LogEvent[], bytes: number): void
  ended(run_id: string, slot: number, facts: EventsFacts): Promise<void>
  parked(run_id: string, slot: number, facts: EventsFacts): Promise<void>
  /** Before a slot whose events may ask questions is filled. */
  asking(slot: number, events: readonly LogEvent[]): Promise<void>
  now(): number
}

interface Pending {
  /** Null: a renewal. */
  readonly events: readonly LogEvent[] | null
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Where a writer stands: it fills the slot after this one next. */
export interface Position {
  readonly slot: number
  readonly last: number
  readonly key: DataKey
  readonly carried: Carried
}

/** Fills slots, whole: the pieces of what is too large for one message are stored before it. */
export async function fillSlot(
  broker: Broker,
  reader: LogReader,
  run_id: string,
  slot: number,
  facts: Omit<SlotFacts, "cut" | "nonce"> & { readonly kind: SlotFacts["kind"] },
  parts: readonly Uint8Array[],
  hold: number = holdMs.write,
): Promise<SlotFacts | null> {
  const nonce = broker.token(9)
  const limit = Math.min(inlineBytes, broker.maxPayload - 8_192)
  const cut = parts.map(() => 0)
  const inline = [...parts]
  let rest = parts.reduce((sum, part) => sum + part.length, 0)
  const pieces: Uint8Array[] = []
  for (const [index, part] of parts.entries()) {
    if (rest <= limit && part.length <= limit / 2) continue
    rest -= part.length
    const own = cutPart(part, Math.min(pieceBytes, broker.maxPayload - 8_192))
    cut[index] = own.length
    inline[index] = new Uint8Array(0)
    pieces.push(...own)
  }
  if (pieces.length > 0) {
    await Promise.all(
      pieces.map((piece, index) => broker.put(broker.names.piece(run_id, slot, nonce, index), piece, hold)),
    )
  }
  const whole = (pieces.length === 0 ? { ...facts, nonce } : { ...facts, nonce, cut }) as SlotFacts
  const seq = await broker.putOnce(broker.names.slot(run_id, slot), packFrame(whole, inline), hold)
  // The slot is filled already: by an attempt of this very call whose answer was lost, or by another process.
  if (seq === null && (await reader.slot(run_id, slot, "sure"))?.facts.nonce !== nonce) return null
  reader.noteMark(run_id, { slot, last: whole.last })
  return whole
}

/** The one writer of a run's log under one lease. Appends that come while one is under way are stored together after it. */
export class LogWriter {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #lease: Lease
  readonly #session: string
  readonly #events: WriterEvents
  #position: Position | null
  #queue: Pending[] = []
  #working: Promise<void> | null = null
  #lost = false
  #ending = false
  /** When it was asked what the broker last answered with "the lease is yours". */
  confirmedAt: number

  constructor(
    broker: Broker,
    reader: LogReader,
    lease: Lease,
    session: string,
    events: WriterEvents,
    position: Position | null,
  ) {
    this.#broker = broker
    this.#reader = reader
    this.#lease = lease
    this.#session = session
    this.#events = events
    this.#position = position
    this.confirmedAt = events.now()
  }

  get lost(): boolean {
    return this.#lost
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#working !== null) await this.#working
  }

  get run_id(): string {
    return this.#lease.run_id
  }

  get position(): Position | null {
    return this.#position
  }

  append(events: readonly LogEvent[]): Promise<void> {
    return this.#ask(events)
  }

  /** Fills a slot that only says that the lease is still ours. Rejects with `LeaseLost` when it is not. */
  renew(): Promise<void> {
    return this.#ask(null)
  }

  #ask(events: readonly LogEvent[] | null): Promise<void> {
    if (this.#lost || this.#ending) return Promise.reject(new LeaseLost(this.#lease.run_id))
    return new Promise((resolve, reject) => {
      this.#queue.push({ events, resolve, reject })
      this.#working ??= this.#work()
    })
  }

  /** Refuses everything from now on; waits for what was asked for before. */
  async end(): Promise<void> {
    this.#ending = true
    await this.#working
    this.#lost = true
  }

  lose(): void {
    this.#lost = true
  }

  async #work(): Promise<void> {
    // The appends of one turn of the loop come together.
    await Promise.resolve()
    let batch: Pending[] = []
    try {
      while (this.#queue.length > 0) {
        if (this.#lost) throw new LeaseLost(this.#lease.run_id)
        const position = (this.#position ??= await this.#load())
        if (this.#queue[0]?.events === null) {
          batch = this.#queue.splice(0, 1)
          await this.#storeRenewal(position)
          for (const { resolve } of batch) resolve()
        } else {
          batch = this.#takeBatch(position)
          if (batch.length > 0) await this.#store(position, batch)
        }
        batch = []
      }
    } catch (error) {
      if (error instanceof LeaseLost) this.#lost = true
      // It may be stored after all: the next append looks where the log stands.
      this.#position = null
      for (const { reject } of [...batch, ...this.#queue.splice(0)]) reject(error)
    } finally {
      this.#working = null
    }
  }

  /** Appends that go on from the log's last event; the others are refused. */
  #takeBatch({ last }: Position): Pending[] {
    const batch: Pending[] = []
    let [next, count, ended] = [last + 1, 0, false]
    while (this.#queue.length > 0 && count < batchEvents) {
      const [pending] = this.#queue
      if (pending === undefined || pending.events === null || ended) break
      const [first] = pending.events
      this.#queue.shift()
      if (first === undefined) pending.resolve()
      else if (first.id !== next) pending.reject(new OutOfSequence(this.#lease.run_id, first.id, next - 1))
      else {
        batch.push(pending)
        next += pending.events.length
        count += pending.events.length
        ended = endWith(pending.events) !== null || parksWith(pending.events)
      }
    }
    return batch
  }

  async #store({ slot: before, last, key, carried }: Position, batch: readonly Pending[]): Promise<void> {
    const { run_id, fence } = this.#lease
    const events = batch.length === 1 ? (batch[0]?.events ?? []) : batch.flatMap((pending) => pending.events ?? [])
    const slot = before + 1
    const askedAt = this.#events.now()
    const { text, parts } = sealEvents(key, slot, events)
    const end = endWith(events)
    const caused = causedBy(events)
    const parks = parksWith(events)
    const next = carriedBy(carried, events)
    const facts = {
      kind: "events",
      // Parking a run gives it back with the same slot.
      fence: parks ? fence + 1 : fence,
      session: parks ? "" : this.#session,
      last: last + events.length,
      end,
      ...next,
      ...(parks ? { parked: true } : {}),
      ...(caused === null ? {} : { caused }),
    } as const
    await this.#events.asking(slot, events)
    const stored = await fillSlot(this.#broker, this.#reader, run_id, slot, facts, parts)
    if (stored === null || stored.kind !== "events") throw new LeaseLost(run_id)
    this.#position = { slot, last: stored.last, key, carried: next }
    this.confirmedAt = askedAt
    // Followers get what was stored, not what the caller has in hand and might change.
    this.#events.stored(run_id, slot, stored, JSON.parse(text) as LogEvent[], text.length)
    if (end !== null) {
      this.#lost = true
      await this.#events.ended(run_id, slot, stored)
    } else if (parks) {
      this.#lost = true
      await this.#events.parked(run_id, slot, stored)
    }
    for (const { resolve } of batch) resolve()
  }

  async #storeRenewal({ slot: before, last, key, carried }: Position): Promise<void> {
    const { run_id, fence } = this.#lease
    const slot = before + 1
    const facts = { kind: "renewal", fence, session: this.#session, last, ...carried } as const
    if ((await fillSlot(this.#broker, this.#reader, run_id, slot, facts, [])) === null) throw new LeaseLost(run_id)
    this.#position = { slot, last, key, carried }
  }

  async #load(): Promise<Position> {
    const { run_id, fence } = this.#lease
    const [tail, head] = await Promise.all([this.#reader.tail(run_id), this.#reader.head(run_id)])
    if (tail === null || head === null || tail.facts.fence !== fence || endOf(tail.facts) !== null) {
      throw new LeaseLost(run_id)
    }
    return { slot: tail.slot, last: tail.facts.last, key: head.key(), carried: carriedOn(tail.facts) }
  }
}
