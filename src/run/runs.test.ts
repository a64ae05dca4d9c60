import { LightSignal } from "../base/light-signal.ts"
import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore } from "../adapters/memory/memory-store.ts"
import { systemRandom } from "../adapters/system/system-random.ts"
import { systemClock } from "../adapters/system/system-clock.ts"
import { agent, output, plan, ref } from "../../test/support/build-plan.ts"
import { InProcessTools } from "../../test/support/in-process-tools.ts"
import { ManualClock } from "../../test/support/manual-clock.ts"
import { defaultOptions } from "../../test/support/run-plan.ts"
import { answers, hangs, ScriptedModel } from "../../test/support/scripted-model.ts"
import { within } from "../../test/support/within.ts"
import type { WireError } from "../log/events.ts"
import { wireError } from "../ports/run-failure.ts"
import type { Clock } from "../ports/clock.ts"
import { LeaseLost, StoreBroken, StoreFailure, type RunStore } from "../ports/store.ts"
import { defaultLimits } from "./context/run-context.ts"
import type { NewRequest, RunsSettings } from "./runs.ts"
import { Runs } from "./runs.ts"

const one = plan([agent("a"), output({ m: ref("agent.a.message") })])
const never = new LightSignal()
const given = new LightSignal()
given.give()

const request = (more: Partial<NewRequest> = {}): NewRequest => ({
  caller: "ann",
  request: { source: "one", input: {}, secrets: {}, options: defaultOptions },
  idempotency: null,
  ...more,
})

interface Setup {
  readonly runs: Runs
  readonly store: RunStore
  readonly bugs: unknown[]
  readonly notes: string[]
  trouble: string | null
}

function setUp(
  model: ScriptedModel,
  settings: Partial<RunsSettings> = {},
  store: RunStore = new MemoryStore(systemClock),
  clock: Clock = systemClock,
  refused: WireError | null = null,
): Setup {
  const bugs: unknown[] = []
  const notes: string[] = []
  const setup = { bugs, notes, store, trouble: null }
  const runs = new Runs(
    {
      store,
      model,
      tools: new InProcessTools({}),
      clock,
      random: systemRandom,
      bug: (error) => bugs.push(error),
      note: (_, sentence) => notes.push(sentence),
      trouble: () => setup.trouble,
    },
    async () => (refused === null ? { plan: one } : { error: refused }),
    { owner: "me", leaseMs: 30_000, maxRuns: 2, maxQueued: 2, limits: defaultLimits, ...settings },
  )
  return Object.assign(setup, { runs })
}

/** Holds calls until they are let go. */
function gate(): { readonly model: ScriptedModel; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const model = new ScriptedModel(async (asked, watch) => {
    await Promise.race([promise, hangs(watch)])
    return answers({ message: "m" }, asked)
  })
  return { model, open: resolve }
}

async function created(runs: Runs, more: Partial<NewRequest> = {}): Promise<string> {
  const admission = await runs.admit(one, request(more))
  assert.equal(admission.outcome, "created")
  return admission.outcome === "created" ? admission.run_id : ""
}

test("an admitted run runs to its end, and its record says how", async () => {
  const { runs } = setUp(new ScriptedModel((asked) => answers({ message: "m" }, asked)))
  const run_id = await created(runs)
  const end = await runs.ending(run_id, never)
  assert.equal(end?.type, "workflow_completed")
  const record = await runs.record(run_id)
  assert.equal(record?.status, "completed")
  assert.deepEqual(record?.state.output, { m: "m" })
  assert.equal(record?.row.last_event_id, 5)
  // Also when it is asked for after the end.
  assert.equal((await runs.ending(run_id, never))?.type, "workflow_completed")
  assert.equal(await runs.record("unknown"), null)
  await runs.drain(0)
})

/** A store that creates a run only when the test lets it. */
class SlowStore extends MemoryStore {
  readonly creation = Promise.withResolvers<void>()
  #begun: Promise<unknown> = Promise.resolve()

  async begin(...[run, { owner }, leaseMs]: Parameters<NonNullable<RunStore["begin"]>>): Promise<void> {
    this.#begun = this.creation.promise.then(() => this.create(run, owner, leaseMs))
    await this.#begun
  }

