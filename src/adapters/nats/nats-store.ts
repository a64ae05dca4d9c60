import { checkAppend } from "../../ports/check-append.ts"
import type { LogEvent } from "../../log/events.ts"
import { followLog } from "../../ports/follow-log.ts"
import {
  LeaseLost,
  NoSuchRun,
  StoreFailure,
  type CreateOutcome,
  type Deletion,
  type ExistingRun,
  type Idempotency,
  type ClaimedLease,
  type Lease,
  type NewRun,
  type RunLookup,
  type RunRequest,
  type RunStore,
} from "../../ports/store.ts"
import type { ListedRun, RunQuery } from "../../ports/run-list.ts"
import { instant, type Clock } from "../../ports/clock.ts"
import type { MasterKey } from "../../ports/vault.ts"
import { NatsCache } from "./nats-cache.ts"
import { type Broker, holdMs } from "./broker.ts"
import { Cancels } from "./cancels.ts"
import { RunClaims } from "./claim-runs.ts"
import { IdempotencyKeys } from "./idempotency-keys.ts"
import { WatchedVault } from "./key-record.ts"
import { Leases } from "./leases.ts"
import { LiveLogs } from "./live-log.ts"
import { LogReader } from "./log-reader.ts"
import { fillSlot } from "./log-writer.ts"
import { cancelToken, isRunId } from "./names.ts"
import { OpenRuns } from "./open-runs.ts"
import { Outbox } from "./nats-outbox.ts"
import { OutcomeNews } from "./outcome-news.ts"
import { OwnRuns } from "./own-runs.ts"
import { probe } from "./probe.ts"
import { Parking } from "./parking.ts"
import { AskedQuestions } from "./asked-questions.ts"
import { NatsQuestions } from "./nats-questions.ts"
import { QuestionEntries } from "./question-entries.ts"
import { QuestionOutcomes } from "./settle-questions.ts"
import { Retention } from "./retention.ts"
import { aboutRun, endOf, openRequest, sealRequest } from "./slot.ts"
import { RunEntries } from "./run-entries.ts"
import { StoredBytes } from "./stored-bytes.ts"
import type { StreamSizes } from "./streams.ts"
import { NatsTriggers } from "./nats-triggers.ts"

const readBytes = 1024 * 1024

/** What a store needs beside its broker. */
export interface StoreParts {
  readonly masterKey: MasterKey
  readonly clock: Clock
  readonly sizes: StreamSizes
  /** How often to look whether the master key was changed. Differs only in tests. */
  readonly lookMs?: number
}

/** A store on a broker that has the streams, in a process that has the keys. */
export class NatsStore implements RunStore {
  readonly questions: NatsQuestions
  readonly outbox: Outbox
  readonly cache: NatsCache
  readonly triggers: NatsTriggers
  readonly #broker: Broker
  readonly #vault: WatchedVault
  readonly #clock: Clock
  readonly #reader: LogReader
  readonly #live: LiveLogs
  readonly #cancels: Cancels
  readonly #parking: Parking
  readonly #news: OutcomeNews
  readonly #retention: Retention
  readonly #open: OpenRuns
  readonly #keys: IdempotencyKeys
  readonly #leases: Leases
  readonly #claims: RunClaims
  readonly #entries: RunEntries
  readonly #own: OwnRuns
  readonly #stored: StoredBytes

