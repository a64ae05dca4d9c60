import { allRuns } from "../../../src/ports/run-list.ts"
import assert from "node:assert/strict"
import { freshTrigger } from "../../../src/ports/trigger-store.ts"
import type { JsonValue } from "../../../src/base/json-value.ts"
import type { LogEvent } from "../../../src/log/events.ts"
import type { Lease } from "../../../src/ports/store.ts"
import { noUsage, showUsage } from "../../../src/log/usage.ts"
import { aRequest, aRun, created, ended, leaseMs, owner, row, type OnBench } from "./material.ts"

const day = 24 * 3_600_000
const completion = (result: JsonValue): LogEvent => {
  const data = { output: { result }, usage: showUsage(noUsage), duration_ms: 1, at: iso(0) }
  return { id: 1, type: "workflow_completed", at: iso(0), data }
}
const iso = (ms: number) => new Date(ms).toISOString()

export function triggering(onBench: OnBench): void {
  onBench("what started a run is in its row and in the list", async ({ store, other }) => {
    const trigger = { schedule: "nightly", due_at: "2026-11-15T09:00:00.000Z" }
    const workflow = { name: "digest", version: "0123456789ab" }
    const { run_id } = await created(store, { caller: "ada", request: aRequest({ trigger, workflow }) })
    assert.deepEqual((await row(other, run_id)).trigger, trigger)
    const query = { ...allRuns, limit: 10 }
    const [listed] = await other.list({ ...query, caller: "ada" })
    assert.deepEqual(listed?.trigger, trigger)
    assert.deepEqual((await other.request(run_id)).trigger, trigger)
  })

  onBench("a key that outlives its run is remembered until its time is over", async ({ store, other, clock }) => {
    const start = clock.now()
    const idempotency = { key: "trigger\nhook\n1", fingerprint: "", kept_until: start + 30 * day }
    const lease = await created(store, { caller: "ada", idempotency, created_at: start })
    await store.append(lease, [ended(1, iso(start))])
    clock.advance(day)
    assert.equal(await store.sweep(start + 1), 1)
    assert.equal((await other.lookup(lease.run_id)).found, "expired")
    const exists = { outcome: "exists", run_id: lease.run_id }
    assert.deepEqual(await other.existing("ada", idempotency), exists)
    assert.equal(await other.existing("bob", idempotency), null)
    const again = () => other.create(aRun({ caller: "ada", idempotency, created_at: clock.now() }), owner, leaseMs)
    assert.deepEqual(await again(), exists)
    clock.advance(29 * day)
    await store.sweep(start)
    assert.equal(await other.existing("ada", idempotency), null)
    const later = { ...idempotency, kept_until: clock.now() + day }
    const fresh = await other.create(
      aRun({ caller: "ada", idempotency: later, created_at: clock.now() }),
      owner,
      leaseMs,
    )
    assert.equal(fresh.outcome, "created")
  })

  onBench(
    "a key that is deleted with its run by request is remembered all the same",
    async ({ store, other, clock }) => {
      const idempotency = { key: "trigger\nhook\n2", fingerprint: "", kept_until: clock.now() + day }
      const lease = await created(store, { caller: "ada", idempotency, created_at: clock.now() })
      await store.append(lease, [ended(1)])
      assert.equal(await store.delete(lease.run_id), "deleted")
      assert.deepEqual(await other.existing("ada", idempotency), { outcome: "exists", run_id: lease.run_id })
    },
  )

  onBench("of many who create a run under one such key, one does", async ({ store, other, clock }) => {
    const idempotency = { key: "trigger\nhook\n3", fingerprint: "", kept_until: clock.now() + day }
    const attempts = Array.from({ length: 8 }, (_, at) => {
      const run = aRun({ caller: "ada", idempotency, created_at: clock.now() })
      return (at % 2 === 0 ? store : other).create(run, `owner-${at}`, leaseMs)
    })
    const outcomes = await Promise.all(attempts)
    assert.equal(outcomes.filter(({ outcome }) => outcome === "created").length, 1)
    const ids = new Set(
      outcomes.map((one) => (one.outcome === "created" ? one.lease.run_id : "run_id" in one ? one.run_id : "")),
    )
    assert.equal(ids.size, 1)
  })

  onBench("the state of a trigger is replaced by who read it last, and by nobody else", async ({ store, other }) => {
    assert.equal(await other.triggers.read("flow nightly"), null)
    assert.equal(await store.triggers.write("flow nightly", { ...freshTrigger, mark: 1 }, null), true)
    assert.equal(await other.triggers.write("flow nightly", { ...freshTrigger, mark: 2 }, null), false)
    const first = await other.triggers.read("flow nightly")
    assert.equal(first?.state.mark, 1)
    const last = { outcome: "started", run_id: "r", due_at: 3, error: null } as const
    const next = { ...freshTrigger, mark: 3, last }
    assert.equal(await other.triggers.write("flow nightly", next, first.revision), true)
    assert.equal(await store.triggers.write("flow nightly", { ...freshTrigger, mark: 4 }, first.revision), false)
    assert.deepEqual((await store.triggers.read("flow nightly"))?.state, next)
    assert.equal(await store.triggers.read("flow"), null)
  })

  onBench(
    "what a run leaves to its schedule outlives it, until the next one completes or the run is deleted",
    async ({ store, other, clock }) => {
      const id = "flow reports"
      const keeper = { id, due_at: 7 }
      const completed = (lease: Lease, result: JsonValue) => store.append(lease, [completion(result)])
      const started = (due_at: number) => created(store, { request: aRequest({ keeper: { ...keeper, due_at } }) })
      assert.equal(await other.triggers.kept(id), null)
      const first = await started(7)
      assert.equal(await other.triggers.kept(id), null)
      await completed(first, { b: [1, "é"], "10": 1, "9": null })
      const kept = { output: '{"9":null,"10":1,"b":[1,"é"]}', due_at: 7 }
      assert.deepEqual(await other.triggers.kept(id), kept)
      clock.advance(day)
      await store.sweep(clock.now() + day)
      assert.equal((await other.lookup(first.run_id)).found, "expired")
      assert.deepEqual(await other.triggers.kept(id), kept)
      await store.append(await started(8), [ended(1)])
      assert.deepEqual(await other.triggers.kept(id), kept)
      const asWhole = await started(9)
      // A process that took the run over knows of its schedule, too.
      await store.release(asWhole)
      const [claimed] = await other.claim("another", 1, leaseMs)
      assert.ok(claimed)
      const text = "x".repeat(64 * 1024 - 2)
      await other.append(claimed, [completion(text)])
      assert.deepEqual(await store.triggers.kept(id), { output: JSON.stringify(text), due_at: 9 })
      const long = await started(10)
      await completed(long, `${text}x`)
      assert.deepEqual(await store.triggers.kept(id), { output: null, due_at: 10 })
      await completed(await started(11), 1)
      assert.equal(await store.delete(long.run_id), "deleted")
      assert.deepEqual(await store.triggers.kept(id), { output: "1", due_at: 11 })
      const last = await started(12)
      await completed(last, 2)
      assert.equal(await store.delete(last.run_id), "deleted")
      assert.equal(await other.triggers.kept(id), null)
    },
  )

  onBench("the error of a refusal is kept with it", async ({ store, other }) => {
    const error = {
      kind: "input_error",
      message: "too long",
      issues: [{ path: "input.a", message: "too long" }],
    } as const
    const last = { outcome: "refused", run_id: null, due_at: 3, error } as const
    assert.equal(await store.triggers.write("flow refused", { ...freshTrigger, last }, null), true)
    assert.deepEqual((await other.triggers.read("flow refused"))?.state.last, last)
  })

  onBench("a pause is apart from the state: who writes the one does not change the other", async ({ store, other }) => {
    assert.equal(await other.triggers.pause("flow held"), null)
    await store.triggers.setPause("flow held", { paused: true, at: 5 })
    assert.deepEqual(await other.triggers.pause("flow held"), { paused: true, at: 5 })
    assert.equal(await other.triggers.write("flow held", { ...freshTrigger, mark: 6 }, null), true)
    assert.deepEqual(await store.triggers.pause("flow held"), { paused: true, at: 5 })
    await other.triggers.setPause("flow held", { paused: false, at: 7 })
    assert.deepEqual(await store.triggers.pause("flow held"), { paused: false, at: 7 })
    assert.equal((await store.triggers.read("flow held"))?.state.mark, 6)
  })
}
