import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { hourMs, type SpendingQuery } from "../../ports/ledger.ts"
import { StoreFailure, type Lease } from "../../ports/store.ts"
import { fc } from "../../../test/support/fast-check.ts"
import { cases, soakSeed } from "../../../test/support/strength.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { aRun } from "../../../test/contract/run-store/material.ts"
import type { JsonValue } from "../../base/json-value.ts"
import { periodAt, readBudgetList, type BudgetList } from "./budget-list.ts"
import { BudgetUsedUp, Budgets, type BudgetClaim } from "./budgets.ts"

const never = new AbortController().signal

function listOf(value: JsonValue): BudgetList {
  const list = readBudgetList(value)
  assert.ok(typeof list !== "string")
  return list
}

/** Processes that share a store, and one run of a caller each. */
class World {
  readonly clock = new ManualClock()
  readonly store = new MemoryStore(this.clock)
  readonly list: BudgetList
  readonly dead = new Set<string>()
  readonly #entries = new Map<string, number>()
  readonly #ids = new Map<string, number>()

  constructor(value: JsonValue) {
    this.list = listOf(value)
  }

  process(holder: string): Budgets {
    const bug = (error: unknown): never => {
      throw error
    }
    const { waits, ledger } = this.store
    // A process that is dead reaches no store.
    const hold: (typeof ledger)["hold"] = async (...request) => {
      if (this.dead.has(holder)) throw new StoreFailure("dead")
      return ledger.hold(...request)
    }
    const reached = { waits, ledger: { hold, spending: (query: SpendingQuery) => ledger.spending(query) } }
    return new Budgets({ list: () => this.list, store: reached, clock: this.clock, holder, bug })
  }

  async run(): Promise<Lease> {
    const made = await this.store.create(aRun({ caller: "ann", created_at: this.clock.now() }), "p", 1e9)
    assert.ok(made.outcome === "created")
    return made.lease
  }

