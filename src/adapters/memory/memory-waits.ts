import { Listeners } from "../../ports/listeners.ts"
import { memoryOf } from "../../base/memory-of.ts"
import type { LogEvent } from "../../log/events.ts"
import type { Clock } from "../../ports/clock.ts"
import {
  countOpen,
  cutPage,
  isAlarm,
  isAskedFor,
  openStatusOf,
  waitsIn,
  type OpenedWait,
  type Settling,
  type Wait,
  type WaitCounts,
  type WaitKind,
  type WaitKinds,
  type WaitOutcome,
  type WaitPage,
  type WaitQuery,
  type WaitStore,
} from "../../ports/waits.ts"
import type { ParkedRuns } from "./parked-runs.ts"

interface Stored {
  readonly number: number
  readonly caller: string
  readonly opened: OpenedWait
  /** Replaced once, by the outcome. */
  wait: Wait
  /** The log shows the outcome. */
  taken: boolean
}

/** What the runs of a `MemoryStore` wait for, in the order in which the waits were opened. */
export class MemoryWaits implements WaitStore {
  readonly #clock: Clock
  readonly #stored = new Set<Stored>()
  readonly #byRun = new Map<string, Map<string, Stored>>()
  readonly #parked: ParkedRuns
  readonly #listeners = new Listeners<[run_id: string]>()
  #opened = 0
  /** No open wait is due earlier. */
  #nextDue = Number.POSITIVE_INFINITY

  constructor(clock: Clock, parked: ParkedRuns) {
    this.#clock = clock
    this.#parked = parked
  }

  appended(run_id: string, caller: string, events: readonly LogEvent[]): void {
    const { opened, taken, withdrawn, disarms } = waitsIn(events)
    if (opened.length === 0 && taken.length === 0 && withdrawn.length === 0 && !disarms) return
    const ofRun = this.#byRun.get(run_id) ?? new Map<string, Stored>()
    this.#byRun.set(run_id, ofRun)
    for (const [id, stored] of disarms ? ofRun : []) {
      if (!isAlarm(stored.wait.kind)) continue
      this.#stored.delete(stored)
      ofRun.delete(id)
    }
    this.#open(ofRun, run_id, caller, opened)
    for (const id of taken) {
      const stored = ofRun.get(id)
      if (stored === undefined) continue
      stored.taken = true
      // The run itself may have seen that a time has come.
      if (stored.wait.status === "open") stored.wait = { ...stored.wait, status: "due", settled_at: this.#clock.now() }
    }
    for (const id of withdrawn) {
      const stored = ofRun.get(id)
      if (stored === undefined) continue
      stored.taken = true
      stored.wait = { ...stored.wait, status: "withdrawn", settled_at: this.#clock.now() }
    }
  }

  /** Whether the waits that these events withdraw are open. */
  areOpen(run_id: string, events: readonly LogEvent[]): boolean {
    return waitsIn(events).withdrawn.every((id) => {
      const stored = this.#byRun.get(run_id)?.get(id)
      return stored !== undefined && this.#seen(stored).status === "open"
    })
  }

  /** Alarms in place of those with their ids. */
  rearm(run_id: string, caller: string, opened: readonly OpenedWait[]): void {
    const ofRun = this.#byRun.get(run_id) ?? new Map<string, Stored>()
    this.#byRun.set(run_id, ofRun)
    for (const { id } of opened) {
      const before = ofRun.get(id)
      if (before !== undefined) this.#stored.delete(before)
    }
    this.#open(ofRun, run_id, caller, opened)
  }

  #open(ofRun: Map<string, Stored>, run_id: string, caller: string, opened: readonly OpenedWait[]): void {
    for (const one of opened) {
      const { kind, id, about } = one
      const wait: Wait = { kind, run_id, id, status: "open", about, outcome: null, settled_at: null }
      const stored = { number: ++this.#opened, caller, opened: one, wait, taken: false }
      this.#stored.add(stored)
      this.#nextDue = Math.min(this.#nextDue, one.due_at)
      ofRun.set(id, stored)
    }
  }

  async ofRun<K extends WaitKind>(run_id: string, kind: K, limit: number, after: string | null): Promise<WaitPage<K>> {
    return this.#page(
      this.#ofRun(run_id).filter(({ wait }) => wait.kind === kind),
      limit,
      after,
    )
  }

  #ofRun(run_id: string): Stored[] {
    return [...(this.#byRun.get(run_id)?.values() ?? [])]
  }

  async one<K extends WaitKind>(run_id: string, kind: K, id: string): Promise<Wait<K> | null> {
    const stored = this.#one(run_id, kind, id)
    return stored === undefined ? null : (this.#seen(stored) as Wait<K>)
  }

  #one(run_id: string, kind: WaitKind, id: string): Stored | undefined {
    const stored = this.#byRun.get(run_id)?.get(id)
    return stored?.wait.kind === kind ? stored : undefined
  }

  async list<K extends WaitKind>(query: WaitQuery<K>): Promise<WaitPage<K>> {
    const { kind, status, limit, after } = query
    const found = this.#found((stored) => {
      const { wait, caller } = stored
      return wait.kind === kind && this.#seen(stored).status === status && isAskedFor(query, caller, wait as Wait<K>)
    })
    return this.#page(found, limit, after)
  }