  override async append(...args: Parameters<MemoryStore["append"]>): Promise<void> {
    await this.#begun
    await super.append(...args)
  }
}

test("a run begins while it is being stored, and calls its model when it is", async () => {
  const store = new SlowStore(systemClock)
  const model = new ScriptedModel((asked) => answers({ message: "m" }, asked))
  const { runs } = setUp(model, {}, store)
  const admitted = runs.admit(one, request())
  // More turns of the event loop than the way to the first call takes.
  for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(runs.active, 1)
  assert.equal(model.requests.length, 0)
  store.creation.resolve()
  const admission = await admitted
  assert.equal(admission.outcome, "created")
  const run_id = admission.outcome === "created" ? admission.run_id : ""
  assert.equal((await runs.ending(run_id, never))?.type, "workflow_completed")
  assert.equal(model.requests.length, 1)
  await runs.drain(0)
})

test("a run that cannot be stored ends without a call, whether it runs or waits", async () => {
  const store = new SlowStore(systemClock)
  const model = new ScriptedModel((asked) => answers({ message: "m" }, asked))
  const { runs, bugs } = setUp(model, { maxRuns: 1 }, store)
  const admitted = [runs.admit(one, request()), runs.admit(one, request())]
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual([runs.active, runs.queued], [1, 1])
  store.creation.reject(new StoreFailure("The disk is full"))
  for (const each of admitted) await assert.rejects(each, /The disk is full/)
  await within(30_000, "The end of the runs", runs.drain(0))
  assert.deepEqual([runs.active, runs.queued, model.requests.length, bugs], [0, 0, 0, []])
})

test("past max_runs a run waits; past max_queued it is refused", async () => {
  const { model, open } = gate()
  const { runs } = setUp(model)
  const ids = [await created(runs), await created(runs), await created(runs), await created(runs)]
  assert.equal(runs.active, 2)
  assert.equal(runs.queued, 2)
  const refused = await runs.admit(one, request())
  assert.equal(refused.outcome === "refused" && refused.error.kind, "overloaded")
  assert.equal((await runs.record(ids[3] ?? ""))?.status, "queued")
  open()
  const ends = await Promise.all(ids.map((id) => runs.ending(id, never)))
  assert.deepEqual(
    ends.map((end) => end?.type),
    Array(4).fill("workflow_completed"),
  )
  assert.equal(model.maxOpen, 2)
  assert.equal(runs.active, 0)
  await runs.drain(0)
})

test("one caller's runs leave room for another's: running, queued, and refused as its own doing", async () => {
  const { model, open } = gate()
  const { runs } = setUp(model, { maxRuns: 4, maxQueued: 4, maxRunsPerCaller: 2 })
  const mine: string[] = []
  for (let n = 0; n < 4; n++) mine.push(await created(runs))
  assert.deepEqual([runs.active, runs.queued], [2, 2])
  const refused = await runs.admit(one, request())
  assert.equal(refused.outcome === "refused" && refused.error.kind, "rate_limited")
  assert.match(refused.outcome === "refused" ? refused.error.message : "", /WIRE_MAX_RUNS_PER_CALLER/)
  const theirs = await created(runs, { caller: "bob" })
  assert.deepEqual([runs.active, runs.queued], [3, 2])
  open()
  for (const id of [...mine, theirs]) assert.equal((await runs.ending(id, never))?.type, "workflow_completed")
  await created(runs)
  await runs.drain(0)
})

test("at the share, too, who asks for a run that exists gets it", async () => {
  const { model } = gate()
  const { runs } = setUp(model, { maxRuns: 2, maxQueued: 0, maxRunsPerCaller: 1 })
  const idempotency = { key: "k", fingerprint: "f" }
  const run_id = await created(runs, { idempotency })
  assert.equal((await runs.admit(one, request())).outcome, "refused")
  assert.deepEqual(await runs.admit(one, request({ idempotency })), { outcome: "exists", run_id })
  await runs.drain(0)
})

