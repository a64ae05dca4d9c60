import assert from "node:assert/strict"
import { test } from "node:test"
import { natsKeeper } from "../support/chaos-on-nats.ts"
import { runChaos } from "../support/chaos.ts"
import { natsServers } from "../support/nats-server.ts"
import { soakSeed } from "../support/strength.ts"

// A short one. `npm run chaos -- --seeds 20` is the whole proof.

for (const server of natsServers()) {
  test(`50 runs while replicas and brokers die and pause, on nats-server ${server.version}`, async (t) => {
    const { faults, deeds, reconnects, calls, agents, resumed } = await runChaos({
      keeper: () => natsKeeper(server),
      seed: soakSeed,
      runs: 50,
      ms: 20_000,
    })
    t.diagnostic(deeds.join(", "))
    t.diagnostic(`${reconnects} reconnects, ${resumed} times taken up again, ${calls} model calls for ${agents} agents`)
    assert.deepEqual(faults, [])
  })
}
