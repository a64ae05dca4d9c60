import { randomBytes } from "node:crypto"
import { fraction } from "../base/fraction.ts"
import { checkAppend } from "../ports/check-append.ts"
import { isTerminal, type LogEvent } from "../log/events.ts"
import {
  LeaseLost,
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
  type UnkeyedRun,
} from "../ports/store.ts"
import { withoutEnd } from "../ports/erasure.ts"
import { leaseEnd, type Clock } from "../ports/clock.ts"
import type { Vault } from "../ports/vault.ts"
import { causedBy } from "../ports/notices.ts"
import { SqlCache } from "./sql-cache.ts"
import { Outbox } from "./sql-outbox.ts"
import { previewOfEnd } from "../ports/run-preview.ts"
import { sealEnded } from "./sealed-previews.ts"
import { endStatus, errorKindOf, type ListedRun, type RunQuery } from "../ports/run-list.ts"
import { loopTurns } from "../event-loop/loop-turns.ts"
import { usageOfEvents } from "../log/usage-after.ts"
import { listRuns } from "./run-list-reader.ts"
import type { RunBucket, StatsQuery } from "../ports/run-stats.ts"
import { readStats } from "./stats-reader.ts"
import { Changes, type Looks } from "./changes.ts"
import { LogReader, type RunHead } from "./log-reader.ts"
import { sealEnd, sealEvents, textOfEvents } from "./sealed-events.ts"
import type { SqlMedium } from "./sql-medium.ts"
import { BeginningRun, creationOf, idempotencyDigests, newHead, textOfRequest } from "./new-run.ts"
import { newRunKey } from "./run-key.ts"
import type { Alarm } from "../log/replay-data.ts"
import type { AppendOperation, CreateResult, SweepOperation } from "./operations.ts"
import { Questions } from "../ports/question-store.ts"
import { keptOutput } from "../ports/kept-output.ts"
import { SqlEvents } from "./sql-events.ts"
import { SqlFiles } from "./sql-files.ts"
import { SqlTriggers } from "./sql-triggers.ts"
import { SqlScores } from "./sql-scores.ts"
import { SqlActions } from "./sql-actions.ts"
import { SqlErasure } from "./sql-erasure.ts"
import { SqlLedger } from "./sql-ledger.ts"
import { SqlVersions } from "./sql-versions.ts"
import type { LedgerRow } from "../ports/ledger.ts"
import { concernsWaits, SqlWaits } from "./sql-waits.ts"
import { WaitReader } from "./wait-reader.ts"

/** What a probe writes after a failure. */
const probeBytes = 256 * 1024
/** What one reader is given at once. */
const readBytes = 1024 * 1024

export interface SqlStoreSettings extends Looks {
  /** How long `lookup` remembers a run that retention deleted. */
  readonly tombstoneMs: number
  /** Paths of inputs by whose values runs can be found to be erased. */
  readonly erasePaths?: readonly string[]
}

/** A store on an SQL database: everything that is the same for all of them. */
export class SqlStore implements RunStore {
  readonly waits: SqlWaits
  readonly questions: Questions
  readonly outbox: Outbox
  readonly cache: SqlCache
  readonly triggers: SqlTriggers
  readonly ledger: SqlLedger
  readonly sentEvents: SqlEvents
  readonly versions: SqlVersions
  readonly files: SqlFiles
  readonly actions: SqlActions
  readonly erasure: SqlErasure
  readonly scores: SqlScores
  readonly #medium: SqlMedium
  readonly #reader: LogReader
  readonly #vault: Vault
  readonly #clock: Clock
  readonly #tombstoneMs: number
  readonly #erasePaths: readonly string[]
  readonly #changes: Changes
  /** Runs whose heads are being read for appends, which are to keep their order. */
  readonly #heads = new Map<string, Promise<RunHead | undefined>>()
  /** Runs whose creation is on its way to the disk. */
  readonly #begun = new Map<string, { readonly run: BeginningRun; readonly stored: Promise<CreateResult> }>()
  #closed = false

