import { checkAppend } from "../../ports/check-append.ts"
import { isTerminal, type LogEvent } from "../../log/events.ts"
import {
  LeaseLost,
  OutOfSequence,
  StoreFailure,
  type CreateOutcome,
  type ExistingRun,
  type Idempotency,
  type ClaimedLease,
  type Lease,
  type NewRun,
  type RunLookup,
  type RunRequest,
  type RunStore,
  type UnkeyedRun,
} from "../../ports/store.ts"
import type { Clock } from "../../ports/clock.ts"
import type { Vault } from "../../ports/vault.ts"
import { causedBy } from "../../ports/notices.ts"
import { SqliteCache } from "./answer-cache.ts"
import { Outbox } from "./outbox.ts"
import { endStatus, type ListedRun, type RunQuery } from "../../ports/run-list.ts"
import { loopTurns } from "../../event-loop/loop-turns.ts"
import { usageOfEvents } from "../../log/usage-after.ts"
import type { RunListReader } from "./run-list-reader.ts"
import { Changes } from "./changes.ts"
import type { CommitQueue } from "./commit-queue.ts"
import { type LogReader, sealEnd, sealEvents, textOfEvents } from "./log-reader.ts"
import { BeginningRun, creationOf, idempotencyDigests, newHead, textOfRequest } from "./new-run.ts"
import { newRunKey } from "./run-key.ts"
import type { CreateResult } from "./operations.ts"
import type { QuestionReader } from "./question-reader.ts"
import { concernsPeople, Questions } from "./questions.ts"

/** What a probe writes after a failure. */
const probeBytes = 256 * 1024
/** What one reader is given at once. */
const readBytes = 1024 * 1024

/** Writes through a thread of its own, reads here. */
export class SqliteStore implements RunStore {
  readonly questions: Questions
  readonly outbox: Outbox
  readonly cache: SqliteCache
  readonly #queue: CommitQueue
  readonly #reader: LogReader
  readonly #list: RunListReader
  readonly #vault: Vault
  readonly #clock: Clock
  readonly #tombstoneMs: number
  readonly #changes: Changes
  /** Runs whose creation is on its way to the disk. */
  readonly #begun = new Map<string, { readonly run: BeginningRun; readonly stored: Promise<CreateResult> }>()
  #closed = false

