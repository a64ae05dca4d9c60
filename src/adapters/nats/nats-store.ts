import { randomBytes } from "node:crypto"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { checkAppend } from "../../ports/check-append.ts"
import type { LogEvent } from "../../run/events.ts"
import { followLog } from "../../ports/follow-log.ts"
import {
  LeaseLost,
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
import type { Clock } from "../../ports/clock.ts"
import type { Vault } from "../../ports/vault.ts"
import type { BrokerAddress, BrokerProofs } from "./address.ts"
import { AnswerCache } from "./answer-cache.ts"
import { Broker, holdMs, type BrokerHealth } from "./broker.ts"
import { Cancels } from "./cancels.ts"
import { packFrame, unpackFrame } from "./frame.ts"
import { Leases, type HeldUntil } from "./leases.ts"
import { LiveLogs } from "./live-log.ts"
import { LogReader } from "./log-reader.ts"
import { fillSlot, LogWriter, type Position } from "./log-writer.ts"
import { isRunId, lastToken, namesOf, tokenOf } from "./names.ts"
import { Retention } from "./retention.ts"
import { aboutRun, aboutSecrets, endOf, type EventsFacts, type HeadFacts, type Slot } from "./slot.ts"
import { ensureStreams, type StreamSizes } from "./streams.ts"

const readBytes = 8 * 1024 * 1024
/** How long a creator may take between its first message and its last. */
const creationMs = 60_000
const probeMs = 800
/** How many runs are looked at side by side for a claim. */
const claimedTogether = 8

export interface NatsStoreOptions {
  readonly address: BrokerAddress
  readonly proofs: BrokerProofs
  readonly prefix: string
  readonly sizes: StreamSizes
  readonly vault: Vault
  readonly clock: Clock
  /** A sentence for the operator. */
  readonly remark: (sentence: string) => void
}

/** A store that knows how its broker is. */
export interface ClusterStore extends RunStore {
  readonly health: BrokerHealth
}

/** Connects, and makes the streams that are not there. Rejects with a `StoreFailure` that says what to do. */
export async function openNatsStore(options: NatsStoreOptions): Promise<ClusterStore> {
  const broker = await Broker.connect(options.address, options.proofs, namesOf(options.prefix))
  try {
    const nodes = { clustered: broker.clustered, named: options.address.servers.length }
    const remarks = await ensureStreams(broker.manager, broker.names, options.sizes, nodes)
    for (const sentence of remarks) options.remark(sentence)
    await checkMark(broker, options.vault.mark)
    return new NatsStore(broker, options)
  } catch (error) {
    await broker.close()
    if (error instanceof StoreFailure) throw error
    throw new StoreFailure(
      `The broker at ${options.address.servers.join(", ")} cannot be used: ${error instanceof Error ? error.message : String(error)}`,
      error,
    )
  }
}

/** All processes must have one key: with another one, nothing of what is stored could be read. */
async function checkMark(broker: Broker, mark: Uint8Array): Promise<void> {
  await broker.putOnce(broker.names.mark, packFrame({}, [mark]))
  const stored = await broker.get("keys", broker.names.mark, "sure")
  const found = stored === null ? undefined : unpackFrame(stored.subject, stored.data).parts[0]
  if (found === undefined || !Buffer.from(found).equals(mark)) {
    throw new StoreFailure(
      "WIRE_ENCRYPTION_KEY is not the key that the runs in the broker were encrypted with: all replicas need the same " +
        "one. This one takes no runs.",
    )
  }
}

/** What is stored under an idempotency key. */
interface KeyFacts {
  readonly run_id: string
  readonly fingerprint: string
}

function asExisting(facts: KeyFacts, fingerprint: string): ExistingRun {
  return { outcome: facts.fingerprint === fingerprint ? "exists" : "conflict", run_id: facts.run_id }
}

class NatsStore implements ClusterStore {
  readonly #broker: Broker
  readonly #vault: Vault
  readonly #clock: Clock
  readonly #reader: LogReader
  readonly #live: LiveLogs
  readonly #cancels: Cancels
  readonly #cache: AnswerCache
  readonly #retention: Retention
  readonly #leases: Leases
  /** By run and fence. */
  readonly #writers = new Map<string, LogWriter>()
  #closed = false
  #shut: Promise<void> | null = null

  constructor(broker: Broker, { vault, clock, sizes }: NatsStoreOptions) {
    this.#broker = broker
    this.#vault = vault
    this.#clock = clock
    this.#reader = new LogReader(broker, vault)
    this.#live = new LiveLogs(broker, this.#reader)
    this.#cancels = new Cancels(broker)
    this.#cache = new AnswerCache(broker, vault, clock)
    this.#retention = new Retention(broker, clock, sizes.tombstone_ms)
    this.#leases = new Leases(broker, randomBytes(12).toString("base64url"))
  }

  get health(): BrokerHealth {
    return this.#broker.health
  }

  // ------------------------------------------------------------------------------------------------------- creating

  async create(run: NewRun, owner: string, lease_ms: number): Promise<CreateOutcome> {
    this.#checkOpen()
    const { run_id, caller, idempotency } = run
    if (!isRunId(run_id)) throw new StoreFailure(`"${run_id}" cannot be a run's id`)
    const { once, fingerprint } = this.#tokens(caller, idempotency)
    if (once !== null) {
      const taken = await this.#takeKey(once, run_id, fingerprint)
      if (taken !== null) return taken
    }
    const { key, wrapped } = this.#vault.newKey(aboutRun(run_id))
    const { secrets, ...request } = run.request
    // The list of open runs first: a run whose creator dies now is found there, and taken up or struck off.
    const opened = await this.#broker.putOnce(
      this.#broker.names.open(run.created_at, run_id),
      this.#sealOpen(run_id, secrets),
    )
    const sealed = key.seal("request", JSON.stringify(request))
    const until = this.#clock.now() + lease_ms
    const facts = {
      kind: "head",
      fence: 1,
      session: this.#leases.session,
      until,
      last: 0,
      caller,
      created_at: run.created_at,
      resumable: run.resumable,
      once,
    } as const
    const head = await fillSlot(this.#broker, this.#reader, run_id, 0, facts, [wrapped, sealed])
    if (head === null || head.kind !== "head") {
      if (opened !== null) await this.#strikeOff(run.created_at, run_id, opened)
      throw new StoreFailure(`There is a run ${run_id} already`)
    }
    this.#reader.remember(run_id, { facts: head, key, request: sealed })
    const lease: Lease = { run_id, owner, fence: 1 }
    this.#own(lease, until, { slot: 0, last: 0, key })
    return { outcome: "created", lease }
  }

  async existing(caller: string, idempotency: Idempotency): Promise<ExistingRun | null> {
    this.#checkOpen()
    const { once, fingerprint } = this.#tokens(caller, idempotency)
    const found = once === null ? null : await this.#broker.get("keys", this.#broker.names.once(once), "sure")
    if (found === null) return null
    const { facts } = unpackFrame<KeyFacts>(found.subject, found.data)
    const head = await this.#reader.slot(facts.run_id, 0, "sure")
    return head?.facts.kind === "head" ? asExisting(facts, fingerprint) : null
  }

  /** Of the key, and of the request that it came with. */
  #tokens(caller: string, given: Idempotency | null): { readonly once: string | null; readonly fingerprint: string } {
    if (given === null) return { once: null, fingerprint: "" }
    return {
      once: tokenOf(this.#vault.digest("idempotency", [caller, given.key])),
      fingerprint: tokenOf(this.#vault.digest("fingerprint", [caller, given.key, given.fingerprint])),
    }
  }

  /** Null: the key is ours. */
  async #takeKey(once: string, run_id: string, fingerprint: string): Promise<ExistingRun | null> {
    const subject = this.#broker.names.once(once)
    for (;;) {
      if ((await this.#broker.putOnce(subject, packFrame({ run_id, fingerprint }, []))) !== null) return null
      const found = await this.#broker.getFromLeader("keys", subject)
      // Retention took it between the two.
      if (found === null) continue
      const { facts } = unpackFrame<KeyFacts>(subject, found.data)
      // An attempt of our own whose answer was lost.
      if (facts.run_id === run_id) return null
      if (await this.#isThere(facts.run_id)) return asExisting(facts, fingerprint)
      await this.#broker.erase("keys", found.seq)
    }
  }

  /** Whether a run whose key is there has been made. If its creator does not come, nobody will make it any more. */
  async #isThere(run_id: string): Promise<boolean> {
    const deadline = performance.now() + 3_000
    for (let pause = 5; performance.now() < deadline; pause = Math.min(pause * 2, 200)) {
      const head = await this.#reader.slot(run_id, 0, "sure")
      if (head !== null) return head.facts.kind === "head"
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
    return !(await this.#makeVoid(run_id))
  }

  async #makeVoid(run_id: string): Promise<boolean> {
    const facts = { kind: "void", fence: 0, session: "", until: 0, last: 0 } as const
    const filled = await fillSlot(this.#broker, this.#reader, run_id, 0, facts, [])
    if (filled === null) return (await this.#reader.slotFromLeader(run_id, 0))?.facts.kind === "void"
    await this.#retention.ended(run_id, { finished_at: this.#clock.now(), caller: "", slot: 0, once: null })
    return true
  }

  /** Under a key of their own, which is deleted with them. */
  #sealOpen(run_id: string, secrets: JsonObject): Uint8Array {
    if (Object.keys(secrets).length === 0) return packFrame({}, [])
    const { key, wrapped } = this.#vault.newKey(aboutSecrets(run_id))
    return packFrame({}, [wrapped, key.seal("secrets", JSON.stringify(secrets))])
  }

  /** Removes a run from the list of open ones, its secrets overwritten. */
  async #strikeOff(created_at: number, run_id: string, known?: number): Promise<void> {
    const seq = known ?? (await this.#broker.get("open", this.#broker.names.open(created_at, run_id), "sure"))?.seq
    if (seq !== undefined) await this.#broker.erase("open", seq)
  }

  #own(lease: Lease, until: number, position: Position | null): void {
    this.#leases.hold(lease.run_id, lease.fence, until)
    this.#makeWriter(lease, position)
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
    const { caller, created_at, resumable } = head.facts
    return {
      found: "run",
      run: {
        run_id,
        caller,
        created_at,
        finished_at: endOf(tail.facts),
        last_event_id: tail.facts.last,
        cancel_requested: await this.#cancels.isRequested(run_id),
        resumable,
      },
    }
  }

  async request(run_id: string): Promise<RunRequest> {
    this.#checkOpen()
    const there = isRunId(run_id) && (await this.#reader.slot(run_id, 0, "sure")) !== null
    const head = there ? await this.#reader.head(run_id) : null
    if (head === null) throw new StoreFailure(`There is no run ${run_id}`)
    const open = await this.#broker.get("open", this.#broker.names.open(head.facts.created_at, run_id), "sure")
    return {
      ...(JSON.parse(head.key.open("request", head.request)) as Omit<RunRequest, "secrets">),
      secrets: open === null ? {} : this.#openSecrets(run_id, unpackFrame(open.subject, open.data).parts),
    }
  }

  #openSecrets(run_id: string, [wrapped, body]: readonly Uint8Array[]): JsonObject {
    if (wrapped === undefined || body === undefined) return {}
    return JSON.parse(this.#vault.openKey(aboutSecrets(run_id), wrapped).open("secrets", body)) as JsonObject
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
    } catch (error) {
      if (error instanceof LeaseLost) this.#forgetLease(lease)
      throw error
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
        now: () => this.#clock.now(),
        stored: (run_id, slot, facts, stored, bytes) => {
          this.#live.stored(run_id, slot, stored, bytes, facts.end !== null)
        },
        ended: (run_id, slot, facts) => this.#ended(run_id, slot, facts),
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
      if (head !== null) await this.#close(run_id, slot, facts, head.facts)
    } catch (error) {
      // The run has ended, and its log says so. It is still among the open ones: whoever looks for work there tidies up.
      if (!(error instanceof StoreFailure)) throw error
    }
  }

  /** Enters an ended run in the list of those, then removes it from the list of the open ones. */
  async #close(run_id: string, slot: number, { end }: EventsFacts, head: HeadFacts): Promise<void> {
    const { caller, once, created_at } = head
    await this.#retention.ended(run_id, { finished_at: end ?? this.#clock.now(), caller, slot, once })
    await this.#strikeOff(created_at, run_id)
  }

  // --------------------------------------------------------------------------------------------------------- leases

  async claim(owner: string, limit: number, lease_ms: number): Promise<ClaimedLease[]> {
    this.#checkOpen()
    // After trouble with the broker nobody has been able to say that they live: give them time to.
    if (limit <= 0 || this.#broker.calmMs < lease_ms) return []
    const [open, held] = await Promise.all([
      this.#broker.list("open", `${this.#broker.names.prefix}.open.>`),
      this.#leases.ofAll(),
    ])
    const now = this.#clock.now()
    const candidates = open.toSorted().filter((subject) => (held.get(lastToken(subject))?.until ?? 0) <= now)
    const claimed: ClaimedLease[] = []
    for (let at = 0; at < candidates.length && claimed.length < limit;) {
      const some = candidates.slice(at, at + Math.min(claimedTogether, limit - claimed.length))
      at += some.length
      const outcomes = await Promise.all(some.map((subject) => this.#claimOne(subject, held, owner, lease_ms)))
      claimed.push(...outcomes.filter((lease) => lease !== null))
    }
    if (claimed.length > 0) await this.#leases.say()
    return claimed
  }

  async #claimOne(
    subject: string,
    held: ReadonlyMap<string, HeldUntil>,
    owner: string,
    lease_ms: number,
  ): Promise<ClaimedLease | null> {
    const run_id = lastToken(subject)
    for (;;) {
      const tail = await this.#reader.tail(run_id)
      const now = this.#clock.now()
      if (tail === null) {
        await this.#strikeOffUnmade(subject, run_id)
        return null
      }
      const head = await this.#reader.head(run_id)
      if (head === null) return null
      if (tail.facts.kind === "events" && tail.facts.end !== null) {
        // Whoever ended it is about to tidy up, or died before it could.
        if (tail.facts.end <= now - lease_ms) await this.#close(run_id, tail.slot, tail.facts, head.facts)
        return null
      }
      const { fence, last } = tail.facts
      const said = held.get(run_id)
      if (tail.facts.until > now || (said?.fence === fence && said.until > now)) return null
      const until = now + lease_ms
      const facts = { kind: "claim", fence: fence + 1, session: this.#leases.session, until, last } as const
      const filled = await fillSlot(this.#broker, this.#reader, run_id, tail.slot + 1, facts, [])
      if (filled !== null) {
        const lease = { run_id, owner, fence: filled.fence, given_back: tail.facts.kind === "release" }
        this.#writers.get(keyOf({ run_id, fence }))?.lose()
        this.#own(lease, until, { slot: tail.slot + 1, last, key: head.key })
        return lease
      }
      // Another claim, or an append of an owner who is not dead after all: look again which.
    }
  }

  /** A run that was announced and never made: its creator died, or is about to make it. */
  async #strikeOffUnmade(subject: string, run_id: string): Promise<void> {
    const created_at = Number(subject.split(".").at(-2))
    if (this.#clock.now() - created_at < creationMs) return
    if (await this.#makeVoid(run_id)) await this.#strikeOff(created_at, run_id)
  }

  async renew(lease: Lease, lease_ms: number): Promise<boolean> {
    this.#checkOpen()
    const until = this.#clock.now() + lease_ms
    if (!(await this.#isHeld(lease, lease_ms))) {
      this.#forgetLease(lease)
      return false
    }
    this.#leases.hold(lease.run_id, lease.fence, until)
    await this.#leases.say()
    return true
  }

  /** Whether the log says that the lease is ours. */
  async #isHeld(lease: Lease, lease_ms: number): Promise<boolean> {
    const { run_id, fence } = lease
    const writer = this.#writers.get(keyOf(lease))
    // What it is about to append will tell.
    await writer?.idle()
    if (writer?.lost === true) return false
    const now = this.#clock.now()
    if (writer !== undefined && now - writer.confirmedAt < lease_ms / 2) return true
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
      const facts = { kind: "release", fence: fence + 1, session: "", until: 0, last: tail.facts.last } as const
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
    await this.#cancels.request(run_id)
    return true
  }

  onCancel(run_id: string, listener: () => void): () => void {
    return this.#closed ? () => {} : this.#cancels.on(run_id, listener)
  }

  async cacheGet(caller: string, cache_key: string, hash: string): Promise<JsonValue | undefined> {
    this.#checkOpen()
    return this.#cache.get(caller, cache_key, hash)
  }

  async cachePut(caller: string, cache_key: string, hash: string, value: JsonValue, ttl_ms: number): Promise<void> {
    this.#checkOpen()
    await this.#cache.put(caller, cache_key, hash, value, ttl_ms)
  }

  async cachePurge(caller: string, cache_key: string): Promise<number> {
    this.#checkOpen()
    return this.#cache.purge(caller, cache_key)
  }

  // ------------------------------------------------------------------------------------------------------ life

  async sweep(ended_before: number): Promise<number> {
    this.#checkOpen()
    return this.#retention.sweep(ended_before)
  }

  async probe(): Promise<void> {
    this.#checkOpen()
    if (!this.#broker.health.connected) throw new StoreFailure("The broker is out of reach")
    const stored = this.#leases.say()
    // Somebody waits for the answer: what is not stored by then counts as not stored.
    stored.catch(() => undefined)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new StoreFailure("The broker does not answer")), probeMs)
    })
    await Promise.race([stored, late]).finally(() => clearTimeout(timer))
  }

  close(): Promise<void> {
    this.#closed = true
    this.#shut ??= this.#shutDown()
    return this.#shut
  }

  async #shutDown(): Promise<void> {
    this.#live.close()
    this.#cancels.close()
    if (this.#broker.health.connected) {
      const releases = this.#leases.held().map(([run_id, { fence }]) => this.#part({ run_id, owner: "", fence }))
      await Promise.all(releases)
      await this.#leases.forget().catch(() => undefined)
    }
    await this.#broker.close()
  }

  /** A lease that cannot be given back runs out. */
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

const nothing = { page: () => ({ events: [], over: true }), watch: () => () => {} }

function keyOf({ run_id, fence }: Pick<Lease, "run_id" | "fence">): string {
  return `${run_id} ${fence}`
}
