import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import type { JsonValue } from "../../../src/base/json-value.ts"
import type { LogEvent } from "../../../src/log/events.ts"
import type { Lease, NewRun, RunLookup, RunRequest, RunRow, RunStore } from "../../../src/ports/store.ts"
import type { ManualClock } from "../../support/manual-clock.ts"
import { within } from "../../support/within.ts"

/** One store as a test sees it. Tests write through `store`, and look from `other` where another process might. */
export interface Bench {
  readonly store: RunStore
  /** The same data as another process has it, or the same store where there is no such thing. */
  readonly other: RunStore
  readonly clock: ManualClock
}

/** Tests of the contract get a store of their own, closed and thrown away when they are done. */
export type OnBench = (name: string, body: (bench: Bench) => Promise<void>) => void

export const leaseMs = 10_000
export const owner = "owner-1"
/** A deadline for what should happen soon; long, because the machine may be busy. */
export const soon = 60_000

export const noOptions = { cache_key: null, use_cache: true, max_concurrency: null, timeout_ms: null, deltas: false }

export function aRequest(changes: Partial<RunRequest> = {}): RunRequest {
  return {
    source: "agent a {}",
    input: { topic: "owls" },
    secrets: { token: "s3cret-token" },
    options: noOptions,
    ...changes,
  }
}

export function aRun(changes: Partial<NewRun> = {}): NewRun {
  return {
    run_id: randomBytes(16).toString("hex"),
    caller: "",
    request: aRequest(),
    created_at: Date.UTC(2026, 10, 15),
    idempotency: null,
    ...changes,
  }
}

export async function created(store: RunStore, changes: Partial<NewRun> = {}, forMs = leaseMs): Promise<Lease> {
  const outcome = await store.create(aRun(changes), owner, forMs)
  assert.equal(outcome.outcome, "created")
  assert.ok(outcome.outcome === "created")
  return outcome.lease
}

/**
 * Lets the leases run out. A claimant does not compare its clock with those of others: it may have to watch a lease for as long
 * as it lasts before it knows that it is not renewed. So every store looks before the time passes.
 */
export async function lapse({ store, other, clock }: Bench): Promise<void> {
  for (const one of new Set([store, other])) assert.deepEqual(await one.claim("onlooker", 10, leaseMs), [])
  clock.advance(leaseMs)
}

const at = "2026-11-15T01:00:00.000Z"

export function happened(id: number, text = `event ${id}`, kept?: JsonValue): LogEvent {
  const event = { id, type: "agent_delta", at, data: { agent: "a", attempt: 1, text, at } } as const
  return kept === undefined ? event : { ...event, kept }
}

/** Events from `first` to `last`. */
export function several(first: number, last: number): LogEvent[] {
  return Array.from({ length: last - first + 1 }, (_, index) => happened(first + index))
}

export function ended(id: number, when = at): LogEvent {
  return { id, type: "workflow_cancelled", at: when, data: { duration_ms: 5, at: when } }
}

export async function row(store: RunStore, run_id: string): Promise<RunRow> {
  const lookup: RunLookup = await store.lookup(run_id)
  assert.ok(lookup.found === "run", `run ${run_id} is ${lookup.found}`)
  return lookup.run
}

export async function ids(store: RunStore, run_id: string, after = 0, limit = 1_000): Promise<number[]> {
  return (await store.read(run_id, after, limit)).map(({ id }) => id)
}

/** A follower that a test pulls by hand. */
export class Reader {
  readonly #stop = new AbortController()
  readonly #events: AsyncIterator<LogEvent>

  constructor(store: RunStore, run_id: string, after = 0) {
    this.#events = store.follow(run_id, after, this.#stop.signal)[Symbol.asyncIterator]()
  }

  /** The next event's id, or null at the end. */
  async next(): Promise<number | null> {
    return (await this.event())?.id ?? null
  }

  async event(): Promise<LogEvent | null> {
    const result = await within(soon, "the next event", this.#events.next())
    return result.done === true ? null : result.value
  }

  async rest(): Promise<number[]> {
    const found: number[] = []
    for (;;) {
      const id = await this.next()
      if (id === null) return found
      found.push(id)
    }
  }

  stop(): void {
    this.#stop.abort()
  }
}

/** `n` numbers from `first` on. */
export function from(first: number, n: number): number[] {
  return Array.from({ length: n }, (_, index) => first + index)
}
