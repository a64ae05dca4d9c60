import type { Clock } from "../../ports/clock.ts"
import {
  ReceiverCounts,
  type CausedNotice,
  type Notice,
  type NoticeOutcome,
  type ReceiverLimit,
  type TakenNotice,
  type TakenNotices,
} from "../../ports/notices.ts"
import { receiverOf } from "../../ports/receiver-of.ts"
import { Damaged, type RunOptions } from "../../ports/store.ts"
import type { Vault } from "../../ports/vault.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"
import type { LogReader, RunHead } from "./log-reader.ts"
import { aboutNotice } from "./slot.ts"
import type { Stored } from "./transport.ts"

interface NoticeFacts extends Omit<Notice, "last_error"> {
  readonly due_at: number
}

/** What is sealed of a notice. */
interface NoticeText {
  readonly url: string
  readonly last_error: string | null
}

interface Pending {
  readonly due_at: number
  /** The origin of its URL. */
  readonly receiver: string
}

/** How many notices are read side by side. */
const readTogether = 16

/**
 * Notices. A pending one has its own subject, which is the list of work; one that is delivered or given up moves to another
 * subject, where it stays as long as its run. It is stored after the slot that caused it and before its run leaves the list of
 * open runs: the process that tidies up after a crash stores it again.
 */
export class Outbox {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #vault: Vault
  readonly #clock: Clock
  readonly #listeners = new Set<() => void>()
  /** Pending notices, as far as this process knows them: one that cannot be taken is not read again. */
  readonly #pending = new Map<string, Pending>()

  constructor(broker: Broker, reader: LogReader, vault: Vault, clock: Clock) {
    this.#broker = broker
    this.#reader = reader
    this.#vault = vault
    this.#clock = clock
  }

