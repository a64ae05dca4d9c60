import type { LogEvent } from "../../log/events.ts"
import { instant, type Clock, type Instant } from "../../ports/clock.ts"
import { causedBy } from "../../ports/notices.ts"
import { questionsIn } from "../../ports/question-store.ts"
import { LeaseLost, StoreFailure, type Lease } from "../../ports/store.ts"
import { holdMs, type Broker } from "./broker.ts"
import type { Leases } from "./leases.ts"
import type { LiveLogs } from "./live-log.ts"
import type { LogReader } from "./log-reader.ts"
import { fillSlot, LogWriter, type Position } from "./log-writer.ts"
import { tokenOfId } from "./names.ts"
import type { OpenRuns } from "./open-runs.ts"
import type { OutcomeNews } from "./outcome-news.ts"
import type { Parking } from "./parking.ts"
import type { AskedQuestions } from "./asked-questions.ts"
import type { QuestionEntries } from "./question-entries.ts"
import { carriedOn, endOf, type EventsFacts, type Slot } from "./slot.ts"

interface OwnRunsParts {
  readonly broker: Broker
  readonly reader: LogReader
  readonly live: LiveLogs
  readonly leases: Leases
  readonly entries: QuestionEntries
  readonly asked: AskedQuestions
  readonly parking: Parking
  readonly open: OpenRuns
  readonly news: OutcomeNews
  readonly clock: Clock
}

/** The runs that this process holds: it writes their logs, and renews and gives back their leases. */
export class OwnRuns {
  readonly #broker: Broker
  readonly #reader: LogReader
  readonly #live: LiveLogs
  readonly #leases: Leases
  readonly #entries: QuestionEntries
  readonly #asked: AskedQuestions
  readonly #parking: Parking
  readonly #open: OpenRuns
  readonly #news: OutcomeNews
  readonly #clock: Clock
  /** By run and fence. */
  readonly #writers = new Map<string, LogWriter>()

  constructor(parts: OwnRunsParts) {
    this.#broker = parts.broker
    this.#reader = parts.reader
    this.#live = parts.live
    this.#leases = parts.leases
    this.#entries = parts.entries
    this.#asked = parts.asked
    this.#parking = parts.parking
    this.#open = parts.open
    this.#news = parts.news
    this.#clock = parts.clock
  }

  /** This process has the lease from now on. */
  hold(lease: Lease, leaseMs: number, askedAt: Instant, position: Position | null): void {
    this.#leases.hold(lease.run_id, lease.fence, leaseMs, askedAt)
    this.#makeWriter(lease, position)
  }

  /** The lease with this fence is over: another process has claimed the run, or this one anew. */
  lose(lease: Pick<Lease, "run_id" | "fence">): void {
    this.#writers.get(keyOf(lease))?.lose()
  }

  /** Runs that have open questions with a stored outcome. */
  async withOutcomes(): Promise<string[]> {
    const found: string[] = []
    for (const writer of this.#writers.values()) {
      const { asking = [] } = writer.position?.carried ?? {}
      if (asking.length > 0 && (await this.#asked.haveOutcomes(writer.run_id, asking))) found.push(writer.run_id)
    }
    return found
  }

  /** Gives all leases back, as far as the broker answers. */
  async releaseAll(): Promise<void> {
    await Promise.all(this.#leases.held().map(({ run_id, fence }) => this.#part({ run_id, owner: "", fence })))
  }

  async append(lease: Lease, events: readonly LogEvent[]): Promise<void> {
    try {
      await this.#writerOf(lease).append(events)
      await this.#unmark(lease.run_id, questionsIn(events).taken)
    } catch (error) {
      if (error instanceof LeaseLost) this.#forgetLease(lease)
      throw error
    }
  }

  /** The log shows these outcomes from now on. */
  async #unmark(run_id: string, taken: readonly string[]): Promise<void> {
    try {
      await this.#parking.unmark(run_id, taken.map(tokenOfId))
    } catch (error) {
      // Marks that are left do no harm; they are removed when the run is parked or ends.
      if (!(error instanceof StoreFailure)) throw error
    }
  }

  async condemn(lease: Lease, end: LogEvent): Promise<void> {
    const { run_id, fence } = lease
    const caused = causedBy([end])
    // Appends in progress are stored first, or refused.
    await this.#writers.get(keyOf(lease))?.end()
    for (;;) {
      const tail = await this.#reader.tail(run_id)
      if (tail === null || tail.facts.fence !== fence || endOf(tail.facts) !== null) {
        this.#forgetLease(lease)
        throw new LeaseLost(run_id)
      }
      const facts = {
        kind: "events",
        fence,
        session: this.#leases.session,
        last: end.id,
        end: Date.parse(end.at),
        condemned: end,
        ...carriedOn(tail.facts),
        ...(caused === null ? {} : { caused }),
      } as const
      const stored = await fillSlot(this.#broker, this.#reader, run_id, tail.slot + 1, facts, [])
      if (stored === null || stored.kind !== "events") continue
      this.#live.stored(run_id, tail.slot + 1, [end], 0, true)
      await this.#ended(run_id, tail.slot + 1, stored)
      return
    }
  }

  #writerOf(lease: Lease): LogWriter {
    return this.#writers.get(keyOf(lease)) ?? this.#makeWriter(lease, null)
  }

  #makeWriter(lease: Lease, position: Position | null): LogWriter {
    const writer = new LogWriter(
      this.#broker,
      this.#reader,
      lease,
      this.#leases.session,
      {
        now: () => this.#clock.monotonic(),
        stored: (run_id, slot, facts, stored, bytes) => {
          this.#live.stored(run_id, slot, stored, bytes, facts.end !== null)
        },
        ended: (run_id, slot, facts) => this.#ended(run_id, slot, facts),
        parked: (_, slot, facts) => this.#parked(lease, { slot, facts, parts: [] }),
        asking: (slot, events) => this.#entries.announce(lease, slot, events),
      },
      position,
    )
    this.#writers.set(keyOf(lease), writer)
    return writer
  }

  async #ended(run_id: string, slot: number, facts: EventsFacts): Promise<void> {
    this.#leases.drop(run_id, facts.fence)
    this.#writers.delete(keyOf({ run_id, fence: facts.fence }))
    try {
      const head = await this.#reader.head(run_id)
      if (head !== null) await this.#open.close(run_id, { slot, facts, parts: [] }, head)
    } catch (error) {
      // The run has ended, and its log says so. It is still among the open ones: the next process that looks for work removes it.
      if (!(error instanceof StoreFailure)) throw error
    }
  }