  constructor(
    queue: CommitQueue,
    reader: LogReader,
    questions: QuestionReader,
    list: RunListReader,
    vault: Vault,
    clock: Clock,
    settings: { readonly pollMs: number; readonly tombstoneMs: number },
  ) {
    this.#queue = queue
    this.#reader = reader
    this.#list = list
    this.#vault = vault
    this.#clock = clock
    this.#tombstoneMs = settings.tombstoneMs
    this.#changes = new Changes(reader, questions, settings.pollMs)
    this.questions = new Questions(queue, reader, questions, this.#changes, clock)
    this.cache = new SqliteCache(queue, reader, vault, clock)
    this.outbox = new Outbox(queue, reader, this.#changes, vault, clock)
  }

  async create(run: NewRun, owner: string, leaseMs: number): Promise<CreateOutcome> {
    const { run_id, caller } = run
    const key = newRunKey(this.#vault, run_id, caller)
    const result = await this.#sendCreation(this.#beginning(run, key, owner, leaseMs))
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
    const lease = { owner, lease_until: this.#leaseTime() + leaseMs }
    const creation = creationOf(run, key, lease, this.#vault, this.outbox)
    return new BeginningRun(newHead(run, key), creation, key.key, textOfRequest(run.request))
  }

  #sendCreation(beginning: BeginningRun): Promise<CreateResult> {
    return this.#queue.send(beginning.creation, () => beginning.seal())
  }

  async existing(caller: string, idempotency: Idempotency): Promise<ExistingRun | null> {
    const found = this.#reader.existing(...idempotencyDigests(this.#vault, caller, idempotency))
    return found === null ? null : this.#ofCaller(caller, found)
  }

  /** A key that leads to the run of another caller was put there by somebody else. */
  #ofCaller(caller: string, found: ExistingRun): ExistingRun {
    return this.#reader.callerOf(found.run_id) === caller ? found : { ...found, outcome: "conflict" }
  }

  async lookup(run_id: string): Promise<RunLookup> {
    return this.#reader.lookup(run_id)
  }

  async list(query: RunQuery): Promise<ListedRun[]> {
    return this.#list.list(query)
  }

  async request(run_id: string): Promise<RunRequest> {
    return this.#reader.request(run_id)
  }

  async append(lease: Lease, events: readonly LogEvent[]): Promise<void> {
    checkAppend(events)
    const { run_id, fence } = lease
    const begun = this.#begun.get(run_id)
    const head = begun?.run.head ?? this.#reader.head(run_id)
    if (head === undefined) throw new LeaseLost(run_id)
    const [first, last] = [events[0], events.at(-1)]
    if (first === undefined || last === undefined) return
    const written = textOfEvents(events, last.id)
    const over = isTerminal(last.type)
    const parks = last.type === "run_waiting"
    const finished_at = over ? Date.parse(last.at) : null
    const caused = head.notifies ? causedBy(events) : null
    const usage = usageOfEvents(events)
    const joins = begun !== undefined && first.id === 1 && !over && !parks && caused === null && usage === null
    if (joins && !concernsPeople(events) && begun.run.join(written)) {
      return this.#joined(run_id, begun.stored, written.text)
    }
    const result = await this.#queue.send({
      kind: "append",
      run: head.num ?? run_id,
      fence,
      first: first.id,
      last: last.id,
      finished_at,
      caused,
      outcome: over ? endStatus(last) : null,
      usage,
      ...this.questions.appended(head.key, events, parks, sealEvents(head.key, written)),
    })
    if (over || parks || result === "lease lost") {
      this.#changes.disowned(run_id)
      this.#reader.forget(run_id)
    }
    if (result === "lease lost") throw new LeaseLost(run_id)
    if (result !== "stored") throw new OutOfSequence(run_id, first.id, result.stored_last)
    if (caused !== null) this.#changes.noticeStored()
    this.#changes.appended(run_id, written.text)
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

  async condemn(lease: Lease, end: LogEvent): Promise<void> {
    const { run_id, fence } = lease
    const caller = this.#reader.callerOf(run_id)
    if (caller === undefined) throw new LeaseLost(run_id)
    const { key, wrapped } = newRunKey(this.#vault, run_id, caller)
    const held = await this.#queue.send({
      kind: "condemn",
      run_id,
      fence,
      finished_at: Date.parse(end.at),
      caused: causedBy([end]),
      blobs: [wrapped, sealEnd(key, end)],
    })
    this.#changes.disowned(run_id)
    this.#reader.forget(run_id)
    if (!held) throw new LeaseLost(run_id)
    this.#changes.appendedUnread(run_id, end.id)
    this.#changes.noticeStored()
  }

  async read(run_id: string, after: number, limit: number, kept?: "kept"): Promise<LogEvent[]> {
    const head = this.#reader.head(run_id)
    if (head === undefined) return []
    const limits = { events: limit, bytes: readBytes }
    const bytes = Math.min(this.#reader.bytesAfter(head, after, limit), readBytes)
    const turn = loopTurns.forLarge(bytes)
    if (turn !== null) await turn
    if (this.#closed) throw new StoreFailure("The store is closed")
    return kept === undefined ? this.#reader.page(head, after, limits) : this.#reader.pageWithKept(head, after, limits)
  }

  follow(run_id: string, after: number, signal: AbortSignal): AsyncIterable<LogEvent> {
    return this.#changes.follow(run_id, after, signal)
  }

  async claim(owner: string, limit: number, leaseMs: number): Promise<ClaimedLease[]> {
    const now = this.#leaseTime()
    const claimed = await this.#queue.send({
      kind: "claim",
      owner,
      limit,
      now,
      lease_until: now + leaseMs,
      blobs: [],
    })
    for (const { run_id } of claimed) this.#changes.claimed(run_id)
    return claimed.map((lease) => ({ ...lease, owner }))
  }

  async renew(lease: Lease, leaseMs: number): Promise<boolean> {
    const { run_id, fence } = lease
    const lease_until = this.#leaseTime() + leaseMs
    const held = await this.#queue.send({ kind: "renew", run_id, fence, lease_until, blobs: [] })
    if (!held) this.#changes.disowned(run_id)
    return held
  }

  /** Leases go by the machine's monotonic clock: setting the wall clock neither ends nor prolongs them. */
  #leaseTime(): number {
    return Math.floor(this.#clock.monotonic())
  }

  async release(lease: Lease): Promise<void> {
    this.#changes.disowned(lease.run_id)
    await this.#queue.send({ kind: "release", run_id: lease.run_id, fence: lease.fence, blobs: [] })
  }

  async requestCancel(run_id: string): Promise<boolean> {
    this.#changes.cancelling(run_id)
    const result = await this.#queue.send({ kind: "cancel", run_id, now: this.#clock.now(), blobs: [] })
    if (result === "woken") this.#changes.outcomeStored(run_id)
    if (result !== "too late") this.#changes.cancelStored(run_id)
    return result !== "too late"
  }

  onCancel(run_id: string, listener: () => void): () => void {
    return this.#changes.onCancel(run_id, listener)
  }

  async stored(caller: string): Promise<number> {
    return this.#reader.stored(caller)
  }

  async sweep(ended_before: number): Promise<number> {
    const now = this.#clock.now()
    const slices = async (kind: "sweep runs" | "sweep leftovers" | "sweep ages") => {
      let all = 0
      for (;;) {
        const tombstone_until = now + this.#tombstoneMs
        const deleted = await this.#queue.send({ kind, ended_before, now, tombstone_until, blobs: [] })
        if (deleted === 0) return all
        all += deleted
      }
    }
    const runs = await slices("sweep runs")
    await slices("sweep leftovers")
    await slices("sweep ages")
    return runs
  }

  async probe(): Promise<void> {
    this.#reader.version()
    if (this.#queue.storedLately) return
    // A few bytes often still fit where nothing else does: after a failure, as much is written as an agent's answer takes.
    const bytes = this.#queue.failedLast ? probeBytes : 0
    await this.#queue.send({ kind: "probe", bytes, blobs: [] })
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#changes.close()
    await this.#queue.close()
    this.#reader.close()
  }
}