  /** Stores what a call used, and tells its claim. */
  async log(lease: Lease, tokens: number, claim: BudgetClaim | null): Promise<void> {
    const all = (this.#entries.get(lease.run_id) ?? 0) + tokens
    this.#entries.set(lease.run_id, all)
    const id = (this.#ids.get(lease.run_id) ?? 0) + 1
    this.#ids.set(lease.run_id, id)
    const at = new Date(this.clock.now()).toISOString()
    const event = { id, type: "agent_delta", at, data: { agent: "a", attempt: 1, text: "", at } } as const
    const row = { hour: Math.floor(this.clock.now() / hourMs), model: "m", runs: 1, tokens: all, cost: 0 }
    await this.store.append(lease, [event], [row])
    claim?.logged()
  }

  get used(): number {
    return [...this.#entries.values()].reduce((sum, tokens) => sum + tokens, 0)
  }

  /** Lets time pass until the promise has settled. */
  async until<T>(promise: Promise<T>, stepMs = 500): Promise<T> {
    let isOver = false
    const over = promise.finally(() => (isOver = true))
    over.catch(() => undefined)
    for (let n = 0; n < 1_000; n++) {
      await new Promise((resolve) => setImmediate(resolve))
      if (isOver) break
      this.clock.advance(stepMs)
    }
    return over
  }
}

const call = (input: number, output: number) =>
  ({ caller: "ann", workflow: null, input, output, price: null, signal: never }) as const
const day = (limit: number): JsonValue => ({ callers: { ann: { tokens_per_day: limit } } })

test("calls reserve their worst case, wait for others, and are cut to what is left", async () => {
  const world = new World(day(1_000))
  const budgets = world.process("one")
  const run = await world.run()
  const first = await budgets.reserve(call(100, 700))
  assert.equal(first.output, 700)
  const second = budgets.reserve(call(50, 500))
  await new Promise((resolve) => setImmediate(resolve))
  first.settle({ tokens: 300, cost: 0n })
  // 300 are used, whether or not the ledger has them: 700 are left.
  const granted = await world.until(second)
  assert.equal(granted.output, 500)
  await world.log(run, 300, first)
  granted.settle({ tokens: 550, cost: 0n })
  await world.log(run, 550, granted)
  const third = await world.until(budgets.reserve(call(100, 700)))
  assert.equal(third.output, 50)
  third.settle({ tokens: 150, cost: 0n })
  await world.log(run, 150, third)
  await assert.rejects(world.until(budgets.reserve(call(1, 1))), (error: unknown) => {
    assert.ok(error instanceof BudgetUsedUp)
    assert.equal(error.path, "callers.ann.tokens_per_day")
    assert.equal(error.error.kind, "limit_exceeded")
    return true
  })
  // The next day begins anew.
  world.clock.advance(24 * hourMs)
  assert.equal((await budgets.reserve(call(1, 1))).output, 1)
})

test("calls wait in the order in which they came: a later one that would fit overtakes nobody, and other budgets are not held up", async () => {
  const world = new World({
    callers: { ann: { tokens_per_day: 1_000 }, bob: { tokens_per_day: 1_000 } },
    workflows: { shared: { tokens_per_day: 1_500 } },
  })
  const budgets = world.process("one")
  const order: string[] = []
  const asks = (name: string, output: number, more: object = {}): Promise<BudgetClaim> => {
    const claim = budgets.reserve({ ...call(100, output), ...more })
    claim.then(
      () => order.push(name),
      (error: unknown) => order.push(`${name}: ${(error as Error).message}`),
    )
    return claim
  }
  const first = await world.until(asks("first", 700))
  const large = asks("large", 800)
  const small = asks("small", 10)
  // Neither of ann's own.
  await world.until(asks("bob's", 400, { caller: "bob" }))
  const stop = new AbortController()
  const stopped = asks("stopped", 10, { signal: stop.signal })
  const last = asks("last", 10, { workflow: "shared" })
  stop.abort(new Error("The run stops"))
  await assert.rejects(stopped, /The run stops/)
  // It waits for one budget only, in which it is behind the last one of ann.
  const behind = asks("behind", 10, { caller: "bob", workflow: "shared" })
  for (let n = 0; n < 20; n++) {
    await new Promise((resolve) => setImmediate(resolve))
    world.clock.advance(500)
  }
  assert.deepEqual(order, ["first", "bob's", "stopped: The run stops"])
  first.settle({ tokens: 0, cost: 0n })
  first.logged()
  await world.until(large)
  // All of it is held: the rest is refused or served in its order, after its minute.
  const rest = await world.until(Promise.allSettled([small, last, behind]))
  assert.deepEqual(
    order.slice(3).map((text) => text.split(":")[0]),
    ["large", "small", "last", "behind"],
  )
  assert.deepEqual(
    rest.map(({ status }) => status),
    ["rejected", "rejected", "fulfilled"],
  )
})

test("a call waits a minute for what other processes hold, and no longer", async () => {
  const world = new World(day(1_000))
  const [one, two] = [world.process("one"), world.process("two")]
  await one.reserve(call(900, 100))
  const began = world.clock.monotonic()
  await assert.rejects(world.until(two.reserve(call(10, 10))), BudgetUsedUp)
  const waited = world.clock.monotonic() - began
  assert.ok(waited >= 60_000 && waited < 65_000, String(waited))
})

test("what a process that died held is free after half a minute, and a run that goes elsewhere is never forgotten", async () => {
  const world = new World(day(1_000))
  const [one, two] = [world.process("one"), world.process("two")]
  const left = await one.reserve(call(500, 100))
  // It says that it holds them, as long as it lives.
  for (let n = 0; n < 10; n++) {
    world.clock.advance(10_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const [before] = await two.ofAll(["ann"])
  assert.equal(before?.reserved, 610)
  left.leave()
  await one.close()
  assert.equal((await two.ofAll(["ann"]))[0]?.reserved, 600)
  world.clock.advance(30_001)
  assert.equal((await two.ofAll(["ann"]))[0]?.reserved, 0)
})

test("a slice that nobody claims in the end is given back", async () => {
  const world = new World(day(1_000))
  const [one, two] = [world.process("one"), world.process("two")]
  const stop = new AbortController()
  const asked = one.reserve({ ...call(500, 100), signal: stop.signal })
  stop.abort(new Error("The run stops"))
  await assert.rejects(asked, /The run stops/)
  for (let n = 0; n < 5; n++) {
    world.clock.advance(200)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal((await two.ofAll(["ann"]))[0]?.reserved, 0)
})

test("runs are counted to the last, however many begin at once, and refused with the path, the limit and what is used", async () => {
  const world = new World({ callers: { "*": { runs_per_hour: 5 } } })
  const both = [world.process("one"), world.process("two")]
  const results = await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const admitted = await both[n % 2]?.admit("ann", null)
      if (admitted === undefined || admitted === null || "refused" in admitted) return admitted?.refused ?? null
      await world.run()
      admitted.claim.stored()
      return "begun"
    }),
  )
  assert.equal(results.filter((one) => one === "begun").length, 5)
  const admitted = await both[0]?.admit("ann", null)
  assert.ok(admitted && "refused" in admitted)
  const { kind, issues } = admitted.refused
  assert.equal(kind, "budget_exceeded")
  const { path, limit, used, retry_after } = issues[0] ?? {}
  assert.deepEqual({ path, limit, used }, { path: "callers.*.runs_per_hour", limit: 5, used: 5 })
  assert.equal(retry_after, 3600)
})

interface Step {
  readonly process: number
  readonly act: "call" | "end" | "crash" | "pass"
  readonly size: number
  readonly part: number
}

const acts: readonly Step["act"][] = [...Array(5).fill("call"), ...Array(5).fill("end"), "pass", "crash"]

const steps = fc.noBias(
  fc.array(
    fc.record<Step>({
      process: fc.nat(2),
      act: fc.constantFrom(...acts),
      size: fc.integer({ min: 1, max: 400 }),
      part: fc.integer({ min: 0, max: 10 }).map((tenths) => tenths / 10),
    }),
    { minLength: 20, maxLength: 60, size: "max" },
  ),
)

test("whatever processes call, end, and die of: a budget is never exceeded, and what is left can be spent", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 200, max: 2_000 }), steps, async (limit, given) => {
      const world = new World(day(limit))
      const run = await world.run()
      const open: { readonly process: number; readonly claim: BudgetClaim; readonly most: number }[][] = [[], [], []]
      let lives = 0
      const names = ["p0", "p1", "p2"]
      const processes = names.map((name) => world.process(name))
      const check = (): void => {
        const reserved = open.flat().reduce((sum, { most }) => sum + most, 0)
        assert.ok(world.used + reserved <= limit, `${world.used} + ${reserved} > ${limit}`)
      }
      for (const { process, act, size, part } of given) {
        const budgets = processes[process]
        const own = open[process]
        if (budgets === undefined || own === undefined) continue
        // A living process has the time to say that it still holds what it holds.
        for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve))
        if (act === "pass") world.clock.advance(Math.ceil(part * 15_000))
        else if (act === "call") {
          const input = Math.ceil(size / 4)
          const stop = new AbortController()
          const asked = budgets.reserve({ ...call(input, size), signal: stop.signal }).catch(() => null)
          for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve))
          stop.abort(new Error("enough"))
          world.clock.advance(Math.floor(part * 300))
          const claim = await asked
          if (claim !== null) own.push({ process, claim, most: input + claim.output })
        } else if (act === "end") {
          const [first] = own.splice(0, 1)
          if (first === undefined) continue
          const tokens = Math.floor(first.most * part)
          first.claim.settle({ tokens, cost: 0n })
          await world.log(run, tokens, first.claim)
        } else {
          // The process dies; another takes its runs over, and counts the reservations.
          for (const { most } of own.splice(0)) await world.log(run, most, null)
          world.dead.add(names[process] ?? "")
          names[process] = `again${++lives}`
          processes[process] = world.process(`again${lives}`)
        }
        check()
      }
      for (const [n, own] of open.entries()) {
        for (const { claim, most } of own.splice(0)) {
          claim.settle({ tokens: most, cost: 0n })
          await world.log(run, most, claim)
        }
        await processes[n]?.close()
      }
      // What processes that died held is free again.
      world.clock.advance(31_000)
      const last = world.process("last")
      const left = limit - world.used
      if (left < 2) return
      const rest = await world.until(last.reserve(call(1, limit)))
      assert.equal(rest.output, left - 1)
    }),
    { numRuns: cases(400), seed: soakSeed },
  )
})

