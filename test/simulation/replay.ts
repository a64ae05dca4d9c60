import { isDeepStrictEqual } from "node:util"
import type { Clock } from "../../src/ports/clock.ts"
import { firstFence, type ClaimedLease, type CreateOutcome, type Lease, type RunStore } from "../../src/ports/store.ts"

/** What a store was asked for, when, and what it answered. */
export interface TracedCall {
  readonly now: number
  readonly monotonic: number
  readonly method: keyof RunStore
  readonly values: readonly unknown[]
  outcome: Outcome | null
}

type Outcome = { readonly value: unknown } | { readonly error: string }

/** Those that change something, or whose answer decides what the engine does. */
const traced: ReadonlySet<string> = new Set<keyof RunStore>([
  "create",
  "append",
  "claim",
  "renew",
  "release",
  "requestCancel",
  "answer",
  "expire",
  "outcomes",
  "lookup",
  "waiting",
])

/** The same store, which records the calls that it gets. */
export function traceStore(store: RunStore, clock: Clock, trace: TracedCall[]): RunStore {
  return new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(target, name) as unknown
      if (typeof method !== "function") return method
      if (typeof name !== "string" || !traced.has(name)) return method.bind(target) as unknown
      return async (...values: unknown[]) => {
        const call: TracedCall = {
          now: clock.now(),
          monotonic: clock.monotonic(),
          method: name as keyof RunStore,
          values: structuredClone(values),
          outcome: null,
        }
        trace.push(call)
        try {
          const value = (await (method.apply(target, values) as Promise<unknown>)) ?? null
          call.outcome = { value: structuredClone(value) }
          return value
        } catch (error) {
          call.outcome = { error: (error as Error).name }
          throw error
        }
      }
    },
  })
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

/** Makes the same calls of another store, at the same times. What it answered otherwise, or holds otherwise in the end. */
export async function replay(
  trace: readonly TracedCall[],
  first: RunStore,
  other: RunStore,
  clock: SetClock,
): Promise<string[]> {
  const found: string[] = []
  /** The other store's leases, by those of the first. */
  const leases = new Map<string, Lease>()
  const nameOf = ({ run_id, fence }: Lease): string => `${run_id}/${fence}`
  const runs = new Set<string>()
  /** A run that the other store is still creating: appends need not wait for that, everything else does. */
  let begun: Promise<void> | null = null
  for (const { now, monotonic, method, values, outcome } of trace) {
    clock.at = { now, monotonic }
    const given = values.map((value) =>
      isLease(value) ? (leases.get(nameOf(value)) ?? { ...value, fence: -1 }) : value,
    )
    let answered: Outcome
    try {
      if (method !== "append") await begun
      const call = other[method] as (...all: unknown[]) => Promise<unknown>
      const [run, owner, leaseMs] = given as Parameters<RunStore["create"]>
      if (method === "create" && run.idempotency === null && other.begin !== undefined) {
        const lease = { run_id: run.run_id, owner, fence: firstFence }
        begun = other.begin({ ...run, idempotency: null }, lease, leaseMs)
        begun.catch(() => undefined)
        answered = { value: { outcome: "created", lease } }
      } else {
        const answer = call.apply(other, given)
        await Promise.allSettled([begun, answer])
        await begun
        begun = null
        answered = { value: (await answer) ?? null }
      }
    } catch (error) {
      answered = { error: (error as Error).name }
    }
    if (outcome !== null && "value" in outcome && "value" in answered) {
      for (const [one, two] of pairs(outcome.value, answered.value)) leases.set(nameOf(one), two)
      if (method === "create") runs.add((values[0] as { run_id: string }).run_id)
    }
    if (!isDeepStrictEqual(withoutFences(outcome), withoutFences(answered))) {
      found.push(`${method}: ${JSON.stringify(outcome)} and ${JSON.stringify(answered)}`)
      break
    }
  }
  await begun
  for (const run_id of runs) {
    const both = [await first.read(run_id, 0, 100_000), await other.read(run_id, 0, 100_000)]
    if (!isDeepStrictEqual(both[0], both[1])) found.push(`the logs of ${run_id} differ`)
    const questions = [await first.questions(run_id), await other.questions(run_id)]
    if (!isDeepStrictEqual(questions[0], questions[1])) found.push(`the questions of ${run_id} differ`)
  }
  return found
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

/** Stores count fences in their own ways. */
function withoutFences(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, inner: unknown) => (key === "fence" ? undefined : inner)))
}
