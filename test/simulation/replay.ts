import { isDeepStrictEqual } from "node:util"
import type { Clock } from "../../src/ports/clock.ts"
import type { Notice, TakenNotices } from "../../src/ports/notices.ts"
import { wrapStore } from "../../src/ports/wrap-store.ts"
import { allQuestions } from "../support/all-questions.ts"
import { firstFence, type ClaimedLease, type CreateOutcome, type Lease, type RunStore } from "../../src/ports/store.ts"

/** What a store was asked for, when, and what it answered. */
export interface TracedCall {
  readonly now: number
  readonly monotonic: number
  readonly method: string
  readonly values: readonly unknown[]
  outcome: Outcome | null
}

type Outcome = { readonly value: unknown } | { readonly error: string }

/** Those that change something, or whose answer decides what the engine does. */
const traced: ReadonlySet<string> = new Set([
  "create",
  "append",
  "claim",
  "renew",
  "release",
  "requestCancel",
  "questions.answer",
  "questions.expire",
  "questions.outcomes",
  "lookup",
  "questions.waiting",
  "existing",
  "outbox.take",
  "outbox.settle",
  "cache.get",
  "cache.put",
  "cache.purge",
  "triggers.read",
  "triggers.write",
  "triggers.pause",
  "triggers.setPause",
])

const writes: ReadonlySet<string> = new Set(["create", "append", "questions.answer", "outbox.take", "outbox.settle"])

/** The same store, which records the calls that it gets. */
export function traceStore(store: RunStore, clock: Clock, trace: TracedCall[]): RunStore {
  return wrapStore(store, (name, method) => {
    if (!traced.has(name)) return null
    return async (...values) => {
      const [now, monotonic] = [clock.now(), clock.monotonic()]
      const call: TracedCall = { now, monotonic, method: name, values: structuredClone(values), outcome: null }
      trace.push(call)
      try {
        const value = (await method(...values)) ?? null
        call.outcome = { value: structuredClone(value) }
        return value
      } catch (error) {
        call.outcome = { error: (error as Error).name }
        throw error
      }
    }
  })
}

/** The method of a store, or of one of its parts (`cache.get`). */
function methodOf(store: RunStore, name: string): (...values: unknown[]) => Promise<unknown> {
  const [method = "", part] = name.split(".").toReversed()
  const holder: object = part === undefined ? store : (Reflect.get(store, part) as object)
  return (...values) => Reflect.apply(Reflect.get(holder, method) as () => Promise<unknown>, holder, values)
}

/** A clock that shows what it is set to. */
export class SetClock implements Clock {
  at = { now: 0, monotonic: 0 }

  now(): number {
    return this.at.now
  }

  monotonic(): number {
    return this.at.monotonic
  }

  sleep(): Promise<void> {
    return Promise.reject(new Error("Nothing sleeps while calls are made again"))
  }
}

/** A store on disk. */
export interface Replica {
  readonly store: RunStore
  /** Crashes during a write that nobody has an answer to, and comes back. */
  crash(write: () => Promise<unknown>): Promise<Replica>
}

/**
 * Makes the same calls of another store, at the same times. What it answered otherwise, or holds otherwise at `end`. With `crashAt`, it crashes
 * in the first write from that call on.
 */
export async function replay(
  trace: readonly TracedCall[],
  first: RunStore,
  replica: Replica,
  clock: SetClock,
  end: SetClock["at"],
  crashAt: number | null,
): Promise<string[]> {
  let other = replica.store
  let crashes = crashAt
  const found: string[] = []
  /** The other store's leases, by those of the first. */
  const leases = new Map<string, Lease>()
  const nameOf = ({ run_id, fence }: Lease): string => `${run_id}/${fence}`
  const runs = new Set<string>()
  /** A run that the other store is still creating: appends need not wait for that, everything else does. */
  let begun: Promise<void> | null = null
  for (const [at, { now, monotonic, method, values, outcome }] of trace.entries()) {
    clock.at = { now, monotonic }
    const given = values.map((value) =>
      isLease(value) ? (leases.get(nameOf(value)) ?? { ...value, fence: -1 }) : value,
    )
    if (crashes !== null && at >= crashes && begun === null && writes.has(method)) {
      crashes = null
      const lost = methodOf(other, method)
      other = (await replica.crash(() => lost(...given).catch(() => undefined))).store
    }
    let answered: Outcome
    try {
      if (method !== "append") await begun
      const [run, owner, leaseMs] = given as Parameters<RunStore["create"]>
      if (method === "create" && run.idempotency === null && other.begin !== undefined) {
        const lease = { run_id: run.run_id, owner, fence: firstFence }
        begun = other.begin({ ...run, idempotency: null }, lease, leaseMs)
        begun.catch(() => undefined)
        answered = { value: { outcome: "created", lease } }
      } else {
        const answer = methodOf(other, method)(...given)
        await Promise.allSettled([begun, answer])
        await begun
        begun = null
        answered = { value: (await answer) ?? null }
      }
    } catch (error) {
      answered = { error: (error as Error).name }
    }
    if (outcome !== null && "value" in outcome && "value" in answered) {
      for (const [one, two] of pairs(outcome.value, answered.value)) {
        leases.set(nameOf(one), two)
        runs.add(one.run_id)
      }
    }
    if (!isDeepStrictEqual(comparable(method, outcome), comparable(method, answered))) {
      found.push(`${method}: ${JSON.stringify(outcome)} and ${JSON.stringify(answered)}`)
      break
    }
  }
  await begun
  clock.at = end
  const calls = [...trace]
  const [one, two] = [await heldBy(first, calls, runs), await heldBy(other, calls, runs)]
  for (const [what, held] of one) {
    if (isDeepStrictEqual(plain(held), plain(two.get(what)))) continue
    found.push(`${what}: ${JSON.stringify(held)} and ${JSON.stringify(two.get(what))}`)
  }
  return found
}

