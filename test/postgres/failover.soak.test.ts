import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { created, happened, ids } from "../contract/run-store/material.ts"
import { faultsOfRuns } from "../support/chaos-on-postgres.ts"
import { runChaos } from "../support/chaos.ts"
import { postgresStores } from "../support/postgres-store.ts"
import { startServerPair } from "../support/postgres-standby.ts"
import { within } from "../support/within.ts"

test("a standby takes over under the same name: nothing that was acknowledged is lost, and all runs go on", async (t) => {
  const pair = await startServerPair()
  t.after(() => pair.close())
  const open = postgresStores(pair.url, systemClock)
  const stores = [await open(), await open()] as const
  t.after(() => Promise.all(stores.map((store) => store.close())))

  const acknowledged = new Map<string, number>()
  let stopped = false
  const total = () => [...acknowledged.values()].reduce((sum, last) => sum + last, 0)
  const more = async (count: number): Promise<void> => {
    for (const from = total(); !stopped && total() < from + count;) await sleep(20)
  }
  const runs = Promise.all(
    Array.from({ length: 50 }, async (_, n) => {
      const store = n % 2 === 0 ? stores[0] : stores[1]
      const lease = await created(store, {}, 600_000)
      for (let id = 1; !stopped; id++) {
        await store.append(lease, [happened(id)])
        acknowledged.set(lease.run_id, id)
      }
    }),
  )
  const going = async (): Promise<void> => {
    await more(200)
    await pair.failOver()
    await more(500)
  }
  try {
    await Promise.race([within(120_000, "runs that go on", going()), runs])
  } finally {
    stopped = true
  }
  await runs
  for (const [run_id, last] of acknowledged) {
    const found: number[] = []
    for (;;) {
      const page = await ids(stores[0], run_id, found.at(-1) ?? 0)
      if (page.length === 0) break
      found.push(...page)
    }
    assert.deepEqual(
      found,
      Array.from({ length: last }, (_, index) => index + 1),
    )
  }
})

test("a standby takes over while three services work on 50 runs: all end, and nothing that completed is called again", async (t) => {
  const report = await runChaos({
    keeper: async () => {
      const pair = await startServerPair()
      return {
        store: pair.url,
        async trouble(_, __, deeds) {
          await sleep(2_000)
          deeds.push("fail over")
          await pair.failOver()
        },
        faults: (runs) => faultsOfRuns((sql) => pair.query(sql), runs),
        close: () => pair.close(),
      }
    },
    seed: 20,
    runs: 50,
    // All of them have begun by then, and none has ended.
    ms: 2_000,
    replicas: "left alone",
  })
  const { faults, deeds, calls, agents, resumed } = report
  t.diagnostic(`${deeds.join(", ")}: ${resumed} times taken up again, ${calls} model calls for ${agents} agents`)
  assert.deepEqual(deeds, ["fail over"])
  assert.deepEqual(faults, [])
})
