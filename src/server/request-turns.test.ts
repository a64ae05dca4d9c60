import assert from "node:assert/strict"
import { test } from "node:test"
import { RequestTurns } from "./request-turns.ts"

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test("a turn of the loop begins a few requests, the others wait", async () => {
  const turns = new RequestTurns(() => 0)
  let begun = 0
  for (let n = 0; n < 100; n++) turns.take("a", () => begun++)
  const counts = [begun]
  while (begun < 100) {
    await nextTurn()
    counts.push(begun)
  }
  assert.deepEqual(counts, [16, 32, 48, 64, 80, 96, 100])
  turns.take("a", () => begun++)
  assert.equal(begun, 101)
})

test("none begins late in a turn, but one always does", async () => {
  let now = 0
  const turns = new RequestTurns(() => now)
  let begun = 0
  const slow = (): void => {
    begun++
    now += 1000
  }
  for (let n = 0; n < 3; n++) turns.take("a", slow)
  const counts = [begun]
  while (begun < 3) {
    await nextTurn()
    counts.push(begun)
  }
  assert.deepEqual(counts, [1, 2, 3])
})

test("callers take turns, whoever came first", async () => {
  const turns = new RequestTurns(() => 0)
  const order: string[] = []
  for (let n = 0; n < 60; n++) turns.take("many", () => order.push("many"))
  for (let n = 0; n < 3; n++) turns.take("few", () => order.push("few"))
  while (order.length < 63) await nextTurn()
  assert.deepEqual(order.slice(16, 22), ["many", "few", "many", "few", "many", "few"])
})

test("a request that begins another one does not end the turns", async () => {
  const turns = new RequestTurns(() => 0)
  let begun = 0
  const again = (): void => {
    begun++
    if (begun < 50) turns.take("a", again)
  }
  turns.take("a", again)
  while (begun < 50) await nextTurn()
  assert.equal(begun, 50)
})
