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
