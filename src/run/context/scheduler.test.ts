import assert from "node:assert/strict"
import { test } from "node:test"
import { Permits } from "../shares/permits.ts"
import { runEach, runGraph } from "./scheduler.ts"

const unexpected = (error: unknown): void => assert.fail(String(error))
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test("a node starts when those it waits for are done, independent ones side by side", async () => {
  // 0 → 1, 2 → 3
  const log: string[] = []
  const work = async (position: number): Promise<void> => {
    log.push(`start ${position}`)
    await tick()
    log.push(`end ${position}`)
  }
  await runGraph([0, 1, 1, 2], [[1, 2], [3], [3], []], work, () => false, unexpected)
  assert.deepEqual(log, ["start 0", "end 0", "start 1", "start 2", "end 1", "end 2", "start 3", "end 3"])
})

test("nodes that wait for nothing start in parts, with turns of the event loop between them", async () => {
  const count = 1000
  const startedBy: number[] = []
  let turn = 0
  let over = false
  const tock = (): void => {
    turn++
    if (!over) setImmediate(tock)
  }
  setImmediate(tock)
  const waitsFor = Array.from({ length: count + 1 }, (_, position) => (position === count ? count : 0))
  const dependents = waitsFor.map((_, position) => (position === count ? [] : [count]))
  const work = async (position: number): Promise<void> => {
    startedBy[position] = turn
  }
  await runGraph(waitsFor, dependents, work, () => false, unexpected)
  over = true
  assert.equal(startedBy.length, count + 1)
  const turns = [...Map.groupBy(startedBy, (at) => at).values()]
  const inOneTurn = Math.max(...turns.map((all) => all.length))
  assert.ok(inOneTurn <= 250, `${inOneTurn} in one turn`)
})

test("nodes that were due and had not started when the run stopped never start", async () => {
  let stopped = false
  let started = 0
  const work = (): Promise<void> => {
    started++
    stopped = true
    return Promise.resolve()
  }
  const count = 1000
  await runGraph(
    Array.from({ length: count }, () => 0),
    Array.from({ length: count }, () => []),
    (position) => (position < 250 ? Promise.resolve() : work()),
    () => stopped,
    unexpected,
  )
  assert.equal(started, 1)
})

test("an empty graph is done at once", async () => {
  await runGraph(
    [],
    [],
    () => assert.fail(),
    () => false,
    unexpected,
  )
})

test("a failure is reported at once; the end waits for what is in flight, and nothing new starts", async () => {
  let stopped = false
  const log: string[] = []
  const work = async (position: number): Promise<void> => {
    log.push(`start ${position}`)
    await tick()
    if (position === 0) throw new Error("first")
    await tick()
    log.push(`settled ${position}`)
  }
  const errors: unknown[] = []
  await runGraph(
    [0, 0, 1, 1],
    [[2], [3], [], []],
    work,
    () => stopped,
    (error) => {
      stopped = true
      errors.push(error)
      log.push("failed")
    },
  )
  assert.deepEqual(log, ["start 0", "start 1", "failed", "settled 1"])
  assert.equal(errors.length, 1)
})

test("work is done for each number, at most so many at once", async () => {
  let open = 0
  let most = 0
  const seen: number[] = []
  await runEach(
    25,
    4,
    async (index) => {
      open++
      most = Math.max(most, open)
      await tick()
      seen.push(index)
      open--
    },
    unexpected,
  )
  assert.equal(most, 4)
  assert.deepEqual(
    seen.toSorted((a, b) => a - b),
    Array.from({ length: 25 }, (_, index) => index),
  )
})

test("after a failure no further number is taken, and those under way are waited for", async () => {
  const started: number[] = []
  let settled = 0
  const reported: unknown[] = []
  const failing = runEach(
    100,
    3,
    async (index) => {
      started.push(index)
      await tick()
      if (index === 1) throw new Error("one")
      await tick()
      settled++
    },
    (error) => reported.push(error),
  )
  await assert.rejects(failing, /one/)
  assert.deepEqual(started, [0, 1, 2])
  assert.equal(settled, 2)
  assert.equal(reported.length, 1)
})

