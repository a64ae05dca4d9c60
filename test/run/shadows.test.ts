import assert from "node:assert/strict"
import { test } from "node:test"
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
