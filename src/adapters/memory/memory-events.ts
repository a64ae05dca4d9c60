import type { JsonValue } from "../../base/json-value.ts"
import type { Clock } from "../../ports/clock.ts"
import {
  eventFingerprint,
  idOf,
  keepUntil,
  mostEventIds,
  mostKeptEvents,
  rememberedMs,
  type Delivery,
  type EventAnswer,
  type EventStatus,
  type EventStore,
  type NewEvent,
  type Receipt,
  type SentEvent,
} from "../../ports/event-store.ts"
import type { MemoryWaits } from "./memory-waits.ts"

interface Stored {
  readonly event: NewEvent
  readonly number: number
  readonly received_at: number
  readonly keep_until: number | null
  /** By which the same id of the same sender is found; null without one. */
  readonly slot: string | null
  /** The last wait that was there before it. */
  readonly lastWait: number
  /** From then on it is forgotten. */
  readonly until: number
  status: EventStatus
  delivered: number
  wasKept: boolean
}

/** Events that callers of a `MemoryStore` send, in the order in which they came. */
export class MemoryEvents implements EventStore {
  readonly #clock: Clock
  readonly #waits: MemoryWaits
  readonly #stored = new Map<number, Stored>()
  readonly #slots = new Map<string, Stored>()
  readonly #ids = new Map<string, number>()
  #received = 0

  constructor(clock: Clock, waits: MemoryWaits) {
    this.#clock = clock
    this.#waits = waits
  }

  async receive(event: NewEvent): Promise<Receipt> {
    const { caller, id, source } = event
    const received_at = this.#clock.now()
    const keep_until = keepUntil(received_at, event)
    const slot = id === null ? null : JSON.stringify([caller, source, id])
    const known = slot === null ? undefined : this.#slots.get(slot)
    if (known !== undefined && known.until > received_at) {
      if (eventFingerprint(known.event) !== eventFingerprint(event)) return { outcome: "conflict" }
      const answer = known.status === "arriving" ? null : answerOf(known)
      return { outcome: "known", number: known.number, answer }
    }
    if (known !== undefined) this.#forget(known)
    if (slot !== null && (this.#ids.get(caller) ?? 0) >= mostEventIds) return { outcome: "full", of: "ids" }
    if (keep_until !== null && this.#of(caller, "arriving", "kept").length >= mostKeptEvents) {
      return { outcome: "full", of: "kept" }
    }
    const until = slot === null ? (keep_until ?? received_at) : Math.max(keep_until ?? 0, received_at + rememberedMs)
    const number = ++this.#received
    const stored: Stored = {
      event,
      number,
      received_at,
      keep_until,
      slot,
      lastWait: this.#waits.last,
      until,
      status: "arriving",
      delivered: 0,
      wasKept: false,
    }
    this.#stored.set(number, stored)
    if (slot !== null) {
      this.#slots.set(slot, stored)
      this.#ids.set(caller, (this.#ids.get(caller) ?? 0) + 1)
    }
    return { outcome: "stored", number }
  }

  async one(number: number): Promise<SentEvent | null> {
    const stored = this.#stored.get(number)
    return stored === undefined || stored.status === "over" ? null : sent(stored)
  }

  async waiting(caller: string, name: string, key: string): Promise<readonly SentEvent[]> {
    return [...this.#stored.values()]
      .filter((stored) => stored.status !== "over" && this.#isKept(stored))
      .filter(({ event }) => event.name === name && event.key === key && (event.everyone || event.caller === caller))
      .map(sent)
  }

  async deliver(number: number, run_id: string, wait: string, data: JsonValue): Promise<Delivery> {
    const stored = this.#stored.get(number)
    if (stored === undefined || stored.status === "over") return "gone"
    if (stored.status === "kept" && !this.#isKept(stored)) return "gone"
    if (stored.delivered > 0 && this.#waits.isAfter(run_id, wait, stored.lastWait)) return "gone"
    if (!this.#waits.settleNow(run_id, "event", wait, { data })?.stored) return "settled"
    stored.delivered++
    if (stored.status === "kept") stored.status = "over"
    return "delivered"
  }

  async close(number: number, forget: boolean): Promise<EventAnswer> {
    const stored = this.#stored.get(number)
    if (stored === undefined) return { delivered: 0, kept: false }
    if (stored.status !== "arriving") return answerOf(stored)
    if (stored.delivered === 0 && this.#isKept(stored)) {
      stored.status = "kept"
      stored.wasKept = true
    } else {
      stored.status = "over"
      if (stored.slot === null || (forget && stored.delivered === 0)) this.#forget(stored)
    }
    return answerOf(stored)
  }

  async unfinished(before: number): Promise<readonly number[]> {
    return [...this.#stored.values()].flatMap(({ number, status, received_at }) =>
      status === "arriving" && received_at < before ? [number] : [],
    )
  }

  async kept(caller: string, limit: number, after: number): Promise<readonly SentEvent[]> {
    return this.#of(caller, "kept")
      .filter(({ number }) => number > after)
      .slice(0, limit)
      .map(sent)
  }

  async drop(caller: string, id: string): Promise<boolean> {
    const stored = this.#of(caller, "kept").find((one) => idOf(sent(one)) === id)
    if (stored !== undefined) stored.status = "over"
    return stored !== undefined
  }

  sweep(now: number): void {
    for (const stored of this.#stored.values()) {
      if (stored.status === "kept" && !this.#isKept(stored)) stored.status = "over"
      if (stored.until <= now) this.#forget(stored)
    }
  }

  #forget({ number, slot, event: { caller } }: Stored): void {
    this.#stored.delete(number)
    if (slot === null) return
    this.#slots.delete(slot)
    this.#ids.set(caller, (this.#ids.get(caller) ?? 1) - 1)
  }

  #of(caller: string, ...statuses: readonly EventStatus[]): Stored[] {
    return [...this.#stored.values()].filter(
      (stored) => stored.event.caller === caller && statuses.includes(stored.status) && this.#isKept(stored),
    )
  }

  #isKept({ keep_until }: Stored): boolean {
    return keep_until !== null && keep_until > this.#clock.now()
  }
}

function sent({ event, number, status, received_at, keep_until }: Stored): SentEvent {
  const { keep_seconds: _keep, ...rest } = event
  return { ...rest, number, status, received_at, keep_until }
}

/** What the sender was told: that it was kept stays so when a wait takes it later. */
function answerOf({ delivered, wasKept }: Stored): EventAnswer {
  return { delivered: wasKept ? 0 : delivered, kept: wasKept }
}
