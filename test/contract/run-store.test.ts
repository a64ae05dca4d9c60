import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { openSqliteStore } from "../../src/adapters/sqlite/sqlite-store.ts"
import { createVault } from "../../src/adapters/vault/vault.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { runStoreContract } from "./run-store.ts"

runStoreContract("memory", async () => {
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  return { store, other: store, clock, close: () => store.close() }
})

function newDatabase() {
  const directory = mkdtempSync(join(tmpdir(), "wireworks-store-"))
  const clock = new ManualClock()
  const vault = createVault(randomBytes(32))
  const open = () => openSqliteStore({ path: join(directory, "wire.db"), vault, clock, poll_ms: 20 })
  return { clock, open, remove: () => rmSync(directory, { recursive: true }) }
}

runStoreContract("sqlite", async () => {
  const { clock, open, remove } = newDatabase()
  const store = await open()
  const close = async () => {
    await store.close()
    remove()
  }
  return { store, other: store, clock, close }
})

// Two stores on one database share nothing but its files, as two processes do.
runStoreContract("sqlite, seen by another process", async () => {
  const { clock, open, remove } = newDatabase()
  const [store, other] = [await open(), await open()]
  const close = async () => {
    await Promise.all([store.close(), other.close()])
    remove()
  }
  return { store, other, clock, close }
})
