import assert from "node:assert/strict"
import { noticeEvents, type Delivery, type Notice, type Notify, type TakenNotice } from "../../../src/ports/notices.ts"
import type { Lease, RunStore } from "../../../src/ports/store.ts"
import { within } from "../../support/within.ts"
import { aRequest, created, ended, happened, noOptions, soon, type Bench, type OnBench } from "./material.ts"

const url = "https://receiver.example/hook?token=canary"
const holdMs = 15_000
const everything: Notify = { url, events: noticeEvents }

function notifying(store: RunStore, notify: Notify = everything, caller = "ann"): Promise<Lease> {
  return created(store, { caller, request: aRequest({ options: { ...noOptions, notify } }) })
}

async function takenBy(store: RunStore, limit = 10): Promise<readonly TakenNotice[]> {
  return (await store.outbox.take(limit, holdMs)).taken
}

async function theOne(store: RunStore): Promise<TakenNotice> {
  const [notice, ...more] = await takenBy(store)
  assert.ok(notice !== undefined)
  assert.deepEqual(more, [])
  return notice
}

const states = (notices: readonly Notice[]) =>
  notices.map(({ event, status, attempts, last_error }) => [event, status, attempts, last_error])

/** Notices: stored with the event that causes them, delivered by one process at a time until their outcome is stored. */
export function notifyingContract(test: OnBench): void {
  test("an append that ends a run stores the notice of it", async ({ store, other }) => {
    const lease = await notifying(store)
    await store.append(lease, [happened(1)])
    assert.deepEqual(await takenBy(store), [])
    await store.append(lease, [happened(2), ended(3)])
    const { run_id } = lease
    const notice = {
      run_id,
      caller: "ann",
      event_id: 3,
      event: "cancelled",
      caused_at: Date.parse(ended(3).at),
      status: "pending",
      attempts: 0,
      last_error: null,
    }
    assert.deepEqual(await other.outbox.ofRun(run_id), [notice])
    assert.deepEqual(await theOne(other), { ...notice, attempts: 1, url })
  })

  test("a run that does not ask for it causes no notice", async ({ store }) => {
    const quiet = await created(store)
    await store.append(quiet, [ended(1)])
    const choosy = await notifying(store, { url, events: ["completed", "failed", "waiting"] })
    await store.append(choosy, [ended(1)])
    assert.deepEqual(await store.outbox.take(10, holdMs), { taken: [], next_due: null })
    for (const { run_id } of [quiet, choosy]) assert.deepEqual(await store.outbox.ofRun(run_id), [])
    assert.deepEqual(await store.outbox.ofRun("nope"), [])
  })

  test("a condemned run notifies of its failure", async ({ store }) => {
    const lease = await notifying(store)
    await store.append(lease, [happened(1)])
    const at = "2026-11-15T02:00:00.000Z"
    const error = { kind: "internal_error", message: "damaged", issues: [] } as const
    await store.failAsCorrupt(lease, { id: 2, type: "workflow_failed", at, data: { error, duration_ms: 1, at } })
    const { event, event_id, caused_at } = await theOne(store)
    assert.deepEqual([event, event_id, caused_at], ["failed", 2, Date.parse(at)])
  })

  test("no other process gets what one has taken, until the time to deliver it is over", async (bench) => {
    const { store, other, clock } = bench
    await store.append(await notifying(store), [ended(1)])
    const first = await theOne(store)
    assert.deepEqual(await takenBy(other), [])
    assert.deepEqual((await store.outbox.take(10, holdMs)).next_due, clock.now() + holdMs)
    clock.advance(holdMs - 1)
    assert.deepEqual(await takenBy(other), [])
    clock.advance(1)
    const second = await theOne(other)
    assert.deepEqual(second, { ...first, attempts: 2 })
    await settled(bench, first, second)
  })

  /** The process that was too slow: its failure is ignored, its delivery is not. */
  async function settled({ store, other }: Bench, first: TakenNotice, second: TakenNotice): Promise<void> {
    const { run_id } = first
    await store.outbox.settle(first, { status: "gave_up", last_error: "too slow", due_at: 0 })
    assert.deepEqual(states(await other.outbox.ofRun(run_id)), [["cancelled", "pending", 2, null]])
    await store.outbox.settle(first, { status: "delivered", last_error: null, due_at: 0 })
    assert.deepEqual(states(await other.outbox.ofRun(run_id)), [["cancelled", "delivered", 2, null]])
    await other.outbox.settle(second, { status: "gave_up", last_error: "late", due_at: 0 })
    assert.deepEqual(states(await store.outbox.ofRun(run_id)), [["cancelled", "delivered", 2, null]])
  }

  test("two processes that take at once never take the same", async ({ store, other }) => {
    for (let n = 0; n < 12; n++) await store.append(await notifying(store), [ended(1)])
    const [one, two] = await Promise.all([takenBy(store, 12), takenBy(other, 12)])
    const taken = [...one, ...two].map(({ run_id }) => run_id)
    assert.equal(taken.length, 12)
    assert.equal(new Set(taken).size, 12)
  })

  test("no more are taken than were asked for", async ({ store, clock }) => {
    for (let n = 0; n < 3; n++) await store.append(await notifying(store), [ended(1)])
    const first = await store.outbox.take(2, holdMs)
    assert.equal(first.taken.length, 2)
    assert.ok(first.next_due !== null && first.next_due <= clock.now())
    assert.equal((await takenBy(store, 2)).length, 1)
  })

  const slow: Notify = { url: "https://slow.example/a", events: noticeEvents }
  const toSlow = (caller: string, count: number): Delivery[] =>
    Array.from({ length: count }, () => ({ receiver: "https://slow.example", caller }))

  test("a receiver that has its share is passed over, and does not delay others", async ({ store, other }) => {
    for (let n = 0; n < 5; n++) await store.append(await notifying(store, slow), [ended(1)])
    await store.append(await notifying(store, { ...slow, url: "https://slow.example/b" }), [ended(1)])
    await store.append(await notifying(store), [ended(1)])
    const hosts = async (most: number, busy: readonly Delivery[] = []) => {
      const { taken, next_due } = await other.outbox.take(10, holdMs, { most, busy })
      return { hosts: taken.map((notice) => new URL(notice.url).host).toSorted(), due: next_due }
    }
    assert.deepEqual((await hosts(2, toSlow("bob", 2))).hosts, ["receiver.example"])
    const first = await hosts(2, toSlow("bob", 1))
    assert.deepEqual(first.hosts, ["slow.example"])
    // The others are still due.
    assert.equal(first.due, 0)
    assert.deepEqual((await hosts(5)).hosts.length, 4)
    assert.deepEqual((await takenBy(other)).length, 1)
  })

  test("callers take turns at one receiver: no one's notices wait for those of another", async ({ store, other }) => {
    const callers = async (limit: number, busy: readonly Delivery[]) => {
      const { taken } = await other.outbox.take(limit, holdMs, { most: 8, busy })
      return taken.map(({ caller }) => caller).toSorted()
    }
    const many = async (caller: string, count: number): Promise<void> => {
      for (let n = 0; n < count; n++) await store.append(await notifying(store, slow, caller), [ended(1)])
    }
    await many("ann", 20)
    // One place is left for others.
    assert.deepEqual(
      await callers(64, []),
      Array.from({ length: 7 }, () => "ann"),
    )
    await many("bob", 4)
    assert.deepEqual(await callers(64, toSlow("ann", 7)), ["bob"])
    // The next places go to the caller with the fewest.
    assert.deepEqual(await callers(64, [...toSlow("ann", 4), ...toSlow("bob", 1)]), ["bob", "bob"])
    // Of all places, too, one is left for callers that have none.
    assert.deepEqual(await callers(1, toSlow("ann", 2)), ["bob"])
    assert.deepEqual(await callers(1, toSlow("ann", 2)), [])
  })

  test("a failed attempt is due again at its time, with its error shown", async ({ store, other, clock }) => {
    const { run_id } = await notifying(store).then(async (lease) => {
      await store.append(lease, [ended(1)])
      return lease
    })
    const notice = await theOne(store)
    const due_at = clock.now() + 5_000
    await store.outbox.settle(notice, { status: "pending", last_error: "The receiver answered 500", due_at })
    assert.deepEqual(states(await other.outbox.ofRun(run_id)), [
      ["cancelled", "pending", 1, "The receiver answered 500"],
    ])
    assert.deepEqual(await store.outbox.take(10, holdMs), { taken: [], next_due: due_at })
    clock.advance(5_000)
    const again = await theOne(store)
    assert.deepEqual([again.attempts, again.url], [2, url])
    await store.outbox.settle(again, { status: "gave_up", last_error: "gone", due_at: 0 })
    assert.deepEqual(states(await other.outbox.ofRun(run_id)), [["cancelled", "gave_up", 2, "gone"]])
    clock.advance(24 * 3_600_000)
    assert.deepEqual(await store.outbox.take(10, holdMs), { taken: [], next_due: null })
  })

  test("a pending notice outlives its run; once it is settled nothing of it is left", async ({
    store,
    other,
    clock,
  }) => {
    const end = ended(1, new Date(clock.now()).toISOString())
    const [pending, delivered] = [await notifying(store), await notifying(store)]
    await store.append(delivered, [end])
    await store.outbox.settle(await theOne(store), { status: "delivered", last_error: null, due_at: 0 })
    await store.append(pending, [end])
    assert.equal(await store.sweep(clock.now() + 1), 2)
    assert.deepEqual(await store.outbox.ofRun(delivered.run_id), [])
    const notice = await theOne(other)
    assert.deepEqual([notice.run_id, notice.url], [pending.run_id, url])
    await other.outbox.settle(notice, { status: "delivered", last_error: null, due_at: 0 })
    assert.deepEqual(await store.outbox.ofRun(pending.run_id), [])
    assert.deepEqual(await store.outbox.take(10, holdMs), { taken: [], next_due: null })
  })

  test("says when there is a notice to deliver", async ({ store }) => {
    const announced = Promise.withResolvers<void>()
    const stop = store.outbox.onNotice(announced.resolve)
    await store.append(await notifying(store), [ended(1)])
    await within(soon, "the announcement", announced.promise)
    stop()
  })
}
