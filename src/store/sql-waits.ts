import type { SealedEvents } from "./sealed-events.ts"
import { loopTurns } from "../event-loop/loop-turns.ts"
import type { LogEvent } from "../log/events.ts"
import type { Clock } from "../ports/clock.ts"
import type { DataKey, Vault } from "../ports/vault.ts"
import {
  armed,
  cutPage,
  type OpenedWait,
  waitsIn,
  type Settling,
  type Wait,
  type WaitCounts,
  type WaitKind,
  type WaitKinds,
  type WaitOutcome,
  type WaitPage,
  type WaitQuery,
  type WaitStore,
} from "../ports/waits.ts"
import type { Changes } from "./changes.ts"
import type { LogReader } from "./log-reader.ts"
import type { Alarm } from "../log/replay-data.ts"
import type { Lease } from "../ports/store.ts"
import type { AppendedWaits, AppendOperation } from "./operations.ts"
import { sealOutcome, sealWait, waitKeyDigest } from "./sealed-waits.ts"
import type { SqlMedium } from "./sql-medium.ts"
import type { Steps } from "./sql.ts"
import type { StoredWait, WaitReader } from "./wait-reader.ts"

/** Whether events open waits, or take outcomes in. */
export function concernsWaits(events: readonly LogEvent[]): boolean {
  const { opened, taken, withdrawn, disarms } = waitsIn(events)
  return opened.length > 0 || taken.length > 0 || withdrawn.length > 0 || disarms
}

/** What runs wait for: seals waits and outcomes, and tells the listeners of outcomes. */
export class SqlWaits implements WaitStore {
  readonly #medium: SqlMedium
  readonly #log: LogReader
  readonly #reader: WaitReader
  readonly #changes: Changes
  readonly #vault: Vault
  readonly #clock: Clock

  constructor(medium: SqlMedium, log: LogReader, reader: WaitReader, changes: Changes, vault: Vault, clock: Clock) {
    this.#medium = medium
    this.#log = log
    this.#reader = reader
    this.#changes = changes
    this.#vault = vault
    this.#clock = clock
  }

  /** What an append says of waits, and its blobs. */
  appended(
    sealKey: DataKey,
    events: readonly LogEvent[],
    parks: boolean,
    log: readonly [
      ...SealedEvents,
      endPreview: Uint8Array | null,
      keptOutput: Uint8Array | null,
      request: Uint8Array | null,
    ],
  ): Pick<AppendOperation, "waits" | "blobs"> {
    const { opened, taken, withdrawn, disarms } = waitsIn(events)
    if (!concernsWaits(events) && !parks) return { blobs: log }
    const { rows, blobs } = this.#rows(sealKey, opened)
    return {
      waits: { now: this.#clock.now(), opened: rows, taken, withdrawn, disarms, parks },
      blobs: [...log, ...blobs],
    }
  }

  async parkAgain({ run_id, fence }: Lease, alarms: readonly Alarm[]): Promise<boolean> {
    const head = await this.#medium.read(this.#log.head(run_id))
    if (head === undefined) return false
    const now = this.#clock.now()
    const { rows, blobs } = this.#rows(head.key, armed(alarms, now, 0))
    const waits = { now, opened: rows, taken: [], withdrawn: [], disarms: false, parks: true }
    return this.#medium.send({ kind: "park again", run_id, fence, waits, blobs }, { news: { what: "outcome", run_id } })
  }

  #rows(
    sealKey: DataKey,
    opened: readonly OpenedWait[],
  ): { readonly rows: AppendedWaits["opened"]; readonly blobs: (Uint8Array | null)[] } {
    const blobs = opened.flatMap((wait) => [
      sealWait(sealKey, wait),
      wait.key === null ? null : waitKeyDigest(this.#vault, wait.kind, wait.key),
    ])
    return { rows: opened.map(({ kind, id, opened_at, due_at }) => ({ kind, id, opened_at, due_at })), blobs }
  }

  async ofRun<K extends WaitKind>(run_id: string, kind: K, limit: number, after: string | null): Promise<WaitPage<K>> {
    const stored = await this.#medium.read(this.#reader.ofRun(run_id, kind, limit + 1, numberOf(after)))
    return this.#page(stored, limit, (num) => this.#reader.read<K>(num, this.#clock.now()))
  }

  async one<K extends WaitKind>(run_id: string, kind: K, id: string): Promise<Wait<K> | null> {
    return this.#medium.read(this.#reader.one(run_id, kind, id, this.#clock.now()))
  }

  async list<K extends WaitKind>(query: WaitQuery<K>): Promise<WaitPage<K>> {
    const { limit, after } = query
    const stored = await this.#medium.read(this.#reader.list(query, this.#clock.now(), numberOf(after)))
    return this.#page(stored, limit, (num) => this.#reader.listed(num, query, this.#clock.now()))
  }

  /** Opens those that fit on a page, in turns. */
  async #page<K extends WaitKind>(
    stored: readonly StoredWait[],
    limit: number,
    open: (num: number) => Steps<Wait<K> | null>,
  ): Promise<WaitPage<K>> {
    const { fitting, more } = cutPage(stored, limit, ({ bytes }) => bytes)
    const found: { wait: Wait<K>; position: string }[] = []
    for (const { num, bytes } of fitting) {
      await loopTurns.spend(bytes)
      const wait = await this.#medium.read(open(num))
      if (wait !== null) found.push({ wait, position: String(num) })
    }
    const last = fitting.at(-1)
    return { found, next: more && last !== undefined ? String(last.num) : null }
  }

