import assert from "node:assert/strict"
import { test } from "node:test"
import { FairTurns } from "./fair-turns.ts"

test("so many at a time, and callers take turns", async () => {
  const turns = new FairTurns(2)
  const order: string[] = []
  let open = 0
  const work = (name: string) => async (): Promise<void> => {
    assert.ok(++open <= 2)
    order.push(name)
    await new Promise((resolve) => setImmediate(resolve))
    open--
  }
  const all = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"].map((name) => turns.do(name.slice(0, 1), work(name)))
  await Promise.all(all)
  assert.deepEqual(order, ["a1", "a2", "a3", "b1", "c1", "a4", "b2"])
})

test("work that fails passes its place on", async () => {
  const turns = new FairTurns(1)
  const failing = turns.do("a", () => Promise.reject(new Error("no")))
  const next = turns.do("a", () => Promise.resolve("yes"))
  await assert.rejects(failing, /no/)
  assert.equal(await next, "yes")
})