  /** Stores the notice of a stored event, unless it is there already or the run does not notify of it. */
  async add(run_id: string, head: RunHead, caused: CausedNotice | null): Promise<void> {
    if (caused === null || head.facts.notify?.includes(caused.event) !== true) return
    const { names } = this.#broker
    const { event_id } = caused
    if ((await this.#broker.get("outbox", names.settledNotice(run_id, event_id), "sure")) !== null) return
    const { caller } = head.facts
    const facts: NoticeFacts = { ...caused, run_id, caller, status: "pending", attempts: 0, due_at: 0 }
    const url = urlOf(head)
    if (url === null) return
    await this.#broker.putOnce(names.due(run_id, event_id), this.#pack(facts, { url, last_error: null }))
    for (const listener of this.#listeners) queueMicrotask(listener)
  }

  async ofRun(run_id: string): Promise<Notice[]> {
    const head = await this.#reader.head(run_id)
    if (head?.facts.notify === undefined) return []
    const found = new Map<number, Notice>()
    for (const subject of await this.#broker.list("outbox", this.#broker.names.noticesOf(run_id))) {
      const stored = await this.#broker.get("outbox", subject, "sure")
      if (stored === null) continue
      const { url: _, ...notice } = this.#open(stored).notice
      // For a moment a notice is in both places: the settled one counts.
      if (notice.status !== "pending" || !found.has(notice.event_id)) found.set(notice.event_id, notice)
    }
    return [...found.values()].toSorted((a, b) => a.event_id - b.event_id)
  }

  async take(limit: number, holdMs: number, receivers?: ReceiverLimit): Promise<TakenNotices> {
    const now = this.#clock.now()
    const counts = new ReceiverCounts(receivers)
    const subjects = await this.#broker.list("outbox", this.#broker.names.anyDue)
    const there = new Set(subjects)
    for (const subject of this.#pending.keys()) if (!there.has(subject)) this.#pending.delete(subject)
    const candidates = subjects.filter((subject) => (this.#pending.get(subject)?.due_at ?? 0) <= now)
    const taken: TakenNotice[] = []
    while (candidates.length > 0 && taken.length < limit) {
      const some: string[] = []
      while (candidates.length > 0 && some.length < Math.min(readTogether, limit - taken.length)) {
        const subject = candidates.shift() ?? ""
        if (!counts.isFull(this.#pending.get(subject)?.receiver ?? "")) some.push(subject)
      }
      for (const notice of await Promise.all(some.map((one) => this.#takeOne(one, now, holdMs, counts)))) {
        if (notice !== null) taken.push(notice)
      }
    }
    const times = subjects.map((subject) => this.#pending.get(subject)?.due_at ?? 0)
    return { taken, next_due: times.length === 0 ? null : times.reduce((least, time) => Math.min(least, time)) }
  }

  async #takeOne(subject: string, now: number, holdMs: number, counts: ReceiverCounts): Promise<TakenNotice | null> {
    const stored = await this.#broker.getFromLeader("outbox", subject)
    if (stored === null) return null
    const { facts, notice } = this.#open(stored)
    const { url, last_error } = notice
    const receiver = receiverOf(url)
    this.#pending.set(subject, { due_at: facts.due_at, receiver })
    if (facts.due_at > now || !counts.add(receiver)) return null
    const next = { ...facts, attempts: facts.attempts + 1, due_at: now + holdMs }
    // Should two processes win, the notice is delivered twice, which receivers must expect anyway.
    if ((await this.#broker.replace(subject, this.#pack(next, { url, last_error }), stored.seq)) === null) {
      counts.remove(receiver)
      return null
    }
    this.#pending.set(subject, { due_at: next.due_at, receiver })
    return { ...notice, attempts: next.attempts }
  }

  async settle({ run_id, event_id, attempts }: Notice, outcome: NoticeOutcome): Promise<void> {
    const subject = this.#broker.names.due(run_id, event_id)
    for (;;) {
      const stored = await this.#broker.getFromLeader("outbox", subject)
      if (stored === null) return
      const { facts, notice } = this.#open(stored)
      if (facts.attempts !== attempts && outcome.status !== "delivered") return
      const { status, last_error, due_at } = outcome
      const settled = { ...facts, status, due_at }
      const packed = this.#pack(settled, { url: notice.url, last_error })
      if (status === "pending") {
        if ((await this.#broker.replace(subject, packed, stored.seq)) !== null) {
          this.#pending.set(subject, { due_at, receiver: receiverOf(notice.url) })
        }
        return
      }
      // Nothing is kept of a run that retention has deleted.
      if ((await this.#reader.slot(run_id, 0, "sure")) !== null) await this.#keep(settled, packed)
      this.#pending.delete(subject)
      // Exactly this one: where another process has taken the notice since, its attempt counts, too.
      if (await this.#broker.erase("outbox", subject, stored.seq)) return
    }
  }

  /** Keeps what became of a notice. What is kept already after more attempts stays. */
  async #keep({ run_id, event_id, attempts }: NoticeFacts, packed: Uint8Array): Promise<void> {
    const subject = this.#broker.names.settledNotice(run_id, event_id)
    for (;;) {
      const before = await this.#broker.getFromLeader("outbox", subject)
      if (before === null) {
        if ((await this.#broker.putOnce(subject, packed)) !== null) return
      } else if (unpackFrame<NoticeFacts>(subject, before.data).facts.attempts >= attempts) return
      else if ((await this.#broker.replace(subject, packed, before.seq)) !== null) return
    }
  }

  /** Retention deletes the run. Pending notices stay until they are delivered or given up. */
  async forget(run_id: string): Promise<void> {
    const subjects = await this.#broker.list("outbox", this.#broker.names.settledNoticesOf(run_id))
    await Promise.all(subjects.map((subject) => this.#broker.erase("outbox", subject)))
  }

  on(listener: () => void): () => void {
    const registered = (): void => listener()
    this.#listeners.add(registered)
    return () => this.#listeners.delete(registered)
  }

  #pack(facts: NoticeFacts, text: NoticeText): Uint8Array {
    return packFrame(facts, [this.#vault.seal(aboutNotice(facts.run_id, facts.event_id), JSON.stringify(text))])
  }

  #open({ subject, data }: Stored): { readonly facts: NoticeFacts; readonly notice: TakenNotice } {
    const { facts, parts } = unpackFrame<NoticeFacts>(subject, data)
    const sealed = parts[0] ?? new Uint8Array(0)
    const text = JSON.parse(this.#vault.open(aboutNotice(facts.run_id, facts.event_id), sealed)) as NoticeText
    const { due_at: _, ...notice } = facts
    return { facts, notice: { ...notice, ...text } }
  }
}

/** Null for a run whose request is damaged: its URL cannot be read. */
function urlOf(head: RunHead): string | null {
  try {
    const { options } = JSON.parse(head.key().open("request", head.request)) as { readonly options: RunOptions }
    return options.notify?.url ?? null
  } catch (error) {
    if (error instanceof Damaged) return null
    throw error
  }
}
