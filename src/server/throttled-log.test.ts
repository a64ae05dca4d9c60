import assert from "node:assert/strict"
import { test } from "node:test"
import { ThrottledLog } from "./throttled-log.ts"

test("the first is reported at once, the next ones together", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] })
  const said: [string, number][] = []
  const sparing = new ThrottledLog<string>(1000, (facts, times) => said.push([facts, times]))
  for (const facts of ["a", "b", "c"]) sparing.happened(facts)
  assert.deepEqual(said, [["a", 1]])
  t.mock.timers.tick(1000)
  assert.deepEqual(said.splice(0), [
    ["a", 1],
    ["c", 2],
  ])
  sparing.happened("d")
  t.mock.timers.tick(1000)
  assert.deepEqual(said.splice(0), [["d", 1]])
  // After a quiet while it is news again.
  t.mock.timers.tick(1000)
  sparing.happened("e")
  sparing.happened("f")
  sparing.close()
  sparing.close()
  assert.deepEqual(said, [
    ["e", 1],
    ["f", 1],
  ])
})
