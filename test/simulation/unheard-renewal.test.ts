import assert from "node:assert/strict"
import { test } from "node:test"
import { BareStores, createRun } from "./bare-stores.ts"

const leaseMs = 10_000

test("a process that did not hear a renewal asks for it, also where it says the same as the one before", async () => {
  const stores = new BareStores()
  const owner = await stores.open()
  /** Announcements of leases do not reach the claimant. */
  let isDeaf = false
  const claimant = await stores.open((direct) => ({
    listen: (subject, listener) => direct.listen(subject, (message) => isDeaf || listener(message)),
  }))
  const lease = await createRun(owner)
  assert.deepEqual(await claimant.claim("claimant", 1, leaseMs), [])
  stores.pass(4_000)
  assert.ok(await owner.renew(lease, leaseMs))
  isDeaf = true
  stores.pass(9_000)
  assert.ok(await owner.renew(lease, leaseMs))
  stores.pass(5_000)
  assert.deepEqual(await claimant.claim("claimant", 1, leaseMs), [])
  stores.pass(leaseMs)
  const [claimed] = await claimant.claim("claimant", 1, leaseMs)
  assert.equal(claimed?.run_id, lease.run_id)
})
