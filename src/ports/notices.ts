import type { LogEvent } from "../log/events.ts"

// Notices that runs send to a URL, as a store keeps them until they are delivered (an outbox).
//
// Everything begins with an append: an event that ends or parks a run stores the notice of it in the same step, where the run's
// request asks for one. So no crash can lose a notice, and no notice tells of an event that is not stored.

export const noticeEvents = ["completed", "failed", "cancelled", "waiting"] as const

/** What a run can notify of. */
export type NoticeEvent = (typeof noticeEvents)[number]

/** `options.notify` of a request, with all events that it asks for. */
export interface Notify {
  readonly url: string
  readonly events: readonly NoticeEvent[]
}

/** What an append causes, whether or not the run's request asks to be notified of it. */
export interface CausedNotice {
  readonly event_id: number
  readonly event: NoticeEvent
  /** Milliseconds since the epoch. */
  readonly caused_at: number
}

export interface Notice extends CausedNotice {
  readonly run_id: string
  readonly caller: string
  readonly status: "pending" | "delivered" | "gave_up"
  /** Attempts that were begun. */
  readonly attempts: number
  readonly last_error: string | null
}

/** A notice that this process delivers now. */
export interface TakenNotice extends Notice {
  readonly url: string
}

export interface TakenNotices {
  readonly taken: readonly TakenNotice[]
  /** When the next of the other notices is due, as far as is known; null when there is none. */
  readonly next_due: number | null
}

/** How an attempt went. `pending`: the next one is due at `due_at`. */
export interface NoticeOutcome {
  readonly status: Notice["status"]
  readonly last_error: string | null
  readonly due_at: number
}

/** Who a delivery goes to (by `receiverOf`), and whose run caused it. */
export interface Delivery {
  readonly receiver: string
  readonly caller: string
}

/** How many deliveries to one receiver may be under way, and all that are. */
export interface ReceiverLimit {
  readonly most: number
  readonly busy: readonly Delivery[]
}

/** A notice that is due. */
export interface DueNotice extends Delivery {
  readonly run_id: string
  readonly event_id: number
  readonly due_at: number
}

/** Orders notices by their due time. */
function byDueTime(a: DueNotice, b: DueNotice): number {
  if (a.due_at !== b.due_at) return a.due_at - b.due_at
  return a.run_id === b.run_id ? a.event_id - b.event_id : a.run_id < b.run_id ? -1 : 1
}

/**
 * Decides which notices are taken. The callers of one receiver take turns: a free place goes to the one with the fewest deliveries
 * under way. Who has some leaves one place for callers that have none: of the receiver's, and of all.
 */
export class DeliveryTurns {
  readonly #most: number
  readonly #busy: Delivery[]

  constructor(limit: ReceiverLimit | undefined) {
    this.#most = limit?.most ?? Number.POSITIVE_INFINITY
    this.#busy = [...(limit?.busy ?? [])]
  }

  /** Takes the next notices, `limit` at most, and counts them as under way. */
  take<Notice extends DueNotice>(due: readonly Notice[], limit: number): Notice[] {
    const lines = Map.groupBy(due.toSorted(byDueTime), ({ receiver, caller }) => JSON.stringify([receiver, caller]))
    const waiting = [...lines.values()].map((line) => ({ line, next: 0 }))
    const taken: Notice[] = []
    for (;;) {
      let first: (typeof waiting)[number] | null = null
      let fewest = Number.POSITIVE_INFINITY
      for (const one of waiting) {
        const notice = one.line[one.next]
        if (notice === undefined || !this.#hasPlace(notice, limit - taken.length)) continue
        const own = this.#count(({ receiver, caller }) => receiver === notice.receiver && caller === notice.caller)
        if (own < fewest) [first, fewest] = [one, own]
      }
      const notice = first?.line[first.next++]
      if (notice === undefined) return taken
      this.#busy.push(notice)
      taken.push(notice)
    }
  }

  /** It did not begin after all. */
  remove({ receiver, caller }: Delivery): void {
    const at = this.#busy.findIndex((other) => other.receiver === receiver && other.caller === caller)
    if (at >= 0) this.#busy.splice(at, 1)
  }

  #hasPlace({ receiver, caller }: Delivery, places: number): boolean {
    const left = this.#most - this.#count((other) => other.receiver === receiver)
    if (left === Number.POSITIVE_INFINITY) return places > 0
    const own = this.#busy.filter((other) => other.caller === caller)
    const least = own.some((other) => other.receiver === receiver) ? 2 : 1
    return left >= least && places >= (own.length > 0 ? 2 : 1)
  }

  #count(counts: (delivery: Delivery) => boolean): number {
    return this.#busy.filter(counts).length
  }
}

export interface OutboxStore {
  /** All notices of a run, oldest first. */
  ofRun(run_id: string): Promise<Notice[]>
  /**
   * Takes pending notices that are due, each counted as attempted once more. No other process gets them for `holdMs`; after that
   * they are due again, unless their outcome has been stored: the process that took them may have died. A receiver that has its
   * share keeps none of the others waiting: its notices are passed over, and stay due. So are those of a caller (`DeliveryTurns`).
   */
  take(limit: number, holdMs: number, receivers?: ReceiverLimit): Promise<TakenNotices>
  /** Stores how an attempt went. Ignored when another process has taken the notice since, except for a delivery. */
  settle(notice: Notice, outcome: NoticeOutcome): Promise<void>
  /** Calls back when a notice may have been stored by way of this store. The result stops listening. */
  onNotice(listener: () => void): () => void
}

const causes: Readonly<Record<string, NoticeEvent>> = {
  workflow_completed: "completed",
  workflow_failed: "failed",
  workflow_cancelled: "cancelled",
  run_waiting: "waiting",
}

/** The notice that an append causes: only its last event can cause one. */
export function causedBy(events: readonly LogEvent[]): CausedNotice | null {
  const last = events.at(-1)
  const event = last === undefined ? undefined : causes[last.type]
  if (last === undefined || event === undefined) return null
  // Nobody has to do anything about a batch or a budget.
  if (last.type === "run_waiting" && last.data.questions.length + last.data.waits.length === 0) return null
  return { event_id: last.id, event, caused_at: Date.parse(last.at) }
}
