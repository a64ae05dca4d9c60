import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { Damaged } from "../../src/ports/store.ts"
import { created, ended, happened, ids, leaseMs, Reader, row } from "../contract/run-store/material.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"

// The last events of a run cannot be read.

let server: PostgresServer

before(async () => {
  server = await startPostgres({ config: ["fsync=off"] })
})
after(() => server.close())

test("a run whose last events are damaged is taken up, condemned and read as failed, and can be cancelled before", async (t) => {
  const clock = new ManualClock()
  const open = postgresStores(server.url(), clock, "damaged")
  const [holder, claimant] = [await open(), await open()]
  t.after(() => Promise.all([holder.close(), claimant.close()]))
  const [broken, plain] = [await created(holder), await created(holder)]
  await holder.append(broken, [happened(1), happened(2)])
  await server.query(
    `UPDATE damaged.events SET body = 'not sealed' WHERE run = (SELECT num FROM damaged.runs WHERE run_id = '${broken.run_id}')`,
  )
  assert.equal((await row(claimant, broken.run_id)).last_event_id, 2)
  assert.deepEqual(await claimant.claim("owner-2", 10, leaseMs), [])
  clock.advance(leaseMs)
  const claimed = await claimant.claim("owner-2", 10, leaseMs)
  assert.deepEqual(claimed.map(({ run_id }) => run_id).toSorted(), [broken.run_id, plain.run_id].toSorted())
  const lease = claimed.find(({ run_id }) => run_id === broken.run_id)
  assert.ok(lease !== undefined)
  await assert.rejects(claimant.read(broken.run_id, 0, 100, "kept"), Damaged)
  await assert.rejects(holder.append(broken, [happened(3)]))
  assert.equal(await claimant.requestCancel(broken.run_id), true)

  const { last_event_id } = await row(claimant, broken.run_id)
  await claimant.failAsCorrupt(lease, ended(last_event_id + 1))
  for (const store of [holder, claimant]) {
    assert.notEqual((await row(store, broken.run_id)).finished_at, null)
    assert.deepEqual(await ids(store, broken.run_id), [3])
    assert.deepEqual(await new Reader(store, broken.run_id, 2).rest(), [3])
  }
  clock.advance(leaseMs)
  const later = await holder.claim("owner-3", 10, 1)
  assert.ok(!later.some(({ run_id }) => run_id === broken.run_id))
  assert.equal(await claimant.sweep(Date.UTC(2027, 0, 1)), 1)
  assert.equal((await claimant.lookup(broken.run_id)).found, "expired")
})
