import { randomBytes } from "node:crypto"
import type { JsonValue } from "../../base/json-value.ts"
import { checkAppend } from "../../ports/check-append.ts"
import type { LogEvent, Question } from "../../ports/events.ts"
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
import {
  causedBy,
  type Notice,
  type NoticeOutcome,
  type ReceiverLimit,
  type TakenNotices,
} from "../../ports/notices.ts"
import {
  questionsIn,
  type AnswerOutcome,
  type GivenAnswer,
  type InboxPage,
  type InboxQuery,
  type WaitingCounts,
} from "../../ports/questions.ts"
import type { ListedRun, RunQuery } from "../../ports/run-list.ts"
import { instant, type Clock } from "../../ports/clock.ts"
import { missingKey, type KeyChange, type Vault } from "../../ports/vault.ts"
import type { BrokerAddress, BrokerProofs } from "./address.ts"
import { AnswerCache } from "./answer-cache.ts"
import { Broker, holdMs, type BrokerHealth } from "./broker.ts"
import { Cancels } from "./cancels.ts"
import { Claims } from "./claims.ts"
import { IdempotencyKeys } from "./idempotency-keys.ts"
import { NatsKeyChange, watchKeyRecord } from "./key-change.ts"
import { agreeOnKeys, keySentence, readKeyRecord } from "./key-record.ts"
import { Leases } from "./leases.ts"
import { LiveLogs } from "./live-log.ts"
import { LogReader } from "./log-reader.ts"
import { fillSlot, LogWriter, type Position } from "./log-writer.ts"
import { cancelToken, isRunId, namesOf, tokenOfId } from "./names.ts"
import { OpenRuns } from "./open-runs.ts"
import { Outbox } from "./outbox.ts"
import { OutcomeNews } from "./outcome-news.ts"
import { Parking } from "./parking.ts"
import { Questions } from "./questions.ts"
import { Retention } from "./retention.ts"
import { aboutRun, carriedOn, endOf, type EventsFacts, type Slot } from "./slot.ts"
import { RunEntries } from "./run-entries.ts"
import { ensureStreams, type StreamSizes } from "./streams.ts"

const readBytes = 8 * 1024 * 1024
const probeMs = 800
const probeBytes = 64 * 1024

export interface NatsStoreOptions {
  readonly address: BrokerAddress
  readonly proofs: BrokerProofs
  readonly prefix: string
  readonly sizes: StreamSizes
  readonly vault: Vault
  readonly clock: Clock
  /** How often to look whether another replica changes the master key, and after how long all have. Differ only in tests. */
  readonly lookMs?: number
  readonly settledAfterMs?: number
  /** A sentence for the operator. */
  readonly remark: (sentence: string) => void
}

/** A store that knows how its broker is. */
export interface ClusterStore extends RunStore {
  readonly health: BrokerHealth
  /** Null when nothing needs another key than the one that writes. */
  readonly keyChange: KeyChange | null
}

/** Connects, and makes the streams that are not there. Rejects with a `StoreFailure` that says what to do. */
export async function openNatsStore(options: NatsStoreOptions): Promise<ClusterStore> {
  const broker = await Broker.connect(options.address, options.proofs, namesOf(options.prefix))
  try {
    const nodes = { clustered: broker.clustered, named: options.address.servers.length }
    const remarks = await ensureStreams(broker.manager, broker.names, options.sizes, nodes)
    for (const sentence of remarks) options.remark(sentence)
    const { old } = await agreeOnKeys(broker, options.vault)
    const keyChange = old === null ? null : new NatsKeyChange(broker, options.vault, options.settledAfterMs)
    return new NatsStore(broker, options, keyChange)
  } catch (error) {
    await broker.close()
    if (error instanceof StoreFailure) throw error
    throw new StoreFailure(
      `The broker at ${options.address.servers.join(", ")} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
      error,
    )
  }
}

/** How many things in the broker need the key before. Rejects with a `StoreFailure` that says which key is missing. */
export async function countUnderOldKey(
  options: Pick<NatsStoreOptions, "address" | "proofs" | "prefix" | "vault">,
): Promise<number> {
  const broker = await Broker.connect(options.address, options.proofs, namesOf(options.prefix))
  try {
    const found = await readKeyRecord(broker)
    if (found === null) return 0
    const missing = missingKey(found.record, options.vault.marks)
    if (missing !== null) throw new StoreFailure(keySentence(missing))
    options.vault.agree(found.record, "begin")
    return await new NatsKeyChange(broker, options.vault).count()
  } catch (error) {
    if (error instanceof StoreFailure) throw error
    throw new StoreFailure(
      `The broker cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      error,
    )
  } finally {
    await broker.close()
  }
}

class NatsStore implements ClusterStore {
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
  /** By run and fence. */
  readonly #writers = new Map<string, LogWriter>()
  #closed = false
  #shut: Promise<void> | null = null

