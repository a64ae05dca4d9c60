import type {
  KeptOutput,
  StoredTrigger,
  TriggerPause,
  TriggerState,
  TriggerStore,
} from "../../src/ports/trigger-store.ts"
import type { FileStore } from "../../src/ports/file-store.ts"
import type { EventStore } from "../../src/ports/event-store.ts"
import type { ListedRun, RunQuery } from "../../src/ports/run-list.ts"
import type { ErasureStore } from "../../src/ports/erasure.ts"
import type { ScoreStore } from "../../src/ports/scores.ts"
import type { ActionStore } from "../../src/ports/run-actions.ts"
import type { RunBucket, StatsQuery } from "../../src/ports/run-stats.ts"
import type { WakeUp } from "../../src/base/wake-up.ts"
import type { Alarm } from "../../src/log/replay-data.ts"
import type { JsonValue } from "../../src/base/json-value.ts"
import { followLog } from "../../src/ports/follow-log.ts"
import type { Notice, NoticeOutcome, OutboxStore, ReceiverLimit, TakenNotices } from "../../src/ports/notices.ts"
import { Questions } from "../../src/ports/question-store.ts"
import type { WaitCounts, WaitOutcome, WaitStore } from "../../src/ports/waits.ts"
import {
  StoreFailure,
  type AnswerCache,
  type ClaimedLease,
  type CreateOutcome,
  type Deletion,
  type ExistingRun,
  type Idempotency,
  type Lease,
  type NewRun,
  type RunLookup,
  type RunMove,
  type RunRequest,
  type RunStore,
  type UnkeyedRun,
} from "../../src/ports/store.ts"
import type { LedgerRow, LedgerStore } from "../../src/ports/ledger.ts"
import type { VersionStore } from "../../src/ports/version-store.ts"
import { isTerminal, type LogEvent } from "../../src/log/events.ts"
import type { Machine, World } from "./world.ts"

export interface StoreFaults {
  /** Chances that an operation fails before it is done, is done but its answer never arrives, and is done after it has failed. */
  readonly failed: number
  readonly unanswered: number
  readonly late: number
  /** Chance that an operation takes seconds. */
  readonly slow: number
  /** Chance that an announcement never arrives, and that it arrives twice. */
  readonly unheard: number
  readonly twice: number
}

export const noFaults: StoreFaults = { failed: 0, unanswered: 0, late: 0, slow: 0, unheard: 0, twice: 0 }

/** What the store did, in the order in which it did it. */
export type Applied = (operation: string, detail: unknown) => void

const pageEvents = 20
/** How often a follower looks by itself: announcements may get lost. */
const lookMs = 5_000

const left = new Error("The follower has left")

/** The way from one machine to the store that all of them share: slow at times, and not always there. */
export class SimulatedStore implements RunStore {
  readonly #store: RunStore
  readonly #world: World
  readonly #machine: Machine
  readonly #applied: Applied
  /** Whether the store has a question whose time is up. */
  readonly #isDue: () => boolean
  faults: StoreFaults
  /** Only in some histories: not every store has it. */
  readonly begin?: NonNullable<RunStore["begin"]>
  /** When the last append of each run arrives: they arrive in the order in which they were sent. */
  readonly #arrivals = new Map<string, number>()

  constructor(
    store: RunStore,
    world: World,
    machine: Machine,
    faults: StoreFaults,
    applied: Applied,
    { isDue, begins }: { readonly isDue: () => boolean; readonly begins: boolean },
  ) {
    this.#store = store
    this.#world = world
    this.#machine = machine
    this.faults = faults
    this.#applied = applied
    this.#isDue = isDue
    if (begins) this.begin = (run, lease, leaseMs) => this.#begin(run, lease, leaseMs)
  }

