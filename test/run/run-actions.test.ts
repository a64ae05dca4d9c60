import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { openMemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { openSqliteStore } from "../../src/adapters/sqlite/open-sqlite-store.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import { actionHistory, type ActionSeen } from "../support/action-histories.ts"
import { atStrength, soakSeed } from "../support/strength.ts"
import type { RunStore } from "../../src/ports/store.ts"

async function histories(store: RunStore, count: number): Promise<ActionSeen> {
  const sums = { deaths: 0, beside: 0, done: 0, refused: 0 }
  for (let made = 0; made < count; made++) {
    const seen = await actionHistory(store, soakSeed * 1_000_000 + made)
    for (const key of Object.keys(sums) as (keyof ActionSeen)[]) sums[key] += seen[key]
  }
  return sums
}

test("an action on many runs acts on each once, wherever its processes die: memory", async () => {
  const count = atStrength(150, 3_000)
  const store = openMemoryStore(systemClock)
  const sums = await histories(store, count)
  await store.close()
  // Otherwise the property says nothing.
  assert.ok(Math.min(...Object.values(sums)) >= count / 5, JSON.stringify(sums))
})

test("an action on many runs acts on each once, wherever its processes die: SQLite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wire-actions-"))
  const masterKey = createMasterKey(Buffer.alloc(32, 7))
  const store = await openSqliteStore({ path: join(folder, "wire.db"), masterKey, clock: systemClock })
  await histories(store, atStrength(10, 300))
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})
