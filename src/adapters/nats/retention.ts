import type { Clock } from "../../ports/clock.ts"
import { Damaged, type Deletion } from "../../ports/store.ts"
import type { SubjectsThat } from "../../store/left-behind.ts"
import type { Broker } from "./broker.ts"
import { packFrame } from "./frame.ts"
import { lastToken } from "./names.ts"
import type { Outbox } from "./nats-outbox.ts"
import type { NatsWaits } from "./nats-waits.ts"
import { inTurns, open, type Rows } from "./rows.ts"
import type { RunEntries } from "./run-list.ts"
import type { RunRows, StoredRun } from "./run-rows.ts"
import type { Write } from "./transport.ts"

/** Ends are stored in the order in which they came; the clocks of the processes may differ by so much. */
const clockDifferenceMs = 10 * 60_000
const batchSize = 25
/** How often all runs are looked at, and not only those that are known to have ended. */
const allRunsMs = 3_600_000
/** For so long a key that is free is seen to be so. */
const freeKeyMs = 60_000

/** What the row of an idempotency key says. */
export interface KeyFacts {
  readonly run_id: string
  readonly fingerprint: string
  /** It outlives its run until then. */
  readonly until?: number
  /** Its run is gone, and with it the key. */
  readonly free?: true
}

type OfDeletedRun = SubjectsThat<"with the run" | "after the run" | "at its end" | "when settled">

/** The facts that a sweep needs to remove the rest of a deleted run. */
interface Remains {
  readonly listed: string
}

/** Deletes runs, and what runs leave behind when they end. */
export class Retention {
  readonly #broker: Broker
  readonly #rows: Rows
  readonly #runs: RunRows
  readonly #entries: RunEntries
  readonly #outbox: Outbox
  readonly #waits: NatsWaits
  readonly #clock: Clock
  readonly #tombstoneMs: number
  #foundAllAt = Number.NEGATIVE_INFINITY

  constructor(parts: {
    readonly broker: Broker
    readonly rows: Rows
    readonly runs: RunRows
    readonly entries: RunEntries
    readonly outbox: Outbox
    readonly waits: NatsWaits
    readonly clock: Clock
    readonly tombstoneMs: number
  }) {
    this.#broker = parts.broker
    this.#rows = parts.rows
    this.#runs = parts.runs
    this.#entries = parts.entries
    this.#outbox = parts.outbox
    this.#waits = parts.waits
    this.#clock = parts.clock
    this.#tombstoneMs = parts.tombstoneMs
  }

  /** The row of the run says that it has ended. */
  async ended(run_id: string, finished_at: number, hasWaits: boolean): Promise<void> {
    const { names } = this.#broker
    await Promise.all([
      // Their bytes are overwritten on the disk.
      this.#broker.erase("rows", names.secrets(run_id)),
      this.#broker.put(names.ended(run_id), packFrame({ finished_at }, [])),
      hasWaits ? this.#waits.withdraw(run_id) : null,
    ])
  }

  async delete(run_id: string): Promise<Deletion> {
    const { names } = this.#broker
    for (;;) {
      const run = await this.#runs.get(run_id)
      if (run === null) return "gone"
      if (run.facts.finished_at === undefined) return "open"
      const { caller, workflow, created_at } = run.facts
      const listed = names.listed({ caller, workflow: workflow?.name ?? null, created_at, run_id })
      const remains: Remains = { listed }
      const gone = { caller, until: this.#clock.now() + this.#tombstoneMs }
      // A broker that is full takes no tombstone, however small: what is deleted makes room for it.
      if (this.#broker.isFull) await this.#broker.dropHistory(names.run(run_id))
      const seq = await this.#broker.write([
        { subject: names.deleted(run_id), data: packFrame(remains, []) },
        ...(await this.#freeKey(run)),
        this.#runs.bury(run_id, gone, run.seq, this.#tombstoneMs),
      ])
      if (seq === null) continue
      await this.#removeRemains(run_id, remains)
      return "deleted"
    }
  }

  /** A key that outlives its run stays; another one is free. Nobody else takes it before the run is gone. */
  async #freeKey({ run_id, facts: { key, key_until } }: StoredRun): Promise<Write[]> {
    if (key === undefined) return []
    const subject = this.#broker.names.key(key)
    const row = await this.#rows.read<KeyFacts>(subject)
    if (row === null || row.facts.run_id !== run_id) return []
    const left = (key_until ?? 0) - this.#clock.now()
    if (left > 0)
      return [{ subject, data: packFrame(row.facts, []), expected: row.seq, replaces: true, ttlMs: left + freeKeyMs }]
    const free: KeyFacts = { ...row.facts, free: true }
    return [{ subject, data: packFrame(free, []), expected: row.seq, replaces: true, ttlMs: freeKeyMs }]
  }