  constructor(broker: Broker, options: NatsStoreOptions, keyChange: KeyChange | null) {
    const { vault, clock, sizes } = options
    this.keyChange = keyChange
    this.#stopWatchingKeys = watchKeyRecord(broker, vault, options.lookMs)
    this.#broker = broker
    this.#vault = vault
    this.#clock = clock
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
    this.#leases = new Leases(broker, clock, randomBytes(12).toString("base64url"))
    this.#claims = new Claims(broker, this.#reader, this.#open, this.#parking, this.#leases, clock)
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
    const sealed = key.seal("request", JSON.stringify(request))
    const askedAt = instant(this.#clock)
    const facts = {
      kind: "head",
      fence: 1,
      session: this.#leases.session,
      until: askedAt.now + leaseMs,
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
    this.#leases.hold(run_id, lease.fence, leaseMs, askedAt)
    this.#makeWriter(lease, { slot: 0, last: 0, key, carried: {} })
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
      ...(JSON.parse(head.key().open("request", head.request)) as Omit<RunRequest, "secrets">),
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
    try {
      await this.#writerOf(lease).append(events)
      await this.#unmark(lease.run_id, questionsIn(events).taken)
    } catch (error) {
      if (error instanceof LeaseLost) this.#forgetLease(lease)
      throw error
    }
  }

  /** The log shows these outcomes from now on. */
  async #unmark(run_id: string, taken: readonly string[]): Promise<void> {
    try {
      await this.#parking.unmark(run_id, taken.map(tokenOfId))
    } catch (error) {
      // Marks that are left do no harm; they are removed when the run is parked or ends.
      if (!(error instanceof StoreFailure)) throw error
    }
  }

  async condemn(lease: Lease, end: LogEvent): Promise<void> {
    this.#checkOpen()
    const { run_id, fence } = lease
    const caused = causedBy([end])
    // What is under way is stored first, or refused.
    await this.#writers.get(keyOf(lease))?.end()
    for (;;) {
      const tail = await this.#reader.tail(run_id)
      if (tail === null || tail.facts.fence !== fence || endOf(tail.facts) !== null) {
        this.#forgetLease(lease)
        throw new LeaseLost(run_id)
      }
      const facts = {
        kind: "events",
        fence,
        session: this.#leases.session,
        until: 0,
        last: end.id,
        end: Date.parse(end.at),
        condemned: end,
        ...carriedOn(tail.facts),
        ...(caused === null ? {} : { caused }),
      } as const
      const stored = await fillSlot(this.#broker, this.#reader, run_id, tail.slot + 1, facts, [])
      if (stored === null || stored.kind !== "events") continue
      this.#live.stored(run_id, tail.slot + 1, [end], 0, true)
      await this.#ended(run_id, tail.slot + 1, stored)
      return
    }
  }

  #writerOf(lease: Lease): LogWriter {
    return this.#writers.get(keyOf(lease)) ?? this.#makeWriter(lease, null)
  }

  #makeWriter(lease: Lease, position: Position | null): LogWriter {
    const writer = new LogWriter(
      this.#broker,
      this.#reader,
      lease,
      this.#leases.session,
      {
        until: (run_id) => this.#leases.until(run_id),
        now: () => this.#clock.monotonic(),
        stored: (run_id, slot, facts, stored, bytes) => {
          this.#live.stored(run_id, slot, stored, bytes, facts.end !== null)
        },
        ended: (run_id, slot, facts) => this.#ended(run_id, slot, facts),
        parked: (_, slot, facts) => this.#parked(lease, { slot, facts, parts: [] }),
        asking: (run_id, slot, nonce, events) => this.#questions.announce(run_id, slot, nonce, events),
      },
      position,
    )
    this.#writers.set(keyOf(lease), writer)
    return writer
  }

