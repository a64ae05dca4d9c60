import { memoryOf } from "../../base/memory-of.ts"
import type { LogEvent } from "../../log/events.ts"
import type { Clock } from "../../ports/clock.ts"
import { Damaged } from "../../ports/store.ts"
import type { DataKey, Vault } from "../../ports/vault.ts"
import {
  countOpen,
  fits,
  isAskedFor,
  openStatusOf,
  waitPageBytes,
  waitsIn,
  type Settling,
  type Wait,
  type WaitCounts,
  type WaitFilter,
  type WaitKind,
  type WaitKinds,
  type WaitOutcome,
  type WaitPage,
  type WaitQuery,
  type WaitStatus,
  type WaitStore,
} from "../../ports/waits.ts"
import { openOutcome, openWait, sealOutcome, sealWait, waitKeyDigest } from "../../store/sealed-waits.ts"
import type { Announcements } from "./announcements.ts"
import type { Broker } from "./broker.ts"
import { packFrame } from "./frame.ts"
import { hourOf, isRunId, lastToken, padded, tokenOf, tokenOfId, waitAt, type WaitEntry } from "./names.ts"
import { inTurns, together, type Row, type Rows } from "./rows.ts"
import { woken, type RunFacts, type RunRows, type StoredRun } from "./run-rows.ts"
import type { Write } from "./transport.ts"

/** How old a list of many waits or runs may be: in a list of waits, for an admission, and for metrics. What is shown of a wait is read anew. */
const recentMs = 1_000
const countedMs = 10_000
/** How often all open waits are looked at, and not those of this hour and the one before. */
const allHoursMs = 600_000
/** How many waits of one run are found due in one step. */
const dueTogether = 200

/** What has come of a wait. Written once: the first writer decides. */
export interface OutcomeFacts {
  readonly kind: WaitKind
  readonly id: string
  readonly status: "settled" | "due"
  readonly at: number
  /** Tells our own attempts to settle it from others'. */
  readonly nonce: string
}

/** The row of a wait: what it is about is sealed beside its facts. Written once. */
type WaitRow = Row<WaitEntry>
type OutcomeRow = Row<OutcomeFacts>

/** What runs wait for. A wait is a row, its outcome another one; entries find those that are open and those that are settled. */
export class NatsWaits implements WaitStore {
  readonly #broker: Broker
  readonly #rows: Rows
  readonly #runs: RunRows
  readonly #news: Announcements
  readonly #vault: Vault
  readonly #clock: Clock
  #sawAllAt = Number.NEGATIVE_INFINITY

  constructor(parts: {
    readonly broker: Broker
    readonly rows: Rows
    readonly runs: RunRows
    readonly news: Announcements
    readonly vault: Vault
    readonly clock: Clock
  }) {
    this.#broker = parts.broker
    this.#rows = parts.rows
    this.#runs = parts.runs
    this.#news = parts.news
    this.#vault = parts.vault
    this.#clock = parts.clock
  }

  // --------------------------------------------------------------------------------------- with what runs append