  /** The note that there are remains goes last. */
  async #removeRemains(run_id: string, { listed }: Remains): Promise<void> {
    const { names } = this.#broker
    const rows = this.#rows
    this.#runs.forget(run_id)
    await this.#broker.dropHistory(names.run(run_id))
    const remove: Readonly<Record<OfDeletedRun, (() => Promise<unknown>) | null>> = {
      wait: () => this.#waits.forget(run_id),
      // With their waits.
      outcome: null,
      due: null,
      settled: null,
      // A pending notice is delivered all the same.
      notice: () => this.#outbox.forget(run_id),
      pending: null,
      secrets: () => this.#broker.erase("rows", names.secrets(run_id)),
      piece: () => rows.removeAll(names.piecesOf(run_id)),
      request: () => rows.remove(names.request(run_id)),
      cancel: () => rows.remove(names.cancel(run_id)),
      listed: () => rows.remove(listed),
      ended: () => rows.remove(names.ended(run_id)),
      // Whoever looks for work removes what a dead process has left of these.
      open: null,
      parked: null,
      deleted: null,
    }
    await Promise.all(Object.values(remove).map(async (act) => act?.()))
    await rows.remove(names.deleted(run_id))
  }

  async sweep(ended_before: number): Promise<number> {
    await this.#tidy()
    await this.#findEnded()
    const { names } = this.#broker
    let swept = 0
    let seq = 1
    for (;;) {
      const due: string[] = []
      let more = true
      while (more && due.length < batchSize) {
        const entry = await this.#broker.next(names.anyEnded, seq)
        if (entry === null) {
          more = false
          break
        }
        seq = entry.seq + 1
        const { finished_at } = open<{ finished_at: number }>(entry).facts
        if (finished_at < ended_before) due.push(lastToken(entry.subject))
        else more = finished_at < ended_before + clockDifferenceMs
      }
      const deleted = await Promise.all(due.map((run_id) => this.#deleteDue(run_id)))
      swept += deleted.filter(Boolean).length
      if (!more) return swept
    }
  }

  /** Runs whose owner died before it entered them among the ended ones. */
  async #findEnded(): Promise<void> {
    const now = this.#broker.now()
    if (now - this.#foundAllAt < allRunsMs) return
    const { names } = this.#broker
    const known = new Set((await this.#broker.list("rows", names.anyEnded)).map(lastToken))
    const unended = await this.#entries.unended()
    const all = (await this.#broker.list("rows", names.listedOf(null, null))).map(lastToken)
    const others = all.filter((run_id) => !known.has(run_id) && !unended.has(run_id))
    await inTurns(others, async (run_id) => {
      const finished_at = await this.#finishedAt(run_id)
      if (finished_at !== null) await this.ended(run_id, finished_at, true)
    })
    this.#foundAllAt = now
  }

  /** Whether this process deleted it. */
  async #deleteDue(run_id: string): Promise<boolean> {
    try {
      const deletion = await this.delete(run_id)
      if (deletion === "gone") await this.#rows.remove(this.#broker.names.ended(run_id))
      return deletion === "deleted"
    } catch (error) {
      if (!(error instanceof Damaged)) throw error
      // Nothing of it can be read, not even whose it was.
      await this.#removeRemains(run_id, { listed: this.#broker.names.ended(run_id) })
      await this.#rows.remove(this.#broker.names.run(run_id))
      return true
    }
  }

  /** Finishes what processes have left undone that died. */
  async #tidy(): Promise<void> {
    const { names } = this.#broker
    for (const subject of await this.#broker.list("rows", names.anyDeleted)) {
      const row = await this.#rows.read<Remains>(subject)
      if (row !== null) await this.#removeRemains(lastToken(subject), row.facts)
    }
    // Read first: a run that is made meanwhile is among neither.
    const withSecrets = await this.#broker.list("rows", names.anySecrets)
    const unended = await this.#entries.unended()
    const isOver = async (run_id: string): Promise<boolean> => !unended.has(run_id) && this.#isOver(run_id)
    await inTurns(withSecrets, async (subject) => {
      if (await isOver(lastToken(subject))) await this.#broker.erase("rows", subject)
    })
    await this.#waits.tidy(isOver)
  }

  async #isOver(run_id: string): Promise<boolean> {
    return (await this.#finishedAt(run_id)) !== null
  }

  /** Null for a run that has not ended, or cannot be read. One that is gone ended long ago. */
  async #finishedAt(run_id: string): Promise<number | null> {
    try {
      const run = await this.#runs.get(run_id)
      return run === null ? 0 : (run.facts.finished_at ?? null)
    } catch (error) {
      if (error instanceof Damaged) return null
      throw error
    }
  }
}
