import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { defaultOptions } from "../../../test/support/run-plan.ts"
import type { LogEvent } from "../../log/events.ts"
import { bytesOver } from "../values/value-size.ts"
import { RunLog, shown } from "./log.ts"
import { LogFold } from "../../log/fold.ts"
import { StoreFailure } from "../../ports/store.ts"

class Slow extends MemoryStore {
  readonly batches: LogEvent[][] = []
  gate: Promise<void> = Promise.resolve()
  broken = false
  override async append(...[lease, events]: Parameters<MemoryStore["append"]>): Promise<void> {
    this.batches.push([...events])
    await this.gate
    if (this.broken) throw new StoreFailure("full")
    return super.append(lease, events)
  }
}

async function logTo<S extends MemoryStore>(
  store: S,
  failed: unknown[] = [],
  size?: ConstructorParameters<typeof RunLog>[5],
): Promise<RunLog> {
  const request = { source: "", input: {}, secrets: {}, options: defaultOptions }
  const run = { run_id: "r", caller: "", request, created_at: 0, idempotency: null }
  const created = await store.create(run, "me", 1000)
  if (created.outcome !== "created") throw new Error("not created")
  return new RunLog(store, created.lease, new ManualClock(), 0, (error) => failed.push(error), size)
}

test("a log over its size is reported; what was there before a resume counts like what is added", async () => {
  const failed: unknown[] = []
  const log = await logTo(new MemoryStore(new ManualClock()), failed, { before: 0, most: 3000 })
  const events = [log.add("workflow_started", {})]
  while (failed.length === 0) {
    events.push(log.add("agent_retried", { agent: "a", attempt: 2, reason: "x".repeat(500), delay_ms: 0 }, { turn: 1 }))
  }
  assert.match(String(failed[0]), /larger than 3000 bytes/)
  assert.ok(events.length > 2 && events.length < 7, String(events.length))

  const past = new LogFold()
  for (const event of events.slice(0, -1)) past.take(event)
  const before = past.past.logBytes
  assert.ok(before > 1000 && before <= 3000, String(before))
  const resumed: unknown[] = []
  const again = await logTo(new MemoryStore(new ManualClock()), resumed, { before, most: before + 900 })
  again.add("run_resumed", { reason: "x" })
  assert.equal(resumed.length, 0)
  again.addDelta({ agent: "a", attempt: 1, text: "x" })
  again.addDelta({ agent: "a", attempt: 1, text: "x".repeat(500) })
  assert.equal(resumed.length, 1)
  again.add("workflow_failed", { error: { kind: "limit_exceeded", message: "", issues: [] }, duration_ms: 1 })
  assert.equal(resumed.length, 1)
})

test("what one turn adds is one append; what comes meanwhile is the next; stored() waits for all so far", async () => {
  const store = new Slow(new ManualClock())
  const { promise, resolve } = Promise.withResolvers<void>()
  store.gate = promise
  const log = await logTo(store)
  log.add("workflow_started", {})
  await Promise.resolve()
  log.add("agent_loop_started", { agent: "a", iterations: 1 })
  await new Promise((next) => setImmediate(next))
  log.add("run_resumed", { reason: "x" })
  log.add("run_resumed", { reason: "y" })
  let stored = false
  const all = log.stored().then(() => (stored = true))
  await new Promise((next) => setImmediate(next))
  assert.equal(stored, false)
  resolve()
  await all
  assert.deepEqual(
    store.batches.map((batch) => batch.map(({ id }) => id)),
    [
      [1, 2],
      [3, 4],
    ],
  )
  assert.deepEqual(store.batches[0]?.[0]?.data, {})
  assert.deepEqual(store.batches[0]?.[1]?.data, { agent: "a", iterations: 1, at: "2026-11-15T00:00:00.000Z" })
  await log.stored()
})

test("large events are several appends, each in a turn of its own; all are stored, in order", async () => {
  const store = new Slow(new ManualClock())
  const log = await logTo(store)
  const last = 20
  for (let id = 1; id < last; id++) log.add("run_resumed", { reason: "x".repeat(200_000) })
  log.add("run_resumed", { reason: "x".repeat(2_000_000) })
  await log.stored()
  const sizes = store.batches.map((batch) => batch.length)
  assert.ok(Math.max(...sizes) <= 2, sizes.join(" "))
  assert.equal(sizes.at(-1), 1)
  assert.deepEqual(
    store.batches.flat().map(({ id }) => id),
    Array.from({ length: last }, (_, at) => at + 1),
  )
  log.add("run_resumed", { reason: "x" })
  log.add("run_resumed", { reason: "y" })
  await log.stored()
  assert.equal(store.batches.at(-1)?.length, 2)
})

test("a failing store is reported once, and rejects for all that wait", async () => {
  const store = new Slow(new ManualClock())
  store.broken = true
  const failed: unknown[] = []
  const log = await logTo(store, failed)
  log.add("run_resumed", { reason: "x" })
  await assert.rejects(log.stored(), /full/)
  log.add("run_resumed", { reason: "y" })
  await assert.rejects(log.stored(), /full/)
  await new Promise((next) => setImmediate(next))
  assert.equal(store.batches.length, 1)
  assert.equal(failed.length, 1)
})

test("there is room until the store falls behind", async () => {
  const store = new Slow(new ManualClock())
  const { promise, resolve } = Promise.withResolvers<void>()
  store.gate = promise
  const log = await logTo(store)
  let added = 0
  while (log.room() === null) {
    log.add("run_resumed", { reason: "x" })
    if (++added > 10_000) assert.fail("there is always room")
  }
  resolve()
  await log.room()
  assert.equal(log.room(), null)
})

test("sizes are those of the JSON text in UTF-8", () => {
  const long = "ä".repeat(131_072)
  assert.equal(shown("x".repeat(262_142)), "x".repeat(262_142))
  assert.deepEqual(shown("x".repeat(262_143)), { truncated: true, bytes: 262_145 })
  assert.deepEqual(shown({ a: [long] }), { truncated: true, bytes: 262_144 + 10 })
  assert.equal(bytesOver("\u0000".repeat(100), 601), 602)
  assert.equal(bytesOver("\u0000".repeat(100), 602), null)
  const many = Array.from({ length: 60_000 }, () => 1.5)
  assert.equal(bytesOver(many, 262_144), null)
})
