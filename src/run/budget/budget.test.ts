import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../../test/support/fast-check.ts"
import { cases } from "../../../test/support/strength.ts"
import { RunFailure } from "../../ports/run-failure.ts"
import type { TokenUsage } from "../../log/events.ts"
import type { Grant, ModelNeed } from "./budget.ts"
import { Budget } from "./budget.ts"
import { noConsumption } from "../../log/consumption.ts"
import type { LimitSet, RunLimitSet } from "./limit-scopes.ts"
import { costOf, outputFor, showMoney, toMoney, worstCost } from "../../log/money.ts"
import { wholePrice } from "../../plan/price-of-model.ts"
import { price as makePrice } from "../../../test/support/price.ts"

const nothing = { run: noConsumption(), agents: new Map() }
const never = new AbortController().signal

function limits(run: Readonly<Record<string, number>>, agents: Readonly<Record<string, object>> = {}): RunLimitSet {
  const set = (of: object, path: string): LimitSet =>
    Object.fromEntries(Object.entries(of).map(([key, most]) => [key, { most: most as number, path: `${path}${key}` }]))
  return {
    run: set(run, "limits."),
    agents: new Map(Object.entries(agents).map(([name, of]) => [name, set(of, `agent.${name}.limits.`)])),
  }
}

const price = makePrice(2, 0.5, 8)
const call = (input: number, output: number): ModelNeed => ({ kind: "model", input, output, price })
const used = (input_tokens: number, output_tokens: number): TokenUsage => ({
  input_tokens,
  output_tokens,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
})

/** Whether a promise has settled by now. */
async function stateOf(promise: Promise<unknown>): Promise<"granted" | "refused" | "waiting"> {
  await new Promise((resolve) => setImmediate(resolve))
  const open = Symbol("open")
  return Promise.race([promise, Promise.resolve(open)]).then(
    (value) => (value === open ? "waiting" : "granted"),
    () => "refused",
  )
}

test("money is exact where numbers are not", () => {
  assert.equal(showMoney(toMoney(0.1) + toMoney(0.2)), 0.3)
  const cheap = makePrice(0.075, 0.0375, 0.3)
  let sum = 0n
  for (let count = 0; count < 100_000; count++) sum += costOf(used(1, 0), cheap)
  assert.equal(showMoney(sum), 0.0075)
  assert.equal(showMoney(toMoney(1e-7)), 0)
  assert.equal(showMoney(toMoney(1e21)), 1e21)
  assert.equal(showMoney(costOf({ ...used(10, 5), cached_tokens: 4 }, price)), 0.000054)
})

test("written tokens have their own price, and the dearest input price is reserved", () => {
  const writes = makePrice(2, 0.5, 8, 2.5)
  const usage = { ...used(1_000_000, 100_000), cached_tokens: 300_000, written_tokens: 600_000 }
  assert.equal(showMoney(costOf(usage, writes)), 2.65)
  assert.equal(showMoney(worstCost(1_000_000, 0, writes)), 2.5)
  const searches = { ...writes, hosted: { web_search: 0.01 } }
  assert.equal(showMoney(worstCost(1_000_000, 0, searches, { web_search: 3, web_fetch: 5 })), 2.53)
  assert.equal(outputFor(toMoney(0.02), 0, searches, { web_search: 3 }), -1)
  assert.equal(showMoney(worstCost(1_000_000, 0, makePrice(2, 3, 8, 2.5))), 3)
  const { written_tokens: _, ...older } = usage
  assert.equal(showMoney(costOf(older as TokenUsage, writes)), 2.35)
})

test("writing costs 1.25 times the input on Anthropic's API, unless the price says otherwise", () => {
  const stated = { input: 3, cached: 0.3, written: null, output: 15, batch: 1, hosted: {} }
  assert.equal(wholePrice({ ...stated }, "anthropic").written, 3.75)
  assert.equal(wholePrice({ ...stated }, "responses").written, 3)
  assert.equal(wholePrice({ ...stated, written: 4 }, "anthropic").written, 4)
})

test("what an amount pays for is never more than it", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 10, noNaN: true }),
      fc.nat(10_000),
      fc.record({
        input: fc.double({ min: 0, max: 100, noNaN: true }),
        cached: fc.double({ min: 0, max: 100, noNaN: true }),
        written: fc.double({ min: 0, max: 100, noNaN: true }),
        batch: fc.constant(1),
        hosted: fc.constant({}),
        output: fc.double({ min: 0, max: 100, noNaN: true }),
      }),
      (amount, input, given) => {
        const output = outputFor(toMoney(amount), input, given)
        if (output < 0 || !Number.isSafeInteger(output)) return
        assert.ok(worstCost(input, output, given) <= toMoney(amount))
        assert.ok(worstCost(input, output + 1, given) > toMoney(amount))
      },
    ),
  )
})

