import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after } from "node:test"
import { openMemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { openSqliteStore } from "../../src/adapters/sqlite/open-sqlite-store.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import type { RunStore } from "../../src/ports/store.ts"
import { emptiedTables } from "../support/emptied-tables.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { isSoak } from "../support/strength.ts"
import { runStoreContract } from "./run-store.ts"

runStoreContract("memory", async () => {
  const clock = new ManualClock()
  const store = openMemoryStore(clock)
  return { store, other: store, clock, close: () => store.close() }
})

/**
 * Opening starts a thread, which takes longer than most of the tests; so tests share stores, and each begins with empty
 * tables. One that closed a store leaves the next one to open another.
 */
function sqlite(count: 1 | 2) {
  const directory = mkdtempSync(join(tmpdir(), "wireworks-store-"))
  const path = join(directory, "wire.db")
  const masterKey = createMasterKey(randomBytes(32))
  const clock = new ManualClock()
  const stores: RunStore[] = []

  after(async () => {
    await Promise.all(stores.map((store) => store.close()))
    rmSync(directory, { recursive: true })
  })

  return async () => {
    for (let n = 0; n < count; n++) {
      const store = stores[n]
      if (store === undefined || !(await isOpen(store))) {
        stores[n] = await openSqliteStore({ path, masterKey, clock, pollMs: 20, erasePaths: ["input.customer"] })
      }
    }
    empty(path)
    const [store, other = store] = stores
    if (store === undefined || other === undefined) throw new Error("No store was opened")
    return { store, other, clock, close: async () => {} }
  }
}

function isOpen(store: RunStore): Promise<boolean> {
  return store.probe().then(
    () => true,
    () => false,
  )
}

function empty(path: string): void {
  const database = new DatabaseSync(path, { timeout: 5_000 })
  for (const table of emptiedTables) database.exec(`DELETE FROM ${table}`)
  database.close()
}

// One store is read by its own process in every test over HTTP.
if (isSoak) runStoreContract("sqlite", sqlite(1))

// Two stores on one database share nothing but its files, as two processes do.
runStoreContract("sqlite, seen by another process", sqlite(2))
