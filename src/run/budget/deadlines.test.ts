import assert from "node:assert/strict"
import { test } from "node:test"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { Deadlines } from "./deadlines.ts"

test("each is called when its time has come, in whatever order they were added, unless taken back", async () => {
  const clock = new ManualClock(1000)
  const deadlines = new Deadlines(clock)
  const called: string[] = []
  const add = (ms: number, name: string) => deadlines.add(ms, () => called.push(name))
  add(300, "c")
  add(100, "a")
  const takeBack = add(150, "never")
  add(200, "b")
  add(0, "at once")
  assert.deepEqual(called, ["at once"])
  takeBack()
  for (let step = 0; step < 4; step++) {
    clock.advance(100)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.deepEqual(called, ["at once", "a", "b", "c"])
  add(1000, "d")
  deadlines.close()
  clock.advance(10_000)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(called.length, 4)
  add(0, "too late")
  assert.equal(called.length, 4)
})

test("each that is due has a turn of the event loop; those that are taken back meanwhile have none, and new ones come in time", async () => {
  const clock = new ManualClock()
  const deadlines = new Deadlines(clock)
  const called: number[] = []
  const takeBack = [0, 1, 2, 3].map((nth) => deadlines.add(100, () => called.push(nth)))
  deadlines.add(300, () => called.push(300))
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  clock.advance(100)
  for (let turns = 0; called.length < 2 && turns < 10; turns++) await turn()
  assert.deepEqual(called, [0, 1])
  takeBack[2]?.()
  deadlines.add(50, () => called.push(50))
  for (let turns = 0; turns < 5; turns++) await turn()
  assert.deepEqual(called, [0, 1, 3])
  for (const step of [50, 150]) {
    clock.advance(step)
    await turn()
  }
  assert.deepEqual(called, [0, 1, 3, 50, 300])
})
