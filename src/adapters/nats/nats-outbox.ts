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
import { aboutUrl } from "../../store/sealed-notices.ts"
import type { Broker } from "./broker.ts"
import { packFrame, unpackFrame } from "./frame.ts"
import { lastToken } from "./names.ts"
import type { Rows } from "./rows.ts"
import type { RunRows, StoredRun } from "./run-rows.ts"
import type { Stored, Write } from "./transport.ts"

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

/** Notices, each a row. Entries of those that are pending are the list of work; they are removed once, when the notice is settled. */
export class Outbox implements OutboxStore {
  readonly #broker: Broker
  readonly #rows: Rows
  readonly #runs: RunRows
  readonly #vault: Vault
  readonly #clock: Clock
  readonly #listeners = new Listeners()
  /** Pending notices, as far as this process knows them: one whose turn has not come is not read again. */
  readonly #pending = new Map<string, Pending>()

  constructor(broker: Broker, rows: Rows, runs: RunRows, vault: Vault, clock: Clock) {
    this.#broker = broker
    this.#rows = rows
    this.#runs = runs
    this.#vault = vault
    this.#clock = clock
  }

  /** What to write with an append that causes a notice, where the run asks for it. */
  caused({ run_id, facts: { caller, notify }, parts }: StoredRun, caused: CausedNotice | null): Write[] {
    const sealed = parts[1]
    if (caused === null || sealed === undefined || notify?.includes(caused.event) !== true) return []
    const url = this.#openUrl(run_id, sealed)
    if (url === null) return []
    const { names } = this.#broker
    const { event_id } = caused
    const facts: NoticeFacts = { ...caused, run_id, caller, status: "pending", attempts: 0, due_at: 0 }
    return [
      { subject: names.notice(run_id, event_id), data: this.#pack(facts, { url, last_error: null }), expected: 0 },
      { subject: names.pending(run_id, event_id), data: packFrame({}, []) },
    ]
  }

  /** Null where it is damaged: the run ends all the same. */
  #openUrl(run_id: string, sealed: Uint8Array): string | null {
    try {
      return this.#vault.open(aboutUrl(run_id), sealed)
    } catch (error) {
      if (error instanceof Damaged) return null
      throw error
    }
  }

  /** A notice may have been stored. */
  stored(): void {
    this.#listeners.tell()
  }

  async ofRun(run_id: string): Promise<Notice[]> {
    const run = await this.#runs.get(run_id)
    if (run?.facts.notify === undefined) return []
    const found: Notice[] = []
    for (const subject of await this.#broker.list("rows", this.#broker.names.noticesOf(run_id))) {
      const stored = await this.#broker.row(subject)
      if (stored === null) continue
      const { url: _, ...notice } = this.#open(stored).notice
      found.push(notice)
    }
    return found.toSorted((a, b) => a.event_id - b.event_id)
  }

  async take(limit: number, holdMs: number, receivers?: ReceiverLimit): Promise<TakenNotices> {
    const now = this.#clock.now()
    const turns = new DeliveryTurns(receivers)
    const entries = await this.#broker.list("rows", this.#broker.names.anyPending)
    const subjects = entries.map((entry) => this.#noticeOf(entry))
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

  /** The notice that an entry is about. */
  #noticeOf(entry: string): string {
    return this.#broker.names.notice(entry.split(".").at(-2) ?? "", lastToken(entry))
  }

  /** Null for one that is not pending any more: the process that was to remove its entry died, or is about to. */
  async #see(subject: string): Promise<SeenNotice | null> {
    const stored = await this.#broker.row(subject)
    const opened = stored === null ? null : this.#open(stored)
    if (stored !== null && opened?.facts.status === "pending") {
      return { seq: stored.seq, ...opened, pending: this.#remember(subject, opened) }
    }
    await this.#settled(subject.split(".").at(-2) ?? "", lastToken(subject))
    return null
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
    if (seen !== null && seen.facts.due_at <= now) {
      const { facts, notice, seq } = seen
      const { url, last_error } = notice
      const next = { ...facts, attempts: facts.attempts + 1, due_at: now + holdMs }
      const data = this.#pack(next, { url, last_error })
      if ((await this.#broker.write([{ subject, data, expected: seq, replaces: true }])) !== null) {
        this.#remember(subject, { facts: next, notice })
        return { ...notice, attempts: next.attempts }
      }
    }
    turns.remove(known)
    return null
  }

  async settle({ run_id, event_id, attempts }: Notice, outcome: NoticeOutcome): Promise<void> {
    const subject = this.#broker.names.notice(run_id, event_id)
    for (;;) {
      const stored = await this.#broker.row(subject)
      if (stored === null) return
      const { facts, notice } = this.#open(stored)
      if (facts.status !== "pending") break
      if (facts.attempts !== attempts && outcome.status !== "delivered") return
      const { status, last_error, due_at } = outcome
      const settled = { ...facts, status, due_at }
      const data = this.#pack(settled, { url: notice.url, last_error })
      if ((await this.#broker.write([{ subject, data, expected: stored.seq, replaces: true }])) === null) continue
      if (status === "pending") {
        this.#remember(subject, { facts: settled, notice })
        return
      }
      break
    }
    await this.#settled(run_id, event_id)
  }

  /** The notice is not pending any more. Nothing is kept of one whose run is gone. */
  async #settled(run_id: string, event_id: number | string): Promise<void> {
    const { names } = this.#broker
    this.#pending.delete(names.notice(run_id, event_id))
    if ((await this.#runs.get(run_id)) === null) await this.#rows.remove(names.notice(run_id, event_id))
    await this.#rows.remove(names.pending(run_id, event_id))
  }

  /** The run was deleted. Pending notices stay until they are delivered or given up. */
  async forget(run_id: string): Promise<void> {
    for (const subject of await this.#broker.list("rows", this.#broker.names.noticesOf(run_id))) {
      const stored = await this.#broker.row(subject)
      if (stored !== null && this.#open(stored).facts.status !== "pending") await this.#rows.remove(subject)
    }
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

/** What a sealed notice is about: changing this makes what is stored unreadable. */
function aboutNotice(run_id: string, event_id: number): string {
  return `notice ${event_id} of run ${run_id}`
}
