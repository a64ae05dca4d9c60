import assert from "node:assert/strict"
import { test, type TestContext } from "node:test"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { instant } from "../../ports/clock.ts"
import { pass } from "../../ports/gate.ts"
import { LeaseLost, StoreFailure, type Lease } from "../../ports/store.ts"
import { aRun } from "../../../test/contract/run-store/material.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { within } from "../../../test/support/within.ts"
import { LeaseKeeper } from "./lease-keeper.ts"

const leaseMs = 9_000

/** A store whose renewals are counted, and may fail. */
class CountingStore extends MemoryStore {
  renewals = 0
  broken = false

  override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
    this.renewals++
    if (this.broken) throw new StoreFailure("out of reach")
    return super.renew(lease, leaseMs)
  }
}

async function held(t: TestContext) {
  const clock = new ManualClock()
  const store = new CountingStore(clock)
  const keeper = new LeaseKeeper(store, clock, leaseMs)
  t.after(() => keeper.close())
  const askedAt = instant(clock)
  const created = await store.create(aRun(), "one", leaseMs)
  assert.ok(created.outcome === "created")
  return { clock, store, keeper, held: keeper.hold(created.lease, askedAt) }
}

/** Time passes while the process stands still: not even its timers run. */
function standStill(clock: ManualClock, ms: number): void {
  clock.pass(ms)
}

test("a lease that was renewed a moment ago is sure, at once", async (t) => {
  const { clock, store, held: lease } = await held(t)
  assert.equal(lease.gate(), null)
  standStill(clock, leaseMs / 2)
  assert.equal(lease.gate(), null)
  assert.equal(store.renewals, 0)
})

test("after a pause the lease is renewed before anything else is done", async (t) => {
  const { clock, store, held: lease } = await held(t)
  standStill(clock, leaseMs * 10)
  assert.notEqual(lease.gate(), null)
  await within(30_000, "the gate", pass(lease.gate))
  assert.equal(store.renewals, 1)
  assert.equal(lease.gate(), null)
})

test("after a pause in which another process took the run, nothing passes any more", async (t) => {
  const { clock, store, held: lease } = await held(t)
  standStill(clock, leaseMs)
  assert.equal((await store.claim("two", 1, leaseMs)).length, 1)
  await assert.rejects(within(30_000, "the gate", pass(lease.gate)), LeaseLost)
  assert.ok(lease.leave.isGiven)
  await assert.rejects(async () => lease.gate(), LeaseLost)
})

test("a machine that slept counts as paused, though its monotonic clock stood still", async (t) => {
  const { clock, store, held: lease } = await held(t)
  clock.jump(leaseMs)
  assert.notEqual(lease.gate(), null)
  await within(30_000, "the gate", pass(lease.gate))
  assert.equal(store.renewals, 1)
})

test("while the store is out of reach nothing passes, and goes on when it is back", async (t) => {
  const { clock, store, held: lease } = await held(t)
  standStill(clock, (leaseMs * 2) / 3)
  store.broken = true
  let passed = false
  const passing = pass(lease.gate).then(() => (passed = true))
  while (store.renewals < 3) {
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(leaseMs / 3)
  }
  assert.equal(passed, false)
  store.broken = false
  clock.advance(leaseMs / 3)
  await within(30_000, "the gate", passing)
})

test("calls that wait at the gate share one renewal", async (t) => {
  const { clock, store, held: lease } = await held(t)
  standStill(clock, leaseMs * 2)
  await Promise.all([pass(lease.gate), pass(lease.gate), pass(lease.gate)])
  assert.equal(store.renewals, 1)
})

test("the time that the store's answer was on its way counts", async (t) => {
  const { clock, store, keeper } = await held(t)
  const askedAt = instant(clock)
  const created = await store.create(aRun(), "one", leaseMs)
  standStill(clock, leaseMs)
  assert.ok(created.outcome === "created")
  assert.notEqual(keeper.hold(created.lease, askedAt).gate(), null)
})

test("runs that are given back pass no more calls", async (t) => {
  const { keeper, held: lease } = await held(t)
  keeper.leaveAll()
  await assert.rejects(async () => lease.gate(), LeaseLost)
})