test("those who wait take turns by caller, not by the number of their runs", async () => {
  const order: string[] = []
  const first = Promise.withResolvers<void>()
  const model = new ScriptedModel(async (asked, watch) => {
    if (model.requests.length === 1) await Promise.race([first.promise, hangs(watch)])
    return answers({ message: "m" }, asked)
  })
  const { runs } = setUp(model, { maxRuns: 1, maxQueued: 20 })
  const callers = ["ann", "ann", "ann", "ann", "bob", "bob", "cid"]
  const ends = []
  for (const caller of callers) {
    const id = await created(runs, { caller })
    ends.push(runs.ending(id, never).then(() => order.push(caller)))
  }
  first.resolve()
  await Promise.all(ends)
  assert.deepEqual(order, ["ann", "ann", "bob", "cid", "ann", "bob", "ann"])
  await runs.drain(0)
})

test("interrupted runs of one caller do not keep another's from being taken up", async () => {
  const store = new MemoryStore(systemClock)
  const hanging = gate()
  const before = setUp(hanging.model, { maxRuns: 8, maxQueued: 8 }, store)
  for (let n = 0; n < 6; n++) await created(before.runs)
  const theirs = await created(before.runs, { caller: "bob" })
  await before.runs.drain(0)
  const { model, open } = gate()
  const after = setUp(model, { owner: "you", maxRuns: 2, maxQueued: 8, maxRunsPerCaller: 1 }, store)
  await after.runs.recover()
  assert.deepEqual([after.runs.active, after.runs.queued], [2, 5])
  open()
  assert.equal((await after.runs.ending(theirs, never))?.type, "workflow_completed")
  await after.runs.drain(1000)
})

test("a run that waits is cancelled without having begun; one that runs is aborted", async () => {
  const { model } = gate()
  const { runs } = setUp(model, { maxRuns: 1 })
  const running = await created(runs)
  const waiting = await created(runs)
  assert.equal(await runs.cancel(waiting), true)
  assert.equal((await runs.ending(waiting, never))?.type, "workflow_cancelled")
  assert.equal((await runs.record(running))?.status, "running")
  assert.equal(await runs.cancel(running), true)
  assert.equal((await runs.ending(running, never))?.type, "workflow_cancelled")
  assert.equal((await runs.record(running))?.status, "cancelled")
  assert.equal(await runs.cancel(running), false)
  assert.equal(await runs.cancel("unknown"), false)
  await runs.drain(0)
})

test("idempotency: the same run for the same request, a conflict for another", async () => {
  const { runs } = setUp(new ScriptedModel((asked) => answers({ message: "m" }, asked)))
  const idempotency = { key: "k", fingerprint: "f" }
  const run_id = await created(runs, { idempotency })
  assert.deepEqual(await runs.admit(one, request({ idempotency })), { outcome: "exists", run_id })
  assert.deepEqual(await runs.admit(one, request({ idempotency: { key: "k", fingerprint: "g" } })), {
    outcome: "conflict",
    run_id,
  })
  await runs.drain(0)
})

test("draining: no new runs, the running ones get their grace, then they are left and another process goes on", async () => {
  const { model } = gate()
  const first = setUp(model, { maxRuns: 1 })
  const running = await created(first.runs)
  const waiting = await created(first.runs)
  await within(30_000, "the drain", first.runs.drain(20))
  assert.equal(model.open, 0)
  assert.equal((await first.runs.admit(one, request())).outcome, "refused")
  for (const id of [running, waiting]) {
    assert.equal(await first.runs.ending(id, given), null)
    // The service closed the connection: the client did not leave.
    assert.equal(await first.runs.clientLeft(id), false)
  }

  const second = setUp(new ScriptedModel((asked) => answers({ message: "m" }, asked)), {}, first.store)
  await second.runs.recover()
  assert.equal((await second.runs.ending(running, never))?.type, "workflow_completed")
  assert.equal((await second.runs.ending(waiting, never))?.type, "workflow_completed")
  // A process that stops still answers for what has ended.
  assert.equal((await first.runs.ending(running, never))?.type, "workflow_completed")
  const log = await first.store.read(running, 0, 100)
  assert.equal(log.filter(({ type }) => type === "run_resumed").length, 1)
  assert.deepEqual([...first.bugs, ...second.bugs], [])
  await second.runs.drain(0)
})

