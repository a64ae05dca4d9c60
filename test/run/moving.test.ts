import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { openMemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { openSqliteStore } from "../../src/adapters/sqlite/open-sqlite-store.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { movingHistory } from "../support/moving-histories.ts"

const title = "a run that moves at its waits ends like a new run of its last version, and does nothing twice"

async function histories(store: RunStore, count: number): Promise<void> {
  const sums = { moves: 0, asks: 0, stays: 0 }
  for (let seed = 1; seed <= count; seed++) {
    const seen = await movingHistory(store, seed)
    for (const key of ["moves", "asks", "stays"] as const) sums[key] += seen[key]
  }
  // Otherwise the property says nothing.
  assert.ok(Math.min(sums.moves, sums.asks, sums.stays) >= count / 20, JSON.stringify(sums))
}

test(`${title}: memory`, async () => {
  const store = openMemoryStore(systemClock)
  await histories(store, 60)
  await store.close()
})

test(`${title}: SQLite`, async () => {
  const directory = mkdtempSync(join(tmpdir(), "wireworks-moving-"))
  after(() => rmSync(directory, { recursive: true }))
  const masterKey = createMasterKey(randomBytes(32))
  const store = await openSqliteStore({ path: join(directory, "wire.db"), masterKey, clock: systemClock })
  await histories(store, 20)
  await store.close()
})
