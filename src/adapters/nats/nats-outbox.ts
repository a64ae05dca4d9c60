import { Listeners } from "../../ports/listeners.ts"
import type { Clock } from "../../ports/clock.ts"
import {
  DeliveryTurns,
  type CausedNotice,
  type DueNotice,
  type Notice,
  type NoticeOutcome,
  type OutboxStore,
  type ReceiverLimit,
  type TakenNotice,
  type TakenNotices,
} from "../../ports/notices.ts"
import { receiverOf } from "../../ports/receiver-of.ts"
import { Damaged } from "../../ports/store.ts"
import type { Vault } from "../../ports/vault.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"
import type { LogReader, RunHead } from "./log-reader.ts"
import { aboutNotice, openRequest } from "./slot.ts"
import type { Stored } from "./transport.ts"

interface NoticeFacts extends Omit<Notice, "last_error"> {
  readonly due_at: number
}

/** The sealed part of a notice. */
interface NoticeText {
  readonly url: string
  readonly last_error: string | null
}

interface OpenedNotice {
  readonly facts: NoticeFacts
  readonly notice: TakenNotice
}

/** A pending notice as this process last saw it. */
interface Pending extends DueNotice {
  readonly subject: string
}

interface SeenNotice extends OpenedNotice {
  readonly seq: number
  readonly pending: Pending
}

/** How many notices are read side by side. */
const readTogether = 16

/**
 * Notices. A pending one has its own subject, which is the list of work; one that is delivered or given up moves to another
 * subject, where it stays as long as its run. It is stored after the slot that caused it and before its run leaves the list of
 * open runs: the process that tidies up after a crash stores it again.
 */
export class Outbox implements OutboxStore {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #vault: Vault
  readonly #clock: Clock
  readonly #listeners = new Listeners()
  /** Pending notices, as far as this process knows them: one whose turn has not come is not read again. */
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
    this.#listeners.tell()
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
    const turns = new DeliveryTurns(receivers)
    const subjects = await this.#broker.list("outbox", this.#broker.names.anyDue)
    const there = new Set(subjects)
    for (const subject of this.#pending.keys()) if (!there.has(subject)) this.#pending.delete(subject)
    const unseen = subjects.filter((subject) => !this.#pending.has(subject))
    let due = [...this.#pending.values()].filter(({ due_at }) => due_at <= now)
    const taken: TakenNotice[] = []
    while (taken.length < limit) {
      const next = new Set(turns.take(due, Math.min(readTogether, limit - taken.length)))
      due = due.filter((one) => !next.has(one))
      const notices = await Promise.all([...next].map((one) => this.#takeOne(one, now, holdMs, turns)))
      taken.push(...notices.filter((notice) => notice !== null))
      if (next.size > 0) continue
      if (unseen.length === 0) break
      // None of those that are known may begin: those of other callers and receivers may.
      const seen = await Promise.all(unseen.splice(0, readTogether).map((subject) => this.#see(subject)))
      due.push(...seen.flatMap((one) => (one === null || one.pending.due_at > now ? [] : [one.pending])))
    }
    const times = subjects.map((subject) => this.#pending.get(subject)?.due_at ?? 0)
    return { taken, next_due: times.length === 0 ? null : times.reduce((least, time) => Math.min(least, time)) }
  }

  async #see(subject: string): Promise<SeenNotice | null> {
    const stored = await this.#broker.getFromLeader("outbox", subject)
    if (stored === null) return null
    const opened = this.#open(stored)
    return { seq: stored.seq, ...opened, pending: this.#remember(subject, opened) }
  }

  #remember(subject: string, { facts, notice }: OpenedNotice): Pending {
    const { run_id, event_id, caller, due_at } = facts
    const pending = { subject, run_id, event_id, caller, due_at, receiver: receiverOf(notice.url) }
    this.#pending.set(subject, pending)
    return pending
  }

  async #takeOne(known: Pending, now: number, holdMs: number, turns: DeliveryTurns): Promise<TakenNotice | null> {
    const { subject } = known
    const seen = await this.#see(subject)
    if (seen !== null && seen.facts.due_at <= now && !(await this.#wasSettled(seen))) {
      const { facts, notice, seq } = seen
      const { url, last_error } = notice
      const next = { ...facts, attempts: facts.attempts + 1, due_at: now + holdMs }
      // Should two processes win, the notice is delivered twice, which receivers must expect anyway.
      if ((await this.#broker.replace(subject, this.#pack(next, { url, last_error }), seq)) !== null) {
        this.#remember(subject, { facts: next, notice })
        return { ...notice, attempts: next.attempts }
      }
    }
    turns.remove(known)
    return null
  }

  /** Whether a pending notice was stored again after it was settled, by a process whose message was slow. It is removed then. */
  async #wasSettled({ facts, notice: { url }, seq, pending }: SeenNotice): Promise<boolean> {
    const { run_id, event_id, attempts } = facts
    const before = await this.#broker.getFromLeader("outbox", this.#broker.names.settledNotice(run_id, event_id))
    if (before === null) return false
    const { facts: kept, notice } = this.#open(before)
    const settled = { ...kept, attempts }
    await this.#file(pending.subject, seq, settled, this.#pack(settled, { url, last_error: notice.last_error }))
    return true
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
          this.#remember(subject, { facts: settled, notice })
        }
        return
      }
      if (await this.#file(subject, stored.seq, settled, packed)) return
    }
  }

  /** Moves a notice to the settled ones. False: another process has taken it since, and its attempt counts, too. */
  async #file(subject: string, seq: number, settled: NoticeFacts, packed: Uint8Array): Promise<boolean> {
    // Nothing is kept of a run that retention has deleted.
    if ((await this.#reader.slot(settled.run_id, 0, "sure")) !== null) await this.#keep(settled, packed)
    this.#pending.delete(subject)
    return this.#broker.erase("outbox", subject, seq)
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

  onNotice(listener: () => void): () => void {
    return this.#listeners.add(listener)
  }

  #pack(facts: NoticeFacts, text: NoticeText): Uint8Array {
    return packFrame(facts, [this.#vault.seal(aboutNotice(facts.run_id, facts.event_id), JSON.stringify(text))])
  }

  #open({ subject, data }: Stored): OpenedNotice {
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
    return openRequest(head.key(), head.request).options.notify?.url ?? null
  } catch (error) {
    if (error instanceof Damaged) return null
    throw error
  }
}
