import type { LogEvent } from "../../log/events.ts"
import { isTerminal } from "../../log/events.ts"
import { LeaseLost, OutOfSequence, type Lease } from "../../ports/store.ts"
import type { StoredRun } from "./run-rows.ts"

/** Appends that wait are stored together up to here: each event may open a wait, which takes two rows of a batch. */
export const batchEvents = 400

/** What a writer asks of the store that it belongs to. */
export interface WriterStore {
  /** The run as the leader has it, if the lease is still the right to write to it. Rejects with `LeaseLost`. */
  load(lease: Lease): Promise<StoredRun>
  /** Stores the events in one step. Null: the run's row is not the one that was read, or these events are stored already. */
  write(run: StoredRun, events: readonly LogEvent[], nonce: string): Promise<StoredRun | null>
  /** Whether the last append is that of an attempt with this nonce. */
  isStored(run_id: string, nonce: string): Promise<boolean>
  /** Replaces the row by one that says the same, so that nobody who has read it can take the run over. Null: the row is not the one that was read. */
  touch(run: StoredRun): Promise<StoredRun | null>
  /** After events were stored. `run` is the row that was read before. */
  stored(lease: Lease, run: StoredRun, events: readonly LogEvent[]): Promise<void>
  now(): number
  token(): string
}

interface Pending {
  /** Null: a renewal. */
  readonly events: readonly LogEvent[] | null
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The one writer of a run under one lease. Appends that come while one is under way are stored together after it. */
export class RunWriter {
  readonly #store: WriterStore
  readonly #lease: Lease
  #run: StoredRun | null
  #queue: Pending[] = []
  #working: Promise<void> | null = null
  #lost = false
  #ending = false
  /** When it was asked what the broker last answered with "the lease is yours". */
  confirmedAt: number

  constructor(store: WriterStore, lease: Lease, run: StoredRun | null) {
    this.#store = store
    this.#lease = lease
    this.#run = run
    this.confirmedAt = store.now()
  }

  get run_id(): string {
    return this.#lease.run_id
  }

  get lost(): boolean {
    return this.#lost
  }

  /** The run has opened waits, as far as this process knows. */
  get hasWaits(): boolean {
    return this.#run === null || this.#run.facts.opened === true
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#working !== null) await this.#working
  }

  append(events: readonly LogEvent[]): Promise<void> {
    return this.#ask(events)
  }

  /** Proves by a write that the lease is still ours. Rejects with `LeaseLost` when it is not. */
  renew(): Promise<void> {
    return this.#ask(null)
  }

  /** Refuses everything from now on; waits for what was asked for before. */
  async end(): Promise<void> {
    this.#ending = true
    await this.#working
    this.#lost = true
  }

  lose(): void {
    this.#lost = true
  }

  #ask(events: readonly LogEvent[] | null): Promise<void> {
    if (this.#lost || this.#ending) return Promise.reject(new LeaseLost(this.run_id))
    return new Promise((resolve, reject) => {
      this.#queue.push({ events, resolve, reject })
      this.#working ??= this.#work()
    })
  }

  async #work(): Promise<void> {
    // The appends of one turn of the loop come together.
    await Promise.resolve()
    let batch: Pending[] = []
    try {
      while (this.#queue.length > 0) {
        if (this.#lost) throw new LeaseLost(this.run_id)
        const run = (this.#run ??= await this.#store.load(this.#lease))
        if (this.#queue[0]?.events === null) {
          batch = this.#queue.splice(0, 1)
          await this.#touch(run)
        } else {
          batch = this.#takeBatch(run.facts.last)
          if (batch.length > 0) await this.#append(run, batch)
        }
        for (const { resolve } of batch) resolve()
        batch = []
      }
    } catch (error) {
      if (error instanceof LeaseLost) this.#lost = true
      // It may be stored after all: the next append looks where the log stands.
      this.#run = null
      for (const { reject } of [...batch, ...this.#queue.splice(0)]) reject(error)
    } finally {
      this.#working = null
    }
  }

  /** Appends that go on from the log's last event; the others are refused. */
  #takeBatch(last: number): Pending[] {
    const batch: Pending[] = []
    let [next, count, isOver] = [last + 1, 0, false]
    while (this.#queue.length > 0 && count < batchEvents) {
      const [pending] = this.#queue
      if (pending === undefined || pending.events === null || isOver) break
      const [first] = pending.events
      this.#queue.shift()
      if (first === undefined) pending.resolve()
      else if (first.id !== next) pending.reject(new OutOfSequence(this.run_id, first.id, next - 1))
      else {
        batch.push(pending)
        next += pending.events.length
        count += pending.events.length
        isOver = isOverAfter(pending.events)
      }
    }
    return batch
  }

  async #append(read: StoredRun, batch: readonly Pending[]): Promise<void> {
    const events = batch.flatMap((pending) => pending.events ?? [])
    const askedAt = this.#store.now()
    const nonce = this.#store.token()
    const run = await this.#stored(read, events, nonce)
    this.#run = run
    this.confirmedAt = askedAt
    if (isOverAfter(events)) this.#lost = true
    await this.#store.stored(this.#lease, read, events)
  }

  /** Others may replace the row as well: a cancel, an outcome. Then the append is tried again on top of theirs. */
  async #stored(read: StoredRun, events: readonly LogEvent[], nonce: string): Promise<StoredRun> {
    const { run_id } = this.#lease
    let run = read
    for (;;) {
      const next = await this.#store.write(run, events, nonce)
      if (next !== null) return next
      if (await this.#store.isStored(run_id, nonce)) {
        // The answer to an earlier attempt was lost. A run that goes on has the row of that attempt, or one on top of it.
        return isOverAfter(events) ? run : await this.#store.load(this.#lease)
      }
      run = await this.#store.load(this.#lease)
    }
  }

  async #touch(read: StoredRun): Promise<void> {
    let run = read
    for (;;) {
      const next = await this.#store.touch(run)
      if (next !== null) {
        this.#run = next
        return
      }
      run = await this.#store.load(this.#lease)
    }
  }
}

/** Whether nobody may append after these events under the same lease. */
export function isOverAfter(events: readonly LogEvent[]): boolean {
  const last = events.at(-1)
  return last !== undefined && (isTerminal(last.type) || last.type === "run_waiting")
}