/** All that a store holds in the end, by what it is. */
async function heldBy(
  store: RunStore,
  trace: readonly TracedCall[],
  runs: ReadonlySet<string>,
): Promise<Map<string, unknown>> {
  const held = new Map<string, unknown>()
  const callers = new Set<string>()
  for (const run_id of runs) {
    held.set(`the log of ${run_id}`, await store.read(run_id, 0, 100_000))
    held.set(`what is kept of ${run_id}`, await store.read(run_id, 0, 100_000, "kept"))
    held.set(`the request of ${run_id}`, await store.request(run_id))
    held.set(`the record of ${run_id}`, await store.lookup(run_id))
    held.set(`the questions of ${run_id}`, await allQuestions(store, run_id))
    held.set(`the outcomes of ${run_id}`, await store.questions.outcomes(run_id))
    held.set(`the notices of ${run_id}`, await store.outbox.ofRun(run_id))
  }
  for (const { method, values } of trace) {
    if (method === "create") {
      const [{ caller, idempotency }] = values as Parameters<RunStore["create"]>
      callers.add(caller)
      if (idempotency !== null) held.set(`the key ${idempotency.key}`, await store.existing(caller, idempotency))
    } else if (method === "cache.put") {
      const [caller, cache_key, hash] = values as Parameters<RunStore["cache"]["put"]>
      held.set(`the cached answer ${hash}`, await store.cache.get(caller, cache_key, hash))
    }
  }
  for (const caller of callers) {
    const all = { caller, limit: 1000, after: null }
    held.set(
      `the list of ${caller}`,
      await store.list({ ...all, workflow: null, status: null, since: null, error_kind: null }),
    )
    for (const status of ["open", "answered", "expired", "withdrawn"] as const) {
      const { found } = await store.questions.inbox({ ...all, groups: [], member_of: [], status, to: null })
      held.set(
        `the ${status} questions of ${caller}`,
        found.map(({ question }) => question),
      )
    }
  }
  held.set("what waits", await store.questions.waitingCounts())
  return held
}

function isLease(value: unknown): value is Lease {
  return typeof value === "object" && value !== null && "fence" in value && "owner" in value
}

/** The leases that two answers give, in the same order. */
function pairs(one: unknown, two: unknown): [Lease, Lease][] {
  if (Array.isArray(one) && Array.isArray(two)) {
    return (one as ClaimedLease[]).flatMap((lease, at): [Lease, Lease][] => {
      const other = (two as ClaimedLease[])[at]
      return isLease(lease) && other !== undefined ? [[lease, other]] : []
    })
  }
  const [a, b] = [one as CreateOutcome | null, two as CreateOutcome | null]
  return a?.outcome === "created" && b?.outcome === "created" ? [[a.lease, b.lease]] : []
}

/** An answer without what stores decide in their own ways: fences, the order in which notices are taken, and when to look again. */
function comparable(method: string, outcome: Outcome | null): unknown {
  if (method !== "outbox.take" || outcome === null || !("value" in outcome)) return plain(outcome)
  const name = ({ run_id, event_id }: Notice): string => `${run_id}/${event_id}`
  const taken = [...(outcome.value as TakenNotices).taken]
  return plain(taken.sort((a, b) => (name(a) < name(b) ? -1 : 1)))
}

function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (key, inner: unknown) => (key === "fence" ? undefined : inner)),
  ) as unknown
}