  async settle<K extends WaitKind>(
    run_id: string,
    kind: K,
    id: string,
    outcome: WaitKinds[K]["outcome"],
  ): Promise<Settling<K> | null> {
    const head = await this.#medium.read(this.#log.head(run_id))
    if (head === undefined) return null
    const now = this.#clock.now()
    const blobs = [sealOutcome(head.key, kind, id, outcome)] as const
    const result = await this.#medium.send(
      { kind: "settle", run: head.num, wait: [kind, id], now, blobs },
      { news: { what: "outcome", run_id } },
    )
    if (result === "stored" || result === "late") this.#changes.outcomeStored(run_id)
    const wait = await this.#medium.read(this.#reader.one(run_id, kind, id, now))
    return wait === null ? null : { stored: result === "stored", wait }
  }

  async nextDue(): Promise<number | null> {
    return this.#medium.read(this.#reader.nextDue())
  }

  async settleDue(): Promise<number> {
    const now = this.#clock.now()
    let all = 0
    while (await this.#medium.read(this.#reader.isDue(now))) {
      const news = { what: "all", run_id: "" } as const
      const due = await this.#medium.send({ kind: "settle due", now, blobs: [] }, { news })
      for (const run_id of new Set(due)) this.#changes.outcomeStored(run_id)
      if (due.length === 0) break
      all += due.length
    }
    return all
  }

  async outcomes(run_id: string): Promise<WaitOutcome[]> {
    const found: WaitOutcome[] = []
    for (const { num, bytes } of await this.#medium.read(this.#reader.outcomes(run_id))) {
      await loopTurns.spend(bytes)
      const outcome = await this.#medium.read(this.#reader.outcome(num))
      if (outcome !== null) found.push(outcome)
    }
    return found
  }

  onOutcome(listener: (run_id: string) => void): () => void {
    return this.#changes.onOutcome(listener)
  }

  async parked(caller: string): Promise<number> {
    return this.#medium.read(this.#reader.parked(caller))
  }

  async counts(): Promise<WaitCounts> {
    return this.#medium.read(this.#reader.counts())
  }
}

/** The number of the wait that a page begins after. Nothing comes after a position that no page has given. */
function numberOf(position: string | null): number {
  const number = position === null ? 0 : Number(position)
  return Number.isSafeInteger(number) ? number : Number.MAX_SAFE_INTEGER
}
