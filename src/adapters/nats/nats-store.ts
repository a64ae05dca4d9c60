import { checkAppend } from "../../ports/check-append.ts"
import type { LogEvent } from "../../log/events.ts"
import { noUsage } from "../../log/usage.ts"
import { followLog } from "../../ports/follow-log.ts"
import { Questions } from "../../ports/question-store.ts"
import {
  firstFence,
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
import { textOfRequest } from "../../store/new-run.ts"
import { newRunKey, newSecretsKey, openSecretsKey } from "../../store/run-key.ts"
import { aboutUrl } from "../../store/sealed-notices.ts"
import { Announcements } from "./announcements.ts"
import { type Broker, holdMs } from "./broker.ts"
import { RunClaims } from "./claim-runs.ts"
import { packFrame } from "./frame.ts"
import { WatchedVault } from "./key-record.ts"
import { Leases } from "./leases.ts"
import { LiveLogs } from "./live-log.ts"
import { LogReader } from "./log-reader.ts"
import { isRunId, tokenOf } from "./names.ts"
import { NatsCache } from "./nats-cache.ts"
import { Outbox } from "./nats-outbox.ts"
import { NatsWaits } from "./nats-waits.ts"
import { NatsTriggers } from "./nats-triggers.ts"
import { OwnRuns } from "./own-runs.ts"
import { probe } from "./probe.ts"
import { Retention, type KeyFacts } from "./retention.ts"
import { Rows, type Row } from "./rows.ts"
import { RunEntries } from "./run-list.ts"
import { RunRows, woken, type RunFacts, type StoredRun } from "./run-rows.ts"
import { StoredBytes } from "./stored-bytes.ts"
import type { StreamSizes } from "./streams.ts"
import type { Write } from "./transport.ts"

const readBytes = 1024 * 1024

/** What a store needs beside its broker. */
export interface StoreParts {
  readonly masterKey: MasterKey
  readonly clock: Clock
  readonly sizes: StreamSizes
  /** How often to look whether the master key was changed. Differs only in tests. */
  readonly lookMs?: number
}

/** An idempotency key and the request that it came with, by their keyed hashes. */
interface KeyTokens {
  readonly caller: string
  readonly key: string
  readonly fingerprint: string
}

/** A store on a broker that has the streams, in a process that has the keys. Every change of a run is one batch, which replaces the run's row. */
export class NatsStore implements RunStore {
  readonly waits: NatsWaits
  readonly questions: Questions
  readonly outbox: Outbox
  readonly cache: NatsCache
  readonly triggers: NatsTriggers
  readonly #broker: Broker
  readonly #vault: WatchedVault
  readonly #clock: Clock
  readonly #rows: Rows
  readonly #runs: RunRows
  readonly #reader: LogReader
  readonly #live: LiveLogs
  readonly #news: Announcements
  readonly #retention: Retention
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
    const rows = (this.#rows = new Rows(broker))
    const runs = (this.#runs = new RunRows(broker, rows, vault))
    const reader = (this.#reader = new LogReader(broker, rows, runs))
    const live = (this.#live = new LiveLogs(broker, runs, reader))
    const news = (this.#news = new Announcements(broker, runs, () => this.#unheard()))
    const entries = (this.#entries = new RunEntries(broker, runs))
    const leases = (this.#leases = new Leases(broker, clock, broker.token(12)))
    this.triggers = new NatsTriggers(broker, vault)
    this.cache = new NatsCache(broker, vault, clock)
    const outbox = (this.outbox = new Outbox(broker, rows, runs, vault, clock))
    const waits = (this.waits = new NatsWaits({ broker, rows, runs, news, vault, clock }))
    this.questions = new Questions(waits)
    const { tombstoneMs } = sizes
    const retention = new Retention({ broker, rows, runs, entries, outbox, waits, clock, tombstoneMs })
    this.#retention = retention
    this.#claims = new RunClaims(broker, rows, runs, leases, clock)
    this.#own = new OwnRuns({ broker, rows, runs, live, leases, waits, outbox, retention, clock })
  }

  /** To be awaited before anything else. Rejects with a `StoreFailure` where another master key is the store's. */
  agreeOnKeys(): Promise<void> {
    return this.#vault.agree()
  }

  // ------------------------------------------------------------------------------------------------------- creating

  async create(run: NewRun, owner: string, leaseMs: number): Promise<CreateOutcome> {
    const { run_id, caller, idempotency } = run
    if (!isRunId(run_id)) throw new StoreFailure(`"${run_id}" cannot be a run's id`)
    const { names } = this.#broker
    const { key, wrapped } = newRunKey(this.#vault, run_id, caller)
    const tokens = idempotency === null ? null : this.#tokens(caller, idempotency)
    const facts = this.#runs.named(this.#newFacts(run, tokens))
    const { notify } = run.request.options
    const url = notify === undefined ? new Uint8Array(0) : this.#vault.seal(aboutUrl(run_id), notify.url)
    const parts = [wrapped, url] as const
    const nonce = this.#broker.token(9)
    const sealed = key.seal("request", textOfRequest(run.request))
    const listed = names.listed({ caller, workflow: facts.workflow?.name ?? null, created_at: run.created_at, run_id })
    let keyRow: Row<KeyFacts> | null = null
    for (;;) {
      const askedAt = instant(this.#clock)
      const seq = await this.#broker.write([
        ...(tokens === null ? [] : [this.#takeKey(tokens, run, keyRow)]),
        ...this.#rows.pack(run_id, names.request(run_id), { nonce }, [sealed], { expected: 0 }),
        ...this.#secrets(run),
        { subject: listed, data: packFrame({}, []) },
        this.#runs.openEntry(run_id, facts),
        ...this.#runs.write(run_id, facts, parts, 0),
      ])
      const request = seq === null ? await this.#rows.read<{ nonce: string }>(names.request(run_id)) : null
      if (seq !== null || request?.facts.nonce === nonce) {
        const stored = await this.#created(run_id, facts, parts, seq)
        this.#runs.remember(run_id, key)
        const lease: Lease = { run_id, owner, fence: firstFence }
        this.#own.hold(lease, leaseMs, askedAt, stored)
        return { outcome: "created", lease }
      }
      if (request !== null || (await this.#runs.find(run_id)) !== null) {
        throw new StoreFailure(`There is a run ${run_id} already`)
      }
      if (tokens === null) continue
      keyRow = await this.#rows.read<KeyFacts>(names.key(tokens.key))
      const existing = keyRow === null ? null : await this.#existing(keyRow, tokens)
      if (existing !== null) return existing
    }
  }

  /** The row of a run that was just made: the one that this process wrote, or what has become of it since. */
  async #created(run_id: string, facts: RunFacts, parts: StoredRun["parts"], seq: number | null) {
    if (seq !== null) return { run_id, seq, facts, parts, damaged: 0 }
    const run = await this.#runs.get(run_id)
    if (run === null) throw new NoSuchRun(run_id)
    return run
  }

  #newFacts({ caller, created_at, request, idempotency }: NewRun, tokens: KeyTokens | null) {
    const { workflow, trigger, options } = request
    return {
      caller,
      created_at,
      ...(workflow === undefined ? {} : { workflow }),
      ...(trigger === undefined ? {} : { trigger }),
      ...(tokens === null ? {} : { key: tokens.key }),
      ...(idempotency?.kept_until === undefined ? {} : { key_until: idempotency.kept_until }),
      ...(options.notify === undefined ? {} : { notify: options.notify.events }),
      fence: firstFence,
      session: this.#leases.session,
      last: 0,
      usage: noUsage,
    }
  }

  /** Under a key of their own, which is overwritten with them. */
  #secrets({ run_id, request: { secrets } }: NewRun): Write[] {
    if (Object.keys(secrets).length === 0) return []
    const { key, wrapped } = newSecretsKey(this.#vault, run_id)
    const data = packFrame({}, [wrapped, key.seal("secrets", JSON.stringify(secrets))])
    return [{ subject: this.#broker.names.secrets(run_id), data }]
  }

  // ----------------------------------------------------------------------------------------------- idempotency keys

  #tokens(caller: string, { key, fingerprint }: Idempotency): KeyTokens {
    return {
      caller,
      key: tokenOf(this.#vault.digest("idempotency", [caller, key])),
      fingerprint: tokenOf(this.#vault.digest("fingerprint", [caller, key, fingerprint])),
    }
  }

  /** `before`: a key that is free. */
  #takeKey({ key, fingerprint }: KeyTokens, run: NewRun, before: Row<KeyFacts> | null): Write {
    const until = run.idempotency?.kept_until
    const facts: KeyFacts = { run_id: run.run_id, fingerprint, ...(until !== undefined && { until }) }
    const expected = before?.seq ?? 0
    return { subject: this.#broker.names.key(key), data: packFrame(facts, []), expected, replaces: true }
  }

  async existing(caller: string, idempotency: Idempotency): Promise<ExistingRun | null> {
    const tokens = this.#tokens(caller, idempotency)
    const row = await this.#rows.read<KeyFacts>(this.#broker.names.key(tokens.key))
    return row === null ? null : this.#existing(row, tokens)
  }

  /** The run that a key belongs to; null where the key is free. */
  async #existing({ facts }: Row<KeyFacts>, { caller, fingerprint }: KeyTokens): Promise<ExistingRun | null> {
    if (facts.free === true) return null
    const { run_id, until } = facts
    const run = await this.#runs.get(run_id)
    const isKept = until !== undefined && until > this.#clock.now()
    if (run === null && !isKept) return null
    // A key that leads to the run of another caller was put there by somebody else.
    const isSame = fingerprint === facts.fingerprint && (run === null || run.facts.caller === caller)
    return { outcome: isSame ? "exists" : "conflict", run_id }
  }

  // -------------------------------------------------------------------------------------------------------- reading

  async lookup(run_id: string): Promise<RunLookup> {
    const run = await this.#runs.find(run_id)
    if (run === null) return { found: "nothing" }
    if (run.found === "gone") {
      return run.until > this.#clock.now() ? { found: "expired", caller: run.caller } : { found: "nothing" }
    }
    const { facts } = run
    return {
      found: "run",
      run: {
        run_id,
        caller: facts.caller,
        created_at: facts.created_at,
        finished_at: facts.finished_at ?? null,
        last_event_id: facts.last,
        cancel_requested: facts.cancel === true,
        workflow: facts.workflow ?? null,
        trigger: facts.trigger ?? null,
        waiting: facts.waiting === true,
      },
    }
  }

  async list(query: RunQuery): Promise<ListedRun[]> {
    return this.#entries.list(query)
  }

  async request(run_id: string): Promise<RunRequest> {
    const { names } = this.#broker
    const run = await this.#runs.get(run_id)
    const row = run === null ? null : await this.#rows.read(names.request(run_id))
    const [sealed] = row === null ? [] : ((await this.#rows.whole(row, 1))?.parts ?? [])
    if (run === null || sealed === undefined) throw new NoSuchRun(run_id)
    const request = JSON.parse((await this.#runs.key(run)).open("request", sealed)) as Omit<RunRequest, "secrets">
    const isOver = run.facts.finished_at !== undefined
    const [wrapped, body] = isOver ? [] : ((await this.#rows.read(names.secrets(run_id)))?.parts ?? [])
    if (wrapped === undefined || body === undefined) return { ...request, secrets: {} }
    const text = openSecretsKey(this.#vault, run_id, wrapped).open("secrets", body)
    return { ...request, secrets: JSON.parse(text) as RunRequest["secrets"] }
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
      return (await this.#runs.get(run_id))?.facts.caller ?? null
    } catch (error) {
      if (error instanceof StoreFailure) return null
      throw error
    }
  }

  async failAsCorrupt(lease: Lease, end: LogEvent): Promise<void> {
    await this.#own.failAsCorrupt(lease, end)
  }

  // --------------------------------------------------------------------------------------------------------- leases

  async claim(owner: string, limit: number, leaseMs: number): Promise<ClaimedLease[]> {
    return this.#claims.claim(owner, limit, leaseMs, ({ run, before, askedAt }) => {
      const { run_id, facts } = run
      this.#own.lose({ run_id, fence: before })
      this.#own.hold({ run_id, owner, fence: facts.fence }, leaseMs, askedAt, run)
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
    for (;;) {
      const run = await this.#runs.get(run_id)
      if (run === null || run.facts.finished_at !== undefined) return false
      if (run.facts.cancel === true) break
      const facts = this.#runs.named(woken({ ...run.facts, cancel: true }, this.#clock.now()))
      const isWoken = run.facts.waiting === true
      const seq = await this.#broker.write([
        { subject: this.#broker.names.cancel(run_id), data: packFrame({}, []) },
        ...(isWoken ? [this.#runs.openEntry(run_id, facts)] : []),
        ...this.#runs.next(run, facts),
      ])
      if (seq === null) continue
      if (isWoken) await this.#rows.remove(this.waits.parkedSubject(run_id, run.facts))
      break
    }
    this.#news.cancel(run_id)
    return true
  }

  onCancel(run_id: string, listener: () => void): () => void {
    return this.#news.onCancel(run_id, listener)
  }

  /** Runs with new outcomes, whether or not these were announced here. */
  async #unheard(): Promise<string[]> {
    return [...(await this.#claims.woken()), ...(await this.#own.withOutcomes())]
  }

  // ------------------------------------------------------------------------------------------------------ life

  async sweep(ended_before: number): Promise<number> {
    const swept = await this.#retention.sweep(ended_before)
    this.#stored.swept(ended_before)
    return swept
  }

  /** What the caller stores is counted by the minute: the bytes of the run count until retention would delete it. */
  async delete(run_id: string): Promise<Deletion> {
    return this.#retention.delete(run_id)
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