  constructor(medium: SqlMedium, vault: Vault, clock: Clock, settings: SqlStoreSettings) {
    this.#medium = medium
    this.#vault = vault
    this.#clock = clock
    this.#tombstoneMs = settings.tombstoneMs
    this.#erasePaths = settings.erasePaths ?? []
    this.#reader = new LogReader(vault)
    const waits = new WaitReader(vault, this.#reader)
    this.#changes = new Changes(medium, this.#reader, waits, settings)
    this.waits = new SqlWaits(medium, this.#reader, waits, this.#changes, vault, clock)
    this.questions = new Questions(this.waits)
    this.triggers = new SqlTriggers(medium, vault)
    this.actions = new SqlActions(medium, vault)
    this.erasure = new SqlErasure(medium, vault, (run_id) => this.#delete(run_id, clock.now()))
    this.scores = new SqlScores(medium, this.#reader, vault, clock)
    this.ledger = new SqlLedger(medium, clock)
    this.sentEvents = new SqlEvents(medium, this.#reader, this.#changes, vault, clock)
    this.versions = new SqlVersions(medium, vault, clock)
    this.files = new SqlFiles(medium, vault, clock)
    this.cache = new SqlCache(medium, this.#reader, vault, clock)
    this.outbox = new Outbox(medium, this.#reader, this.#changes, vault, clock)
  }

  async create(run: NewRun, owner: string, leaseMs: number): Promise<CreateOutcome> {
    const { run_id, caller } = run
    const key = newRunKey(this.#vault, run_id, caller)
    const result = await this.#sendCreation(this.#beginning(run, key, owner, leaseMs))
    if (result.outcome === "file gone") return result
    if (result.outcome !== "created") return this.#ofCaller(caller, result)
    this.#reader.remember(run_id, { ...newHead(run, key), num: result.num })
    this.#changes.created(run_id)
    return { outcome: "created", lease: { run_id, owner, fence: result.fence } }
  }

  async begin(run: UnkeyedRun, { owner }: Lease, leaseMs: number): Promise<void> {
    const { run_id } = run
    const key = newRunKey(this.#vault, run_id, run.caller)
    const beginning = this.#beginning(run, key, owner, leaseMs)
    const stored = this.#sendCreation(beginning)
    this.#begun.set(run_id, { run: beginning, stored })
    this.#changes.created(run_id)
    let result: CreateResult | null = null
    try {
      result = await stored
    } finally {
      this.#begun.delete(run_id)
      if (result?.outcome === "created") this.#reader.remember(run_id, { ...beginning.head, num: result.num })
      else this.#changes.disowned(run_id)
    }
  }

  #beginning(run: NewRun, key: ReturnType<Vault["newKey"]>, owner: string, leaseMs: number): BeginningRun {
    const lease = { owner, lease_until: leaseEnd(this.#clock, leaseMs) }
    const creation = creationOf(run, key, lease, {
      vault: this.#vault,
      outbox: this.outbox,
      erasePaths: this.#erasePaths,
    })
    return new BeginningRun(newHead(run, key), creation, key.key, run.request)
  }

  #sendCreation(beginning: BeginningRun): Promise<CreateResult> {
    return this.#medium.send(beginning.creation, { complete: () => beginning.seal() })
  }

  async existing(caller: string, idempotency: Idempotency): Promise<ExistingRun | null> {
    const found = await this.#medium.read(
      this.#reader.existing(...idempotencyDigests(this.#vault, caller, idempotency), this.#clock.now()),
    )
    return found === null ? null : this.#ofCaller(caller, found)
  }

  /** A key that leads to the run of another caller was put there by somebody else. */
  async #ofCaller(caller: string, found: ExistingRun): Promise<ExistingRun> {
    const owner = await this.#medium.read(this.#reader.callerOf(found.run_id))
    // A key may outlive its run.
    return owner === undefined || owner === caller ? found : { ...found, outcome: "conflict" }
  }

  async lookup(run_id: string): Promise<RunLookup> {
    return this.#medium.read(this.#reader.lookup(run_id))
  }

  async list(query: RunQuery): Promise<ListedRun[]> {
    return this.#medium.read(listRuns(query, this.#vault))
  }

  async stats(query: StatsQuery): Promise<RunBucket[]> {
    return this.#medium.read(readStats(query))
  }

  async request(run_id: string): Promise<RunRequest> {
    return this.#medium.read(this.#reader.request(run_id))
  }

  async parkAgain(lease: Lease, alarms: readonly Alarm[]): Promise<void> {
    const held = await this.waits.parkAgain(lease, alarms)
    this.#changes.disowned(lease.run_id)
    this.#reader.forget(lease.run_id)
    if (!held) throw new LeaseLost(lease.run_id)
  }

  async append(
    lease: Lease,
    events: readonly LogEvent[],
    entries: readonly LedgerRow[] = [],
    move?: RunMove,
  ): Promise<void> {
    checkAppend(events)
    const { run_id, fence } = lease
    const begun = this.#begun.get(run_id)
    const head = begun?.run.head ?? this.#knownHead(run_id) ?? (await this.#headForAppend(run_id))
    if (head === undefined) throw new LeaseLost(run_id)
    const [first, last] = [events[0], events.at(-1)]
    if (first === undefined || last === undefined) return
    const written = textOfEvents(events, last.id)
    const over = isTerminal(last.type)
    const parks = last.type === "run_waiting"
    const finished_at = over ? Date.parse(last.at) : null
    const caused = head.notifies ? causedBy(events) : null
    const usage = usageOfEvents(events)
    const keeps = keptOutput(head.keeper, last)
    const plain = caused === null && usage === null && entries.length === 0
    const joins = begun !== undefined && first.id === 1 && !over && !parks && plain
    if (joins && !concernsWaits(events) && begun.run.join(written)) {
      return this.#joined(run_id, begun.stored, written.text)
    }
    const result = await this.#medium.send(
      {
        kind: "append",
        run: head.num ?? run_id,
        fence,
        first: first.id,
        last: last.id,
        finished_at,
        caused,
        outcome: over ? endStatus(last) : null,
        error_kind: errorKindOf(last),
        usage,
        keeper: keeps === null ? null : head.keeper,
        ...(entries.length > 0 && { ledger: entries }),
        ...(move !== undefined && { move: movedRow(move) }),
        ...this.waits.appended(head.key, events, parks, [
          ...sealEvents(head.key, written),
          over ? sealEnded(head.key, previewOfEnd(last)) : null,
          keeps === null || head.keeper === null ? null : this.triggers.sealOutput(head.keeper, keeps),
          move === undefined ? null : head.key.seal("request", textOfRequest(move.request)),
        ]),
      },
      { news: { what: "events", run_id } },
    )
    if (over || parks || result === "lease lost") {
      this.#changes.disowned(run_id)
      this.#reader.forget(run_id)
    }
    if (result === "lease lost") throw new LeaseLost(run_id)
    if (result === "settled") throw new WaitSettled(run_id)
    if (result !== "stored") throw new OutOfSequence(run_id, first.id, result.stored_last)
    if (caused !== null) this.#changes.noticeStored()
    this.#changes.appended(run_id, written.text)
    if (move?.wakes === true) this.#changes.outcomeStored(run_id)
  }

  #knownHead(run_id: string): RunHead | undefined {
    return this.#heads.has(run_id) ? undefined : this.#reader.known(run_id)
  }

  /** Appends that come while the head is read wait for the same one, so that they keep their order. */
  #headForAppend(run_id: string): Promise<RunHead | undefined> {
    const reading = this.#heads.get(run_id)
    if (reading !== undefined) return reading
    const read = (async () => {
      try {
        return await this.#medium.read(this.#reader.head(run_id))
      } finally {
        this.#heads.delete(run_id)
      }
    })()
    this.#heads.set(run_id, read)
    return read
  }

  /** The first events of a run, which are stored with it. */
  async #joined(run_id: string, stored: Promise<unknown>, text: string): Promise<void> {
    try {
      await stored
    } catch {
      throw new LeaseLost(run_id)
    }
    this.#changes.appended(run_id, text)
  }

  async failAsCorrupt(lease: Lease, end: LogEvent): Promise<void> {
    const { run_id, fence } = lease
    const caller = await this.#medium.read(this.#reader.callerOf(run_id))
    if (caller === undefined) throw new LeaseLost(run_id)
    const { key, wrapped } = newRunKey(this.#vault, run_id, caller)
    const held = await this.#medium.send(
      {
        kind: "failAsCorrupt",
        run_id,
        fence,
        finished_at: Date.parse(end.at),
        error_kind: errorKindOf(end),
        caused: causedBy([end]),
        blobs: [wrapped, sealEnd(key, end), sealEnded(key, previewOfEnd(end))],
      },
      { news: { what: "events", run_id } },
    )
    this.#changes.disowned(run_id)
    this.#reader.forget(run_id)
    if (!held) throw new LeaseLost(run_id)
    this.#changes.appendedUnread(run_id, end.id)
    this.#changes.noticeStored()
  }

  async read(run_id: string, after: number, limit: number, kept?: "kept"): Promise<LogEvent[]> {
    const head = this.#reader.known(run_id) ?? (await this.#medium.read(this.#reader.head(run_id)))
    if (head === undefined) return []
    const part = await this.#medium.read(this.#reader.part(head, after, { events: limit, bytes: readBytes }))
    const turn = loopTurns.forLarge(part.bytes)
    if (turn !== null) await turn
    if (this.#closed) throw new StoreFailure("The store is closed")
    return this.#medium.read(kept === undefined ? this.#reader.open(part) : this.#reader.openWithKept(part))
  }

  follow(run_id: string, after: number, signal: AbortSignal): AsyncIterable<LogEvent> {
    return this.#changes.follow(run_id, after, signal)
  }

  async claim(owner: string, limit: number, leaseMs: number): Promise<ClaimedLease[]> {
    const claimed = await this.#medium.send({
      kind: "claim",
      owner,
      limit,
      // Leases go by the machine's monotonic clock: setting the wall clock neither ends nor prolongs them.
      now: Math.floor(this.#clock.monotonic()),
      lease_until: leaseEnd(this.#clock, leaseMs),
      blobs: [],
    })
    for (const { run_id } of claimed) this.#changes.claimed(run_id)
    return claimed.map((lease) => ({ ...lease, owner }))
  }

  async claimParked(run_id: string, owner: string, leaseMs: number): Promise<Lease | null> {
    const lease_until = leaseEnd(this.#clock, leaseMs)
    const fence = await this.#medium.send({ kind: "claim parked", run_id, owner, lease_until, blobs: [] })
    if (fence === null) return null
    this.#changes.claimed(run_id)
    return { run_id, owner, fence }
  }

  async renew(lease: Lease, leaseMs: number): Promise<boolean> {
    const { run_id, fence } = lease
    const lease_until = leaseEnd(this.#clock, leaseMs)
    const held = await this.#medium.send({ kind: "renew", run_id, fence, lease_until, blobs: [] })
    if (!held) this.#changes.disowned(run_id)
    return held
  }

  async release(lease: Lease): Promise<void> {
    this.#changes.disowned(lease.run_id)
    await this.#medium.send({ kind: "release", run_id: lease.run_id, fence: lease.fence, blobs: [] })
  }

  async requestCancel(run_id: string): Promise<boolean> {
    this.#changes.cancelling(run_id)
    const result = await this.#medium.send(
      { kind: "cancel", run_id, now: this.#clock.now(), blobs: [] },
      { news: { what: "cancel", run_id } },
    )
    if (result === "woken") this.#changes.outcomeStored(run_id)
    if (result !== "too late") this.#changes.cancelStored(run_id)
    return result !== "too late"
  }

  onCancel(run_id: string, listener: () => void): () => void {
    return this.#changes.onCancel(run_id, listener)
  }

  async stored(caller: string): Promise<number> {
    return this.#medium.read(this.#reader.stored(caller))
  }

  async sweep(ended_before: number, private_before?: number): Promise<number> {
    const runs = await this.#slices("sweep runs", ended_before)
    if (private_before !== undefined) await this.#slices("redact runs", private_before)
    await this.#slices("sweep leftovers", ended_before)
    await this.#slices("sweep ages", ended_before)
    return runs
  }

  async #slices(kind: SweepOperation["kind"], ended_before: number): Promise<number> {
    const now = this.#clock.now()
    let all = 0
    for (;;) {
      const tombstone_until = now + this.#tombstoneMs
      const deleted = await this.#medium.send({ kind, ended_before, now, tombstone_until, blobs: [] })
      if (deleted === 0) return all
      all += deleted
    }
  }

  delete(run_id: string): Promise<Deletion> {
    return this.#delete(run_id, null)
  }

  async #delete(run_id: string, erased_at: number | null): Promise<Deletion> {
    const tombstone_until = erased_at === null ? this.#clock.now() + this.#tombstoneMs : withoutEnd
    const deletion = await this.#medium.send({ kind: "delete run", run_id, tombstone_until, erased_at, blobs: [] })
    // A process that died may have left rows of an erased run.
    if (deletion === "open" || (deletion === "gone" && erased_at === null)) return deletion
    this.#reader.forget(run_id)
    await this.#slices("sweep leftovers", 0)
    return deletion
  }

  async keyedHash(parts: readonly string[]): Promise<number> {
    return fraction(this.#vault.digest("fraction", parts))
  }

  time(): Promise<number> {
    return this.#medium.time()
  }

  async probe(): Promise<void> {
    await this.#medium.version()
    if (this.#medium.storedLately) return
    // A few bytes often still fit where nothing else does: after a failure, as much is written as an agent's answer takes.
    const more = this.#medium.failedLast ? randomBytes(probeBytes) : null
    await this.#medium.send({ kind: "probe", blobs: [more] })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#changes.close()
    await this.#medium.close()
  }
}

function movedRow({ request: { workflow }, wakes, scored, ...move }: RunMove): NonNullable<AppendOperation["move"]> {
  if (workflow?.moved_from === undefined) throw new Error("A run that moves has a version, and one before")
  const { version, moved_from } = workflow
  return { version, moved_from, wakes, scored: scored === true, private: move.private === true }
}
