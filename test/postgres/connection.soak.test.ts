import assert from "node:assert/strict"
import { after, before, describe, test, type TestContext } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { readAddress } from "../../src/adapters/postgres/address.ts"
import { LeaseLost } from "../../src/ports/store.ts"
import { created, ended, happened, ids, leaseMs, Reader, row } from "../contract/run-store/material.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"
import { startProxy, type Passage } from "../support/tcp-proxy.ts"
import { within } from "../support/within.ts"

// Connections that break, each at the moment that matters. One store reaches the server through a proxy, another one directly.

describe("PostgreSQL out of reach", () => {
  let server: PostgresServer
  before(async () => {
    server = await startPostgres({ config: ["fsync=off"] })
  })
  after(() => server.close())

  async function stores(t: TestContext, watch?: (sent: string) => Passage) {
    const clock = new ManualClock()
    const proxy = await startProxy(server.port, watch)
    const open = postgresStores(server.url(), clock)
    const direct = await open()
    const read = readAddress(server.url().replace(`:${server.port}/`, `:${proxy.port}/`))
    assert.ok(read.ok)
    const store = await open({ address: read.address })
    t.after(async () => {
      await Promise.all([store.close(), direct.close()])
      await proxy.close()
    })
    return { clock, proxy, store, direct }
  }

  for (const { name, passage } of [
    { name: "reached the server, and its answer was lost", passage: "pass, then cut" },
    { name: "never reached the server", passage: "cut" },
  ] as const) {
    test(`a commit that ${name}: the append is stored once`, async (t) => {
      let armed = false
      const wasCut = Promise.withResolvers<void>()
      const { proxy, store, direct } = await stores(t, (sent) => {
        if (!armed || !sent.includes("COMMIT")) return "pass"
        armed = false
        wasCut.resolve()
        return passage
      })
      const lease = await created(store)
      armed = true
      const appended = store.append(lease, [happened(1), happened(2)])
      await within(10_000, "the commit", wasCut.promise)
      if (passage === "pass, then cut") {
        while ((await ids(direct, lease.run_id)).length === 0) await sleep(20)
      }
      proxy.restore()
      await appended
      await store.append(lease, [ended(3)])
      assert.deepEqual(await ids(direct, lease.run_id), [1, 2, 3])
      const stored = await direct.stored("")
      assert.ok(stored > 0)
    })
  }

  test("a store that was cut off while its run was taken over writes nothing more to it", async (t) => {
    const { clock, proxy, store, direct } = await stores(t)
    const lease = await created(store)
    await store.append(lease, [happened(1)])
    proxy.cut()
    const late = store.append(lease, [happened(2)])
    late.catch(() => undefined)
    assert.deepEqual(await direct.claim("owner-2", 10, leaseMs), [])
    clock.advance(leaseMs)
    const [claim] = await direct.claim("owner-2", 10, leaseMs)
    assert.equal(claim?.run_id, lease.run_id)
    assert.ok(claim !== undefined)
    await direct.append(claim, [happened(2, "of the new owner")])
    proxy.restore()
    await assert.rejects(late, LeaseLost)
    assert.equal(await store.renew(lease, leaseMs), false)
    await direct.append(claim, [ended(3)])
    assert.deepEqual(await ids(store, lease.run_id), [1, 2, 3])
  })

  test("after trouble with the server every lease gets its whole time again", async (t) => {
    const { clock, proxy, store, direct } = await stores(t)
    await created(direct)
    assert.deepEqual(await store.claim("owner-2", 10, leaseMs), [])
    clock.advance(leaseMs)
    proxy.restore()
    await store.probe()
    assert.deepEqual(await store.claim("owner-2", 10, leaseMs), [])
    clock.advance(leaseMs)
    assert.equal((await store.claim("owner-2", 10, leaseMs)).length, 1)
  })

  test("a follower goes on after a cut, and misses nothing", async (t) => {
    const { proxy, store, direct } = await stores(t)
    const lease = await created(direct)
    await direct.append(lease, [happened(1)])
    const reader = new Reader(store, lease.run_id)
    assert.equal(await reader.next(), 1)
    proxy.cut()
    const next = reader.next()
    await direct.append(lease, [happened(2)])
    proxy.restore()
    assert.equal(await next, 2)
    await direct.append(lease, [ended(3)])
    assert.deepEqual(await reader.rest(), [3])
  })

  test("a server that is killed and started again: writes, reads and followers wait for it", async (t) => {
    const { store, direct } = await stores(t)
    const lease = await created(direct)
    await direct.append(lease, [happened(1)])
    const reader = new Reader(store, lease.run_id)
    assert.equal(await reader.next(), 1)
    await server.kill("SIGKILL")
    const appended = direct.append(lease, [happened(2)])
    const found = row(store, lease.run_id)
    await server.start()
    await appended
    assert.equal((await found).run_id, lease.run_id)
    assert.equal(await reader.next(), 2)
    await direct.append(lease, [ended(3)])
    assert.deepEqual(await reader.rest(), [3])
  })
})