test("a run that the store creates only after the runs were left does not begin here, and another process takes it up", async () => {
  const { promise: late, resolve: letGo } = Promise.withResolvers<void>()
  class Slow extends MemoryStore {
    override async create(...args: Parameters<MemoryStore["create"]>): ReturnType<MemoryStore["create"]> {
      const created = await super.create(...args)
      await late
      return created
    }
  }
  const store = new Slow(systemClock)
  const first = setUp(new ScriptedModel(() => assert.fail("nobody is called")), {}, store)
  const admitted = first.runs.admit(one, request())
  await within(30_000, "the drain", first.runs.drain(0))
  letGo()
  const admission = await admitted
  assert.ok(admission.outcome === "created")
  assert.equal(first.runs.active, 0)
  const second = setUp(new ScriptedModel((asked) => answers({ message: "m" }, asked)), {}, store)
  await second.runs.recover()
  assert.equal((await second.runs.ending(admission.run_id, never))?.type, "workflow_completed")
  await second.runs.drain(0)
  assert.deepEqual([...first.bugs, ...second.bugs], [])
})

test("a run whose lease is lost stops, and the one who took it over goes on", async () => {
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  const { model } = gate()
  const first = setUp(model, { leaseMs: 3000 }, store, clock)
  const run_id = await created(first.runs)
  // Its renewals do not get through, and its lease runs out.
  store.renew = () => Promise.resolve(false)
  while (model.open === 0) await new Promise((resolve) => setImmediate(resolve))
  const left = first.runs.ending(run_id, never)
  clock.advance(1001)
  while (model.open > 0) await new Promise((resolve) => setImmediate(resolve))
  clock.advance(3000)
  const second = setUp(new ScriptedModel((asked) => answers({ message: "m" }, asked)), {}, store, clock)
  await second.runs.recover()
  assert.equal((await second.runs.ending(run_id, never))?.type, "workflow_completed")
  // A client that waits at the first process gets the end that the second one stored.
  assert.equal((await within(30_000, "the end", left))?.type, "workflow_completed")
  assert.deepEqual(first.notes, ["The run is left to another process: its lease is lost"])
  assert.deepEqual(first.bugs, [])
  await first.runs.drain(0)
  await second.runs.drain(0)
})

/** Takes small things, and no answers, until there is room again. */
class NearlyFull extends MemoryStore {
  full = true
  refused = 0

  override async append(...[lease, events]: Parameters<MemoryStore["append"]>): Promise<void> {
    if (this.full && events.some(({ type }) => type === "agent_completed")) {
      this.refused++
      throw new StoreFailure("The disk is full")
    }
    return super.append(lease, events)
  }
}

