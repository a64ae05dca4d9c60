import assert from "node:assert/strict"
import { test } from "node:test"
import { postgresKeeper } from "../support/chaos-on-postgres.ts"
import { runChaos } from "../support/chaos.ts"
import { soakSeed } from "../support/strength.ts"

test("50 runs while replicas die and pause, and the server and its sessions as well", async (t) => {
  const report = await runChaos({ keeper: postgresKeeper, seed: soakSeed, runs: 50, ms: 20_000 })
  const { faults, deeds, reconnects, calls, agents, resumed } = report
  t.diagnostic(deeds.join(", "))
  t.diagnostic(`${reconnects} reconnects, ${resumed} times taken up again, ${calls} model calls for ${agents} agents`)
  assert.deepEqual(faults, [])
})