  async #ended(run_id: string, slot: number, facts: EventsFacts): Promise<void> {
    this.#leases.drop(run_id, facts.fence)
    this.#writers.delete(keyOf({ run_id, fence: facts.fence }))
    try {
      const head = await this.#reader.head(run_id)
      if (head !== null) await this.#open.close(run_id, { slot, facts, parts: [] }, head)
    } catch (error) {
      // The run has ended, and its log says so. It is still among the open ones: the next process that looks for work removes it.
      if (!(error instanceof StoreFailure)) throw error
    }
  }

  async #parked(lease: Lease, tail: Slot): Promise<void> {
    const { run_id } = lease
    this.#forgetLease(lease)
    try {
      const head = await this.#reader.head(run_id)
      // Outcomes that came meanwhile were announced before the run could be claimed.
      if (head !== null && (await this.#parking.park(run_id, head, tail))) this.#news.say(run_id)
    } catch (error) {
      // The run is parked, and its log says so. The next process that looks for work finds it among the open ones and cleans up.
      if (!(error instanceof StoreFailure)) throw error
    }
  }

  // --------------------------------------------------------------------------------------------------------- leases

  async claim(owner: string, limit: number, leaseMs: number): Promise<ClaimedLease[]> {
    this.#checkOpen()
    return this.#claims.claim(owner, limit, leaseMs, ({ run_id, fence, before, askedAt, position }) => {
      this.#writers.get(keyOf({ run_id, fence: before }))?.lose()
      this.#leases.hold(run_id, fence, leaseMs, askedAt)
      this.#makeWriter({ run_id, owner, fence }, position)
    })
  }

  async renew(lease: Lease, leaseMs: number): Promise<boolean> {
    this.#checkOpen()
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

  /** Asks the log who owns the run: the process that fills its next slot. */
  async #settle(lease: Lease): Promise<boolean> {
    try {
      await this.#writerOf(lease).renew()
      return true
    } catch (error) {
      if (error instanceof LeaseLost) return false
      throw error
    }
  }

  /** Whether the log says that the lease is ours. */
  async #isHeld(lease: Lease, leaseMs: number): Promise<boolean> {
    const { run_id, fence } = lease
    const writer = this.#writers.get(keyOf(lease))
    // The append that is under way shows who owns the run.
    await writer?.idle()
    if (writer?.lost === true) return false
    const now = this.#clock.monotonic()
    if (writer !== undefined && now - writer.confirmedAt < leaseMs / 2) return true
    const position = writer?.position ?? null
    if (writer === undefined || position === null) {
      const tail = await this.#reader.tail(run_id)
      return tail !== null && tail.facts.fence === fence && endOf(tail.facts) === null
    }
    const next: Slot | null = await this.#reader.slot(run_id, position.slot + 1, "near")
    if (next === null || next.facts.fence === fence) {
      writer.confirmedAt = now
      return true
    }
    writer.lose()
    return false
  }

  #forgetLease(lease: Lease): void {
    this.#leases.drop(lease.run_id, lease.fence)
    this.#writers.delete(keyOf(lease))
  }

  async release(lease: Lease): Promise<void> {
    this.#checkOpen()
    await this.#release(lease, holdMs.read)
  }

  async #release(lease: Lease, hold: number): Promise<void> {
    const { run_id, fence } = lease
    const writer = this.#writers.get(keyOf(lease))
    // What was asked for before is stored, what comes after is refused.
    await writer?.end()
    this.#leases.drop(run_id, fence)
    for (;;) {
      const tail = await this.#reader.tail(run_id)
      if (tail === null || tail.facts.fence !== fence || endOf(tail.facts) !== null) break
      const facts = {
        kind: "release",
        fence: fence + 1,
        session: "",
        until: 0,
        last: tail.facts.last,
        ...carriedOn(tail.facts),
      } as const
      if ((await fillSlot(this.#broker, this.#reader, run_id, tail.slot + 1, facts, [], hold)) !== null) {
        await this.#leases.say()
        break
      }
    }
    this.#writers.delete(keyOf(lease))
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

  async questions(run_id: string): Promise<Question[]> {
    this.#checkOpen()
    return this.#questions.ofRun(run_id)
  }

  async question(run_id: string, id: string): Promise<Question | null> {
    this.#checkOpen()
    return this.#questions.one(run_id, id)
  }

  async inbox(query: InboxQuery): Promise<InboxPage> {
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

  async outcomes(run_id: string): Promise<Question[]> {
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

  /** Runs for which something has come, whether or not it was announced here. */
  async #unheard(): Promise<string[]> {
    const found = await this.#parking.woken()
    for (const writer of this.#writers.values()) {
      const { asking = [] } = writer.position?.carried ?? {}
      if (asking.length > 0 && (await this.#questions.haveOutcomes(writer.run_id, asking))) found.push(writer.run_id)
    }
    return found
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
    return this.#retention.sweep(ended_before)
  }

  async probe(): Promise<void> {
    this.#checkOpen()
    if (!this.#broker.health.connected) throw new StoreFailure("The broker is unreachable")
    if (this.#vault.refusal !== null) throw new StoreFailure(this.#vault.refusal)
    const stored = this.#broker.isFull ? this.#findRoom() : this.#leases.say()
    // A caller waits for the answer: a write that takes longer counts as failed.
    stored.catch(() => undefined)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new StoreFailure("The broker does not answer")), probeMs)
    })
    await Promise.race([stored, late]).finally(() => clearTimeout(timer))
  }

  /** Leases have a stream of their own, which is never full: as much is written to the runs' as an answer takes. */
  async #findRoom(): Promise<void> {
    const subject = this.#broker.names.piece("probe", 0, this.#leases.session, 0)
    await this.#broker.put(subject, Buffer.alloc(probeBytes), holdMs.parting)
    await this.#broker.purge("log", subject)
    this.#broker.foundRoom()
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
      const releases = this.#leases.held().map(({ run_id, fence }) => this.#part({ run_id, owner: "", fence }))
      await Promise.all(releases)
      await this.#leases.forget().catch(() => undefined)
    }
    await this.#broker.close()
  }

  /** A lease that cannot be given back expires. */
  async #part(lease: Lease): Promise<void> {
    try {
      await this.#release(lease, holdMs.parting)
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error
    }
  }

  #checkOpen(): void {
    if (this.#closed) throw new StoreFailure("The store is closed")
  }
}

const nothing = { run_id: "", page: () => ({ events: [], over: true }), watch: () => () => {} }

function keyOf({ run_id, fence }: Pick<Lease, "run_id" | "fence">): string {
  return `${run_id} ${fence}`
}
