import { createHmac, randomBytes } from "node:crypto"
import { fraction } from "../../base/fraction.ts"
import { remembered } from "../../base/remembered.ts"
import type { WakeUp } from "../../base/wake-up.ts"
import { OnceListeners } from "../../ports/listeners.ts"
import { Tally } from "../../base/tally.ts"
import { checkAppend } from "../../ports/check-append.ts"
import { isTerminal, type LogEvent } from "../../log/events.ts"
import { usageAfter } from "../../log/usage-after.ts"
import { comesAfter, fitsQuery, type ListedRun, type RunQuery } from "../../ports/run-list.ts"
import { bucketsOf, countedRun, statsMs, type RunBucket, type StatsQuery } from "../../ports/run-stats.ts"
import type { Alarm } from "../../log/replay-data.ts"
import { armed } from "../../ports/waits.ts"
import { followLog } from "../../ports/follow-log.ts"
import { Questions } from "../../ports/question-store.ts"
import {
  LeaseLost,
  NoSuchRun,
  OutOfSequence,
  StoreFailure,
  WaitSettled,
  type CreateOutcome,
  type Deletion,
  type ExistingRun,
  type Idempotency,
  type ClaimedLease,
  type Lease,
  type NewRun,
  type RunLookup,
  type RunMove,
  type RunRequest,
  type RunStore,
} from "../../ports/store.ts"
import { leaseEnd, wallOf, type Clock } from "../../ports/clock.ts"
import { keptOutput } from "../../ports/kept-output.ts"
import { untilClosed } from "../../ports/wrap-store.ts"
import type { MapsThat } from "../../store/left-behind.ts"
import { MemoryCache } from "./memory-cache.ts"
import { MemoryFiles } from "./memory-files.ts"
import { MemoryEvents } from "./memory-events.ts"
import { MemoryOutbox } from "./memory-outbox.ts"
import { MemoryTriggers } from "./memory-triggers.ts"
import { MemoryActions } from "./memory-actions.ts"
import { MemoryErasure } from "./memory-erasure.ts"
import { MemoryScores } from "./memory-scores.ts"
import { MemoryLedger } from "./memory-ledger.ts"
import { MemoryVersions } from "./memory-versions.ts"
import { noRuns, type RunCounts } from "../../ports/version-store.ts"
import { beginningEntry, type LedgerRow } from "../../ports/ledger.ts"
import { MemoryWaits } from "./memory-waits.ts"
import { ParkedRuns } from "./parked-runs.ts"
import {
  eventsAfter,
  listedRun,
  newStoredRun,
  lookedUp,
  redactStored,
  storedBytes,
  withKept,
  withoutKept,
  type StoredRun,
} from "./stored-run.ts"

/** How many events a follower is handed at a time. */
const pageEvents = 100
const tombstoneMs = 30 * 24 * 3_600_000
const maxTombstones = 100_000
/** Runs that charts count: no disk grows with them. */
const maxEnded = 100_000

