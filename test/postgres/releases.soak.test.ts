import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { created, ended, happened, ids, leaseMs } from "../contract/run-store/material.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"

// Replicas while they are upgraded one by one: the first of the next release has brought the tables up to date.

let server: PostgresServer

before(async () => {
  server = await startPostgres({ config: ["fsync=off"] })
})
after(() => server.close())

test("replicas that run go on beside tables with more columns and tables; one that starts is refused with a sentence", async (t) => {
  const clock = new ManualClock()
  const open = postgresStores(server.url(), clock, "upgraded")
  const [holder, claimant] = [await open(), await open()]
  t.after(() => Promise.all([holder.close(), claimant.close()]))
  const lease = await created(holder)
  await holder.append(lease, [happened(1)])
  await server.query(
    `BEGIN;
     ALTER TABLE upgraded.runs ADD COLUMN colour TEXT;
     ALTER TABLE upgraded.waits ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue';
     CREATE TABLE upgraded.colours (run INTEGER PRIMARY KEY);
     UPDATE upgraded.format SET version = version + 1;
     COMMIT`,
  )
  await holder.append(lease, [happened(2)])
  assert.deepEqual(await ids(claimant, lease.run_id), [1, 2])
  await holder.release(lease)
  const [claimed] = await claimant.claim("owner-2", 10, leaseMs)
  assert.ok(claimed?.run_id === lease.run_id)
  await claimant.append(claimed, [happened(3), ended(4)])
  assert.deepEqual(await ids(holder, lease.run_id), [1, 2, 3, 4])
  const later = await created(holder)
  await holder.append(later, [ended(1)])
  await holder.probe()
  await assert.rejects(open(), /made by a newer version of this service/)
})
