import assert from "node:assert/strict"
import { randomInt } from "node:crypto"
import { test } from "node:test"
import { runChaos } from "../support/chaos.ts"
import { natsServers } from "../support/nats-server.ts"

// A short one. `npm run chaos -- --seeds 20` is the whole proof; `CHAOS_SEED` repeats one that failed here.

for (const server of natsServers()) {
  test(
    `50 runs while replicas and brokers die and pause, on nats-server ${server.version}`,
    { timeout: 170_000 },
    async (t) => {
      const seed = Number(process.env["CHAOS_SEED"] ?? randomInt(2 ** 31))
      t.diagnostic(`seed ${seed}`)
      const { faults, deeds, reconnects, calls, agents, resumed } = await runChaos({
        server,
        seed,
        runs: 50,
        ms: 20_000,
      })
      t.diagnostic(deeds.join(", "))
      t.diagnostic(
        `${reconnects} reconnects, ${resumed} times taken up again, ${calls} model calls for ${agents} agents`,
      )
      assert.deepEqual(faults, [])
    },
  )
}