/** Keeps runs in this process and nowhere else: for tests, and for `WIRE_STORE=memory`. */
export class MemoryStore implements RunStore {
  readonly waits: MemoryWaits
  readonly questions: Questions
  readonly outbox: MemoryOutbox
  readonly cache: MemoryCache
  readonly triggers = new MemoryTriggers()
  readonly ledger: MemoryLedger
  readonly sentEvents: MemoryEvents
  readonly versions: MemoryVersions
  readonly files: MemoryFiles
  readonly actions = new MemoryActions()
  readonly erasure: MemoryErasure
  readonly scores: MemoryScores
  readonly #clock: Clock
  readonly #runs = new Map<string, StoredRun>()
  /** Runs that have not ended and are not parked. */
  readonly #active = new Map<string, StoredRun>()
  readonly #parked = new ParkedRuns()
  readonly #cancelListeners = new OnceListeners()
  /** How many runs were ever made. */
  #made = 0
  readonly #byKey = new Map<string, string>()
  readonly #keptKeys = new Map<
    string,
    { readonly run_id: string; readonly fingerprint: string; readonly until: number }
  >()
  readonly #tombstones = new Map<string, { readonly caller: string; readonly until: number }>()
  /** Erased runs. */
  readonly #erased = new Map<string, { readonly caller: string; readonly erased_at: number }>()
  /** By caller, in bytes. */
  readonly #stored = new Tally()
  /** Runs that have ended, or wait for people, since somebody last asked what is stored: most services never ask. */
  readonly #uncounted = new Set<StoredRun>()
  /** Runs that have ended, for charts. */
  #ended: ListedRun[] = []
  /** By the run that they shadow. */
  readonly #shadows = new Map<string, Set<string>>()
  readonly #hashKey = randomBytes(32)
  #closed = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.cache = new MemoryCache(clock)
    this.waits = new MemoryWaits(clock, this.#parked)
    this.sentEvents = new MemoryEvents(clock, this.waits)
    this.files = new MemoryFiles(clock, (run_id) => {
      const run = this.#runs.get(run_id)
      return run === undefined ? null : run.finished_at === null
    })
    this.erasure = new MemoryErasure(
      {
        all: () => this.#runs,
        made: () => this.#made,
        erase: (run_id) => this.#delete(run_id, true),
        now: () => clock.now(),
      },
      this.#erased,
    )
    this.questions = new Questions(this.waits)
    this.outbox = new MemoryOutbox(clock)
    this.ledger = new MemoryLedger(clock)
    this.scores = new MemoryScores(clock, (run_id) => this.#runs.get(run_id))
    this.versions = new MemoryVersions(clock, (workflow, caller) => this.#runsOf(workflow, caller))
  }

  async create(run: NewRun, owner: string, leaseMs: number): Promise<CreateOutcome> {
    const slot = run.idempotency === null ? null : together(run.caller, run.idempotency.key)
    const existing = run.idempotency === null ? null : this.#existing(run.caller, run.idempotency)
    if (existing !== null) return existing
    if (this.#runs.has(run.run_id)) throw new StoreFailure(`There is a run ${run.run_id} already`)
    const missing = this.files.missing(run.caller, run.files ?? [])
    if (missing !== undefined) return { outcome: "file gone", file_id: missing }
    const stored = newStoredRun(run, ++this.#made, slot, leaseEnd(this.#clock, leaseMs))
    this.#runs.set(run.run_id, stored)
    this.#active.set(run.run_id, stored)
    if (slot !== null) this.#byKey.set(slot, run.run_id)
    this.files.useInputs(run.run_id, run.files ?? [])
    const { release, shadow_of } = run.request.workflow ?? {}
    if (shadow_of !== undefined) remembered(this.#shadows, shadow_of, () => new Set()).add(run.run_id)
    // A shadow counts in no budget.
    if (release !== "shadow") this.#enter(run.run_id, stored, [beginningEntry(run.created_at)])
    return { outcome: "created", lease: { run_id: run.run_id, owner, fence: stored.fence } }
  }

  async existing(caller: string, idempotency: Idempotency): Promise<ExistingRun | null> {
    return this.#existing(caller, idempotency)
  }

  #existing(caller: string, { key, fingerprint }: Idempotency): ExistingRun | null {
    const run_id = this.#byKey.get(together(caller, key))
    if (run_id === undefined) return this.#keptKey(together(caller, key), fingerprint)
    const same = this.#runs.get(run_id)?.idempotency?.fingerprint === fingerprint
    return { outcome: same ? "exists" : "conflict", run_id }
  }

  /** The run of a key that outlives it. */
  #keptKey(slot: string, fingerprint: string): ExistingRun | null {
    const kept = this.#keptKeys.get(slot)
    if (kept === undefined || kept.until <= this.#clock.now()) return null
    return { outcome: kept.fingerprint === fingerprint ? "exists" : "conflict", run_id: kept.run_id }
  }

  async lookup(run_id: string): Promise<RunLookup> {
    const run = this.#runs.get(run_id)
    if (run === undefined) {
      const tombstone = this.#erased.get(run_id) ?? this.#tombstones.get(run_id)
      return tombstone === undefined ? { found: "nothing" } : { found: "expired", caller: tombstone.caller }
    }
    return lookedUp(run_id, run)
  }

  async list(query: RunQuery): Promise<ListedRun[]> {
    const { caller, previews, limit, after } = query
    const found: ListedRun[] = []
    for (const [run_id, run] of this.#runs) {
      if (caller !== null && run.caller !== caller) continue
      if (query.score !== null && !this.scores.matches(run_id, query.score)) continue
      const listed = listedRun(run_id, run, false)
      if (fitsQuery(listed, query) && (after === null || comesAfter(listed, after))) found.push(listed)
    }
    const page = found.sort((a, b) => (comesAfter(a, b) ? 1 : -1)).slice(0, limit)
    if (!previews) return page
    return page.flatMap(({ run_id }) => {
      const run = this.#runs.get(run_id)
      return run === undefined ? [] : [listedRun(run_id, run, true, this.scores.listed(run_id))]
    })
  }

  async stats(query: StatsQuery): Promise<RunBucket[]> {
    const open = [...this.#runs].flatMap(([run_id, run]) =>
      run.finished_at === null ? [listedRun(run_id, run, false)] : [],
    )
    return bucketsOf([...this.#ended, ...open].flatMap((run) => countedRun(run, query)))
  }

  async request(run_id: string): Promise<RunRequest> {
    const run = this.#runs.get(run_id)
    if (run === undefined) throw new NoSuchRun(run_id)
    return run.request
  }

  /** By version. */
  #runsOf(workflow: string, caller: string | null): Map<string, RunCounts> {
    const counts = new Map<string, RunCounts>()
    for (const run of this.#runs.values()) {
      const of = run.request.workflow
      if (of?.name !== workflow || of.release === "shadow" || (caller !== null && run.caller !== caller)) continue
      const state = run.finished_at !== null ? "ended" : run.parked === "waiting" ? "waiting" : "open"
      const before = counts.get(of.version) ?? noRuns
      counts.set(of.version, { ...before, [state]: before[state] + 1 })
    }
    return counts
  }

  #enter(run_id: string, { caller, request }: StoredRun, rows: readonly LedgerRow[]): void {
    this.ledger.set(run_id, caller, request.workflow?.name ?? "", rows)
  }

  async append(
    lease: Lease,
    events: readonly LogEvent[],
    entries: readonly LedgerRow[] = [],
    move?: RunMove,
  ): Promise<void> {
    checkAppend(events)
    const run = this.#held(lease)
    if (run === undefined) throw new LeaseLost(lease.run_id)
    const [first, last] = [events[0], events.at(-1)]
    if (first === undefined || last === undefined) return
    if (first.id !== run.events.length + 1) throw new OutOfSequence(lease.run_id, first.id, run.events.length)

    if (!this.waits.areOpen(lease.run_id, events)) throw new WaitSettled(lease.run_id)
    if (move !== undefined) {
      run.request = { ...move.request, secrets: run.request.secrets }
      run.scored = move.scored === true
      run.private ||= move.private === true
    }
    run.usage = events.reduce(usageAfter, run.usage)
    for (const event of events) run.events.push(event.kept === undefined ? event : withoutKept(event, run.kept))
    if (entries.length > 0) this.#enter(lease.run_id, run, entries)
    this.outbox.add(lease.run_id, run.caller, run.request.options.notify, events)
    this.waits.appended(lease.run_id, run.caller, events)
    if (isTerminal(last.type)) return this.#finish(lease.run_id, run, last)
    if (last.type === "run_waiting") this.#park(lease.run_id, run)
    if (move?.wakes === true) this.waits.wake(lease.run_id)
    for (const wakeUp of run.wakeUps) wakeUp.signal()
  }

  async parkAgain(lease: Lease, alarms: readonly Alarm[]): Promise<void> {
    const run = this.#held(lease)
    if (run === undefined) throw new LeaseLost(lease.run_id)
    this.waits.rearm(lease.run_id, run.caller, armed(alarms, this.#clock.now(), run.events.length))
    this.#park(lease.run_id, run)
  }

  /** What a run that has ended, or waits for people, takes of what its caller may store. */
  #count(run: StoredRun): void {
    const bytes = storedBytes(run)
    this.#stored.add(run.caller, bytes - run.counted)
    run.counted = bytes
  }

  #park(run_id: string, run: StoredRun): void {
    this.#uncounted.add(run)
    run.fence++
    run.given_back = true
    this.#active.delete(run_id)
    this.#parked.park(run_id, run)
    if (run.cancel_requested || this.waits.hasOutcomes(run_id)) this.waits.wake(run_id)
  }

  async read(run_id: string, after: number, limit: number, kept?: "kept"): Promise<LogEvent[]> {
    const run = this.#runs.get(run_id)
    const events = eventsAfter(run, after, limit)
    return run === undefined || kept === undefined ? events : events.map((event) => withKept(event, run.kept))
  }

  async failAsCorrupt(lease: Lease, end: LogEvent): Promise<void> {
    const run = this.#held(lease)
    if (run === undefined) throw new LeaseLost(lease.run_id)
    run.end = end
    this.outbox.add(lease.run_id, run.caller, run.request.options.notify, [end])
    run.events.length = 0
    run.kept.clear()
    this.#finish(lease.run_id, run, end)
  }

  #finish(run_id: string, run: StoredRun, end: LogEvent): void {
    this.#uncounted.add(run)
    const { keeper } = run.request
    const kept = keptOutput(keeper, end)
    if (keeper !== undefined && kept !== null) this.triggers.keep(keeper.id, run_id, kept)
    run.finished_at = Date.parse(end.at)
    // Nothing that leads to the run: it may be deleted.
    if (this.#ended.length >= maxEnded) this.#ended.splice(0, maxEnded / 10)
    this.#ended.push({ ...listedRun("", { ...run, events: [end] }, false), trigger: null })
    run.fence++
    if (run.scored && end.type === "workflow_completed") this.scores.completed(run_id)
    run.request = { ...run.request, secrets: {} }
    this.waits.withdraw(run_id, run.finished_at)
    this.#active.delete(run_id)
    for (const wakeUp of run.wakeUps) wakeUp.signal()
  }

  follow(run_id: string, after: number, signal: AbortSignal): AsyncIterable<LogEvent> {
    const run = this.#runs.get(run_id)
    const log = {
      run_id,
      page: (last: number) => {
        const events = eventsAfter(run, last, pageEvents)
        return { events, over: run === undefined || run.finished_at !== null || this.#closed }
      },
      watch: (wakeUp: WakeUp) => {
        run?.wakeUps.add(wakeUp)
        return () => run?.wakeUps.delete(wakeUp)
      },
    }
    return followLog(log, after, signal)
  }

  async claimParked(run_id: string, owner: string, leaseMs: number): Promise<Lease | null> {
    const run = this.#runs.get(run_id)
    if (run?.parked !== "waiting" || run.cancel_requested) return null
    this.#parked.wake(run_id)
    this.#parked.claimed(run_id, run)
    this.#active.set(run_id, run)
    run.given_back = false
    run.lease_until = leaseEnd(this.#clock, leaseMs)
    return { run_id, owner, fence: ++run.fence }
  }

  async claim(owner: string, limit: number, leaseMs: number): Promise<ClaimedLease[]> {
    const now = Math.floor(this.#clock.monotonic())
    const until = leaseEnd(this.#clock, leaseMs)
    const leases: ClaimedLease[] = []
    const take = (run_id: string, run: StoredRun, woken: boolean): void => {
      run.fence++
      run.lease_until = until
      leases.push({ run_id, owner, fence: run.fence, given_back: run.given_back, woken })
      run.given_back = false
    }
    for (const [run_id, run] of this.#parked.woken()) {
      if (leases.length >= limit) break
      take(run_id, run, true)
      this.#parked.claimed(run_id, run)
      this.#active.set(run_id, run)
    }
    for (const [run_id, run] of this.#oldestFirst()) {
      if (leases.length >= limit) break
      if (run.lease_until <= now) take(run_id, run, false)
    }
    return leases
  }

  /** Runs that were parked are at the end of `#active`. */
  #oldestFirst(): [string, StoredRun][] {
    return [...this.#active].sort(([, one], [, other]) => one.number - other.number)
  }

  async renew(lease: Lease, leaseMs: number): Promise<boolean> {
    const run = this.#held(lease)
    if (run !== undefined) run.lease_until = leaseEnd(this.#clock, leaseMs)
    return run !== undefined
  }

  async release(lease: Lease): Promise<void> {
    const run = this.#held(lease)
    if (run === undefined) return
    run.fence++
    run.lease_until = Number.NEGATIVE_INFINITY
    run.given_back = true
  }

  async requestCancel(run_id: string): Promise<boolean> {
    const run = this.#runs.get(run_id)
    if (run === undefined || run.finished_at !== null) return false
    run.cancel_requested = true
    if (run.parked === "waiting") this.waits.wake(run_id)
    this.#cancelListeners.tell(run_id)
    return true
  }

  onCancel(run_id: string, listener: () => void): () => void {
    const run = this.#runs.get(run_id)
    if (run === undefined || run.finished_at !== null) return () => {}
    const stop = this.#cancelListeners.add(run_id, listener)
    if (run.cancel_requested) this.#cancelListeners.tell(run_id)
    return stop
  }

  async stored(caller: string): Promise<number> {
    for (const run of this.#uncounted) this.#count(run)
    this.#uncounted.clear()
    return this.#stored.of(caller)
  }

  async sweep(ended_before: number, private_before = Number.NEGATIVE_INFINITY): Promise<number> {
    const now = this.#clock.now()
    let swept = 0
    this.#runs.forEach((run, run_id) => {
      if (run.finished_at === null) return
      if (run.finished_at < ended_before) {
        this.#erase(run_id, run)
        swept++
      } else if (run.private && run.redacted === null && run.finished_at < private_before)
        this.#redact(run_id, run, now)
    })
    for (const [run_id, { until }] of this.#tombstones) {
      if (until > now && this.#tombstones.size <= maxTombstones) break
      this.#tombstones.delete(run_id)
    }
    for (const [slot, { until }] of this.#keptKeys) if (until <= now) this.#keptKeys.delete(slot)
    this.cache.sweep(now)
    this.ledger.sweep(now)
    this.actions.sweep(now)
    this.scores.sweep(now)
    this.#ended = this.#ended.filter(({ created_at }) => created_at + statsMs > now)
    this.sentEvents.sweep(now)
    this.files.sweep(now)
    return swept
  }

  #redact(run_id: string, run: StoredRun, now: number): void {
    redactStored(run, now)
    this.files.dropThoseOf(run_id)
    this.files.forgetRun(run_id)
    this.waits.forget(run_id)
    this.outbox.forget(run_id)
    this.#uncounted.delete(run)
    this.#stored.add(run.caller, -run.counted)
    run.counted = 0
  }

  async delete(run_id: string): Promise<Deletion> {
    return this.#delete(run_id, false)
  }

  #delete(run_id: string, forGood: boolean): Deletion {
    const run = this.#runs.get(run_id)
    if (run === undefined) return "gone"
    if (run.finished_at === null) return "open"
    this.#erase(run_id, run, forGood)
    this.triggers.forgetRun(run_id)
    return "deleted"
  }

  /** With its shadows, open ones too. */
  #erase(run_id: string, run: StoredRun, forGood = false): void {
    for (const shadow of this.#shadows.get(run_id) ?? []) {
      const found = this.#runs.get(shadow)
      if (found !== undefined) this.#erase(shadow, found, forGood)
    }
    if (forGood) {
      this.outbox.drop(run_id)
      this.files.dropThoseOf(run_id)
      this.erasure.remember(run_id, run.caller)
    }
    this.#shadows.get(run.request.workflow?.shadow_of ?? "")?.delete(run_id)
    const erase: Readonly<Record<MapsThat<"with the run" | "after the run" | "when settled">, () => void>> = {
      runs: () => this.#runs.delete(run_id),
      active: () => this.#active.delete(run_id),
      parked: () => this.#parked.claimed(run_id, run),
      uncounted: () => this.#uncounted.delete(run),
      shadows: () => this.#shadows.delete(run_id),
      waits: () => this.waits.forget(run_id),
      outbox: () => this.outbox.forget(run_id),
      ledger: () => this.ledger.forget(run_id),
      files: () => this.files.forgetRun(run_id),
      scores: () => this.scores.forget(run_id),
    }
    for (const act of Object.values(erase)) act()
    if (run.finished_at === null) for (const wakeUp of run.wakeUps) wakeUp.signal()
    this.#stored.add(run.caller, -run.counted)
    if (run.idempotency !== null) {
      const { slot, fingerprint, kept_until } = run.idempotency
      this.#byKey.delete(slot)
      if (forGood) this.#keptKeys.delete(slot)
      else if (kept_until > this.#clock.now()) this.#keptKeys.set(slot, { run_id, fingerprint, until: kept_until })
    }
    if (!forGood) this.#tombstones.set(run_id, { caller: run.caller, until: this.#clock.now() + tombstoneMs })
  }

  async keyedHash(parts: readonly string[]): Promise<number> {
    return fraction(createHmac("sha256", this.#hashKey).update(JSON.stringify(parts)).digest())
  }

  async time(): Promise<number> {
    return wallOf(this.#clock)
  }

  async probe(): Promise<void> {}

  async close(): Promise<void> {
    this.#closed = true
    for (const run of this.#runs.values()) for (const wakeUp of run.wakeUps) wakeUp.signal()
  }

  /** The run, if this lease is still the right to write to it. */
  #held(lease: Lease): StoredRun | undefined {
    const run = this.#active.get(lease.run_id)
    return run?.fence === lease.fence ? run : undefined
  }
}

/** Refuses everything once it is closed. */
export function openMemoryStore(clock: Clock): RunStore {
  return untilClosed(new MemoryStore(clock))
}

/** One key for two strings. */
function together(a: string, b: string): string {
  return JSON.stringify([a, b])
}
