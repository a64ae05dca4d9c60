import { allRuns } from "../../src/ports/run-list.ts"
import { isDeepStrictEqual } from "node:util"
import type { Clock } from "../../src/ports/clock.ts"
import type { Notice, TakenNotices } from "../../src/ports/notices.ts"
import { wrapStore } from "../../src/ports/wrap-store.ts"
import { ended } from "../contract/run-store/material.ts"
import { allQuestions } from "../support/all-questions.ts"
import {
  firstFence,
  type ClaimedLease,
  type CreateOutcome,
  type Lease,
  type NewRun,
  type RunRequest,
  type RunStore,
} from "../../src/ports/store.ts"

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
  "waits.settle",
  "waits.settleDue",
  "waits.outcomes",
  "lookup",
  "request",
  "waits.parked",
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
  "sentEvents.receive",
  "sentEvents.one",
  "sentEvents.waiting",
  "sentEvents.deliver",
  "sentEvents.close",
  "sentEvents.unfinished",
])

/** Those about one event that was sent: each store numbers events in its own way. */
const aboutEvent: ReadonlySet<string> = new Set(["sentEvents.one", "sentEvents.deliver", "sentEvents.close"])

/** Those on different runs do not concern each other: they may be under way at the same time. */
const besideOthers: ReadonlySet<string> = new Set(["create", "append", "renew", "release", "lookup", "request"])
const maxBeside = 8

const writes: ReadonlySet<string> = new Set(["create", "append", "waits.settle", "outbox.take", "outbox.settle"])

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

/** A database that runs are kept in. */
export interface Replica {
  /** The store of the process that makes a call: by the owner of a lease, where it is about one. */
  storeOf(owner: string | null): RunStore
  /** Makes a write in which something goes wrong, and gives the answer that counts. Null: nothing can go wrong for this process. */
  trouble(owner: string | null, write: (store: RunStore) => Promise<unknown>): Promise<unknown> | null
}

/** A call that may not have been answered yet. */
interface CallUnderWay {
  readonly call: TracedCall
  /** Null where it may concern any run. */
  readonly run_id: string | null
  /** Appends to a run that begins need not wait until it is stored. */
  readonly begins: boolean
  readonly answer: Promise<Outcome>
}

/**
 * Makes the same calls of another store, at the same times. What it answered otherwise, or holds otherwise at `end`. With `troubleAt`, something goes wrong
 * in the first write from that call on.
 */
export async function replay(
  trace: readonly TracedCall[],
  first: RunStore,
  replica: Replica,
  clock: SetClock,
  end: SetClock["at"],
  troubleAt: number | null,
): Promise<string[]> {
  let troubles = troubleAt
  const found: string[] = []
  /** The other store's leases, by those of the first. */
  const leases = new Map<string, Lease>()
  const nameOf = ({ run_id, fence }: Lease): string => `${run_id}/${fence}`
  const runs = new Set<string>()
  /** The numbers that the other store has given to events, by those of the first. */
  const numbers = new Map<unknown, unknown>()
  const know = (outcome: Outcome | null, answered: Outcome): void => {
    if (outcome === null || !("value" in outcome) || !("value" in answered)) return
    const [one, two] = [numberIn(outcome.value), numberIn(answered.value)]
    if (one !== null) numbers.set(one, two)
    for (const [one, two] of pairs(outcome.value, answered.value)) {
      leases.set(nameOf(one), two)
      runs.add(one.run_id)
    }
  }
  let underWay: CallUnderWay[] = []
  const settle = async (): Promise<void> => {
    const settled = underWay
    underWay = []
    for (const { call, answer } of settled) {
      const answered = await answer
      know(call.outcome, answered)
      if (isDeepStrictEqual(comparable(call.method, call.outcome), comparable(call.method, answered))) continue
      found.push(`${call.method}: ${JSON.stringify(call.outcome)} and ${JSON.stringify(answered)}`)
    }
  }
  for (const [at, call] of trace.entries()) {
    const { method, values } = call
    const run_id = besideOthers.has(method) ? runOf(values) : null
    const begins = method === "create" && !hasKey(call)
    const isBeside = underWay.every(
      (other) =>
        run_id !== null &&
        other.run_id !== null &&
        (other.run_id !== run_id || (other.begins && method === "append")) &&
        (method !== "create" || other.call.method !== "create" || keepsOrder(other.call, call)),
    )
    if (!isBeside || underWay.length >= maxBeside) await settle()
    if (found.length > 0) break
    const given = values.map((value, index) => {
      if (index === 0 && aboutEvent.has(method)) return numbers.get(value) ?? -1
      return isLease(value) ? (leases.get(nameOf(value)) ?? { ...value, fence: -1 }) : value
    })
    const { now, monotonic } = call
    const act = (store: RunStore): Promise<unknown> => {
      clock.at = { now, monotonic }
      return methodOf(store, method)(...given)
    }
    const owner = ownerOf(values)
    if (troubles !== null && at >= troubles && underWay.length === 0 && writes.has(method)) {
      const answer = replica.trouble(owner, act)
      if (answer !== null) {
        troubles = null
        underWay.push({ call, run_id: null, begins: false, answer: outcomeOf(answer) })
        continue
      }
    }
    const store = replica.storeOf(owner)
    clock.at = { now, monotonic }
    const bystander = method === "create" ? withBystander(store, given as Parameters<RunStore["create"]>) : null
    const [run, holder, leaseMs] = given as Parameters<RunStore["create"]>
    const lease = { run_id: run?.run_id, owner: holder, fence: firstFence }
    const begun = begins ? store.begin?.({ ...run, idempotency: null }, lease, leaseMs) : undefined
    const created = { outcome: "created", lease }
    if (begun !== undefined) know(call.outcome, { value: created })
    const answer = begun?.then(() => created) ?? act(store)
    underWay.push({ call, run_id, begins: begun !== undefined, answer: outcomeOf(bystander?.(answer) ?? answer) })
  }
  await settle()
  clock.at = end
  const calls = [...trace]
  const one = await heldBy(first, calls, runs)
  try {
    const two = await heldBy(replica.storeOf(null), calls, runs)
    for (const [what, held] of one) {
      if (isDeepStrictEqual(plain(held), plain(two.get(what)))) continue
      found.push(`${what}: ${JSON.stringify(held)} and ${JSON.stringify(two.get(what))}`)
    }
  } catch (error) {
    found.push(String(error))
  }
  return found
}

