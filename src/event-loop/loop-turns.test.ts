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

/** How many of the streams go on in each turn. */
async function perTurn(sizes: readonly number[]): Promise<{ turns: number[]; order: number[] }> {
  const loop = new LoopTurns()
  const order: number[] = []
  const all = Promise.all(
    sizes.map(async (size, n) => {
      await loop.spend(size)
      order.push(n)
    }),
  )
  const turns: number[] = []
  for (let before = 0; order.length < sizes.length; before = order.length) {
    await nextTurn()
    if (order.length > before) turns.push(order.length - before)
  }
  await all
  return { turns, order }
}

test("large events go on one a turn, small ones many a turn, the first first", async () => {
  const large = await perTurn(Array.from({ length: 40 }, () => 200_000))
  assert.ok(Math.max(...large.turns.slice(1)) <= 1, large.turns.join(" "))
  const small = await perTurn(Array.from({ length: 1000 }, () => 500))
  assert.ok(small.turns.length <= 10, small.turns.join(" "))
  for (const { order } of [large, small]) {
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    )
  }
})

test("an event that is larger than a turn has one of its own, and small ones do not wait behind all of them", async () => {
  const { turns, order } = await perTurn([5_000_000, 5_000_000, 5_000_000, 1000, 1000])
  assert.deepEqual(turns.slice(1), [1, 1])
  assert.ok(order.indexOf(4) < order.indexOf(1), order.join(" "))
})

test("callers take turns", async () => {
  const loop = new LoopTurns()
  const order: string[] = []
  const wait = (caller: string): Promise<unknown> => loop.spend(5_000_000, caller).then(() => order.push(caller))
  await Promise.all([...Array.from({ length: 20 }, () => wait("mallory")), wait("bob"), wait("bob")])
  assert.ok(order.lastIndexOf("bob") <= 4, order.join(" "))
})

test("large work waits while connections come, but not for long", async () => {
  let now = 0
  const loop = new LoopTurns(() => now)
  let done = 0
  const all = Promise.all([1, 2].map(() => loop.spend(200_000).then(() => done++)))
  for (; now < 49; now += 7) {
    loop.accepted()
    await nextTurn()
    assert.equal(done, 0)
  }
  now = 51
  loop.accepted()
  await nextTurn()
  assert.equal(done, 1)
  loop.accepted()
  await nextTurn()
  assert.equal(done, 1)
  await all
})

test("what is never large is not awaited", () => {
  assert.equal(new LoopTurns().forLarge(10_000), null)
})