test("an answer that cannot be stored is kept until it can be, and not asked for again", async () => {
  const clock = new ManualClock()
  const store = new NearlyFull(clock)
  const model = new ScriptedModel((asked) => answers({ message: "m" }, asked))
  const { runs, bugs } = setUp(model, { leaseMs: 3000 }, store, clock)
  await runs.recover()
  const run_id = await created(runs)
  const end = runs.ending(run_id, never)
  while (store.refused < 4) {
    clock.advance(500)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(model.requests.length, 1)
  store.full = false
  let ended = false
  void end.then(() => (ended = true))
  while (!ended) {
    clock.advance(500)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal((await end)?.type, "workflow_completed")
  assert.equal(model.requests.length, 1)
  assert.deepEqual(bugs, [])
  await runs.drain(0)
})

test("who waits for a run is told when the store takes no more of it", async () => {
  for (const [failure, patienceMs] of [
    [new StoreFailure("The disk is full"), 0],
    // Waiting for a store that will never work again is of no use.
    [new StoreBroken("The store's writer has ended"), 1_000_000_000],
  ] as const) {
    const store = new MemoryStore(systemClock)
    const append = store.append.bind(store)
    let failing = false
    store.append = (...args) => (failing ? Promise.reject(failure) : append(...args))
    store.release = () => Promise.reject(failure)
    const { model, open } = gate()
    const limits = { ...defaultLimits, storePatienceMs: patienceMs }
    const { runs, bugs } = setUp(model, { limits }, store)
    const run_id = await created(runs)
    const ending = within(60_000, "the end", runs.ending(run_id, never))
    failing = true
    open()
    await assert.rejects(ending, failure)
    assert.deepEqual(bugs, [])
    await runs.drain(0)
  }
})

test("who waits for a run is told within seconds that the store fails, and the run ends when it works again", async () => {
  const clock = new ManualClock()
  const store = new NearlyFull(clock)
  const model = new ScriptedModel((asked) => answers({ message: "m" }, asked))
  const { runs } = setUp(model, { leaseMs: 3000 }, store, clock)
  await runs.recover()
  const run_id = await created(runs)
  let told: unknown
  runs.ending(run_id, never).catch((error: unknown) => (told = error))
  const began = clock.monotonic()
  const steps = async (done: () => boolean): Promise<void> => {
    for (let n = 0; n < 10_000 && !done(); n++) {
      clock.advance(250)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await steps(() => told !== undefined)
  assert.ok(told instanceof StoreFailure)
  assert.ok(clock.monotonic() - began < 30_000)
  // The run has kept what it paid for.
  store.full = false
  let end: string | undefined
  void runs.ending(run_id, never).then((event) => (end = event?.type))
  await steps(() => end !== undefined)
  assert.equal(end, "workflow_completed")
  assert.equal(model.requests.length, 1)
  await runs.drain(0)
})

test("who waits for a run is told when its lease ran out because the store fails", async () => {
  const store = new MemoryStore(systemClock)
  const { model, open } = gate()
  const setup = setUp(model, {}, store)
  const run_id = await created(setup.runs)
  const ending = within(60_000, "the end", setup.runs.ending(run_id, never))
  store.append = ({ run_id: lost }) => Promise.reject(new LeaseLost(lost))
  setup.trouble = "The disk is full"
  open()
  await assert.rejects(ending, /The disk is full/)
  await setup.runs.drain(0)
})

test("while the store is in trouble, runs are neither admitted nor taken up, and a stop does not wait for it", async () => {
  const clock = new ManualClock()
  const store = new NearlyFull(clock)
  const model = new ScriptedModel((asked) => answers({ message: "m" }, asked))
  const limits = { ...defaultLimits, storePatienceMs: 1000 }
  const setup = setUp(model, { leaseMs: 3000, limits }, store, clock)
  const { runs, notes } = setup
  await runs.recover()
  const run_id = await created(runs)
  while (notes.length === 0) {
    clock.advance(250)
    await new Promise((resolve) => setImmediate(resolve))
  }
  setup.trouble = "The disk is full"
  assert.deepEqual(notes, ["The run is given back: The disk is full"])
  for (let n = 0; n < 40; n++) {
    clock.advance(1000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(model.requests.length, 1)
  const refused = await runs.admit(one, request())
  assert.ok(refused.outcome === "refused")
  assert.deepEqual([refused.error.kind, refused.error.message], ["overloaded", "The disk is full"])
  setup.trouble = null
  store.full = false
  while ((await runs.record(run_id))?.status !== "completed") {
    clock.advance(500)
    await new Promise((resolve) => setImmediate(resolve))
  }
  store.full = true
  await created(runs)
  const refusedBefore = store.refused
  while (store.refused === refusedBefore) await new Promise((resolve) => setImmediate(resolve))
  let drained = false
  const stopped = runs.drain(0).finally(() => (drained = true))
  while (!drained) {
    clock.advance(0)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await stopped
  assert.deepEqual(setup.bugs, [])
})

test("leases are renewed while a run runs or waits", async () => {
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  const { model, open } = gate()
  const { runs } = setUp(model, { leaseMs: 3000, maxRuns: 1 }, store, clock)
  const ids = [await created(runs), await created(runs)]
  for (let step = 0; step < 10; step++) {
    clock.advance(1001)
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(await store.claim("thief", 10, 1000), [])
  }
  open()
  for (const id of ids) assert.equal((await runs.ending(id, never))?.type, "workflow_completed")
  await runs.drain(0)
})

test("a run that is taken up after the wall clock was set back has no negative duration", async () => {
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  const held = gate()
  const first = setUp(held.model, {}, store, clock)
  const run_id = await created(first.runs)
  while (held.model.open === 0) await new Promise((resolve) => setImmediate(resolve))
  clock.advance(500)
  clock.jump(-3_600_000)
  const drained = first.runs.drain(0)
  while (held.model.open > 0) {
    clock.advance(1)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await drained
  const second = setUp(new ScriptedModel((asked) => answers({ message: "m" }, asked)), {}, store, clock)
  await second.runs.recover()
  const end = await within(30_000, "the end", second.runs.ending(run_id, never))
  assert.ok(end?.type === "workflow_completed")
  assert.ok(end.data.duration_ms >= 0 && end.data.duration_ms < 1000, `${end.data.duration_ms} ms`)
  const record = await second.runs.record(run_id)
  assert.ok(record !== null && record.state.finished_at !== null)
  assert.ok(record.state.finished_at >= record.row.created_at)
  await second.runs.drain(0)
})

test("a run whose clock is set back before it begins does not end before it was created", async () => {
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  const held = gate()
  const { runs } = setUp(held.model, { maxRuns: 1 }, store, clock)
  const ids = [await created(runs), await created(runs)]
  clock.jump(-3_600_000)
  held.open()
  for (const run_id of ids) {
    await within(30_000, "the end", runs.ending(run_id, never))
    const found = await store.lookup(run_id)
    assert.ok(found.found === "run" && found.run.finished_at !== null)
    assert.ok(found.run.finished_at >= found.run.created_at)
  }
  await runs.drain(0)
})

test("runs of a process that died are taken up later too, without a restart of this one", async () => {
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  await store.create({ ...request(), run_id: "orphan", created_at: clock.now() }, "dead", 5000)
  const { runs } = setUp(
    new ScriptedModel((asked) => answers({ message: "m" }, asked)),
    { leaseMs: 4000 },
    store,
    clock,
  )
  await runs.recover()
  assert.equal((await runs.record("orphan"))?.status, "queued")
  let ended = false
  const following = within(30_000, "the end", runs.ending("orphan", never)).finally(() => (ended = true))
  while (!ended) {
    clock.advance(2001)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal((await following)?.type, "workflow_completed")
  await runs.drain(0)
})

test("more interrupted runs than may run at once are taken up one after the other", async () => {
  const store = new MemoryStore(systemClock)
  const ids = Array.from({ length: 9 }, (_, index) => `orphan-${index}`)
  for (const run_id of ids) await store.create({ ...request(), run_id, created_at: 0 }, "dead", -1)
  const model = new ScriptedModel(async (asked) => {
    await new Promise((resolve) => setImmediate(resolve))
    return answers({ message: "m" }, asked)
  })
  const { runs } = setUp(model, { maxRuns: 2, maxQueued: 1 }, store)
  await runs.recover()
  for (const id of ids) {
    assert.equal((await within(30_000, id, runs.ending(id, never)))?.type, "workflow_completed")
  }
  assert.equal(model.maxOpen, 2)
  await runs.drain(0)
})

test("an interrupted run whose source is refused now fails with the reason; one that cannot be read does not block others", async () => {
  const store = new MemoryStore(systemClock)
  for (const run_id of ["unreadable", "refused"]) {
    await store.create({ ...request(), run_id, created_at: 0 }, "dead", -1)
  }
  const read = store.request.bind(store)
  store.request = (run_id) => (run_id === "unreadable" ? Promise.reject(new Error("sealed")) : read(run_id))
  const error = wireError("validation_error", [{ path: "agent.x", message: "No longer valid" }])
  const model = new ScriptedModel(() => assert.fail())
  const { runs, bugs } = setUp(model, {}, store, systemClock, error)
  await runs.recover()
  assert.equal((await runs.record("refused"))?.state.error?.message, "No longer valid")
  assert.equal(bugs.length, 1)
  await runs.drain(0)
})