/**
 * Runs are claimed in the order in which they were made. Those of one process keep it side by side, except that a key is looked for first, and a run without one
 * overtakes it.
 */
function keepsOrder(one: TracedCall, next: TracedCall): boolean {
  return ownerOf(one.values) === ownerOf(next.values) && (hasKey(next) || !hasKey(one))
}

function hasKey({ values }: TracedCall): boolean {
  return (values[0] as NewRun).idempotency !== null
}

/**
 * A run with secrets is made beside one of another caller, which then ends at once: each has secrets of its own. In a history two of them hardly ever come at the
 * same moment. The result gives the answer to the call, which comes after that.
 */
function withBystander(
  store: RunStore,
  [run, owner, leaseMs]: Parameters<RunStore["create"]>,
): ((answer: Promise<unknown>) => Promise<unknown>) | null {
  if (Object.keys(run.request.secrets).length === 0) return null
  const run_id = `${run.run_id}-beside`
  const { notify: _, ...options } = run.request.options
  const request: RunRequest = { ...run.request, secrets: { token: run_id }, options }
  const made = store.create({ ...run, run_id, caller: "bystander", request, idempotency: null }, owner, leaseMs)
  return async (answer) => {
    const [beside, value] = [await made, await answer]
    if (beside.outcome !== "created") throw new Error(`The run beside ${run.run_id} is there already`)
    const isNew = (value as CreateOutcome).outcome === "created"
    for (const one of [{ run_id, request }, ...(isNew ? [run] : [])]) {
      const { secrets } = await store.request(one.run_id)
      if (!isDeepStrictEqual(secrets, one.request.secrets)) throw new Error(`Secrets of ${one.run_id} are not its own`)
    }
    await store.append(beside.lease, [ended(1)])
    return value
  }
}

async function outcomeOf(answer: Promise<unknown>): Promise<Outcome> {
  try {
    return { value: (await answer) ?? null }
  } catch (error) {
    return { error: (error as Error).name }
  }
}

/** The run that a call is about. */
function runOf([first]: readonly unknown[]): string | null {
  if (typeof first === "string") return first
  return typeof first === "object" && first !== null && "run_id" in first ? (first.run_id as string) : null
}

/** The process that makes a call; null where anyone may. */
function ownerOf([first, second]: readonly unknown[]): string | null {
  if (isLease(first)) return first.owner
  return typeof first === "object" && first !== null && "run_id" in first && typeof second === "string" ? second : null
}

