import assert from "node:assert/strict"
import { test } from "node:test"
import { ManualClock } from "../../test/support/manual-clock.ts"
import { maxElapsed, instant } from "./clock.ts"
import { StoreClock, type TimeSource } from "./store-clock.ts"

const hour = 3_600_000
const minute = 60_000
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A process, and the store whose time it learns. */
class World {
  readonly machine = new ManualClock()
  /** By how much the store's clock is ahead of what is right. */
  storeAhead = 0
  answersIn = 0
  asked = 0
  fails = false
  readonly wrong: number[] = []
  readonly jumps: number[] = []
  readonly #right = this.machine.now() - this.machine.monotonic()
  readonly #stop = new AbortController()
  learned: number | null = null
  readonly source: TimeSource = {
    time: async () => {
      this.asked++
      if (this.fails) throw new Error("The store fails")
      const half = this.answersIn / 2
      this.machine.pass(half)
      const time = this.right + this.storeAhead
      this.machine.pass(half)
      return time
    },
    learned: {
      read: () => this.learned,
      write: (offset) => (this.learned = offset),
    },
  }
  readonly clock = new StoreClock(this.machine)

  get right(): number {
    return this.#right + this.machine.monotonic()
  }

  /** How far off the clock is from the time of a store that is right. */
  get error(): number {
    return this.clock.now() - this.right
  }

  keep(): void {
    const { wrong, jumps } = this
    const reports = { wrong: (ms: number) => wrong.push(ms), jumped: (ms: number) => jumps.push(ms) }
    void this.clock.keep(this.source, reports, this.#stop.signal)
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      this.machine.advance(1_000)
      await settled()
    }
  }

  end(): void {
    this.#stop.abort(new Error("over"))
  }
}

test("a process takes the store's time, however wrong its own clock is when it starts", async () => {
  for (const off of [-24 * hour, -hour, -2_500, 0, 1_500, hour, 400 * 24 * hour]) {
    for (const answersIn of [0, 40, 900, 5_000]) {
      const world = new World()
      world.machine.jump(off)
      world.answersIn = answersIn
      await world.clock.learn(world.source)
      assert.ok(Math.abs(world.error) <= 1, `${off} ms off: ${world.error} ms`)
      assert.ok(Math.abs(world.clock.aheadMs - off) <= 1)
    }
  }
})

test("setting the clock of a process changes nothing, and is reported once a minute", async () => {
  const world = new World()
  await world.clock.learn(world.source)
  world.keep()
  await settled()
  world.machine.jump(hour)
  assert.equal(world.error, 0)
  await world.pass(10_000)
  assert.equal(world.error, 0)
  assert.equal(world.wrong.length, 1)
  assert.ok(Math.abs((world.wrong[0] ?? 0) - hour) < 10)
  await world.pass(5 * minute)
  assert.ok(world.wrong.length >= 5 && world.wrong.length <= 6, `${world.wrong.length} reports`)
  world.machine.jump(-hour)
  await world.pass(5 * minute)
  assert.ok(world.wrong.length <= 7)
  assert.equal(world.error, 0)
  assert.deepEqual(world.jumps, [])
  world.end()
})

test("clocks that drift are followed every minute", async () => {
  const world = new World()
  await world.clock.learn(world.source)
  world.keep()
  await settled()
  for (let at = 0; at < 20; at++) {
    world.storeAhead += 300
    await world.pass(minute)
  }
  assert.ok(Math.abs(world.error - world.storeAhead) <= 600, `${world.error} of ${world.storeAhead}`)
  assert.ok(world.asked <= 25)
  world.end()
})

test("a jump of the store's own time counts once it has held for a minute", async () => {
  for (const by of [hour, -hour]) {
    const world = new World()
    await world.clock.learn(world.source)
    world.keep()
    await settled()
    await world.pass(55_000)
    world.storeAhead = by
    await world.pass(10_000)
    world.storeAhead = 0
    await world.pass(5 * minute)
    assert.equal(world.error, 0, "a jump of ten seconds")
    assert.deepEqual(world.jumps, [])
    world.storeAhead = by
    await world.pass(50_000)
    assert.equal(world.error, 0)
    await world.pass(90_000)
    assert.equal(world.error, by, "a jump that lasts")
    assert.deepEqual(world.jumps, [by])
    world.end()
  }
})

test("a process that starts while the clock of the machine is wrong takes what those before it have learned", async () => {
  const world = new World()
  world.learned = world.right - world.machine.monotonic()
  world.storeAhead = hour
  world.machine.jump(hour)
  await world.clock.learn(world.source)
  world.keep()
  await settled()
  await world.pass(10_000)
  assert.equal(world.error, 0)
  world.storeAhead = 0
  world.machine.jump(-hour)
  await world.pass(3 * minute)
  assert.equal(world.error, 0)
  assert.deepEqual(world.jumps, [])
  world.end()
})

test("a store that fails, or is slow, leaves the time as it was learned", async () => {
  const world = new World()
  await world.clock.learn(world.source)
  world.keep()
  await settled()
  world.fails = true
  await world.pass(10 * minute)
  assert.equal(world.error, 0)
  world.fails = false
  world.answersIn = 20_000
  world.storeAhead = 5_000
  await world.pass(10 * minute)
  assert.equal(world.error, 0)
  world.end()
})

test("a machine that has slept still shows that by its wall clock", async () => {
  const world = new World()
  await world.clock.learn(world.source)
  const before = instant(world.clock)
  world.machine.jump(hour)
  assert.equal(maxElapsed(world.clock, before), hour)
})
