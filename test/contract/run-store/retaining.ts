import assert from "node:assert/strict"
import { NoSuchRun, StoreFailure } from "../../../src/ports/store.ts"
import { atStrength } from "../../support/strength.ts"
import { ann, aQuestion, asked, waits } from "./asking.ts"
import { aRun, created, ended, from, happened, ids, leaseMs, owner, Reader, row, type OnBench } from "./material.ts"

const hour = 3_600_000
const day = 24 * hour
const iso = (ms: number) => new Date(ms).toISOString()

export function retaining(onBench: OnBench): void {
  onBench("runs that ended long enough ago are deleted, and leave a tombstone", async ({ store, other, clock }) => {
    const start = clock.now()
    const old = await created(store, { caller: "ada" })
    await store.append(old, [happened(1, "x", { kept: 1 }), ended(2, iso(start))])
    const recent = await created(store)
    await store.append(recent, [ended(1, iso(start + hour))])
    const running = await created(store)
    await store.append(running, [happened(1)])

    clock.advance(day)
    assert.equal(await store.sweep(start), 0)
    assert.equal(await store.sweep(start + 1), 1)
    assert.deepEqual(await other.lookup(old.run_id), { found: "expired", caller: "ada" })
    assert.deepEqual(await store.lookup(old.run_id), { found: "expired", caller: "ada" })
    assert.deepEqual(await ids(other, old.run_id), [])
    assert.deepEqual(await new Reader(other, old.run_id).rest(), [])
    await assert.rejects(other.request(old.run_id), StoreFailure)
    assert.equal(await other.requestCancel(old.run_id), false)
    assert.deepEqual(await ids(other, recent.run_id), [1])
    assert.deepEqual(await ids(other, running.run_id), [1])
    assert.equal(await other.sweep(start + 1), 0)
    assert.equal(await other.sweep(start + day), 1)
    // A run that has not ended stays, however old.
    assert.equal(await other.sweep(start + 1_000 * day), 0)
    assert.equal((await row(store, running.run_id)).last_event_id, 1)
  })

  onBench("what a caller's ended and waiting runs take is counted until retention deletes them", async (bench) => {
    const { store, clock } = bench
    const large = "x".repeat(100_000)
    assert.equal(await store.stored("ann"), 0)
    const lease = await created(store, { caller: "ann" })
    await store.append(lease, [happened(1, large), happened(2)])
    // A run that goes on counts when it gets there.
    assert.ok((await store.stored("ann")) < 1_000)
    await store.append(lease, [
      asked(3, aQuestion(lease.run_id, "q1", clock, { show: large })),
      waits(4, ["q1"], clock),
    ])
    const waiting = await store.stored("ann")
    assert.ok(waiting > 200_000 && waiting < 350_000, `${waiting} bytes`)
    assert.equal(await store.stored("bob"), 0)
    await store.questions.answer(lease.run_id, "q1", ann)
    const [claimed] = await store.claim(owner, 1, leaseMs)
    assert.ok(claimed !== undefined)
    await store.append(claimed, [happened(5, large), ended(6, iso(clock.now()))])
    const all = await store.stored("ann")
    assert.ok(all > waiting + 100_000 && all < waiting + 150_000, `${all} bytes, ${waiting} before`)
    await store.append(await created(store, { caller: "bob" }), [happened(1, large), ended(2, iso(clock.now()))])
    assert.ok((await store.stored("bob")) > 100_000)
    assert.equal(await store.stored("ann"), all)
    clock.advance(day)
    await store.sweep(clock.now())
    assert.deepEqual([await store.stored("ann"), await store.stored("bob")], [0, 0])
  })

  onBench("a follower of a run that is deleted gets the rest, or an error", async ({ store, other, clock }) => {
    const lease = await created(store)
    // Far more than a follower has in hand at a time.
    for (const n of from(0, 20)) {
      await store.append(
        lease,
        from(1 + n * 50, 50).map((id) => happened(id, "x".repeat(200))),
      )
    }
    await store.append(lease, [ended(1_001, iso(clock.now()))])
    const reader = new Reader(other, lease.run_id)
    assert.equal(await reader.next(), 1)
    clock.advance(day)
    await store.sweep(clock.now())
    assert.equal((await other.lookup(lease.run_id)).found, "expired")
    const outcome = await reader.rest().then(
      (rest) => rest.at(-1),
      (error: unknown) => error,
    )
    if (outcome !== 1_001) assert.ok(outcome instanceof NoSuchRun, String(outcome))
  })

  onBench("a key lives as long as its run", async ({ store, other, clock }) => {
    const idempotency = { key: "order-1", fingerprint: "f1" }
    const lease = await created(store, { caller: "ada", idempotency })
    await store.append(lease, [ended(1, iso(clock.now()))])
    clock.advance(day)
    await store.sweep(clock.now())
    const again = aRun({ caller: "ada", idempotency: { key: "order-1", fingerprint: "f2" } })
    assert.equal((await other.create(again, owner, leaseMs)).outcome, "created")
  })

  onBench("tombstones do not stay for ever", async ({ store, other, clock }) => {
    const lease = await created(store)
    await store.append(lease, [ended(1, iso(clock.now()))])
    clock.advance(day)
    await store.sweep(clock.now())
    clock.advance(7 * day)
    await store.sweep(clock.now())
    assert.equal((await other.lookup(lease.run_id)).found, "expired")
    clock.advance(365 * day)
    await store.sweep(clock.now())
    assert.deepEqual(await other.lookup(lease.run_id), { found: "nothing" })
  })

  onBench("many runs, some of them long, in one sweep", async ({ store, other, clock }) => {
    const long = await created(store)
    for (const n of from(0, 30))
      await store.append(
        long,
        from(1 + n * 50, 50).map((id) => happened(id)),
      )
    await store.append(long, [ended(1_501, iso(clock.now()))])
    const rest = await Promise.all(from(0, atStrength(100, 300)).map(() => created(store)))
    await Promise.all(rest.map((lease) => store.append(lease, [happened(1), ended(2, iso(clock.now()))])))
    clock.advance(hour)
    const running = await created(store)
    const [swept] = await Promise.all([store.sweep(clock.now()), store.append(running, [happened(1)])])
    assert.equal(swept, rest.length + 1)
    for (const lease of [long, ...rest]) assert.equal((await other.lookup(lease.run_id)).found, "expired")
    assert.deepEqual(await ids(other, long.run_id), [])
    assert.deepEqual(await ids(other, running.run_id), [1])
  })

  onBench("a sweep drops dead cache entries and leaves live ones", async ({ store, other, clock }) => {
    await store.cache.put("", "k", "dead", 1, hour)
    await store.cache.put("", "k", "live", 2, 3 * hour)
    clock.advance(2 * hour)
    await store.sweep(0)
    assert.equal(await other.cache.get("", "k", "dead"), undefined)
    assert.equal(await other.cache.get("", "k", "live"), 2)
    assert.equal(await other.cache.purge("", "k"), 1)
  })

  onBench("a store that is there says so, one that is closed does nothing more", async ({ store }) => {
    const lease = await created(store)
    await store.probe()
    await store.close()
    await store.close()
    for (const refused of [
      store.probe(),
      store.create(aRun(), owner, leaseMs),
      store.existing("", { key: "k", fingerprint: "f" }),
      store.lookup(lease.run_id),
      store.append(lease, [happened(1)]),
      store.read(lease.run_id, 0, 1),
      store.claim(owner, 1, leaseMs),
      store.requestCancel(lease.run_id),
      store.cache.get("", "k", "h"),
      store.sweep(0),
    ]) {
      await assert.rejects(refused, StoreFailure)
    }
    assert.deepEqual(await new Reader(store, lease.run_id).rest(), [])
  })
}