test("a call that does not fit waits for the others, in the order of arrival, and then makes do with what is left", async () => {
  const budget = new Budget(limits({ tokens: 100 }), nothing, never)
  const first = await budget.reserve("a", call(10, 60))
  const second = budget.reserve("a", call(10, 50))
  const third = budget.reserve("a", call(1, 1))
  assert.equal(await stateOf(second), "waiting")
  // It would fit, but came later.
  assert.equal(await stateOf(third), "waiting")
  first.settle(used(10, 40), true)
  assert.equal((await second).output, 40)
  assert.equal(await stateOf(third), "waiting")
  ;(await second).settle(used(10, 38), true)
  assert.equal((await third).tokens, 2)
  ;(await third).settle(used(1, 1), true)
  await assert.rejects(budget.reserve("a", call(1, 10)), ({ error }: RunFailure) => {
    assert.equal(error.kind, "limit_exceeded")
    assert.equal(error.issues[0]?.path, "limits.tokens")
    assert.match(error.message, /needs 11 tokens, and 0 are left of the limit of 100/)
    return true
  })
})

test("an agent's limit holds up that agent alone", async () => {
  const budget = new Budget(limits({ model_calls: 10 }, { a: { tokens: 100 } }), nothing, never)
  const first = await budget.reserve("a", call(50, 40))
  const second = budget.reserve("a", call(50, 40))
  const other = await budget.reserve("b", call(500, 400))
  assert.equal(await stateOf(second), "waiting")
  first.settle(used(5, 5), true)
  assert.equal((await second).output, 40)
  other.settle(null, false)
})

test("calls that wait are refused when the run stops", async () => {
  const stop = new AbortController()
  const budget = new Budget(limits({ tokens: 100 }), nothing, stop.signal)
  await budget.reserve("a", call(50, 50))
  const second = budget.reserve("a", call(50, 50))
  stop.abort(new Error("The run stops"))
  await assert.rejects(second, /The run stops/)
})

const calls = fc.array(
  fc.record({
    agent: fc.constantFrom("a", "b", "c"),
    tool: fc.boolean(),
    input: fc.integer({ min: 1, max: 200 }),
    output: fc.integer({ min: 1, max: 400 }),
    /** How much of its reservation it uses, whether it answers, and whether the backend says what it used. */
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    answered: fc.boolean(),
    reported: fc.boolean(),
    /** Which of the open calls ends next. */
    pick: fc.nat(),
  }),
  { minLength: 1, maxLength: 40 },
)
const some = fc.record(
  {
    tokens: fc.integer({ min: 1, max: 4000 }),
    cost: fc.double({ min: 0.0001, max: 0.02, noNaN: true }),
    model_calls: fc.integer({ min: 1, max: 30 }),
    tool_calls: fc.integer({ min: 1, max: 20 }),
  },
  { requiredKeys: [] },
)

test("whatever is called and ends in whatever order: no limit is exceeded, nothing waits for ever", async () => {
  await fc.assert(
    fc.asyncProperty(some, some, calls, fc.integer({ min: 1, max: 8 }), async (run, own, given, side) => {
      const budget = new Budget(limits(run, { a: own }), nothing, never)
      const open: { readonly grant: Grant; readonly one: (typeof given)[number] }[] = []
      let refused = 0
      let waiting = 0
      const end = async (pick: number): Promise<void> => {
        const [ended] = open.splice(pick % open.length, 1)
        if (ended === undefined) return
        const { grant, one } = ended
        const output = Math.floor(grant.output * one.part)
        grant.settle(one.reported && !one.tool ? used(one.input, output) : null, one.answered)
        await new Promise((resolve) => setImmediate(resolve))
        check()
      }
      const check = (): void => {
        const shown = budget.shown(() => 0)
        for (const { limit, used: taken } of [
          ...Object.values(shown).filter((one): one is { limit: number; used: number } => "limit" in one),
          ...Object.values(shown.agents?.["a"] ?? {}),
        ]) {
          assert.ok(taken <= limit + 1e-6, JSON.stringify(shown))
        }
      }
      for (const one of given) {
        if (refused > 0) break
        waiting++
        budget.reserve(one.agent, one.tool ? { kind: "tool" } : call(one.input, one.output)).then(
          (grant) => {
            waiting--
            open.push({ grant, one })
          },
          (error: unknown) => {
            assert.ok(error instanceof RunFailure)
            // Nothing is open any more that could have made room.
            assert.equal(open.length, 0)
            refused++
          },
        )
        await new Promise((resolve) => setImmediate(resolve))
        while (open.length + waiting > side && open.length > 0) await end(one.pick)
      }
      while (open.length > 0) await end(0)
      assert.ok(refused === 1 || (refused === 0 && waiting === 0), `${waiting} wait for ever`)
    }),
    { numRuns: cases(200) },
  )
})

test("calls that fit together are never refused, whatever comes first", async () => {
  await fc.assert(
    fc.asyncProperty(calls, async (given) => {
      const models = given.filter(({ tool }) => !tool)
      const tokens = models.reduce((sum, { input, output }) => sum + input + output, 1)
      const cost = models.reduce((sum, { input, output }) => sum + worstCost(input, output, price), 1n)
      const budget = new Budget(
        limits({ tokens, cost: Number(cost) / 1e18 + 1e-9, model_calls: models.length + 1 }),
        nothing,
        never,
      )
      const grants = await Promise.all(
        models.map(({ agent, input, output }) => budget.reserve(agent, call(input, output))),
      )
      assert.deepEqual(
        grants.map(({ output }) => output),
        models.map(({ output }) => output),
      )
    }),
    { numRuns: cases(100) },
  )
})
