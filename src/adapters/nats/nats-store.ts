import type { JsonValue } from "../../base/json-value.ts"
import { checkAppend } from "../../ports/check-append.ts"
import type { LogEvent, Question } from "../../log/events.ts"
import { followLog } from "../../ports/follow-log.ts"
import {
  LeaseLost,
  NoSuchRun,
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
} from "../../ports/store.ts"
import { type Notice, type NoticeOutcome, type ReceiverLimit, type TakenNotices } from "../../ports/notices.ts"
import {
  type AnswerOutcome,
  type GivenAnswer,
  type InboxQuery,
  type QuestionPage,
  type StoredOutcome,
  type WaitingCounts,
} from "../../ports/questions.ts"
import type { ListedRun, RunQuery } from "../../ports/run-list.ts"
import { instant, type Clock } from "../../ports/clock.ts"
import type { KeyChange, Vault } from "../../ports/vault.ts"
import { AnswerCache } from "./answer-cache.ts"
import { type Broker, holdMs, type BrokerHealth } from "./broker.ts"
import { Cancels } from "./cancels.ts"
import { Claims } from "./claims.ts"
import { IdempotencyKeys } from "./idempotency-keys.ts"
import { watchKeyRecord } from "./key-change.ts"
import { Leases } from "./leases.ts"
import { LiveLogs } from "./live-log.ts"
import { LogReader } from "./log-reader.ts"
import { fillSlot } from "./log-writer.ts"
import { cancelToken, isRunId } from "./names.ts"
import { OpenRuns } from "./open-runs.ts"
import { Outbox } from "./outbox.ts"
import { OutcomeNews } from "./outcome-news.ts"
import { OwnRuns } from "./own-runs.ts"
import { probe } from "./probe.ts"
import { Parking } from "./parking.ts"
import { Questions } from "./questions.ts"
import { Retention } from "./retention.ts"
import { aboutRun, endOf, openRequest, sealRequest } from "./slot.ts"
import { RunEntries } from "./run-entries.ts"
import { StoredBytes } from "./stored-bytes.ts"
import type { StreamSizes } from "./streams.ts"

const readBytes = 1024 * 1024

/** What a store needs beside its broker. */
export interface StoreParts {
  readonly vault: Vault
  readonly clock: Clock
  readonly sizes: StreamSizes
  /** How often to look whether another replica changes the master key. Differs only in tests. */
  readonly lookMs?: number
}

/** A store that knows how its broker is. */
export interface ClusterStore extends RunStore {
  readonly health: BrokerHealth
  /** Null when nothing needs another key than the one that writes. */
  readonly keyChange: KeyChange | null
}

/** A store on a broker that has the streams, in a process that has the keys. */
export class NatsStore implements ClusterStore {
  readonly keyChange: KeyChange | null
  readonly #stopWatchingKeys: () => void
  readonly #broker: Broker
  readonly #vault: Vault
  readonly #clock: Clock
  readonly #reader: LogReader
  readonly #live: LiveLogs
  readonly #cancels: Cancels
  readonly #cache: AnswerCache
  readonly #outbox: Outbox
  readonly #parking: Parking
  readonly #questions: Questions
  readonly #news: OutcomeNews
  readonly #retention: Retention
  readonly #open: OpenRuns
  readonly #keys: IdempotencyKeys
  readonly #leases: Leases
  readonly #claims: Claims
  readonly #entries: RunEntries
  readonly #own: OwnRuns
  readonly #stored: StoredBytes
  #closed = false
  #shut: Promise<void> | null = null

