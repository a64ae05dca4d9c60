import assert from "node:assert/strict"
import { test } from "node:test"
import { ManualClock } from "../../test/support/manual-clock.ts"
import { systemClock } from "../adapters/system/system-clock.ts"
import { Suspects } from "./suspects.ts"

async function tick(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test("runs that may have killed a process begin one after the other", async () => {
  const suspects = new Suspects(systemClock, { fraction: () => 0 })
  const { signal } = new AbortController()
  const begun: number[] = []
  const ends: (() => void)[] = []
  const stop = new AbortController()
  for (const [at, own] of [signal, stop.signal, signal, signal].entries()) {
    suspects.turn(0, own).then(
      ({ end }) => {
        begun.push(at)
        ends.push(end)
      },
      () => begun.push(-at),
    )
  }
  await tick()
  assert.deepEqual(begun, [0])
  stop.abort(new Error("cancelled"))
  await tick()
  assert.deepEqual(begun, [0, -1], "one that stops waits for nothing")
  ends[0]?.()
  await tick()
  assert.deepEqual(begun, [0, -1, 2])
  ends[1]?.()
  await tick()
  assert.deepEqual(begun, [0, -1, 2, 3])
  ends[2]?.()
})

test("a run whose process died while it ran alone rests before the next time, and keeps nobody waiting meanwhile", async () => {
  const clock = new ManualClock()
  const suspects = new Suspects(clock, { fraction: () => 0.5 })
  const { signal } = new AbortController()
  const begun: number[] = []
  const begin = (deaths: number): void =>
    void suspects.turn(deaths, signal).then(({ end }) => {
      begun.push(deaths)
      end()
    })
  for (const deaths of [2, 1, 0]) begin(deaths)
  await tick()
  assert.deepEqual(begun, [0])
  clock.advance(180_000)
  await tick()
  assert.deepEqual(begun, [0, 1])
  clock.advance(2_700_000 - 180_001)
  await tick()
  assert.deepEqual(begun, [0, 1])
  clock.advance(1)
  await tick()
  assert.deepEqual(begun, [0, 1, 2])
})
