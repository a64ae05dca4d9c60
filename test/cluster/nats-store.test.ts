import { after, before, describe } from "node:test"
import { atStrength, isSoak } from "../support/strength.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { natsServers, startNats, type NatsCluster } from "../support/nats-server.ts"
import { natsStores } from "../support/nats-store.ts"
import { runStoreContract } from "../contract/run-store.ts"

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
    if (isSoak) runStoreContract("nats, seen by another process", two)
  })
}