  constructor(broker: Broker, options: StoreParts, keyChange: KeyChange | null) {
    const { vault, clock, sizes } = options
    this.keyChange = keyChange
    this.#stopWatchingKeys = watchKeyRecord(broker, vault, options.lookMs)
    this.#broker = broker
    this.#vault = vault
    this.#clock = clock
    this.#stored = new StoredBytes(clock)
    this.#reader = new LogReader(broker, vault)
    this.#live = new LiveLogs(broker, this.#reader)
    this.#cancels = new Cancels(broker)
    this.#cache = new AnswerCache(broker, vault, clock)
    this.#outbox = new Outbox(broker, this.#reader, vault, clock)
    this.#parking = new Parking(broker, this.#outbox, this.#cancels, vault)
    this.#questions = new Questions(broker, this.#reader, this.#parking, vault, clock)
    this.#news = new OutcomeNews(broker, () => this.#unheard())
    this.#retention = new Retention(broker, this.#outbox, this.#questions, clock, sizes.tombstoneMs)
    const beside = { outbox: this.#outbox, parking: this.#parking, questions: this.#questions }
    this.#open = new OpenRuns(broker, this.#reader, this.#retention, beside, vault, clock)
    this.#entries = new RunEntries(broker, this.#reader, this.#open, clock, (run_id) => this.lookup(run_id))
    this.#keys = new IdempotencyKeys(broker, this.#reader, this.#open, vault)
    this.#leases = new Leases(broker, clock, broker.token(12))
    this.#claims = new Claims(broker, this.#reader, this.#open, this.#parking, this.#leases, clock)
    this.#own = new OwnRuns({
      broker,
      reader: this.#reader,
      live: this.#live,
      leases: this.#leases,
      questions: this.#questions,
      parking: this.#parking,
      open: this.#open,
      news: this.#news,
      clock,
    })
  }

  get health(): BrokerHealth {
    return this.#broker.health
  }

  // ------------------------------------------------------------------------------------------------------- creating

  async create(run: NewRun, owner: string, leaseMs: number): Promise<CreateOutcome> {
    this.#checkOpen()
    const { run_id, caller, created_at, idempotency } = run
    if (!isRunId(run_id)) throw new StoreFailure(`"${run_id}" cannot be a run's id`)
    const { key, wrapped } = this.#vault.newKey(aboutRun(run_id))
    const tokens = idempotency === null ? null : this.#keys.tokens(caller, idempotency)
    if (tokens !== null) {
      const taken = await this.#keys.take(tokens, run_id)
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
      resumable: run.resumable,
      ...(run.request.workflow === undefined ? {} : { workflow: run.request.workflow }),
      once: tokens?.once ?? null,
      ...(request.options.notify === undefined ? {} : { notify: request.options.notify.events }),
    } as const
    const head = await fillSlot(this.#broker, this.#reader, run_id, 0, facts, [wrapped, sealed])
    if (head === null || head.kind !== "head") {
      if (announced) await this.#open.strikeOff(run)
      throw new StoreFailure(`There is a run ${run_id} already`)
    }
    this.#reader.remember(run_id, { facts: head, key: () => key, request: sealed })
    const lease: Lease = { run_id, owner, fence: 1 }
    this.#own.hold(lease, leaseMs, askedAt, { slot: 0, last: 0, key, carried: {} })
    return { outcome: "created", lease }
  }

  async existing(caller: string, idempotency: Idempotency): Promise<ExistingRun | null> {
    this.#checkOpen()
    return this.#keys.find(this.#keys.tokens(caller, idempotency))
  }

  // -------------------------------------------------------------------------------------------------------- reading

  async lookup(run_id: string): Promise<RunLookup> {
    this.#checkOpen()
    if (!isRunId(run_id)) return { found: "nothing" }
    const tail = await this.#reader.tail(run_id)
    const head = tail === null ? null : await this.#reader.head(run_id)
    if (tail === null || head === null) {
      this.#reader.forget(run_id)
      const caller = await this.#retention.callerOf(run_id)
      return caller === null ? { found: "nothing" } : { found: "expired", caller }
    }
    const { caller, created_at, resumable, workflow } = head.facts
    return {
      found: "run",
      run: {
        run_id,
        caller,
        created_at,
        finished_at: endOf(tail.facts),
        last_event_id: tail.facts.last,
        cancel_requested: await this.#cancels.isRequested(run_id),
        resumable: resumable || tail.facts.waited === true,
        workflow: workflow ?? null,
        waiting: await this.#parking.isWaiting(run_id, tail),
      },
    }
  }

  async list(query: RunQuery): Promise<ListedRun[]> {
    this.#checkOpen()
    return this.#entries.list(query)
  }

  async request(run_id: string): Promise<RunRequest> {
    this.#checkOpen()
    const there = isRunId(run_id) && (await this.#reader.slot(run_id, 0, "sure")) !== null
    const head = there ? await this.#reader.head(run_id) : null
    if (head === null) throw new NoSuchRun(run_id)
    return {
      ...openRequest(head.key(), head.request),
      secrets: await this.#open.secrets({ run_id, created_at: head.facts.created_at, caller: head.facts.caller }),
    }
  }

  async read(run_id: string, after: number, limit: number, kept?: "kept"): Promise<LogEvent[]> {
    this.#checkOpen()
    return this.#reader.page(run_id, after, { events: limit, bytes: readBytes }, kept !== undefined)
  }

  follow(run_id: string, after: number, signal: AbortSignal): AsyncIterable<LogEvent> {
    if (!isRunId(run_id)) return followLog(nothing, after, signal)
    return followLog(this.#live.growing(run_id), after, signal)
  }

  // ------------------------------------------------------------------------------------------------------ appending

  async append(lease: Lease, events: readonly LogEvent[]): Promise<void> {
    this.#checkOpen()
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
    this.#checkOpen()
    await this.#own.condemn(lease, end)
  }

  // --------------------------------------------------------------------------------------------------------- leases

  async claim(owner: string, limit: number, leaseMs: number): Promise<ClaimedLease[]> {
    this.#checkOpen()
    return this.#claims.claim(owner, limit, leaseMs, ({ run_id, fence, before, askedAt, position }) => {
      this.#own.lose({ run_id, fence: before })
      this.#own.hold({ run_id, owner, fence }, leaseMs, askedAt, position)
    })
  }

  async renew(lease: Lease, leaseMs: number): Promise<boolean> {
    this.#checkOpen()
    return this.#own.renew(lease, leaseMs)
  }

  async release(lease: Lease): Promise<void> {
    this.#checkOpen()
    this.#stored.left(lease.run_id)
    await this.#own.release(lease, holdMs.read)
  }

  // -------------------------------------------------------------------------------------------------- cancel, cache

  async requestCancel(run_id: string): Promise<boolean> {
    this.#checkOpen()
    const tail = await this.#reader.tail(run_id)
    if (tail === null || endOf(tail.facts) !== null) return false
    await this.#parking.mark(run_id, cancelToken)
    await this.#cancels.request(run_id)
    const now = await this.#reader.tail(run_id)
    // Only a run that has asked can wait. One that begins to ask after the request is stored finds it when it is parked.
    const mayWait = now !== null && now.facts.asked === true && endOf(now.facts) === null
    if (!mayWait) await this.#parking.unmark(run_id, [cancelToken])
    return true
  }

  onCancel(run_id: string, listener: () => void): () => void {
    return this.#closed ? () => {} : this.#cancels.on(run_id, listener)
  }

  async cacheGet(caller: string, cache_key: string, hash: string): Promise<JsonValue | undefined> {
    this.#checkOpen()
    return this.#cache.get(caller, cache_key, hash)
  }

  async cachePut(caller: string, cache_key: string, hash: string, value: JsonValue, ttlMs: number): Promise<void> {
    this.#checkOpen()
    await this.#cache.put(caller, cache_key, hash, value, ttlMs)
  }

  async cachePurge(caller: string, cache_key: string): Promise<number> {
    this.#checkOpen()
    return this.#cache.purge(caller, cache_key)
  }

  // ------------------------------------------------------------------------------------------------------- questions

  async questions(run_id: string, limit: number, after: string | null): Promise<QuestionPage> {
    this.#checkOpen()
    return this.#questions.ofRun(run_id, limit, after)
  }

  async question(run_id: string, id: string): Promise<Question | null> {
    this.#checkOpen()
    return this.#questions.one(run_id, id)
  }

  async inbox(query: InboxQuery): Promise<QuestionPage> {
    this.#checkOpen()
    return this.#questions.inbox(query)
  }

  async answer(run_id: string, id: string, given: GivenAnswer): Promise<AnswerOutcome | null> {
    this.#checkOpen()
    return this.#questions.answer(run_id, id, given)
  }

  async expire(): Promise<number> {
    this.#checkOpen()
    return this.#questions.expire()
  }

  async outcomes(run_id: string): Promise<StoredOutcome[]> {
    this.#checkOpen()
    return this.#questions.outcomes(run_id)
  }

  onOutcome(listener: (run_id: string) => void): () => void {
    return this.#closed ? () => {} : this.#news.on(listener)
  }

  async waiting(caller: string): Promise<number> {
    this.#checkOpen()
    return this.#parking.count(caller)
  }

  async waitingCounts(): Promise<WaitingCounts> {
    this.#checkOpen()
    const [runs, open] = await Promise.all([this.#parking.countAll(), this.#questions.open()])
    return { runs, ...open }
  }

  /** Runs with new outcomes, whether or not these were announced here. */
  async #unheard(): Promise<string[]> {
    return [...(await this.#parking.woken()), ...(await this.#own.withOutcomes())]
  }

  // ---------------------------------------------------------------------------------------------------------- outbox

  async notices(run_id: string): Promise<Notice[]> {
    this.#checkOpen()
    return this.#outbox.ofRun(run_id)
  }

  async takeNotices(limit: number, holdMs: number, receivers?: ReceiverLimit): Promise<TakenNotices> {
    this.#checkOpen()
    return this.#outbox.take(limit, holdMs, receivers)
  }

  async settleNotice(notice: Notice, outcome: NoticeOutcome): Promise<void> {
    this.#checkOpen()
    await this.#outbox.settle(notice, outcome)
  }

  onNotice(listener: () => void): () => void {
    return this.#outbox.on(listener)
  }

  // ------------------------------------------------------------------------------------------------------ life

  async sweep(ended_before: number): Promise<number> {
    this.#checkOpen()
    const swept = await this.#retention.sweep(ended_before)
    this.#stored.swept(ended_before)
    return swept
  }

  async stored(caller: string): Promise<number> {
    this.#checkOpen()
    return this.#stored.of(caller)
  }

  async probe(): Promise<void> {
    this.#checkOpen()
    await probe(this.#broker, this.#vault, this.#leases)
  }

  close(): Promise<void> {
    this.#closed = true
    this.#shut ??= this.#shutDown()
    return this.#shut
  }

  async #shutDown(): Promise<void> {
    this.#stopWatchingKeys()
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

  #checkOpen(): void {
    if (this.#closed) throw new StoreFailure("The store is closed")
  }
}

const nothing = { run_id: "", page: () => ({ events: [], over: true }), watch: () => () => {} }
