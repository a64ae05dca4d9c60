import type { LogEvent } from "../../log/events.ts"
import { isTerminal } from "../../log/events.ts"
import { instant, type Clock, type Instant } from "../../ports/clock.ts"
import { causedBy } from "../../ports/notices.ts"
import { LeaseLost, StoreFailure, type Lease } from "../../ports/store.ts"
import { waitsIn } from "../../ports/waits.ts"
import { sealEvents, textOfEvents } from "../../store/sealed-events.ts"
import { holdMs, type Broker } from "./broker.ts"
import type { Leases } from "./leases.ts"
import type { LiveLogs } from "./live-log.ts"
import type { Outbox } from "./nats-outbox.ts"
import type { NatsWaits } from "./nats-waits.ts"
import { packFrame } from "./frame.ts"
import type { Retention } from "./retention.ts"
import type { Rows } from "./rows.ts"
import { afterEvents, ended, isOpen, type RunFacts, type RunRows, type StoredRun } from "./run-rows.ts"
import { batchEvents, isOverAfter, RunWriter, type WriterStore } from "./run-writer.ts"
import type { Write } from "./transport.ts"

interface OwnRunsParts {
  readonly broker: Broker
  readonly rows: Rows
  readonly runs: RunRows
  readonly live: LiveLogs
  readonly leases: Leases
  readonly waits: NatsWaits
  readonly outbox: Outbox
  readonly retention: Retention
  readonly clock: Clock
}

/** The runs that this process holds: it appends to their logs, and renews and gives back their leases. */
export class OwnRuns implements WriterStore {
  readonly #parts: OwnRunsParts
  readonly #broker: Broker
  readonly #runs: RunRows
  readonly #leases: Leases
  readonly #clock: Clock
  /** By run and fence. */
  readonly #writers = new Map<string, RunWriter>()

  constructor(parts: OwnRunsParts) {
    this.#parts = parts
    this.#broker = parts.broker
    this.#runs = parts.runs
    this.#leases = parts.leases
    this.#clock = parts.clock
  }

  now(): number {
    return this.#clock.monotonic()
  }

  token(): string {
    return this.#broker.token(9)
  }

  /** This process has the lease from now on. */
  hold(lease: Lease, leaseMs: number, askedAt: Instant, run: StoredRun): void {
    this.#leases.hold(lease.run_id, lease.fence, leaseMs, askedAt)
    this.#writers.set(keyOf(lease), new RunWriter(this, lease, run))
  }

  /** The lease with this fence is over: another process has claimed the run, or this one anew. */
  lose(lease: Pick<Lease, "run_id" | "fence">): void {
    this.#writers.get(keyOf(lease))?.lose()
  }

  /** Runs with outcomes that the log does not show. */
  async withOutcomes(): Promise<string[]> {
    const found: string[] = []
    for (const { hasWaits, run_id } of this.#writers.values()) {
      if (!hasWaits) continue
      const run = await this.#runs.get(run_id)
      if ((run?.facts.outcomes ?? []).length > 0) found.push(run_id)
    }
    return found
  }

  // ------------------------------------------------------------------------------------------------------ appending

  async append(lease: Lease, events: readonly LogEvent[]): Promise<void> {
    try {
      for (const some of inParts(events)) await this.#writerOf(lease).append(some)
    } catch (error) {
      if (error instanceof LeaseLost) this.#forgetLease(lease)
      throw error
    }
  }

  async load({ run_id, fence }: Lease): Promise<StoredRun> {
    const run = await this.#runs.get(run_id)
    if (run === null || run.facts.fence !== fence || !isOpen(run.facts)) throw new LeaseLost(run_id)
    return run
  }