  #page<K extends WaitKind>(waits: readonly Stored[], limit: number, after: string | null): WaitPage<K> {
    const from = after === null ? 0 : Number(after)
    const { fitting, more } = cutPage(
      Number.isSafeInteger(from) ? waits.filter(({ number }) => number > from) : [],
      limit,
      ({ wait: { about, outcome } }) => memoryOf(about) + memoryOf(outcome),
    )
    const found = fitting.map((stored) => ({ wait: this.#seen(stored) as Wait<K>, position: String(stored.number) }))
    return { found, next: more ? (found.at(-1)?.position ?? null) : null }
  }

  async settle<K extends WaitKind>(
    run_id: string,
    kind: K,
    id: string,
    outcome: WaitKinds[K]["outcome"],
  ): Promise<Settling<K> | null> {
    return this.settleNow(run_id, kind, id, outcome)
  }

  settleNow<K extends WaitKind>(
    run_id: string,
    kind: K,
    id: string,
    outcome: WaitKinds[K]["outcome"],
  ): Settling<K> | null {
    const stored = this.#one(run_id, kind, id)
    if (stored === undefined) return null
    if (stored.wait.status !== "open") return { stored: false, wait: stored.wait as Wait<K> }
    const settled_at = this.#clock.now()
    const isLate = openStatusOf(stored.opened.due_at, settled_at) === "due"
    stored.wait = isLate
      ? { ...stored.wait, status: "due", settled_at }
      : { ...stored.wait, status: "settled", outcome, settled_at }
    this.wake(run_id)
    return { stored: !isLate, wait: stored.wait as Wait<K> }
  }

  /** The number of the wait that was opened last. */
  get last(): number {
    return this.#opened
  }

  isAfter(run_id: string, id: string, number: number): boolean {
    return (this.#byRun.get(run_id)?.get(id)?.number ?? 0) > number
  }

  async nextDue(): Promise<number | null> {
    return Number.isFinite(this.#nextDue) ? this.#nextDue : null
  }

  async settleDue(): Promise<number> {
    const now = this.#clock.now()
    if (now < this.#nextDue) return 0
    const open = this.#found(({ wait }) => wait.status === "open")
    const due = open.filter(({ opened }) => opened.due_at <= now)
    due.sort((one, other) => one.opened.due_at - other.opened.due_at)
    this.#nextDue = open.reduce(
      (next, { opened }) => (opened.due_at <= now ? next : Math.min(next, opened.due_at)),
      Number.POSITIVE_INFINITY,
    )
    for (const stored of due) stored.wait = { ...stored.wait, status: "due", settled_at: now }
    for (const run_id of new Set(due.map(({ wait }) => wait.run_id))) this.wake(run_id)
    return due.length
  }

  /** Whether there are some that the log does not show yet. */
  hasOutcomes(run_id: string): boolean {
    return this.#ofRun(run_id).some(({ wait, taken }) => wait.status !== "open" && !taken)
  }

  async outcomes(run_id: string): Promise<WaitOutcome[]> {
    return this.#ofRun(run_id).flatMap(({ wait: { kind, id, status, outcome }, taken }) =>
      status === "open" || taken ? [] : [{ kind, id, status, outcome }],
    )
  }

  /** The run has a new outcome: the process that works on it takes it in, and a parked run can be claimed. */
  wake(run_id: string): void {
    this.#parked.wake(run_id)
    this.#listeners.tell(run_id)
  }

  onOutcome(listener: (run_id: string) => void): () => void {
    return this.#listeners.add(listener)
  }

  async parked(caller: string): Promise<number> {
    return this.#parked.waitingOf(caller)
  }

  async counts(): Promise<WaitCounts> {
    const open = this.#found(({ wait }) => wait.status === "open")
    return { runs: this.#parked.waiting, open: countOpen(open.map(({ opened }) => opened)) }
  }

  /** The run has ended: what is open was due before, or is withdrawn. */
  withdraw(run_id: string, finished_at: number): void {
    for (const stored of this.#ofRun(run_id)) {
      stored.taken = true
      if (stored.wait.status !== "open") continue
      stored.wait = { ...stored.wait, status: openStatusOf(stored.opened.due_at, finished_at, finished_at) }
    }
  }

  forget(run_id: string): void {
    for (const stored of this.#ofRun(run_id)) this.#stored.delete(stored)
    this.#byRun.delete(run_id)
  }

  #found(fits: (stored: Stored) => boolean): Stored[] {
    const found: Stored[] = []
    for (const stored of this.#stored) if (fits(stored)) found.push(stored)
    return found
  }

  #seen({ wait, opened }: Stored): Wait {
    if (wait.status !== "open") return wait
    const status = openStatusOf(opened.due_at, this.#clock.now())
    return status === "open" ? wait : { ...wait, status }
  }
}