  /** What to write with an append whose events open waits. */
  opened({ run_id, facts: { caller } }: StoredRun, key: DataKey, events: readonly LogEvent[]): Write[] {
    const { names } = this.#broker
    return waitsIn(events).opened.flatMap((wait) => {
      const { kind, id, event_id, opened_at, due_at } = wait
      const hashes = { caller: this.#caller(caller), key: this.#key(kind, wait.key) }
      const entry: WaitEntry = { kind, run_id, id, event_id, ...hashes, opened_at, due_at }
      return [
        ...this.#rows.pack(run_id, names.wait(run_id, tokenOfId(id)), entry, [sealWait(key, wait)], { expected: 0 }),
        { subject: names.due(entry), data: packFrame({}, []) },
      ]
    })
  }

  parkedSubject(run_id: string, { caller, fence }: RunFacts): string {
    return this.#broker.names.parked(this.#caller(caller), run_id, fence)
  }

  /** The run has ended: what is open is no longer in the list of open waits. */
  async withdraw(run_id: string): Promise<void> {
    const subjects = await this.#broker.list("rows", this.#broker.names.dueOfRun(run_id))
    await inTurns(subjects, async (subject) => {
      const wait = await this.#wait(run_id, lastToken(subject))
      if (wait !== null) await this.#broker.put(this.#broker.names.settled(wait.facts), packFrame({}, []))
      await this.#rows.remove(subject)
    })
  }

  /** Retention deletes the run. */
  async forget(run_id: string): Promise<void> {
    const { names } = this.#broker
    for (const subject of await this.#broker.list("rows", names.waitsOf(run_id))) {
      const wait = await this.#rows.read<WaitEntry>(subject)
      if (wait !== null) await this.#rows.remove(names.due(wait.facts), names.settled(wait.facts), subject)
    }
    await this.#rows.removeAll(names.outcomesOf(run_id))
  }

  /** Removes entries of runs that have been woken or have ended: the process that was to do it died. */
  async tidy(isOver: (run_id: string) => Promise<boolean>): Promise<void> {
    const due = await this.#broker.list("rows", this.#broker.names.anyDue)
    for (const run_id of new Set(due.map((subject) => waitAt(subject).run_id))) {
      if (await isOver(run_id)) await this.withdraw(run_id)
    }
    for (const subject of await this.#broker.list("rows", this.#broker.names.parked("*", "*", "*"))) {
      const [run_id = "", fence] = subject.split(".").slice(-2)
      const run = await this.#runs.get(run_id)
      if (run?.facts.waiting !== true || run.facts.fence !== Number(fence)) await this.#rows.remove(subject)
    }
  }

  // -------------------------------------------------------------------------------------------------------- reading

  async ofRun<K extends WaitKind>(run_id: string, kind: K, limit: number, after: string | null): Promise<WaitPage<K>> {
    const run = isRunId(run_id) ? await this.#runs.get(run_id) : null
    if (run === null || run.facts.opened !== true) return { found: [], next: null }
    const subjects = await this.#broker.list("rows", this.#broker.names.waitsOf(run_id))
    const waits = new Map<string, WaitRow>()
    for (const wait of await inTurns(subjects, (subject) => this.#rows.read<WaitEntry>(subject))) {
      if (wait?.facts.kind === kind) waits.set(padded(wait.facts.event_id), wait)
    }
    return this.#page([...waits.keys()], limit, after, async (position) => {
      const wait = waits.get(position)
      return wait === undefined ? null : this.#view<K>(wait, run)
    })
  }

  async one<K extends WaitKind>(run_id: string, kind: K, id: string): Promise<Wait<K> | null> {
    const run = isRunId(run_id) ? await this.#runs.get(run_id) : null
    const wait = run === null ? null : await this.#wait(run_id, tokenOfId(id))
    return run === null || wait?.facts.kind !== kind ? null : this.#view<K>(wait, run)
  }