test("periods are those of the calendar in UTC", () => {
  const at = Date.UTC(2028, 1, 29, 23, 30)
  const hours = (from: number, to: number) => ({ from: from / hourMs, to: to / hourMs })
  assert.deepEqual(periodAt("hour", at), hours(Date.UTC(2028, 1, 29, 23), Date.UTC(2028, 2, 1)))
  assert.deepEqual(periodAt("day", at), hours(Date.UTC(2028, 1, 29), Date.UTC(2028, 2, 1)))
  assert.deepEqual(periodAt("month", at), hours(Date.UTC(2028, 1, 1), Date.UTC(2028, 2, 1)))
})

test("a file says what is wrong with it", () => {
  const wrong: readonly (readonly [JsonValue, RegExp])[] = [
    [[], /must be an object/],
    [{ caller: {} }, /"caller", which is unknown/],
    [{ callers: { ann: 3 } }, /an object such as .* at "callers\.ann"/],
    [{ callers: { ann: { cost: 3 } } }, /wrong budget at "callers\.ann\.cost": known are cost_per_hour/],
    [{ workflows: { "a/b": { runs_per_day: 1.5 } } }, /"workflows\.a\/b\.runs_per_day": it must be a whole number/],
    [{ callers: { "*": { cost_per_day: -1 } } }, /it must be a number from 0 to /],
    [{ callers: { "*": { cost_per_day: "1" } } }, /it must be a number/],
  ]
  for (const [value, message] of wrong) {
    const problem = readBudgetList(value)
    assert.match(typeof problem === "string" ? problem : "nothing", message)
  }
  assert.ok(typeof readBudgetList({}) !== "string")
  const before = listOf({ callers: { "*": { runs_per_day: 1 }, bob: { runs_per_day: 2, tokens_per_day: 1 } } })
  const after = listOf({ callers: { "*": { runs_per_day: 1 }, bob: { runs_per_day: 3, tokens_per_day: 1 }, cy: {} } })
  assert.deepEqual(before.changedIn(after), ["callers.bob.runs_per_day", "callers.*.runs_per_day"])
})
