import assert from "node:assert/strict"
import { test } from "node:test"
import { compile } from "../../src/compile.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import { defaultLimits } from "../../src/run/context/run-context.ts"
import { Runs } from "../../src/run/runs.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import { defaultOptions } from "../support/run-plan.ts"
import { ScriptedModel } from "../support/scripted-model.ts"
import { within } from "../support/within.ts"
import { openMemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { shadowHistory, type ShadowsSeen } from "../support/shadow-histories.ts"
import { atStrength, soakSeed } from "../support/strength.ts"

test("a shadow calls no tool that acts, asks nobody, waits for nothing and costs its caller nothing", async () => {
  const count = atStrength(300, 10_000)
  const sums: Record<keyof ShadowsSeen, number> = {
    shadows: 0,
    agrees: 0,
    disagrees: 0,
    inconclusive: 0,
    skipped: 0,
    made: 0,
    refused: 0,
  }
  for (let made = 0; sums.shadows < count; made++) {
    const store = openMemoryStore(systemClock)
    const seen = await shadowHistory(store, soakSeed * 1_000_000 + made)
    await store.close()
    for (const key of Object.keys(sums) as (keyof ShadowsSeen)[]) sums[key] += seen[key]
    assert.ok(made < 5 * count, JSON.stringify(sums))
  }
  // Otherwise the property says nothing.
  const { agrees, disagrees, inconclusive, skipped, made } = sums
  assert.ok(Math.min(agrees, disagrees, inconclusive, skipped, made) >= count / 30, JSON.stringify(sums))
})

test("whoever takes over a shadow of a process that died ends it, and calls nothing", async () => {
  const source = `mcp s { endpoint: "http://tools.test/mcp" }
tool pay from mcp.s.tool.pay
output { paid: call tool.pay { input { text: "1" } } }
`
  const { plan } = compile(source)
  assert.ok(plan !== undefined)
  const pay = { input: record({ text: string }), call: () => ({ text: "paid", is_error: false }) }
  const tools = new InProcessTools({ tools: { pay } })
  const store = openMemoryStore(systemClock)
  const workflow = { name: "w", version: "0123456789ab", release: "shadow", shadow_of: "other" } as const
  const request = { source, input: {}, secrets: {}, options: defaultOptions, workflow }
  const made = { run_id: "shadow", caller: "", request, created_at: Date.now(), idempotency: null }
  const created = await store.create(made, "dead", 60_000)
  assert.ok(created.outcome === "created")
  await store.release(created.lease)
  const model = new ScriptedModel(() => assert.fail("no model is called here"))
  const ports = { store, model, tools, clock: systemClock, random: systemRandom, bug: assert.fail }
  const limits = { owner: "next", leaseMs: 10_000, maxRuns: 4, maxQueued: 10, limits: defaultLimits }
  const runs = new Runs(ports, async () => ({ plan }), limits)
  await runs.recover()
  const types: string[] = []
  const read = async (): Promise<void> => {
    for await (const { type } of store.follow("shadow", 0, new AbortController().signal)) types.push(type)
  }
  await within(30_000, "the end", read())
  await runs.drain(0)
  await store.close()
  assert.deepEqual([types.at(-1), tools.opened, tools.calls], ["workflow_cancelled", 0, []])
})
