import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { runStoreContract } from "./run-store.ts"

runStoreContract("memory", async () => {
  const clock = new ManualClock()
  const store = new MemoryStore(clock)
  return { store, other: store, clock, close: () => store.close() }
})
