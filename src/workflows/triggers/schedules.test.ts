import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryTriggers } from "../../adapters/memory/memory-triggers.ts"
import type { WireError } from "../../log/events.ts"
import type { SchedulePlan } from "../../plan/plan-triggers.ts"
import type { RunStatus } from "../../ports/store.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { within } from "../../../test/support/within.ts"
import type { ServedSchedule } from "./schedules.ts"
import { idOf, Schedules } from "./schedules.ts"

const minute = 60_000
const hour = 60 * minute
const start = Date.UTC(2026, 10, 15, 8, 0)

const hourly: SchedulePlan = {
  kind: "schedule",
  name: "hourly",
  cron: "0 * * * *",
  timezone: "UTC",
  catch_up: "last",
  overlap: "skip",
  input: [],
}

const overloaded: WireError = { kind: "overloaded", message: "full", issues: [] }

/** A service in one process: its runs are a list, and everything else is real. */
class World {
  readonly clock: ManualClock
  readonly triggers: MemoryTriggers
  readonly runs: Map<string, { readonly due: string; status: RunStatus }>
  readonly outcomes: string[] = []
  readonly takenBack: string[] = []
  readonly schedules: Schedules
  refusal: WireError | null = null

  constructor(other?: World) {
    this.clock = other?.clock ?? new ManualClock(start)
    this.triggers = other?.triggers ?? new MemoryTriggers()
    this.runs = other?.runs ?? new Map()
    this.schedules = new Schedules({
      clock: this.clock,
      triggers: this.triggers,
      start: async (_schedule, calendar, due) => {
        if (this.refusal !== null) return { error: this.refusal }
        const run_id = due === null ? `by hand ${this.runs.size}` : calendar.show(due)
        const isNew = !this.runs.has(run_id)
        if (isNew) this.runs.set(run_id, { due: run_id, status: "running" })
        return { run_id, isNew }
      },
      cancel: async (run_id) => this.end(run_id, "cancelled"),
      status: async (run_id) => this.runs.get(run_id)?.status ?? null,
      decided: (_schedule, outcome) => void this.outcomes.push(outcome),
      tookBack: (_schedule, mark) => void this.takenBack.push(new Date(mark).toISOString().slice(11, 16)),
      bug: (error) => {
        throw error
      },
    })
  }

  serve(plan: SchedulePlan = hourly): this {
    this.schedules.serve([{ workflow: "flow", plan }])
    return this
  }

  end(run_id: string, status: RunStatus = "completed"): void {
    const run = this.runs.get(run_id)
    if (run !== undefined) run.status = status
  }

  get started(): string[] {
    return [...this.runs.keys()].map((run_id) => run_id.slice(11, 16))
  }

  async mark(): Promise<number | null> {
    return (await this.triggers.read("flow hourly"))?.state.mark ?? null
  }

  /** Lets time pass in steps, and everything that it wakes get done. */
  async pass(ms: number, step = 15_000): Promise<void> {
    for (let left = ms; left > 0; left -= step) {
      this.clock.advance(Math.min(step, left))
      await settled()
    }
  }
}