  async list<K extends WaitKind>(query: WaitQuery<K>): Promise<WaitPage<K>> {
    const { kind, status, limit, after } = query
    const { names } = this.#broker
    const filters = query.any.map((filter) => this.#hashed(kind, filter))
    // Waits of which it is not stored yet that they are due are among the open ones.
    const places = [
      ...(status === "open" || status === "due" ? [names.dueOf] : []),
      ...(status === "open" ? [] : [names.settledOf]),
    ]
    const lists = await Promise.all(
      places.flatMap((place) =>
        filters.map(({ caller = "*", key = "*" }) =>
          this.#broker.listRecent("rows", place(kind, caller, key), recentMs),
        ),
      ),
    )
    const found = new Map<string, { readonly run_id: string; readonly token: string }>()
    for (const subject of lists.flat()) {
      const { caller, key, opened_at, run_id, event_id, token } = waitAt(subject)
      if (!filters.some((filter) => fits(filter, caller, key))) continue
      found.set(`${opened_at}.${run_id}.${event_id}`, { run_id, token })
    }
    return this.#page([...found.keys()], limit, after, async (position) => {
      const { run_id = "", token = "" } = found.get(position) ?? {}
      const wait = await this.#listed(run_id, token, query)
      return wait?.status === status ? wait : null
    })
  }

  #hashed(kind: WaitKind, filter: WaitFilter): WaitFilter {
    const key = filter.key === undefined ? {} : { key: this.#key(kind, filter.key) }
    if (filter.caller === undefined) return { key: this.#key(kind, filter.key) }
    const butKeys = (filter.butKeys ?? []).map((one) => this.#key(kind, one))
    return { caller: this.#caller(filter.caller), ...key, butKeys }
  }

  /** Null where it was put into this list in the broker: the run's key and the sealed wait say whose it is. */
  async #listed<K extends WaitKind>(run_id: string, token: string, query: WaitQuery<K>): Promise<Wait<K> | null> {
    try {
      const [run, row] = await Promise.all([this.#runs.get(run_id), this.#wait(run_id, token)])
      const wait = run === null || row?.facts.kind !== query.kind ? null : await this.#view<K>(row, run)
      return run !== null && wait !== null && isAskedFor(query, run.facts.caller, wait) ? wait : null
    } catch (error) {
      // Damage is reported to the reader of that run.
      if (error instanceof Damaged) return null
      throw error
    }
  }

  /** Reads the waits at these positions in their order, until the page is full. */
  async #page<K extends WaitKind>(
    positions: readonly string[],
    limit: number,
    after: string | null,
    read: (position: string) => Promise<Wait<K> | null>,
  ): Promise<WaitPage<K>> {
    const order = positions.toSorted().filter((position) => after === null || position > after)
    const found: { wait: Wait<K>; position: string }[] = []
    let bytes = 0
    for (let at = 0; at < order.length; at += together) {
      const some = order.slice(at, at + together)
      const waits = await Promise.all(some.map((position) => read(position)))
      for (const [index, position] of some.entries()) {
        const wait = waits[index] ?? null
        if (wait === null) continue
        bytes += memoryOf(wait.about) + memoryOf(wait.outcome)
        const isFull = found.length >= limit || (found.length > 0 && bytes > waitPageBytes)
        if (isFull) return { found, next: found.at(-1)?.position ?? null }
        found.push({ wait, position })
      }
    }
    return { found, next: null }
  }

  /** The wait as it stands; null where its run was deleted meanwhile. */
  async #view<K extends WaitKind>(row: WaitRow, run: StoredRun): Promise<Wait<K> | null> {
    const { run_id, id, due_at } = row.facts
    const kind = row.facts.kind as K
    const key = await this.#runs.key(run)
    const [sealed] = (await this.#rows.whole(row, 1))?.parts ?? []
    if (sealed === undefined) return null
    const about = openWait(key, kind, id, sealed)
    const settled = await this.#outcome(run_id, tokenOfId(id))
    const status: WaitStatus =
      settled?.facts.status ?? openStatusOf(due_at, this.#clock.now(), run.facts.finished_at ?? null)
    const outcome = settled === null ? null : await this.#given<K>(settled, key)
    return { kind, run_id, id, status, about, outcome, settled_at: settled?.facts.at ?? null }
  }

  /** Null where the wait was due. */
  async #given<K extends WaitKind>(row: OutcomeRow, key: DataKey): Promise<WaitKinds[K]["outcome"] | null> {
    const { kind, id, status } = row.facts
    const sealed = status === "settled" ? (await this.#rows.whole(row, 1))?.parts[0] : undefined
    return sealed === undefined ? null : openOutcome(key, kind as K, id, sealed)
  }

  /** Outcomes that the log does not show, the oldest wait first. */
  async outcomes(run_id: string): Promise<WaitOutcome[]> {
    const run = await this.#runs.get(run_id)
    if (run === null || run.facts.finished_at !== undefined) return []
    const found = await inTurns(run.facts.outcomes ?? [], async (id) => {
      const token = tokenOfId(id)
      const [wait, settled] = await Promise.all([this.#wait(run_id, token), this.#outcome(run_id, token)])
      if (wait === null || settled === null) throw new Damaged(`Wait ${id} of run ${run_id} has no outcome`)
      const { kind, event_id } = wait.facts
      const outcome = await this.#given(settled, await this.#runs.key(run))
      return { event_id, outcome: { kind, id, status: settled.facts.status, outcome } }
    })
    return found.toSorted((a, b) => a.event_id - b.event_id).map(({ outcome }) => outcome)
  }

  onOutcome(listener: (run_id: string) => void): () => void {
    return this.#news.onOutcome(listener)
  }

  /** With many runs the count may be a moment old: every admission asks for it. */
  async parked(caller: string): Promise<number> {
    const filter = this.#broker.names.parked(this.#caller(caller), "*", "*")
    return (await this.#broker.listRecent("rows", filter, recentMs)).length
  }

  async counts(): Promise<WaitCounts> {
    const { names } = this.#broker
    const [parked, due] = await Promise.all([
      this.#broker.listRecent("rows", names.parked("*", "*", "*"), countedMs),
      this.#broker.listRecent("rows", names.anyDue, countedMs),
    ])
    const open = due.map(waitAt).map(({ kind, opened_at }) => ({ kind, opened_at: Number(opened_at) }))
    return { runs: parked.length, open: countOpen(open) }
  }

  // ------------------------------------------------------------------------------------------------------- settling

  async settle<K extends WaitKind>(
    run_id: string,
    kind: K,
    id: string,
    outcome: WaitKinds[K]["outcome"],
  ): Promise<Settling<K> | null> {
    if (!isRunId(run_id)) return null
    const nonce = this.#broker.token(9)
    const token = tokenOfId(id)
    for (;;) {
      const [run, wait] = await Promise.all([this.#runs.get(run_id), this.#wait(run_id, token)])
      if (run === null || wait?.facts.kind !== kind) return null
      const settled = await this.#outcome(run_id, token)
      if (settled !== null || run.facts.finished_at !== undefined) {
        const found = await this.#view<K>(wait, run)
        const stored = settled?.facts.nonce === nonce && settled.facts.status === "settled"
        return found === null ? null : { stored, wait: found }
      }
      const isLate = openStatusOf(wait.facts.due_at, this.#clock.now()) === "due"
      const parts = isLate ? [] : [sealOutcome(await this.#runs.key(run), kind, id, outcome)]
      // Again from the start in any case: what is stored by then is the outcome.
      await this.#store(run, [{ wait, parts, status: isLate ? "due" : "settled" }], nonce)
    }
  }

  /** Stores outcomes of one run in one step, and wakes the run if it waits. False: something has changed since it was read. */
  async #store(
    run: StoredRun,
    settled: readonly {
      readonly wait: WaitRow
      readonly status: OutcomeFacts["status"]
      readonly parts: Uint8Array[]
    }[],
    nonce: string,
  ): Promise<boolean> {
    const { run_id } = run
    const now = this.#clock.now()
    const ids = settled.map(({ wait }) => wait.facts.id)
    const outcomes = [...(run.facts.outcomes ?? []), ...ids]
    const facts = this.#runs.named(woken({ ...run.facts, outcomes }, now))
    const isWoken = run.facts.waiting === true
    const { names } = this.#broker
    const seq = await this.#broker.write([
      ...settled.flatMap(({ wait: { facts: of }, status, parts }) => {
        const outcome: OutcomeFacts = { kind: of.kind, id: of.id, status, at: now, nonce }
        const subject = names.outcome(run_id, tokenOfId(of.id))
        return [
          ...this.#rows.pack(run_id, subject, outcome, parts, { expected: 0 }),
          { subject: names.settled(of), data: packFrame({}, []) },
        ]
      }),
      ...(isWoken ? [this.#runs.openEntry(run_id, facts)] : []),
      ...this.#runs.next(run, facts),
    ])
    if (seq === null) return false
    await this.#rows.remove(
      ...settled.map(({ wait }) => names.due(wait.facts)),
      ...(isWoken ? [this.parkedSubject(run_id, run.facts)] : []),
    )
    this.#news.outcome(run_id)
    return true
  }

  async settleDue(): Promise<number> {
    const now = this.#clock.now()
    const due = Map.groupBy(await this.#due(now), (subject) => waitAt(subject).run_id)
    let count = 0
    for (const [run_id, subjects] of due) {
      for (let at = 0; at < subjects.length; at += dueTogether) {
        count += await this.#settleDueOf(run_id, subjects.slice(at, at + dueTogether), now)
      }
    }
    return count
  }

  /** Entries of waits whose time has come. */
  async #due(now: number): Promise<string[]> {
    const { names } = this.#broker
    const isTimeForAll = this.#broker.now() - this.#sawAllAt >= allHoursMs
    const filters = isTimeForAll ? [names.anyDue] : [hourOf(now) - 1, hourOf(now)].map(names.dueIn)
    const found = (await Promise.all(filters.map((filter) => this.#broker.list("rows", filter)))).flat()
    if (isTimeForAll) this.#sawAllAt = this.#broker.now()
    return found.filter((subject) => waitAt(subject).due_at <= now)
  }

  async #settleDueOf(run_id: string, subjects: readonly string[], now: number): Promise<number> {
    const nonce = this.#broker.token(9)
    for (;;) {
      const run = await this.#runs.get(run_id)
      if (run === null || run.facts.finished_at !== undefined) {
        if (run !== null) await this.withdraw(run_id)
        else await this.#rows.remove(...subjects)
        return 0
      }
      const outcomes = await inTurns(subjects, (subject) => this.#outcome(run_id, lastToken(subject)))
      const ours = outcomes.filter((outcome) => outcome?.facts.nonce === nonce).length
      if (ours > 0) return ours
      const open = subjects.filter((_, index) => outcomes[index] === null)
      const waits = await inTurns(open, (subject) => this.#wait(run_id, lastToken(subject)))
      const due = waits.filter((wait) => wait !== null && wait.facts.due_at <= now)
      const settled = due.flatMap((wait) => (wait === null ? [] : [{ wait, status: "due" as const, parts: [] }]))
      if (settled.length === 0) {
        // The process that settled them died before it removed their entries.
        await this.#rows.remove(...subjects)
        return 0
      }
      if (await this.#store(run, settled, nonce)) return settled.length
    }
  }

  #wait(run_id: string, token: string): Promise<WaitRow | null> {
    return this.#rows.read(this.#broker.names.wait(run_id, token))
  }

  #outcome(run_id: string, token: string): Promise<OutcomeRow | null> {
    return this.#rows.read(this.#broker.names.outcome(run_id, token))
  }

  #caller(caller: string): string {
    return tokenOf(this.#vault.digest("caller of waits", [caller]))
  }

  #key(kind: WaitKind, key: string | null): string {
    return key === null ? "-" : tokenOf(waitKeyDigest(this.#vault, kind, key))
  }
}
