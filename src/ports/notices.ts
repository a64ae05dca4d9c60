import type { LogEvent } from "./events.ts"

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

/** How many deliveries to one receiver may be under way, and how many are, by `receiverOf`. */
export interface ReceiverLimit {
  readonly most: number
  readonly busy: ReadonlyMap<string, number>
}

/** Counts what is under way while notices are taken. */
export class ReceiverCounts {
  readonly #most: number
  readonly #counts: Map<string, number>

  /** `nameOf`: what the store calls a receiver. */
  constructor(limit: ReceiverLimit | undefined, nameOf: (receiver: string) => string = (receiver) => receiver) {
    this.#most = limit?.most ?? Number.POSITIVE_INFINITY
    this.#counts = new Map([...(limit?.busy ?? [])].map(([receiver, count]) => [nameOf(receiver), count]))
  }

  isFull(name: string): boolean {
    return (this.#counts.get(name) ?? 0) >= this.#most
  }

  /** False when it has its share already. */
  add(name: string): boolean {
    if (this.isFull(name)) return false
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    return true
  }

  remove(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 1) - 1)
  }

  full(): string[] {
    return [...this.#counts.keys()].filter((name) => this.isFull(name))
  }
}

export interface OutboxStore {
  /** All notices of a run, oldest first. */
  notices(run_id: string): Promise<Notice[]>
  /**
   * Takes pending notices that are due, each counted as attempted once more. No other process gets them for `holdMs`; after that
   * they are due again, unless their outcome has been stored: the process that took them may have died. A receiver that has its
   * share keeps none of the others waiting: its notices are passed over, and stay due.
   */
  takeNotices(limit: number, holdMs: number, receivers?: ReceiverLimit): Promise<TakenNotices>
  /** Stores how an attempt went. Ignored when another process has taken the notice since, except for a delivery. */
  settleNotice(notice: Notice, outcome: NoticeOutcome): Promise<void>
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
  return { event_id: last.id, event, caused_at: Date.parse(last.at) }
}
