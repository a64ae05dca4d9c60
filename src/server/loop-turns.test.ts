import assert from "node:assert/strict"
import { test } from "node:test"
import { LoopTurns } from "./loop-turns.ts"

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test("what fits in a turn goes on at once", async () => {
  const turns = new LoopTurns()
  let turned = false
  setImmediate(() => (turned = true))
  for (let n = 0; n < 100; n++) await turns.spend(1000)
  assert.equal(turned, false)
})

test("what does not goes on a few streams at a time, the first first", async () => {
  const turns = new LoopTurns()
  const order: number[] = []
  const streams = Array.from({ length: 100 }, async (_, n) => {
    await turns.spend(200_000)
    order.push(n)
  })
  await Promise.resolve()
  const atOnce = order.length
  assert.ok(atOnce <= 3, `${atOnce}`)
  await nextTurn()
  await nextTurn()
  assert.ok(order.length > atOnce && order.length < 40, `${order.length}`)
  await Promise.all(streams)
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  )
})
