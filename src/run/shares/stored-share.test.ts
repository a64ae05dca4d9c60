import assert from "node:assert/strict"
import { test } from "node:test"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { StoredShare } from "./stored-share.ts"

/** A store that says what a test sets. */
function setUp(most?: number | (() => number)) {
  const clock = new ManualClock()
  const stored = new Map<string, number>()
  let asked = 0
  const store = {
    stored: async (caller: string) => {
      asked++
      return stored.get(caller) ?? 0
    },
  }
  return {
    clock,
    stored,
    share: new StoredShare(store, clock, typeof most === "number" ? () => most : most),
    asked: () => asked,
  }
}

test("a caller that stores too much is full, others are not", async () => {
  const { stored, share } = setUp(1_000)
  stored.set("ann", 950)
  assert.equal(await share.isFull("ann", 40), false)
  assert.equal(await share.isFull("ann", 60), true)
  assert.equal(await share.isFull("bob", 60), false)
})

test("a disk that gets more room gives callers more, within a second", async () => {
  let room = 100
  const { clock, stored, share } = setUp(() => room)
  stored.set("ann", 90)
  assert.equal(await share.isFull("ann", 20), true)
  room = 1_000
  clock.advance(1_000)
  assert.equal(await share.isFull("ann", 20), false)
})

test("the store is asked once a second, and before anyone is refused", async () => {
  const { clock, stored, share, asked } = setUp(1_000)
  assert.equal(await share.isFull("ann", 10), false)
  assert.equal(share.isFull("ann", 10), null)
  assert.equal(asked(), 1)
  clock.advance(1_000)
  stored.set("ann", 1_000)
  assert.equal(await share.isFull("ann", 10), true)
  stored.set("ann", 0)
  assert.equal(await share.isFull("ann", 10), false)
})

test("runs under way count with what they have added; from their end on the store counts them", async () => {
  const { stored, share } = setUp(1_000)
  const run = share.open("ann")
  run.add(900, assert.fail)
  assert.equal(await share.isFull("ann", 200), true)
  run.close()
  // What the store has not said yet is not forgotten.
  stored.set("ann", 900)
  assert.equal(await share.isFull("ann", 200), true)
  stored.set("ann", 300)
  assert.equal(await share.isFull("ann", 200), false)
})

test("a run under way is told when its caller is a tenth over, unless the store has deleted runs since", async () => {
  const { stored, share } = setUp(1_000)
  stored.set("ann", 1_000)
  await share.isFull("ann", 1)
  stored.set("ann", 0)
  const run = share.open("ann")
  run.add(200, assert.fail)
  await new Promise((resolve) => setImmediate(resolve))
  const { promise, resolve } = Promise.withResolvers<void>()
  run.add(1_000, resolve)
  await promise
})

test("without a limit the store is never asked", () => {
  const { share, asked } = setUp()
  assert.equal(share.isFull("ann", 1e15), null)
  share.open("ann").add(1e15, assert.fail)
  assert.equal(asked(), 0)
})
