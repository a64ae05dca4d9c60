import { Listeners } from "../../ports/listeners.ts"
import type { Clock } from "../../ports/clock.ts"
import type { LogEvent } from "../../log/events.ts"
import {
  causedBy,
  DeliveryTurns,
  type Notice,
  type NoticeOutcome,
  type Notify,
  type OutboxStore,
  type ReceiverLimit,
  type TakenNotice,
  type TakenNotices,
} from "../../ports/notices.ts"
import { receiverOf } from "../../ports/receiver-of.ts"

interface Stored {
  notice: TakenNotice
  due_at: number
}

/** The outbox of a `MemoryStore`. */
export class MemoryOutbox implements OutboxStore {
  readonly #clock: Clock
  readonly #byRun = new Map<string, Stored[]>()
  readonly #pending = new Set<Stored>()
  readonly #listeners = new Listeners()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(run_id: string, caller: string, notify: Notify | undefined, events: readonly LogEvent[]): void {
    const caused = notify === undefined ? null : causedBy(events)
    if (notify === undefined || caused === null || !notify.events.includes(caused.event)) return
    const { url } = notify
    const notice = { ...caused, run_id, caller, url, status: "pending", attempts: 0, last_error: null } as const
    const stored = { notice, due_at: 0 }
    this.#byRun.set(run_id, [...(this.#byRun.get(run_id) ?? []), stored])
    this.#pending.add(stored)
    this.#listeners.tell()
  }

  async ofRun(run_id: string): Promise<Notice[]> {
    return (this.#byRun.get(run_id) ?? []).map(({ notice }) => {
      const { url: _, ...shown } = notice
      return shown
    })
  }

  async take(limit: number, holdMs: number, receivers?: ReceiverLimit): Promise<TakenNotices> {
    const now = this.#clock.now()
    const due = [...this.#pending].flatMap((stored) => {
      const { due_at, notice } = stored
      const { run_id, event_id, caller, url } = notice
      return due_at > now ? [] : [{ run_id, event_id, due_at, caller, receiver: receiverOf(url), stored }]
    })
    const taken = new DeliveryTurns(receivers).take(due, limit).map(({ stored }) => {
      stored.notice = { ...stored.notice, attempts: stored.notice.attempts + 1 }
      stored.due_at = now + holdMs
      return stored.notice
    })
    let next_due: number | null = null
    for (const { due_at } of this.#pending) next_due = Math.min(next_due ?? Number.POSITIVE_INFINITY, due_at)
    return { taken, next_due }
  }

  async settle({ run_id, event_id, attempts }: Notice, { due_at, ...outcome }: NoticeOutcome): Promise<void> {
    for (const stored of this.#pending) {
      const { notice } = stored
      if (notice.run_id !== run_id || notice.event_id !== event_id) continue
      if (notice.attempts !== attempts && outcome.status !== "delivered") return
      stored.notice = { ...notice, ...outcome }
      stored.due_at = due_at
      if (outcome.status !== "pending") this.#pending.delete(stored)
      return
    }
  }

  /** Pending notices are delivered all the same. */
  forget(run_id: string): void {
    this.#byRun.delete(run_id)
  }

  /** Those that are pending are never delivered. */
  drop(run_id: string): void {
    for (const stored of this.#pending) if (stored.notice.run_id === run_id) this.#pending.delete(stored)
    this.#byRun.delete(run_id)
  }

  onNotice(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }
}