/** Everything that waits for nothing but other promises is done. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test("each due time starts one run; a new schedule starts from now", async () => {
  const world = new World().serve()
  await settled()
  await world.pass(2.5 * hour)
  assert.deepEqual(world.started, ["09:00"])
  assert.deepEqual(world.outcomes, ["started", "skipped"])
  world.end("2026-11-15T09:00:00Z")
  await world.pass(hour)
  assert.deepEqual(world.started, ["09:00", "11:00"])
  await within(10_000, "the end", world.schedules.stop())
})

test("two processes at one due time start one run, and both know it", async () => {
  const one = new World().serve({ ...hourly, overlap: "allow" })
  const other = new World(one).serve({ ...hourly, overlap: "allow" })
  await settled()
  await one.pass(3 * hour + minute)
  assert.deepEqual(one.started, ["09:00", "10:00", "11:00"])
  assert.equal(one.outcomes.length + other.outcomes.length, 3)
  await Promise.all([one.schedules.stop(), other.schedules.stop()])
})

test("a process that died after the admission leaves the mark to the next, which starts nothing again", async () => {
  const world = new World().serve()
  await settled()
  await world.schedules.stop()
  // Admitted, and the mark was not advanced.
  world.runs.set("2026-11-15T09:00:00Z", { due: "2026-11-15T09:00:00Z", status: "completed" })
  world.clock.advance(1.2 * hour)
  const next = new World(world).serve()
  await settled()
  assert.equal(world.runs.size, 1)
  assert.equal(await next.mark(), start + hour)
  assert.deepEqual(next.outcomes, [])
  await next.schedules.stop()
})

test("of the times that were missed the last one is started, or none, or none that is a day old", async () => {
  for (const { catch_up, away, expected } of [
    { catch_up: "last", away: 5.5 * hour, expected: ["13:00"] },
    { catch_up: "none", away: 5.5 * hour, expected: [] },
  ] as const) {
    const world = new World().serve({ ...hourly, catch_up })
    await settled()
    await world.schedules.stop()
    world.clock.advance(away)
    const next = new World(world).serve({ ...hourly, catch_up })
    await settled()
    assert.deepEqual(next.started, expected, catch_up)
    // The four before the last one are counted, too.
    const outcomes = catch_up === "last" ? ["started"] : ["missed"]
    assert.deepEqual(next.outcomes, [...outcomes, "missed", "missed", "missed", "missed"])
    await next.pass(hour)
    assert.deepEqual(next.started.at(-1) ?? "", catch_up === "last" ? "13:00" : "14:00")
    await next.schedules.stop()
  }
  const weekly = { ...hourly, cron: "0 9 * * 0" }
  const world = new World().serve(weekly)
  await settled()
  await world.schedules.stop()
  world.clock.advance(26 * hour)
  const next = new World(world).serve(weekly)
  await settled()
  assert.deepEqual(next.started, [])
  assert.deepEqual(next.outcomes, ["missed"])
  await next.schedules.stop()
})

test("a due time while another process restarts is not declared missed before its time", async () => {
  const none = { ...hourly, catch_up: "none" } as const
  const world = new World().serve(none)
  await settled()
  await world.pass(hour - 1_000)
  // A second process comes up just after the due time, and before the first one has woken.
  world.clock.pass(1_500)
  const second = new World(world).serve(none)
  await settled()
  assert.equal(await second.mark(), start)
  await world.pass(30_000)
  assert.deepEqual(world.started, ["09:00"])
  await Promise.all([world.schedules.stop(), second.schedules.stop()])
})

test("overlap: cancel ends the run before; allow does not care", async () => {
  const world = new World().serve({ ...hourly, overlap: "cancel" })
  await settled()
  await world.pass(2 * hour + minute)
  assert.deepEqual(world.started, ["09:00", "10:00"])
  assert.equal(world.runs.get("2026-11-15T09:00:00Z")?.status, "cancelled")
  await world.schedules.stop()
})

test("at capacity it is tried again until the next due time, and then it was missed", async () => {
  const world = new World()
  world.refusal = overloaded
  world.serve()
  await settled()
  await world.pass(hour + minute)
  assert.deepEqual(world.outcomes, [])
  world.refusal = null
  await world.pass(minute)
  assert.deepEqual(world.started, ["09:00"])
  world.end("2026-11-15T09:00:00Z")
  world.refusal = overloaded
  await world.pass(2 * hour, 60_000)
  assert.deepEqual(world.outcomes, ["started", "missed"])
  await world.schedules.stop()
})

test("any other refusal is an outcome, with its error", async () => {
  const world = new World()
  world.refusal = { kind: "input_error", message: "secrets.key is missing", issues: [] }
  world.serve()
  await settled()
  await world.pass(hour + minute)
  assert.deepEqual(world.outcomes, ["refused"])
  const last = (await world.triggers.read("flow hourly"))?.state.last
  assert.equal(last?.error?.message, "secrets.key is missing")
  await world.schedules.stop()
})

test("a paused schedule starts nothing; resumed or changed, it starts from now", async () => {
  const world = new World().serve()
  const id = idOf("flow", "hourly")
  await settled()
  await world.triggers.setPause(id, { paused: true, at: world.clock.now() })
  await world.pass(2.5 * hour)
  assert.deepEqual(world.started, [])
  await world.triggers.setPause(id, { paused: false, at: world.clock.now() })
  await world.pass(minute)
  assert.deepEqual(world.started, [])
  await world.pass(30 * minute)
  assert.deepEqual(world.started, ["11:00"])
  world.serve({ ...hourly, cron: "30 * * * *" })
  await settled()
  await world.pass(minute)
  assert.deepEqual(world.started, ["11:00"])
  world.schedules.serve([])
  await settled()
  assert.equal(await world.mark(), null)
  await world.pass(hour)
  assert.deepEqual(world.started, ["11:00"])
  await world.schedules.stop()
})

test("a pause while a due time is tried again stops it", async () => {
  const world = new World()
  world.refusal = overloaded
  world.serve()
  await settled()
  await world.pass(hour + minute)
  await world.triggers.setPause(idOf("flow", "hourly"), { paused: true, at: world.clock.now() })
  await world.pass(minute)
  world.refusal = null
  await world.pass(minute)
  assert.deepEqual([world.started, world.outcomes], [[], []])
  await world.schedules.stop()
})

test("clocks that disagree start no time twice", async () => {
  const one = new World().serve({ ...hourly, overlap: "allow" })
  const ahead = new ManualClock(start + 7 * minute)
  const schedule: ServedSchedule = { workflow: "flow", plan: { ...hourly, overlap: "allow" } }
  const fast = new Schedules({
    clock: ahead,
    triggers: one.triggers,
    start: async (_schedule, calendar, due) => {
      const run_id = calendar.show(due ?? 0)
      const isNew = !one.runs.has(run_id)
      if (isNew) one.runs.set(run_id, { due: run_id, status: "completed" })
      return { run_id, isNew }
    },
    cancel: async () => undefined,
    status: async () => "completed",
    decided: () => undefined,
    tookBack: () => undefined,
    bug: (error) => {
      throw error
    },
  })
  fast.serve([schedule])
  await settled()
  for (let step = 0; step < 4 * 60; step++) {
    ahead.advance(minute)
    await settled()
    await one.pass(minute, minute)
  }
  assert.deepEqual(one.started, ["09:00", "10:00", "11:00", "12:00"])
  await Promise.all([one.schedules.stop(), fast.stop()])
})

const always: SchedulePlan = { ...hourly, overlap: "allow" }

test("a mark that is ahead of the store's time is taken back: at the start, and while the schedule is served", async () => {
  for (const when of ["before", "after"] as const) {
    const world = new World()
    const wrong = async (): Promise<void> => {
      const stored = await world.triggers.read("flow hourly")
      assert.ok(stored)
      await world.triggers.write("flow hourly", { ...stored.state, mark: start + 6 * hour }, stored.revision)
    }
    if (when === "before") {
      // Another process has served it, and its clock was wrong.
      const other = new World(world).serve(always)
      await settled()
      await other.schedules.stop()
      await wrong()
      world.serve(always)
      await settled()
    } else {
      world.serve(always)
      await settled()
      await wrong()
    }
    await world.pass(3 * hour)
    const expected = Array.from({ length: 3 }, (_, at) => new Date(start + (at + 1) * hour).toISOString().slice(11, 13))
    assert.deepEqual(
      world.started.map((time) => time.slice(0, 2)),
      expected,
      when,
    )
    assert.equal(world.takenBack.length, 1, when)
    assert.ok(((await world.mark()) ?? 0) <= world.clock.now())
    await world.schedules.stop()
  }
})

test("a schedule that was resumed by a process whose clock was ahead starts from now", async () => {
  const world = new World().serve(always)
  await settled()
  await world.triggers.setPause(idOf("flow", "hourly"), { paused: false, at: start + 6 * hour })
  await world.pass(2 * hour)
  assert.equal(world.started.length, 2)
  await world.schedules.stop()
})

test("when the store's time is set back, due times go on from there, and none starts twice", async () => {
  const world = new World().serve(always)
  await settled()
  await world.pass(2 * hour)
  world.clock.jump(-2 * hour)
  await world.pass(4 * hour)
  assert.deepEqual(world.takenBack.length, 1)
  assert.equal(new Set(world.started).size, world.started.length)
  assert.equal(world.started.length, 4)
  await world.schedules.stop()
})