  #latency(): number {
    const { random } = this.#world
    if (!random.chance(this.faults.slow)) return random.next() * 4
    this.#world.count("store: slow")
    return 100 + random.next() * 8_000
  }

  /** Sends a request to the store, and its answer back. `inOrder`: after what was sent before with the same name. */
  #send<T>(apply: () => Promise<T>, inOrder?: string): Promise<T> {
    const { random } = this.#world
    const fate = random.next()
    const { failed, unanswered, late } = this.faults
    let way = this.#latency()
    if (inOrder !== undefined) {
      const arrival = Math.max(this.#world.now + way, this.#arrivals.get(inOrder) ?? 0)
      this.#arrivals.set(inOrder, arrival)
      way = arrival - this.#world.now
    }
    const back = this.#latency()
    const patience = way + back + random.next() * 3_000
    return new Promise<T>((resolve, reject) => {
      const fail = (): void => reject(new StoreFailure("The store cannot be reached"))
      const answer = (ms: number, act: () => void): void => void this.#world.after(ms, this.#machine, act)
      if (fate < failed) {
        this.#world.count("store: fails")
        answer(way + back, fail)
        return
      }
      const isLate = fate >= failed + unanswered && fate < failed + unanswered + late
      if (isLate) this.#world.count("store: done after it has failed")
      else if (fate < failed + unanswered) this.#world.count("store: done without an answer")
      this.#world.after(isLate ? patience + random.next() * 5_000 : way, null, () => {
        // What a machine had sent when it died may still arrive.
        if (this.#machine.state === "dead") {
          if (random.chance(0.5)) return
          this.#world.count("store: done for a process that is dead")
        }
        apply().then(
          (value) => {
            if (fate >= failed + unanswered + late) answer(back, () => resolve(value))
          },
          (error: Error) => {
            if (fate >= failed + unanswered + late) answer(back, () => reject(error))
          },
        )
      })
      if (fate < failed + unanswered + late) answer(patience, fail)
    })
  }

  create(run: NewRun, owner: string, leaseMs: number): Promise<CreateOutcome> {
    return this.#send(async () => {
      const outcome = await this.#store.create(run, owner, leaseMs)
      this.#applied("create", { run_id: run.run_id, owner, outcome })
      return outcome
    })
  }

  /** Appends are sent while the run is on its way, and arrive after it. */
  #begin(run: UnkeyedRun, { run_id, owner }: Lease, leaseMs: number): Promise<void> {
    const begunAt = this.#world.now
    return this.#send(async () => {
      const outcome = await this.#store.create(run, owner, leaseMs)
      this.#applied("create", { run_id, owner, outcome, begunAt })
    }, run_id)
  }

  existing(caller: string, idempotency: Idempotency): Promise<ExistingRun | null> {
    return this.#send(() => this.#store.existing(caller, idempotency))
  }

  lookup(run_id: string): Promise<RunLookup> {
    return this.#send(() => this.#store.lookup(run_id))
  }

  request(run_id: string): Promise<RunRequest> {
    return this.#send(() => this.#store.request(run_id))
  }

  append(lease: Lease, events: readonly LogEvent[], entries: readonly LedgerRow[] = [], move?: RunMove): Promise<void> {
    const sent = [...events]
    return this.#send(async () => {
      await this.#store.append(lease, sent, entries, move)
      this.#applied("append", { lease, events: sent, ...(move !== undefined && { move }) })
    }, lease.run_id)
  }

  claimParked(run_id: string, owner: string, leaseMs: number): Promise<Lease | null> {
    return this.#send(async () => {
      const lease = await this.#store.claimParked(run_id, owner, leaseMs)
      if (lease !== null) this.#applied("claim", lease)
      return lease
    })
  }

  parkAgain(lease: Lease, alarms: readonly Alarm[]): Promise<void> {
    return this.#send(async () => {
      await this.#store.parkAgain(lease, alarms)
      this.#applied("park again", { lease, alarms })
    }, lease.run_id)
  }

  read(run_id: string, after: number, limit: number, kept?: "kept"): Promise<LogEvent[]> {
    return this.#send(() => this.#store.read(run_id, after, limit, kept))
  }

  failAsCorrupt(lease: Lease, end: LogEvent): Promise<void> {
    return this.#send(() => this.#store.failAsCorrupt(lease, end), lease.run_id)
  }

  async *follow(run_id: string, after: number, signal: AbortSignal): AsyncGenerator<LogEvent> {
    const news = new AbortController()
    const log = {
      run_id,
      page: async (last: number) => {
        const events = await this.read(run_id, last, pageEvents)
        if (events.length > 0) return { events, over: false }
        const found = await this.lookup(run_id)
        return { events, over: found.found !== "run" || found.run.finished_at !== null }
      },
      watch: (wakeUp: WakeUp) => this.#watch(run_id, after, wakeUp, news.signal),
    }
    try {
      yield* followLog(log, after, signal)
    } finally {
      news.abort(left)
    }
  }

  #watch(run_id: string, after: number, wakeUp: WakeUp, signal: AbortSignal): () => void {
    let watching = true
    const look = (): void => {
      if (!watching) return
      wakeUp.signal()
      this.#world.after(lookMs, this.#machine, look)
    }
    this.#world.after(lookMs, this.#machine, look)
    void (async () => {
      for await (const event of this.#store.follow(run_id, after, signal)) {
        if (!watching) return
        if (this.#world.random.chance(this.faults.unheard)) {
          this.#world.count("announcement: gets lost")
          continue
        }
        this.#world.after(this.#latency(), this.#machine, () => wakeUp.signal())
        if (isTerminal(event.type)) return
      }
    })()
    return () => (watching = false)
  }

  claim(owner: string, limit: number, leaseMs: number): Promise<ClaimedLease[]> {
    return this.#send(async () => {
      const leases = await this.#store.claim(owner, limit, leaseMs)
      for (const lease of leases) this.#applied("claim", lease)
      return leases
    })
  }

  renew(lease: Lease, leaseMs: number): Promise<boolean> {
    return this.#send(async () => {
      const held = await this.#store.renew(lease, leaseMs)
      if (held) this.#applied("renew", lease)
      return held
    })
  }

  release(lease: Lease): Promise<void> {
    return this.#send(async () => {
      await this.#store.release(lease)
      this.#applied("release", lease)
    }, lease.run_id)
  }

  requestCancel(run_id: string): Promise<boolean> {
    return this.#send(() => this.#store.requestCancel(run_id))
  }

  onCancel(run_id: string, listener: () => void): () => void {
    let listening = true
    const stop = this.#store.onCancel(run_id, () => {
      this.#world.after(this.#latency(), this.#machine, () => {
        if (listening) listener()
      })
    })
    return () => {
      listening = false
      stop()
    }
  }

  stats(query: StatsQuery): Promise<RunBucket[]> {
    return this.#send(() => this.#store.stats(query))
  }

  list(query: RunQuery): Promise<ListedRun[]> {
    return this.#send(() => this.#store.list(query))
  }

  stored(caller: string): Promise<number> {
    return this.#send(() => this.#store.stored(caller))
  }

  readonly waits: WaitStore = {
    ofRun: (...call) => this.#send(() => this.#store.waits.ofRun(...call)),
    one: (...call) => this.#send(() => this.#store.waits.one(...call)),
    list: (query) => this.#send(() => this.#store.waits.list(query)),
    settle: (run_id, kind, id, outcome) => {
      return this.#send(async () => {
        const settling = await this.#store.waits.settle(run_id, kind, id, outcome)
        this.#applied("settle", { run_id, kind, id, outcome, stored: settling?.stored === true })
        return settling
      })
    },
    /** Processes look every second: where nothing is due, a look changes nothing and takes no time. */
    nextDue: () => this.#send(() => this.#store.waits.nextDue()),
    settleDue: (): Promise<number> => {
      if (!this.#isDue()) return Promise.resolve(0)
      return this.#send(async () => {
        const count = await this.#store.waits.settleDue()
        this.#applied("settle due", null)
        return count
      })
    },
    outcomes: (run_id: string): Promise<WaitOutcome[]> => {
      return this.#send(() => this.#store.waits.outcomes(run_id))
    },
    /** An announcement may get lost; then the listener hears of it with the next one, or looks by itself. */
    onOutcome: (listener: (run_id: string) => void): (() => void) => {
      let listening = true
      const stop = this.#store.waits.onOutcome((run_id) => {
        const { random } = this.#world
        const hear = (): void => {
          if (listening) listener(run_id)
        }
        this.#world.after(random.chance(this.faults.unheard) ? 5_000 : this.#latency(), this.#machine, hear)
        if (!random.chance(this.faults.twice)) return
        this.#world.count("announcement: arrives twice")
        this.#world.after(this.#latency(), this.#machine, hear)
      })
      return () => {
        listening = false
        stop()
      }
    },
    counts: (): Promise<WaitCounts> => {
      return this.#send(() => this.#store.waits.counts())
    },
    parked: (caller: string): Promise<number> => {
      return this.#send(() => this.#store.waits.parked(caller))
    },
  }

  readonly questions = new Questions(this.waits)

  readonly outbox: OutboxStore = {
    ofRun: (run_id: string): Promise<Notice[]> => {
      return this.#send(() => this.#store.outbox.ofRun(run_id))
    },
    take: (limit: number, holdMs: number, receivers?: ReceiverLimit): Promise<TakenNotices> => {
      return this.#send(() => this.#store.outbox.take(limit, holdMs, receivers))
    },
    settle: (notice: Notice, outcome: NoticeOutcome): Promise<void> => {
      return this.#send(() => this.#store.outbox.settle(notice, outcome))
    },
    onNotice: (listener: () => void): (() => void) => {
      return this.#store.outbox.onNotice(() => void this.#world.after(this.#latency(), this.#machine, listener))
    },
  }

  readonly ledger: LedgerStore = {
    hold: (...request): ReturnType<LedgerStore["hold"]> => {
      return this.#send(() => this.#store.ledger.hold(...request))
    },
    spending: (query): ReturnType<LedgerStore["spending"]> => {
      return this.#send(() => this.#store.ledger.spending(query))
    },
  }

  readonly sentEvents: EventStore = {
    receive: (event) =>
      this.#send(async () => {
        const receipt = await this.#store.sentEvents.receive(event)
        this.#applied("receive", { event, receipt })
        return receipt
      }),
    one: (number) => this.#send(() => this.#store.sentEvents.one(number)),
    waiting: (caller, name, key) => this.#send(() => this.#store.sentEvents.waiting(caller, name, key)),
    deliver: (number, run_id, wait, data) =>
      this.#send(async () => {
        const delivery = await this.#store.sentEvents.deliver(number, run_id, wait, data)
        this.#applied("deliver", { number, run_id, wait, delivery })
        return delivery
      }),
    close: (number, forget) =>
      this.#send(async () => {
        const answer = await this.#store.sentEvents.close(number, forget)
        this.#applied("close", { number, answer })
        return answer
      }),
    unfinished: (before) => this.#send(() => this.#store.sentEvents.unfinished(before)),
    kept: (caller, limit, after) => this.#send(() => this.#store.sentEvents.kept(caller, limit, after)),
    drop: (caller, id) => this.#send(() => this.#store.sentEvents.drop(caller, id)),
  }

  readonly versions: VersionStore = {
    keep: (version) => this.#send(() => this.#store.versions.keep(version)),
    list: (...query) => this.#send(() => this.#store.versions.list(...query)),
    find: (...one) => this.#send(() => this.#store.versions.find(...one)),
    text: (...one) => this.#send(() => this.#store.versions.text(...one)),
    runs: (...of) => this.#send(() => this.#store.versions.runs(...of)),
    withdraw: (...one) => this.#send(() => this.#store.versions.withdraw(...one)),
    serve: (serving) => this.#send(() => this.#store.versions.serve(serving)),
    pin: (...one) => this.#send(() => this.#store.versions.pin(...one)),
    pins: () => this.#send(() => this.#store.versions.pins()),
    sweep: (before) => this.#send(() => this.#store.versions.sweep(before)),
  }

  readonly files: FileStore = {
    add: (file) => this.#send(() => this.#store.files.add(file)),
    one: (file_id) => this.#send(() => this.#store.files.one(file_id)),
    list: (caller, limit, after) => this.#send(() => this.#store.files.list(caller, limit, after)),
    ofRun: (run_id) => this.#send(() => this.#store.files.ofRun(run_id)),
    use: (run_id, caller, files, step) => this.#send(() => this.#store.files.use(run_id, caller, files, step)),
    runsOf: (file_id) => this.#send(() => this.#store.files.runsOf(file_id)),
    delete: (file_id) => this.#send(() => this.#store.files.delete(file_id)),
    dueObjects: (limit) => this.#send(() => this.#store.files.dueObjects(limit)),
    named: (objects) => this.#send(() => this.#store.files.named(objects)),
    forget: (objects) => this.#send(() => this.#store.files.forget(objects)),
    totals: (caller) => this.#send(() => this.#store.files.totals(caller)),
  }

  readonly actions: ActionStore = {
    add: (...request) => this.#send(() => this.#store.actions.add(...request)),
    read: (id) => this.#send(() => this.#store.actions.read(id)),
    advance: (...request) => this.#send(() => this.#store.actions.advance(...request)),
    due: (now, limit) => this.#send(() => this.#store.actions.due(now, limit)),
  }

  readonly erasure: ErasureStore = {
    digest: (...value) => this.#send(() => this.#store.erasure.digest(...value)),
    newest: () => this.#send(() => this.#store.erasure.newest()),
    slice: (query) => this.#send(() => this.#store.erasure.slice(query)),
    madeFrom: (run_id) => this.#send(() => this.#store.erasure.madeFrom(run_id)),
    erase: (run_id) => this.#send(() => this.#store.erasure.erase(run_id)),
    erased: (...page) => this.#send(() => this.#store.erasure.erased(...page)),
  }

  readonly scores: ScoreStore = {
    take: (...request) => this.#send(() => this.#store.scores.take(...request)),
    done: (run_id) => this.#send(() => this.#store.scores.done(run_id)),
    reserve: (...request) => this.#send(() => this.#store.scores.reserve(...request)),
    put: (run_id, score) =>
      this.#send(async () => {
        const outcome = await this.#store.scores.put(run_id, score)
        if (outcome === "stored") this.#applied("score", { run_id, score })
        return outcome
      }),
    of: (run_id) => this.#send(() => this.#store.scores.of(run_id)),
    sums: (query) => this.#send(() => this.#store.scores.sums(query)),
  }

  readonly triggers: TriggerStore = {
    read: (id: string): Promise<StoredTrigger | null> => {
      return this.#send(() => this.#store.triggers.read(id))
    },
    write: (id: string, state: TriggerState, read: number | null): Promise<boolean> => {
      return this.#send(async () => {
        const written = await this.#store.triggers.write(id, state, read)
        if (written) this.#applied("trigger", { id, state })
        return written
      })
    },
    pause: (id: string): Promise<TriggerPause | null> => {
      return this.#send(() => this.#store.triggers.pause(id))
    },
    setPause: (id: string, pause: TriggerPause): Promise<void> => {
      return this.#send(async () => {
        await this.#store.triggers.setPause(id, pause)
        this.#applied("pause", { id, pause })
      })
    },
    kept: (id: string): Promise<KeptOutput | null> => {
      return this.#send(() => this.#store.triggers.kept(id))
    },
  }

  readonly cache: AnswerCache = {
    get: (caller: string, cache_key: string, hash: string): Promise<JsonValue | undefined> => {
      return this.#send(() => this.#store.cache.get(caller, cache_key, hash))
    },
    put: (caller: string, cache_key: string, hash: string, value: JsonValue, ttlMs: number): Promise<void> => {
      return this.#send(() => this.#store.cache.put(caller, cache_key, hash, value, ttlMs))
    },
    forget: (...entry) => this.#send(() => this.#store.cache.forget(...entry)),
    purge: (caller: string, cache_key: string): Promise<number> => {
      return this.#send(() => this.#store.cache.purge(caller, cache_key))
    },
  }

  sweep(ended_before: number): Promise<number> {
    return this.#send(() => this.#store.sweep(ended_before))
  }

  delete(run_id: string): Promise<Deletion> {
    return this.#send(() => this.#store.delete(run_id))
  }

  keyedHash(parts: readonly string[]): Promise<number> {
    return this.#store.keyedHash(parts)
  }

  time(): Promise<number> {
    return this.#send(() => this.#store.time())
  }

  probe(): Promise<void> {
    return this.#send(() => this.#store.probe())
  }

  /** The store itself goes on: others use it. */
  async close(): Promise<void> {}
}