  async #parked(lease: Lease, tail: Slot): Promise<void> {
    const { run_id } = lease
    this.#forgetLease(lease)
    try {
      const head = await this.#reader.head(run_id)
      // Outcomes that came meanwhile were announced before the run could be claimed.
      if (head !== null && (await this.#parking.park(run_id, head, tail))) this.#news.say(run_id)
    } catch (error) {
      // The run is parked, and its log says so. The next process that looks for work finds it among the open ones and cleans up.
      if (!(error instanceof StoreFailure)) throw error
    }
  }

  async renew(lease: Lease, leaseMs: number): Promise<boolean> {
    const { run_id, fence } = lease
    const askedAt = instant(this.#clock)
    if (await this.#isHeld(lease, leaseMs)) {
      if (await this.#leases.renew(run_id, fence, leaseMs, askedAt)) return true
      if (await this.#settle(lease)) {
        this.#leases.hold(run_id, fence, leaseMs, askedAt)
        return true
      }
    }
    this.#forgetLease(lease)
    return false
  }

  /** Asks the log who owns the run: the process that fills its next slot. */
  async #settle(lease: Lease): Promise<boolean> {
    try {
      await this.#writerOf(lease).renew()
      return true
    } catch (error) {
      if (error instanceof LeaseLost) return false
      throw error
    }
  }

  /** Whether the log says that the lease is ours. */
  async #isHeld(lease: Lease, leaseMs: number): Promise<boolean> {
    const { run_id, fence } = lease
    const writer = this.#writers.get(keyOf(lease))
    // The append that is under way shows who owns the run.
    await writer?.idle()
    if (writer?.lost === true) return false
    const now = this.#clock.monotonic()
    if (writer !== undefined && now - writer.confirmedAt < leaseMs / 2) return true
    const position = writer?.position ?? null
    if (writer === undefined || position === null) {
      const tail = await this.#reader.tail(run_id)
      return tail !== null && tail.facts.fence === fence && endOf(tail.facts) === null
    }
    const next: Slot | null = await this.#reader.slot(run_id, position.slot + 1, "near")
    if (next === null || next.facts.fence === fence) {
      writer.confirmedAt = now
      return true
    }
    writer.lose()
    return false
  }

  #forgetLease(lease: Lease): void {
    this.#leases.drop(lease.run_id, lease.fence)
    this.#writers.delete(keyOf(lease))
  }

  async release(lease: Lease, hold: number): Promise<void> {
    const { run_id, fence } = lease
    const writer = this.#writers.get(keyOf(lease))
    // What was asked for before is stored, what comes after is refused.
    await writer?.end()
    this.#leases.drop(run_id, fence)
    for (;;) {
      const tail = await this.#reader.tail(run_id)
      if (tail === null || tail.facts.fence !== fence || endOf(tail.facts) !== null) break
      const facts = {
        kind: "release",
        fence: fence + 1,
        session: "",
        last: tail.facts.last,
        ...carriedOn(tail.facts),
      } as const
      if ((await fillSlot(this.#broker, this.#reader, run_id, tail.slot + 1, facts, [], hold)) !== null) {
        await this.#leases.say()
        break
      }
    }
    this.#writers.delete(keyOf(lease))
  }

  /** A lease that cannot be given back expires. */
  async #part(lease: Lease): Promise<void> {
    try {
      await this.release(lease, holdMs.parting)
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error
    }
  }
}

function keyOf({ run_id, fence }: Pick<Lease, "run_id" | "fence">): string {
  return `${run_id} ${fence}`
}
