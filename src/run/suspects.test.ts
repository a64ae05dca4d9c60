import assert from "node:assert/strict"
import { test } from "node:test"
import { systemClock } from "../adapters/system/system-clock.ts"
import { Suspects } from "./suspects.ts"

async function tick(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test("runs that may have killed a process begin one after the other", async () => {
  const suspects = new Suspects(systemClock)
  const { signal } = new AbortController()
  const begun: number[] = []
  const ends: (() => void)[] = []
  const stop = new AbortController()
  for (const [at, own] of [signal, stop.signal, signal, signal].entries()) {
    suspects.turn(own).then(
      (end) => {
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