  constructor(broker: Broker, options: StoreParts) {
    const { clock, sizes } = options
    const vault = new WatchedVault(broker, options.masterKey, options.lookMs)
    this.#broker = broker
    this.#vault = vault
    this.#clock = clock
    this.#stored = new StoredBytes(clock)
    this.#reader = new LogReader(broker, vault)
    this.#live = new LiveLogs(broker, this.#reader)
    this.#cancels = new Cancels(broker)
    this.triggers = new NatsTriggers(broker, vault)
    this.cache = new NatsCache(broker, vault, clock)
    this.outbox = new Outbox(broker, this.#reader, vault, clock)
    this.#parking = new Parking(broker, this.outbox, this.#cancels, vault, clock)
    this.#news = new OutcomeNews(broker, () => this.#unheard())
    const entries = new QuestionEntries(broker, this.#reader, this.#parking, vault)
    const asked = new AskedQuestions(broker, this.#reader, entries)
    const settling = new QuestionOutcomes(broker, this.#reader, this.#parking, entries, asked, clock)
    const parts = { entries, asked, settling }
    this.questions = new NatsQuestions(broker, this.#reader, this.#parking, this.#news, parts, clock)
    this.#retention = new Retention(broker, this.outbox, entries, clock, sizes.tombstoneMs)
    const beside = { outbox: this.outbox, parking: this.#parking, questions: settling }
    this.#open = new OpenRuns(broker, this.#reader, this.#retention, beside, vault, clock)
    this.#entries = new RunEntries(broker, this.#reader, this.#open, clock, (run_id) => this.lookup(run_id))
    this.#keys = new IdempotencyKeys(broker, this.#reader, this.#open, vault, clock)
    this.#leases = new Leases(broker, clock, broker.token(12))
    this.#claims = new RunClaims(broker, this.#reader, this.#open, this.#parking, this.#leases, clock)
    this.#own = new OwnRuns({
      broker,
      reader: this.#reader,
      live: this.#live,
      leases: this.#leases,
      entries,
      asked,
      parking: this.#parking,
      open: this.#open,
      news: this.#news,
      clock,
    })
  }

  /** To be awaited before anything else. Rejects with a `StoreFailure` where another master key is the store's. */
  agreeOnKeys(): Promise<void> {
    return this.#vault.agree()
  }

  // ------------------------------------------------------------------------------------------------------- creating

  async create(run: NewRun, owner: string, leaseMs: number): Promise<CreateOutcome> {
    const { run_id, caller, created_at, idempotency } = run
    if (!isRunId(run_id)) throw new StoreFailure(`"${run_id}" cannot be a run's id`)
    const { key, wrapped } = this.#vault.newKey(aboutRun(run_id))
    const tokens = idempotency === null ? null : this.#keys.tokens(caller, idempotency)
    if (tokens !== null) {
      const taken = await this.#keys.take(tokens, run_id, idempotency?.kept_until ?? null)
      if (taken !== null) return taken
    }
    const { secrets, ...request } = run.request
    const [announced] = await Promise.all([this.#open.announce(run, secrets), this.#entries.enter(run)])
    const sealed = sealRequest(key, caller, request)
    const askedAt = instant(this.#clock)
    const facts = {
      kind: "head",
      fence: 1,
      session: this.#leases.session,
      last: 0,
      caller,
      created_at,
      resumable: true,
      ...(run.request.workflow === undefined ? {} : { workflow: run.request.workflow }),
      ...(run.request.trigger === undefined ? {} : { trigger: run.request.trigger }),
      once: tokens?.once ?? null,
      ...(request.options.notify === undefined ? {} : { notify: request.options.notify.events }),
    } as const
    const head = await fillSlot(this.#broker, this.#reader, run_id, 0, facts, [wrapped, sealed])
    if (head === null || head.kind !== "head") {
      if (announced) await this.#open.removeEntry(run)
      throw new StoreFailure(`There is a run ${run_id} already`)
    }
    this.#reader.remember(run_id, { facts: head, key: () => key, request: sealed })
    const lease: Lease = { run_id, owner, fence: 1 }
    this.#own.hold(lease, leaseMs, askedAt, { slot: 0, last: 0, key, carried: {} })
    return { outcome: "created", lease }
  }

  async existing(caller: string, idempotency: Idempotency): Promise<ExistingRun | null> {
    return this.#keys.find(this.#keys.tokens(caller, idempotency))
  }

  // -------------------------------------------------------------------------------------------------------- reading

  async lookup(run_id: string): Promise<RunLookup> {
    if (!isRunId(run_id)) return { found: "nothing" }
    const tail = await this.#reader.tail(run_id)
    const head = tail === null ? null : await this.#reader.head(run_id)
    if (tail === null || head === null) {
      this.#reader.forget(run_id)
      const caller = await this.#retention.callerOf(run_id)
      return caller === null ? { found: "nothing" } : { found: "expired", caller }
    }
    const { caller, created_at, workflow, trigger } = head.facts
    return {
      found: "run",
      run: {
        run_id,
        caller,
        created_at,
        finished_at: endOf(tail.facts),
        last_event_id: tail.facts.last,
        cancel_requested: await this.#cancels.isRequested(run_id),
        workflow: workflow ?? null,
        trigger: trigger ?? null,
        waiting: await this.#parking.isWaiting(run_id, tail),
      },
    }
  }

  async list(query: RunQuery): Promise<ListedRun[]> {
    return this.#entries.list(query)
  }

  async request(run_id: string): Promise<RunRequest> {
    const there = isRunId(run_id) && (await this.#reader.slot(run_id, 0, "sure")) !== null
    const head = there ? await this.#reader.head(run_id) : null
    if (head === null) throw new NoSuchRun(run_id)
    return {
      ...openRequest(head.key(), head.request),
      secrets: await this.#open.secrets({ run_id, created_at: head.facts.created_at, caller: head.facts.caller }),
    }
  }

  async read(run_id: string, after: number, limit: number, kept?: "kept"): Promise<LogEvent[]> {
    return this.#reader.page(run_id, after, { events: limit, bytes: readBytes }, kept !== undefined)
  }

  follow(run_id: string, after: number, signal: AbortSignal): AsyncIterable<LogEvent> {
    if (!isRunId(run_id)) return followLog(nothing, after, signal)
    return followLog(this.#live.growing(run_id), after, signal)
  }

  // ------------------------------------------------------------------------------------------------------ appending

  async append(lease: Lease, events: readonly LogEvent[]): Promise<void> {
    checkAppend(events)
    const { run_id } = lease
    try {
      await this.#own.append(lease, events)
    } catch (error) {
      if (error instanceof LeaseLost) this.#stored.left(run_id)
      throw error
    }
    await this.#stored.appended(run_id, events, () => this.#callerOf(run_id))
  }

  /** Null where it cannot be known now. */
  async #callerOf(run_id: string): Promise<string | null> {
    try {
      return (await this.#reader.head(run_id))?.facts.caller ?? null
    } catch (error) {
      if (error instanceof StoreFailure) return null
      throw error
    }
  }

  async condemn(lease: Lease, end: LogEvent): Promise<void> {
    await this.#own.condemn(lease, end)
  }

  // --------------------------------------------------------------------------------------------------------- leases

  async claim(owner: string, limit: number, leaseMs: number): Promise<ClaimedLease[]> {
    return this.#claims.claim(owner, limit, leaseMs, ({ run_id, fence, before, askedAt, position }) => {
      this.#own.lose({ run_id, fence: before })
      this.#own.hold({ run_id, owner, fence }, leaseMs, askedAt, position)
    })
  }

  async renew(lease: Lease, leaseMs: number): Promise<boolean> {
    return this.#own.renew(lease, leaseMs)
  }

  async release(lease: Lease): Promise<void> {
    this.#stored.left(lease.run_id)
    await this.#own.release(lease, holdMs.read)
  }

  // --------------------------------------------------------------------------------------------------------- cancel

  async requestCancel(run_id: string): Promise<boolean> {
    const tail = await this.#reader.tail(run_id)
    if (tail === null || endOf(tail.facts) !== null) return false
    await this.#parking.mark(run_id, cancelToken)
    await this.#cancels.request(run_id)
    const now = await this.#reader.tail(run_id)
    // Only a run that has asked can wait. One that begins to ask after the request is stored finds it when it is parked.
    const mayWait = now !== null && now.facts.asked === true && endOf(now.facts) === null
    if (mayWait) await this.#parking.mark(run_id, cancelToken)
    else await this.#parking.unmark(run_id, [cancelToken])
    return true
  }

  onCancel(run_id: string, listener: () => void): () => void {
    return this.#cancels.on(run_id, listener)
  }

  /** Runs with new outcomes, whether or not these were announced here. */
  async #unheard(): Promise<string[]> {
    return [...(await this.#parking.woken()), ...(await this.#own.withOutcomes())]
  }

  // ------------------------------------------------------------------------------------------------------ life

  async sweep(ended_before: number): Promise<number> {
    const swept = await this.#retention.sweep(ended_before)
    this.#stored.swept(ended_before)
    return swept
  }

  /** What the caller stores is counted by the minute: the bytes of the run count until retention would delete it. */
  async delete(run_id: string): Promise<Deletion> {
    if (!isRunId(run_id)) return "gone"
    const tail = await this.#reader.tail(run_id)
    const head = tail === null ? null : await this.#reader.head(run_id)
    if (tail === null || head === null) return "gone"
    if (endOf(tail.facts) === null) return "open"
    let deleted = await this.#retention.delete(run_id)
    if (deleted === null) {
      // The process that stored the end died before it entered the run in the list of ended ones.
      await this.#open.close(run_id, tail, head)
      deleted = await this.#retention.delete(run_id)
    }
    this.#reader.forget(run_id)
    return deleted === true ? "deleted" : "gone"
  }

  async stored(caller: string): Promise<number> {
    return this.#stored.of(caller)
  }

  time(): Promise<number> {
    return this.#broker.time()
  }

  async probe(): Promise<void> {
    await probe(this.#broker, this.#vault, this.#leases)
  }

  async close(): Promise<void> {
    this.#vault.stop()
    this.#live.close()
    this.#cancels.close()
    this.#news.close()
    this.#claims.close()
    if (this.#broker.health.connected) {
      await this.#own.releaseAll()
      await this.#leases.forget().catch(() => undefined)
    }
    await this.#broker.close()
  }
}

const nothing = { run_id: "", page: () => ({ events: [], over: true }), watch: () => () => {} }
