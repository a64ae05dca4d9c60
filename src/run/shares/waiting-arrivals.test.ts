import assert from "node:assert/strict"
import { test } from "node:test"
import type { Arrival } from "../../ports/egress.ts"
import { MemoryShare } from "./memory-share.ts"

const { signal } = new AbortController()

async function tick(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Reads an answer in pieces, and closes it at its end; counts the pieces that are there. */
function reading(arrival: Arrival, pieces: number, bytes: number, stalls = false): { pieces: number; done: boolean } {
  const state = { pieces: 0, done: false }
  void (async () => {
    for (let piece = 0; piece < pieces; piece++) {
      state.pieces++
      const room = arrival.add(bytes)
      if (room !== null) await room
      else await new Promise((resolve) => setImmediate(resolve))
    }
    if (stalls) return
    state.done = true
    arrival.close()
  })()
  return state
}

test("answers of which each has arrived in part do not wait for each other", async () => {
  const memory = new MemoryShare({ all: 200, perCaller: 200, perRun: 0 }).open("a")
  const arrivals = memory.arrivals(1_000)
  const states = Array.from({ length: 10 }, () => reading(arrivals.open(signal), 8, 10))
  await tick()
  const held = states.reduce((sum, { pieces }) => sum + pieces, 0)
  assert.ok(held * 10 <= 100 + 10 * 10 + 80, `${held} pieces are held`)
  for (let turn = 0; turn < 60 && !states.every(({ done }) => done); turn++) await tick()
  assert.ok(states.every(({ done }) => done))
  assert.equal(memory.hasRoom, true)
})

test("an answer that stalls holds up those of its caller that find no room, until it ends, and no other caller's", async () => {
  const share = new MemoryShare({ all: 400, perCaller: 200, perRun: 0 })
  const stop = new AbortController()
  const arrivals = share.open("mallory").arrivals(1_000)
  const stalled = arrivals.open(stop.signal)
  const first = reading(stalled, 12, 10, true)
  const second = reading(arrivals.open(signal), 12, 10)
  const other = reading(share.open("bob").arrivals(1_000).open(signal), 8, 10)
  for (let turn = 0; turn < 10; turn++) await tick()
  assert.deepEqual([first.pieces, second.done, other.done], [12, false, true])
  stop.abort(new Error("the time of the call is up"))
  for (let turn = 0; turn < 10; turn++) await tick()
  assert.equal(second.done, true)
})

test("answers that hang hold up their own caller alone, however many they are, and within a caller their own run", async () => {
  const share = new MemoryShare({ all: 400, perCaller: 200, perRun: 0 })
  const open = (caller: string): Arrival => share.open(caller).arrivals(10_000).open(signal)
  const hung = share.open("mallory").arrivals(10_000)
  // Each has its first piece, however little room there is: together they are more than all of the memory.
  for (let count = 0; count < 100; count++) reading(hung.open(signal), 12, 10, true)
  for (let turn = 0; turn < 10; turn++) await tick()
  const small = reading(open("bob"), 1, 10)
  const large = reading(open("bob"), 9, 10)
  const own = reading(open("mallory"), 4, 10)
  for (let turn = 0; turn < 20; turn++) await tick()
  assert.deepEqual([small.done, large.done, own.done], [true, true, true])
})

test("the time that an answer waits for memory is known", async () => {
  const share = new MemoryShare({ all: 400, perCaller: 200, perRun: 0 })
  const arrivals = share.open("a").arrivals(1_000)
  const stop = new AbortController()
  reading(arrivals.open(stop.signal), 12, 10, true)
  for (let turn = 0; turn < 5; turn++) await tick()
  const waits = arrivals.open(signal)
  const wait = waits.add(10)
  assert.notEqual(wait, null)
  await new Promise((resolve) => setTimeout(resolve, 30))
  assert.ok(waits.waited.ms >= 25, `${waits.waited.ms}`)
  stop.abort(new Error("the time of the call is up"))
  await wait
  const waited = waits.waited.ms
  await tick()
  assert.equal(waits.waited.ms, waited)
})

test("an answer waits for memory of its own run, and an abort ends the wait", async () => {
  const memory = new MemoryShare().open("a")
  const arrivals = memory.arrivals(100)
  void arrivals.open(signal).add(60)
  const stop = new AbortController()
  const wait = arrivals.open(stop.signal).add(1)
  assert.notEqual(wait, null)
  stop.abort(new Error("cancelled"))
  await wait
})
