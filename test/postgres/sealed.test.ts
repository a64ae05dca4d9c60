import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { created, ended, happened, ids } from "../contract/run-store/material.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"

// The one look at PostgreSQL in `npm test`: the store's contract, broken connections, refusals at the start and moves are of the soak.

let server: PostgresServer
before(async () => (server = await startPostgres({ config: ["fsync=off"] })))
after(() => server.close())

test("PostgreSQL keeps runs, and nothing of a run can be read in the tables", async () => {
  const store = await postgresStores(server.url(), new ManualClock(), "sealed")()
  const canary = "canary-0123456789"
  const request = {
    source: canary,
    input: { canary },
    secrets: { key: canary },
    options: { cache_key: null, use_cache: true, max_concurrency: null, timeout_ms: null, deltas: false },
  }
  const idempotency = { key: canary, fingerprint: canary }
  const lease = await created(store, { request, idempotency })
  await store.append(lease, [happened(1, canary, { canary })])
  await store.cache.put("", canary, canary, { canary }, 60_000)
  const other = await created(store, { request })
  await store.append(other, [happened(1, canary), ended(2)])
  assert.deepEqual(await ids(store, lease.run_id), [1])
  assert.deepEqual(await ids(store, other.run_id), [1, 2])
  // The secrets of the run that goes on, and their key; of the one that has ended, nothing that can be asked for.
  const keys = await server.query("SELECT encode(key, 'hex') AS key, taken FROM sealed.secret_keys WHERE taken = 1")
  assert.equal(keys.length, 1)
  const [sum] = await server.query("SELECT count(*) AS n FROM sealed.secrets")
  assert.equal(Number(sum?.["n"]), 1)
  const free = await server.query("SELECT DISTINCT encode(key, 'hex') AS key FROM sealed.secret_keys WHERE taken = 0")
  assert.match(free.map(({ key }) => String(key)).join(), /^0+$/)
  await store.close()
  const tables = await server.query("SELECT tablename FROM pg_tables WHERE schemaname = 'sealed'")
  assert.ok(tables.length > 8)
  for (const { tablename } of tables) {
    const rows = await server.query(`SELECT t::text AS line FROM sealed.${String(tablename)} AS t`)
    for (const { line } of rows) {
      assert.ok(!String(line).includes(canary), `${String(tablename)} shows it`)
      assert.ok(!String(line).includes(Buffer.from(canary).toString("hex")), `${String(tablename)} shows it in hex`)
    }
  }
})
