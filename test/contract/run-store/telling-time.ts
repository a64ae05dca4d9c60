import assert from "node:assert/strict"
import type { OnBench } from "./material.ts"

export function tellingTime(onBench: OnBench): void {
  onBench(
    "a store tells the time by its own clock, and each answer is later than the one before",
    async ({ store, clock }) => {
      const times = [await store.time(), await store.time(), await store.time()]
      for (const time of times) {
        // The clock of the bench is the machine's for stores without one of their own.
        const [machine, bench] = [Math.abs(time - Date.now()), Math.abs(time - clock.now())]
        assert.ok(Math.min(machine, bench) < 10_000, `${time}: ${machine} ms and ${bench} ms off`)
      }
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      )
    },
  )
}
