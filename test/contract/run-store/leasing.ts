import assert from "node:assert/strict"
import { LeaseLost } from "../../../src/ports/store.ts"
import { aRun, created, ended, from, happened, ids, lapse, leaseMs, owner, type OnBench } from "./material.ts"

export function leasing(onBench: OnBench): void {
  onBench("a run whose lease holds is nobody else's", async ({ store, other, clock }) => {
    await created(store)
    assert.deepEqual(await other.claim("owner-2", 10, leaseMs), [])
    clock.advance(leaseMs - 1)
    assert.deepEqual(await other.claim("owner-2", 10, leaseMs), [])
    assert.deepEqual(await store.claim(owner, 10, leaseMs), [])
  })

  onBench("a run whose lease has run out is claimed, once, with a higher fence", async ({ store, other, clock }) => {
    const lease = await created(store)
    await lapse({ store, other, clock })
    const claims = await Promise.all([other.claim("owner-2", 10, leaseMs), store.claim("owner-3", 10, leaseMs)])
    const [claim, ...more] = claims.flat()
    assert.ok(claim !== undefined)
    assert.deepEqual(more, [])
    assert.equal(claim.run_id, lease.run_id)
    assert.ok(["owner-2", "owner-3"].includes(claim.owner))
    assert.ok(claim.fence > lease.fence)
    assert.equal(claim.given_back, false)
    assert.deepEqual(await other.claim("owner-4", 10, leaseMs), [])
    assert.equal(await store.renew(lease, leaseMs), false)
    assert.equal(await store.renew(claim, leaseMs), true)
  })

  onBench("a lease that ran out is good until someone takes the run", async ({ store, clock }) => {
    const lease = await created(store)
    await lapse({ store, other: store, clock })
    clock.advance(leaseMs * 2)
    await store.append(lease, [happened(1)])
    assert.equal(await store.renew(lease, leaseMs), true)
    assert.deepEqual(await store.claim("owner-2", 10, leaseMs), [])
  })

  onBench("renewing keeps a run", async ({ store, other, clock }) => {
    const lease = await created(store)
    for (const _ of from(0, 5)) {
      clock.advance(leaseMs - 1)
      assert.equal(await store.renew(lease, leaseMs), true)
      assert.deepEqual(await other.claim("owner-2", 10, leaseMs), [])
    }
    clock.advance(leaseMs)
    assert.equal((await other.claim("owner-2", 10, leaseMs)).length, 1)
    assert.equal(await store.renew(lease, leaseMs), false)
  })

  onBench("setting the wall clock neither ends a lease nor prolongs it", async ({ store, other, clock }) => {
    const lease = await created(store)
    clock.jump(3_600_000)
    assert.deepEqual(await other.claim("owner-2", 10, leaseMs), [])
    assert.deepEqual(await store.claim(owner, 10, leaseMs), [])
    clock.jump(-2 * 3_600_000)
    assert.equal(await store.renew(lease, leaseMs), true)
    // A claimant that has to hear of the renewal first may need another look.
    let claimed: readonly { readonly run_id: string }[] = []
    for (let looks = 0; looks < 3 && claimed.length === 0; looks++) {
      clock.advance(leaseMs)
      claimed = await other.claim("owner-2", 10, leaseMs)
    }
    assert.deepEqual(
      claimed.map(({ run_id }) => run_id),
      [lease.run_id],
    )
    clock.jump(3_600_000)
  })

  onBench("a released run can be claimed at once, and its old owner cannot write", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, [happened(1)])
    await store.release(lease)
    await assert.rejects(store.append(lease, [happened(2)]), LeaseLost)
    assert.equal(await store.renew(lease, leaseMs), false)
    const [claim] = await other.claim("owner-2", 10, leaseMs)
    assert.equal(claim?.run_id, lease.run_id)
    assert.equal(claim?.given_back, true)
    await store.release(lease)
    assert.deepEqual(await store.claim("owner-3", 10, leaseMs), [])
    assert.ok(claim !== undefined)
    await other.append(claim, [happened(2)])
    assert.deepEqual(await ids(store, lease.run_id), [1, 2])
  })

  onBench(
    "a claim tells a run that was given back from one whose owner died, each time",
    async ({ store, other, clock }) => {
      const lease = await created(store)
      await store.release(lease)
      assert.equal((await other.claim("owner-2", 10, leaseMs))[0]?.given_back, true)
      await lapse({ store, other, clock })
      assert.equal((await store.claim("owner-3", 10, leaseMs))[0]?.given_back, false)
    },
  )

  onBench("what is written before a release stays, what comes after is refused", async ({ store }) => {
    const lease = await created(store)
    const outcomes = await Promise.allSettled([
      store.append(lease, [happened(1)]),
      store.release(lease),
      store.append(lease, [happened(2)]),
    ])
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "fulfilled", "rejected"],
    )
    assert.deepEqual(await ids(store, lease.run_id), [1])
  })

  onBench("ended runs are never claimed", async ({ store, clock }) => {
    const lease = await created(store)
    await store.append(lease, [ended(1)])
    await store.release(lease)
    clock.advance(leaseMs * 100)
    assert.deepEqual(await store.claim("owner-2", 10, leaseMs), [])
  })

  onBench("the limit holds, the oldest come first, and all are claimed in the end", async ({ store, other, clock }) => {
    const run_ids: string[] = []
    for (const n of from(0, 25)) {
      const run = aRun({ created_at: clock.now() + n })
      await store.create(run, owner, leaseMs)
      run_ids.push(run.run_id)
    }
    await lapse({ store, other, clock })
    assert.deepEqual(await other.claim("owner-2", 0, leaseMs), [])
    const first = await other.claim("owner-2", 10, leaseMs)
    assert.deepEqual(
      first.map(({ run_id }) => run_id),
      run_ids.slice(0, 10),
    )
    const rest = [...(await store.claim("owner-3", 10, leaseMs)), ...(await other.claim("owner-2", 10, leaseMs))]
    assert.deepEqual(rest.map(({ run_id }) => run_id).sort(), run_ids.slice(10).sort())
    assert.deepEqual(await store.claim("owner-3", 10, leaseMs), [])
  })
}