/** All that a store holds in the end, by what it is. */
async function heldBy(
  store: RunStore,
  trace: readonly TracedCall[],
  runs: ReadonlySet<string>,
): Promise<Map<string, unknown>> {
  const asked = new Map<string, () => Promise<unknown>>()
  const callers = new Set<string>()
  for (const run_id of runs) {
    asked.set(`the log of ${run_id}`, () => store.read(run_id, 0, 100_000))
    asked.set(`what is kept of ${run_id}`, () => store.read(run_id, 0, 100_000, "kept"))
    asked.set(`the request of ${run_id}`, () => store.request(run_id))
    asked.set(`the record of ${run_id}`, () => store.lookup(run_id))
    asked.set(`the questions of ${run_id}`, () => allQuestions(store, run_id))
    for (const kind of ["time", "event"] as const) {
      asked.set(`the ${kind} waits of ${run_id}`, async () =>
        (await store.waits.ofRun(run_id, kind, 1000, null)).found.map(({ wait }) => wait),
      )
    }
    asked.set(`the outcomes of ${run_id}`, () => store.waits.outcomes(run_id))
    asked.set(`the notices of ${run_id}`, () => store.outbox.ofRun(run_id))
  }
  for (const { method, values } of trace) {
    if (method === "create") {
      const [{ caller, idempotency }] = values as Parameters<RunStore["create"]>
      callers.add(caller)
      if (idempotency !== null) asked.set(`the key ${idempotency.key}`, () => store.existing(caller, idempotency))
    } else if (method === "cache.put") {
      const [caller, cache_key, hash] = values as Parameters<RunStore["cache"]["put"]>
      asked.set(`the cached answer ${hash}`, () => store.cache.get(caller, cache_key, hash))
    }
  }
  for (const caller of callers) {
    const all = { caller, limit: 1000, after: null }
    asked.set(`the kept events of ${caller}`, () => store.sentEvents.kept(caller, 1000, 0))
    asked.set(`the list of ${caller}`, () => store.list({ ...allRuns, ...all, previews: true }))
    for (const status of ["open", "answered", "expired", "withdrawn"] as const) {
      asked.set(`the ${status} questions of ${caller}`, async () => {
        const { found } = await store.questions.inbox({ ...all, groups: [], member_of: [], status, to: null })
        // Those of one run have an order. Runs that ask side by side, in one transaction, have none.
        const questions = found.map(({ question }) => question)
        return questions.toSorted((a, b) => (a.run_id === b.run_id ? 0 : a.run_id < b.run_id ? -1 : 1))
      })
    }
  }
  asked.set("what waits", () => store.waits.counts())
  const answers = [...asked].map(async ([what, ask]) => [what, await ask()] as const)
  return new Map(await Promise.all(answers))
}

/** Of the answer to an event that was received. */
function numberIn(value: unknown): unknown {
  return typeof value === "object" && value !== null && "number" in value ? value.number : null
}

function isLease(value: unknown): value is Lease {
  return typeof value === "object" && value !== null && "fence" in value && "owner" in value
}

/** The leases that two answers give, in the same order. */
function pairs(one: unknown, two: unknown): [Lease, Lease][] {
  if (Array.isArray(one) && Array.isArray(two)) {
    return (one as ClaimedLease[]).flatMap((lease): [Lease, Lease][] => {
      const other = (two as ClaimedLease[]).find(({ run_id }) => run_id === lease.run_id)
      return isLease(lease) && other !== undefined ? [[lease, other]] : []
    })
  }
  const [a, b] = [one as CreateOutcome | null, two as CreateOutcome | null]
  return a?.outcome === "created" && b?.outcome === "created" ? [[a.lease, b.lease]] : []
}

/** An answer without what stores decide in their own ways: fences, the order in which notices are taken and runs are claimed, and when to look again. */
function comparable(method: string, outcome: Outcome | null): unknown {
  if (outcome === null || !("value" in outcome)) return plain(outcome)
  if (method === "claim") return plain(byRun(outcome.value as ClaimedLease[]))
  // Numbers of events that are read together.
  if (method === "sentEvents.unfinished") return (outcome.value as readonly number[]).length
  if (method !== "outbox.take") return plain(outcome)
  const name = ({ run_id, event_id }: Notice): string => `${run_id}/${event_id}`
  const taken = [...(outcome.value as TakenNotices).taken]
  return plain(taken.sort((a, b) => (name(a) < name(b) ? -1 : 1)))
}

/** Runs that are woken in the same millisecond may be claimed in any order. */
function byRun<T extends Lease>(leases: readonly T[]): T[] {
  return leases.toSorted((a, b) => (a.run_id < b.run_id ? -1 : 1))
}

function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (key, inner: unknown) => (key === "fence" || key === "number" ? undefined : inner)),
  ) as unknown
}