  async write(run: StoredRun, events: readonly LogEvent[], nonce: string): Promise<StoredRun | null> {
    const key = await this.#runs.key(run)
    const last = events.at(-1)?.id ?? 0
    const [body, kept] = sealEvents(key, textOfEvents(events, last))
    const facts = { ...afterEvents(run, events, this.#clock.now()), appended: nonce, nonce }
    return this.#replace(
      run,
      facts,
      [...this.#parts.waits.opened(run, key, events), ...this.#parts.outbox.caused(run, causedBy(events))],
      kept === null ? [body] : [body, kept],
    )
  }

  /** Replaces the row of a run, and adds what finds it as it stands then. Null: the row is not the one that was read. */
  async #replace(
    run: StoredRun,
    facts: RunFacts,
    more: readonly Write[],
    events: readonly Uint8Array[] = [],
    hold?: number,
  ): Promise<StoredRun | null> {
    const writes = [...more, ...this.#entries(run, facts), ...this.#runs.next(run, facts, events)]
    const seq = await this.#broker.write(writes, hold)
    return seq === null ? null : { ...run, facts, seq, damaged: 0 }
  }

  #entries({ run_id, facts: before }: StoredRun, facts: RunFacts): Write[] {
    if (facts.finished_at !== undefined) return []
    if (facts.waiting === true) {
      return [{ subject: this.#parts.waits.parkedSubject(run_id, facts), data: packFrame({}, []) }]
    }
    return facts.fence === before.fence ? [] : [this.#runs.openEntry(run_id, facts)]
  }

  async isStored(run_id: string, nonce: string): Promise<boolean> {
    return (await this.#runs.get(run_id))?.facts.appended === nonce
  }

  touch(run: StoredRun): Promise<StoredRun | null> {
    return this.#replace(run, this.#runs.named(run.facts), [])
  }

  async stored(lease: Lease, run: StoredRun, events: readonly LogEvent[]): Promise<void> {
    const { run_id } = lease
    // Followers get what was stored, not what the caller has in hand and might change.
    const { text } = textOfEvents(events, events.at(-1)?.id ?? 0)
    this.#parts.live.stored(run_id, JSON.parse(text) as LogEvent[], text.length)
    if (causedBy(events) !== null) this.#parts.outbox.stored()
    if (!isOverAfter(events)) return
    this.#forgetLease(lease)
    const last = events.at(-1)
    await this.#over(run, last !== undefined && isTerminal(last.type) ? last : null, opens(run.facts, events))
  }

  /** The run has ended or waits: its row says so, and what is left of the time before goes. */
  async #over({ run_id, facts }: StoredRun, end: LogEvent | null, hasWaits: boolean): Promise<void> {
    try {
      await Promise.all([
        end === null ? null : this.#parts.retention.ended(run_id, Date.parse(end.at), hasWaits),
        this.#parts.rows.remove(this.#runs.openSubject(run_id, facts)),
      ])
    } catch (error) {
      // Whoever looks for work finds an entry that is left, and the next sweep the rest.
      if (!(error instanceof StoreFailure)) throw error
    }
  }

  async failAsCorrupt(lease: Lease, end: LogEvent): Promise<void> {
    const { run_id } = lease
    // Appends in progress are stored first, or refused.
    await this.#writers.get(keyOf(lease))?.end()
    for (;;) {
      const run = await this.#held(lease)
      const facts = { ...this.#runs.named(ended(run.facts, end)), failedAsCorrupt: end }
      const notices = this.#parts.outbox.caused(run, causedBy([end]))
      if ((await this.#replace(run, facts, notices)) === null) continue
      this.#parts.live.failedAsCorrupt(run_id, end)
      if (notices.length > 0) this.#parts.outbox.stored()
      this.#forgetLease(lease)
      await this.#over(run, end, facts.opened === true)
      return
    }
  }

  async #held(lease: Lease): Promise<StoredRun> {
    try {
      return await this.load(lease)
    } catch (error) {
      if (error instanceof LeaseLost) this.#forgetLease(lease)
      throw error
    }
  }

  #writerOf(lease: Lease): RunWriter {
    const known = this.#writers.get(keyOf(lease))
    if (known !== undefined) return known
    const writer = new RunWriter(this, lease, null)
    this.#writers.set(keyOf(lease), writer)
    return writer
  }

  // --------------------------------------------------------------------------------------------------------- leases

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

  /** A renewal that comes late: whoever replaces the run's row next owns the run. */
  async #settle(lease: Lease): Promise<boolean> {
    try {
      await this.#writerOf(lease).renew()
      return true
    } catch (error) {
      if (error instanceof LeaseLost) return false
      throw error
    }
  }

  /** Whether the run's row says that the lease is ours. */
  async #isHeld(lease: Lease, leaseMs: number): Promise<boolean> {
    const writer = this.#writers.get(keyOf(lease))
    // The append that is under way shows who owns the run.
    await writer?.idle()
    if (writer?.lost === true) return false
    const now = this.now()
    if (writer !== undefined && now - writer.confirmedAt < leaseMs / 2) return true
    try {
      await this.load(lease)
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
      writer?.lose()
      return false
    }
    if (writer !== undefined) writer.confirmedAt = now
    return true
  }

  async release(lease: Lease, hold: number): Promise<void> {
    const { run_id, fence } = lease
    const writer = this.#writers.get(keyOf(lease))
    // What was asked for before is stored, what comes after is refused.
    await writer?.end()
    this.#leases.drop(run_id, fence)
    for (;;) {
      const run = await this.#runs.get(run_id)
      if (run === null || run.facts.fence !== fence || !isOpen(run.facts)) break
      const facts = { ...this.#runs.named(run.facts), fence: fence + 1, session: "" }
      if ((await this.#replace(run, facts, [], [], hold)) === null) continue
      await this.#parts.rows.remove(this.#runs.openSubject(run_id, run.facts))
      await this.#leases.say()
      break
    }
    this.#writers.delete(keyOf(lease))
  }

  /** Gives all leases back, as far as the broker answers. */
  async releaseAll(): Promise<void> {
    await Promise.all(this.#leases.held().map(({ run_id, fence }) => this.#part({ run_id, owner: "", fence })))
  }

  /** A lease that cannot be given back expires. */
  async #part(lease: Lease): Promise<void> {
    try {
      await this.release(lease, holdMs.parting)
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error
    }
  }

  #forgetLease(lease: Lease): void {
    this.#leases.drop(lease.run_id, lease.fence)
    this.#writers.delete(keyOf(lease))
  }
}

/** Parts whose waits fit into one batch each. Most appends are one part. */
function inParts(events: readonly LogEvent[]): (readonly LogEvent[])[] {
  if (waitsIn(events).opened.length <= batchEvents) return [events]
  const parts: LogEvent[][] = []
  for (let at = 0; at < events.length; at += batchEvents) parts.push(events.slice(at, at + batchEvents))
  return parts
}

function opens(before: RunFacts, events: readonly LogEvent[]): boolean {
  return before.opened === true || waitsIn(events).opened.length > 0
}

function keyOf({ run_id, fence }: Pick<Lease, "run_id" | "fence">): string {
  return `${run_id} ${fence}`
}