test("permits: so many at once, first come first served, idle when all are back", async () => {
  const abort = new AbortController()
  const permits = new Permits(2, abort.signal)
  const order: number[] = []
  let most = 0
  const calls = Array.from({ length: 6 }, (_, index) =>
    permits.use(async () => {
      order.push(index)
      most = Math.max(most, permits.open)
      await tick()
      return index
    }),
  )
  assert.deepEqual(await Promise.all(calls), [0, 1, 2, 3, 4, 5])
  assert.deepEqual(order, [0, 1, 2, 3, 4, 5])
  assert.equal(most, 2)
  await permits.idle()
})

test("permits: an abort empties the queue at once, and idle waits for the open ones", async () => {
  const abort = new AbortController()
  const permits = new Permits(1, abort.signal)
  let finish: () => void = () => undefined
  const open = permits.use(() => new Promise<void>((resolve) => (finish = resolve)))
  const waiting = permits.use(() => Promise.reject(new Error("must not start")))
  await tick()
  abort.abort(new Error("stop"))
  await assert.rejects(waiting, /stop/)
  await assert.rejects(
    permits.use(() => Promise.resolve()),
    /stop/,
  )
  let idle = false
  const isIdle = permits.idle()?.then(() => (idle = true))
  await tick()
  assert.equal(idle, false)
  finish()
  await open
  await isIdle
})

test("permits: a held place serves one call at once, and is free for others after it", async () => {
  const permits = new Permits(1, new AbortController().signal)
  const place = await permits.take()
  const order: string[] = []
  const queued = permits.use(() => Promise.resolve(void order.push("queued")))
  const first = permits.use(() => Promise.resolve(void order.push("first")), place)
  const second = permits.use(() => Promise.resolve(void order.push("second")), place)
  place.releaseUnclaimed()
  await Promise.all([queued, first, second])
  assert.deepEqual(order, ["first", "queued", "second"])
  const unused = await permits.take()
  unused.releaseUnclaimed()
  unused.release()
  await permits.idle()
  assert.equal(permits.open, 0)
})

test("permits: called workflows take places, and can go on however few there are", async () => {
  const { signal } = new AbortController()
  const permits = new Permits(1, signal)
  let workflows = 0
  let calls = 0
  let maxWorkflows = 0
  /** Each level calls the next one twice, side by side; the last makes two calls. */
  const call = async (around: Permits, level: number): Promise<void> => {
    const place = await around.enter()
    workflows++
    maxWorkflows = Math.max(maxWorkflows, workflows)
    const inside = around.within(signal, place)
    const one = (): Promise<void> =>
      level === 0
        ? inside.use(async () => {
            calls++
            assert.equal(permits.open, 1)
            await tick()
          })
        : call(inside, level - 1)
    await Promise.all([one(), one()])
    workflows--
    place.release()
  }
  await Promise.all([call(permits, 3), call(permits, 3)])
  assert.equal(calls, 32)
  assert.equal(maxWorkflows, 4, "one of each level")
  assert.equal(permits.open, 0)
  await permits.use(() => Promise.resolve())
})

test("permits: a workflow that waits for a person leaves its place, and those around it do", async () => {
  const { signal } = new AbortController()
  const permits = new Permits(1, signal)
  const outer = permits.within(signal, await permits.enter())
  const inner = outer.within(signal, await outer.enter())
  const order: string[] = []
  const queued = permits.use(() => Promise.resolve(void order.push("of the run")))
  await tick()
  assert.equal(order.length, 0)
  const busy = await inner.take()
  inner.giveUp()
  await tick()
  assert.equal(order.length, 0, "a call is open in the place")
  busy.release()
  await queued
  await inner.use(() => Promise.resolve(void order.push("inside")))
  assert.deepEqual(order, ["of the run", "inside"])
  assert.equal(permits.open, 0)
})

test("permits: an abort inside a called workflow leaves its place usable", async () => {
  const { signal } = new AbortController()
  const stop = new AbortController()
  const permits = new Permits(1, signal)
  const place = await permits.enter()
  const inner = permits.within(stop.signal, place)
  const open = await inner.take()
  const waiting = inner.use(() => Promise.reject(new Error("must not start")))
  stop.abort(new Error("stop"))
  await assert.rejects(waiting, /stop/)
  open.release()
  place.release()
  assert.equal(await permits.use(() => Promise.resolve("next")), "next")
})
