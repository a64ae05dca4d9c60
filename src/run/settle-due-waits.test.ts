import assert from "node:assert/strict"
import { test } from "node:test"
import { openMemoryStore } from "../adapters/memory/memory-store.ts"
import { StoreFailure } from "../ports/store.ts"
import { ManualClock } from "../../test/support/manual-clock.ts"
import { settleDueWaits } from "./settle-due-waits.ts"

test("the first look is at once, and an event that cannot be finished keeps no other one waiting", async () => {
  const clock = new ManualClock()
  const store = openMemoryStore(clock)
  for (const key of ["a", "b"]) {
    const event = { caller: "ann", everyone: false, id: null, source: "", name: "paid", key, data: null }
    await store.sentEvents.receive({ ...event, keep_seconds: 60 })
  }
  const slept: number[] = []
  const stop = new AbortController()
  const finished: number[] = []
  const bugs: unknown[] = []
  const bug = new Error("It cannot be finished")
  await settleDueWaits(
    {
      store,
      clock: {
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        sleep: async (ms) => {
          stop.signal.throwIfAborted()
          slept.push(ms)
          clock.advance(slept.length === 1 ? 0 : 20_000)
        },
      },
      finishEvent: async (number) => {
        finished.push(number)
        if (finished.length === 3) stop.abort()
        if (finished.length === 1) throw bug
        if (finished.length === 2) throw new StoreFailure("The store is away")
        await store.sentEvents.close(number, false)
      },
      bug: (error) => bugs.push(error),
    },
    stop.signal,
  )
  assert.equal(slept[0], 0)
  assert.deepEqual(finished, [1, 2, 1, 2])
  assert.deepEqual(bugs, [bug])
})
