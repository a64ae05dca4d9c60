import { allRuns, type RunQuery } from "../../../src/ports/run-list.ts"
import assert from "node:assert/strict"
import { LeaseLost, NoSuchRun, StoreFailure } from "../../../src/ports/store.ts"
import { ann, aQuestion, asked, waits } from "./asking.ts"
import { aRequest, aRun, created, ended, happened, ids, leaseMs, owner, Reader, row, type OnBench } from "./material.ts"

const inbox = { caller: "ann", groups: [], member_of: [], to: null, limit: 10, after: null } as const
const listed: RunQuery = { ...allRuns, caller: "ann", limit: 10 }

/** Runs that are deleted by request. */
export function deleting(onBench: OnBench): void {
  onBench("an ended run is deleted at once, and leaves a tombstone", async ({ store, other, clock }) => {
    const lease = await created(store, { caller: "ann" })
    const { run_id } = lease
    await store.append(lease, [happened(1, "x", { kept: 1 }), asked(2, aQuestion(run_id, "q1", clock))])
    await store.append(lease, [ended(3)])
    assert.deepEqual(await ids(other, run_id), [1, 2, 3])
    const before = await store.stored("ann")

    assert.equal(await store.delete(run_id), "deleted")
    for (const one of [store, other]) {
      assert.deepEqual(await one.lookup(run_id), { found: "expired", caller: "ann" })
      assert.deepEqual(await ids(one, run_id), [])
      assert.deepEqual(await one.list(listed), [])
      assert.deepEqual(await one.questions.ofRun(run_id, 10, null), { found: [], next: null })
      assert.equal(await one.questions.one(run_id, "q1"), null)
      for (const status of ["open", "withdrawn"] as const) {
        assert.deepEqual((await one.questions.inbox({ ...inbox, status })).found, [])
      }
      assert.deepEqual(await one.outbox.ofRun(run_id), [])
      await assert.rejects(one.request(run_id), StoreFailure)
    }
    assert.deepEqual(await new Reader(store, run_id).rest(), [])
    assert.ok((await store.stored("ann")) <= before)
    assert.equal(await other.delete(run_id), "gone")
    assert.equal(await store.delete(run_id), "gone")
    assert.equal(await store.delete("never-was"), "gone")
  })

  onBench("a run is deleted with its shadows, also with one that has not ended", async ({ store, other }) => {
    for (const how of ["delete", "sweep"] as const) {
      const lease = await created(store)
      await store.append(lease, [ended(1)])
      const workflow = { name: "split", version: "1", release: "shadow", shadow_of: lease.run_id } as const
      const shadow = async () => created(store, { request: aRequest({ workflow }) })
      const [over, open] = [await shadow(), await shadow()]
      await store.append(over, [ended(1)])
      if (how === "delete") assert.equal(await store.delete(lease.run_id), "deleted")
      else await store.sweep(Number.MAX_SAFE_INTEGER)
      for (const { run_id } of [lease, over, open]) assert.equal((await other.lookup(run_id)).found, "expired")
      await assert.rejects(store.append(open, [happened(1)]), LeaseLost)
    }
  })

  onBench("a run that has not ended stays", async ({ store, other, clock }) => {
    const running = await created(store)
    assert.equal(await other.delete(running.run_id), "open")
    await store.append(running, [happened(1)])
    assert.equal(await store.delete(running.run_id), "open")
    const waiting = await created(store)
    await store.append(waiting, [asked(1, aQuestion(waiting.run_id, "q1", clock)), waits(2, ["q1"], clock)])
    assert.equal(await store.delete(waiting.run_id), "open")
    assert.equal((await store.questions.answer(waiting.run_id, "q1", ann))?.stored, true)
    assert.deepEqual((await store.request(waiting.run_id)).secrets, { token: "s3cret-token" })
    await store.append(running, [ended(2)])
    assert.equal(await store.delete(running.run_id), "deleted")
    assert.equal((await row(other, waiting.run_id)).last_event_id, 2)
  })

  onBench("the idempotency key of a deleted run is free", async ({ store, other }) => {
    const idempotency = { key: "k", fingerprint: "f" }
    const run = aRun({ idempotency })
    const first = await store.create(run, owner, leaseMs)
    assert.ok(first.outcome === "created")
    await store.append(first.lease, [ended(1)])
    assert.equal((await other.existing("", idempotency))?.run_id, run.run_id)
    assert.equal(await store.delete(run.run_id), "deleted")
    assert.equal(await other.existing("", idempotency), null)
    const second = await store.create(aRun({ idempotency: { ...idempotency, fingerprint: "other" } }), owner, leaseMs)
    assert.equal(second.outcome, "created")
  })

  onBench("a sweep after a deletion leaves the tombstone, and other runs", async ({ store, other }) => {
    const gone = await created(store, { caller: "ann" })
    const kept = await created(store, { caller: "ann" })
    for (const lease of [gone, kept]) await store.append(lease, [happened(1), ended(2)])
    assert.equal(await store.delete(gone.run_id), "deleted")
    assert.equal(await other.sweep(0), 0)
    assert.deepEqual(await other.lookup(gone.run_id), { found: "expired", caller: "ann" })
    assert.deepEqual(await ids(other, kept.run_id), [1, 2])
  })

  onBench("two deletions at once: one of them did it", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, [happened(1), ended(2)])
    const outcomes = await Promise.all([store.delete(lease.run_id), other.delete(lease.run_id)])
    assert.ok(outcomes.includes("deleted"))
    assert.ok(!outcomes.includes("open"))
    assert.equal((await store.lookup(lease.run_id)).found, "expired")
  })

  onBench("a reader under way gets the rest, or is told that the run is gone", async ({ store }) => {
    const lease = await created(store)
    await store.append(lease, [happened(1), ended(2)])
    const reader = new Reader(store, lease.run_id)
    assert.equal(await reader.next(), 1)
    await store.delete(lease.run_id)
    const rest = await reader.rest().catch((error: unknown) => {
      assert.ok(error instanceof NoSuchRun)
      return [2]
    })
    assert.deepEqual(rest, [2])
  })
}
