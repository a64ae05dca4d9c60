import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as nextTurn } from "node:timers/promises"
import { MemoryStore } from "../adapters/memory/memory-store.ts"
import { StoreFailure, type RunStore } from "../ports/store.ts"
import { wrapStore } from "../ports/wrap-store.ts"
import { ManualClock } from "../../test/support/manual-clock.ts"
import { Health } from "./health.ts"
import { watchStore } from "./watch-store.ts"

function watchedStore() {
  const clock = new ManualClock()
  const failing = { writes: false, reads: false }
  const lost: string[] = []
  const inner: RunStore = wrapStore(new MemoryStore(clock), (name, method) => (...args) => {
    const fails = name === "probe" ? failing.writes : name === "lookup" && failing.reads
    return fails ? Promise.reject(new StoreFailure("The server is gone")) : method(...args)
  })
  const health = new Health(clock, { info: () => undefined, error: () => undefined })
  const { store, stop } = watchStore(inner, health, clock, ({ message }) => lost.push(message))
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1_000)
      for (let turn = 0; turn < 5; turn++) await nextTurn()
    }
  }
  return { store, stop, failing, lost, pass, health }
}

test("a store that cannot be read for half a minute is lost, once for each failure", async () => {
  const { store, stop, failing, lost, pass, health } = watchedStore()
  for (const times of [1, 2]) {
    Object.assign(failing, { writes: true, reads: true })
    await assert.rejects(store.probe())
    await pass(25)
    assert.equal(lost.length, times - 1)
    await pass(60)
    assert.deepEqual(lost, Array(times).fill("The server is gone"))
    Object.assign(failing, { writes: false, reads: false })
    await pass(10)
    assert.equal(health.trouble, null)
  }
  stop()
})

test("a store that can be read is not lost: its disk may be full", async () => {
  const { store, stop, failing, lost, pass } = watchedStore()
  failing.writes = true
  await assert.rejects(store.probe())
  await pass(120)
  assert.deepEqual(lost, [])
  stop()
})
