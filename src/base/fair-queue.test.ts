import assert from "node:assert/strict"
import { test } from "node:test"
import { FairQueue } from "./fair-queue.ts"

function drain(queue: FairQueue<string>, mayHave: (caller: string) => boolean = () => true): (string | undefined)[] {
  const items: (string | undefined)[] = []
  for (let id = queue.next(mayHave); id !== undefined; id = queue.next(mayHave)) items.push(queue.remove(id))
  return items
}

test("lines take turns; within a line the first comes first", () => {
  const queue = new FairQueue<string>()
  for (const id of ["a1", "a2", "a3", "b1", "b2", "c1"]) queue.add(id.charAt(0), id, id)
  assert.equal(queue.size, 6)
  assert.deepEqual(drain(queue), ["a1", "b1", "c1", "a2", "b2", "a3"])
  assert.equal(queue.size, 0)
})

test("a caller that may not have another is passed over, and keeps its turn", () => {
  const queue = new FairQueue<string>()
  for (const id of ["a1", "b1", "a2", "b2"]) queue.add(id.charAt(0), id, id)
  assert.deepEqual(
    drain(queue, (caller) => caller === "b"),
    ["b1", "b2"],
  )
  assert.deepEqual(drain(queue), ["a1", "a2"])
})

test("what is removed is not given out, and an empty line is forgotten", () => {
  const queue = new FairQueue<string>()
  queue.add("a", "a1", "a1")
  queue.add("a", "a2", "a2")
  assert.equal(queue.remove("a1"), "a1")
  assert.equal(queue.remove("a1"), undefined)
  assert.deepEqual(queue.ids(), ["a2"])
  assert.deepEqual(drain(queue), ["a2"])
})
