import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { packFrame } from "../../src/adapters/nats/frame.ts"
import { atStrength, isSoak } from "../support/strength.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { natsServers, startNats, type NatsCluster } from "../support/nats-server.ts"
import { natsStores, storesWithConnection } from "../support/nats-store.ts"
import { runStoreContract } from "../contract/run-store.ts"
import { created, ended, happened, ids } from "../contract/run-store/material.ts"

// The contract of every store, on real brokers. Each test has streams of its own.

for (const server of natsServers().slice(0, atStrength(1, 2))) {
  describe(`nats-server ${server.version}`, () => {
    let broker: NatsCluster

    // `NATS_NODES=3` runs it on a cluster, which takes some minutes: nine replicated streams for each test.
    before(async () => {
      broker = await startNats(process.env["NATS_NODES"] === "3" ? 3 : 1, "", server)
    })

    after(() => broker.close())

    const one = async () => {
      const clock = new ManualClock()
      const store = await natsStores(broker.url, clock)()
      return { store, other: store, clock, close: () => store.close() }
    }
    runStoreContract("nats", one)

    // Two stores on one broker share nothing but it, as two machines do.
    const two = async () => {
      const clock = new ManualClock()
      const open = natsStores(broker.url, clock)
      const [store, other] = [await open(), await open()]
      const close = async () => {
        await Promise.all([store.close(), other.close()])
      }
      return { store, other, clock, close }
    }
    test("a deletion that a crash interrupts is finished by the next sweep", async (t) => {
      const { names, holder, claimant, other } = await storesWithConnection(t, broker.url)
      const lease = await created(holder, { caller: "ann" })
      await holder.append(lease, [happened(1), ended(2)])
      const [listed = ""] = await other.list("rows", names.listedOf("ann", null))
      assert.equal(await holder.delete(lease.run_id), "deleted")
      // So far did a process get that died: the run is gone, and a note says that not all of it is.
      await other.put(listed, packFrame({}, []))
      await other.put(names.request(lease.run_id), packFrame({}, []))
      await other.put(names.deleted(lease.run_id), packFrame({ listed }, []))
      assert.equal(await claimant.sweep(0), 0)
      assert.deepEqual(await holder.lookup(lease.run_id), { found: "expired", caller: "ann" })
      assert.deepEqual(await ids(claimant, lease.run_id), [])
      for (const left of [names.anyDeleted, names.request("*"), names.listedOf(null, null)]) {
        assert.deepEqual(await other.list("rows", left), [])
      }
    })

    if (isSoak) runStoreContract("nats, seen by another process", two)
  })
}
