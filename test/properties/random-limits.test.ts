import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../support/fast-check.ts"
import { assertOften, atStrength, cases } from "../support/strength.ts"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import type { Limits, ModelUses, Plan } from "../../src/plan/plan-shape.ts"
import type { Price } from "../../src/plan/price-of-model.ts"
import type { ModelClient, ModelRequest, ModelTurn, ModelWatch } from "../../src/ports/model.ts"
import { RunFailure, wireError } from "../../src/ports/run-failure.ts"
import { defaultOutput } from "../../src/run/budget/budget.ts"
import { costOf, toMoney } from "../../src/log/money.ts"
import type { LogEvent, ModelCallRecord, TokenUsage } from "../../src/log/events.ts"
import { pricedUsage } from "../../src/log/usage.ts"
import { agent, lit, loopOver, output, plan, ref, text, tool, use } from "../support/build-plan.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import { runPlan, defaultOptions } from "../support/run-plan.ts"
import { answers, callsTools, lastText, noRetryProgress } from "../support/scripted-model.ts"

// Random graphs, prices, answers and crash points: what backends and tools are asked for stays within the limits.

interface Shape {
  readonly agents: readonly {
    readonly after: boolean
    readonly items: number
    readonly fallback: boolean
    readonly tools: number
    readonly limits: Limits | null
  }[]
  readonly limits: Limits | null
  readonly prices: readonly [Price, Price]
  readonly max_tokens: number | undefined
  readonly seed: number
  readonly concurrency: number
}

const price = fc.record({
  input: fc.double({ min: 0, max: 20, noNaN: true }),
  cached: fc.double({ min: 0, max: 20, noNaN: true }),
  written: fc.double({ min: 0, max: 30, noNaN: true }),
  batch: fc.constant(1),
  hosted: fc.constant({}),
  output: fc.double({ min: 0, max: 80, noNaN: true }),
})
const someLimits = fc.option(
  fc.record(
    {
      cost: fc.double({ min: 0.001, max: 3, noNaN: true }),
      tokens: fc.integer({ min: 300, max: 60_000 }),
      model_calls: fc.integer({ min: 1, max: 30 }),
      tool_calls: fc.integer({ min: 1, max: 12 }),
    },
    { requiredKeys: [] },
  ),
)
const shapes: fc.Arbitrary<Shape> = fc.record({
  agents: fc.array(
    fc.record({
      after: fc.boolean(),
      items: fc.integer({ min: 0, max: 4 }),
      fallback: fc.boolean(),
      tools: fc.integer({ min: 0, max: 2 }),
      limits: someLimits,
    }),
    { minLength: 1, maxLength: 5 },
  ),
  limits: someLimits,
  prices: fc.tuple(price, price),
  max_tokens: fc.constantFrom(undefined, 100, 2000),
  seed: fc.nat(),
  concurrency: fc.integer({ min: 1, max: 6 }),
})

function planOf({ agents, limits, prices, max_tokens }: Shape): Plan {
  const model = (id: string, of: Price): Plan["models"][string] => ({
    provider: "p",
    api: null,
    id: lit(id),
    inference: max_tokens === undefined ? {} : { max_tokens },
    assets: [],
    response_format: null,
    system: null,
    price: of,
  })
  const nodes = agents.map(({ after, items, fallback, tools, limits: own }, index) => {
    const uses: ModelUses = fallback
      ? [
          { name: "shaky", inference: {} },
          { name: "firm", inference: {} },
        ]
      : [{ name: "firm", inference: {} }]
    const before = after && index > 0 ? [ref(`agent.a${index - 1}`)] : []
    return agent(`a${index}`, {
      models: uses,
      limits: own,
      instruction: text(`Call ${tools} tools. `, ...before),
      uses: [use("tool", "find")],
      ...(items === 0 ? {} : { loop: loopOver(lit(Array.from({ length: items }, (_, item) => item)), "item") }),
    })
  })
  return plan([...nodes, output(Object.fromEntries(nodes.map(({ name }) => [name, ref(`agent.${name}`)])))], {
    models: { shaky: model("shaky", prices[0]), firm: model("firm", prices[1]) },
    limits,
    tools: { find: tool({ remote: "find", idempotent: true }) },
  })
}

const later = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Answers by chance, the same way every time for the same call; asks for room as the real client does. */
class SpendingModel implements ModelClient {
  /** What was used by each call that was made, by its place. */
  readonly made = new Map<string, { readonly agent: string; readonly usage: TokenUsage; readonly price: Price }>()
  readonly #seed: number

  constructor(seed: number) {
    this.#seed = seed
  }

  async turn(request: ModelRequest, watch: ModelWatch): Promise<ModelTurn> {
    const records: ModelCallRecord[] = [...(request.progress?.calls ?? [])]
    let reported = records.length
    for (let attempt = request.attempts_before + 1; ; attempt++) {
      const place = `${request.path} ${request.input.length} ${lastText(request)} ${request.turn} ${attempt}`
      const input_tokens = 20 + (this.#chance(place) % 400)
      const wanted = request.inference.max_tokens ?? defaultOutput
      assert.ok(watch.reserve !== undefined && request.price !== null)
      const { name, turn, price: paid, inference } = request
      const max_tokens = inference.max_tokens ?? null
      const model = { model: name, id: name, price: paid }
      const reservation = await watch.reserve({ turn, attempt, ...model, input_tokens, max_tokens })
      const most = reservation.max_tokens ?? wanted
      assert.ok(most >= 1 && most <= wanted)
      const dice = this.#chance(`${place} ends`)
      const fails = name === "shaky" ? dice % 3 > 0 : dice % 7 === 0 && attempt < request.attempts_before + 3
      const used: TokenUsage = {
        input_tokens: dice % input_tokens,
        output_tokens: dice % (most + 1),
        cached_tokens: 0,
        written_tokens: 0,
        reasoning_tokens: 0,
      }
      const usage = fails && dice % 2 === 0 ? null : used
      // From here on the backend works on it, whether somebody hears of the answer or not.
      if (usage !== null) this.made.set(`${this.made.size}`, { agent: request.path, usage, price: paid })
      for (let wait = 0; wait < dice % 5; wait++) await later()
      reservation.settle(usage, !fails)
      records.push({
        turn,
        attempt,
        started_at: "2026-11-15T00:00:00.000Z",
        duration_ms: 0,
        model: name,
        ...(usage === null ? {} : { usage: pricedUsage(usage, paid) }),
        ...(fails ? {} : { format: "json_schema" }),
      })
      if (!fails) return this.#answer(request, records)
      if (name === "shaky" && dice % 3 === 2) {
        throw new RunFailure(wireError("provider_error", [{ path: request.path, message: "down" }]), records)
      }
      const new_calls = records.slice(reported)
      reported = records.length
      const progress = { ...noRetryProgress, new_calls }
      await watch.retried({ attempt: attempt + 1, reason: "busy", delay_ms: 0, progress })
      watch.signal.throwIfAborted()
    }
  }

  #answer(request: ModelRequest, calls: readonly ModelCallRecord[]): ModelTurn {
    const wanted = Number(/Call (\d) tools/.exec(JSON.stringify(request.input))?.[1] ?? 0)
    const called = request.input.filter(({ role }) => role === "tool").length
    const turn =
      called < wanted
        ? callsTools([{ call_id: `c${called}`, name: "find", arguments: '{"q":"x"}' }], request)
        : answers({ message: "done" }, request)
    return { ...turn, calls }
  }

  #chance(place: string): number {
    let hash = this.#seed | 0
    for (const letter of place) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x5bd1e995) ^ (hash >>> 13)
    return hash >>> 1
  }
}

class Recording extends MemoryStore {
  readonly appends: { readonly events: readonly LogEvent[]; readonly made: number }[] = []
  readonly #made: () => number
  constructor(made: () => number) {
    super(systemClock)
    this.#made = made
  }
  override append(lease: Parameters<MemoryStore["append"]>[0], events: readonly LogEvent[]): Promise<void> {
    this.appends.push({ events: [...events], made: this.#made() })
    return super.append(lease, events)
  }
}

function finding(): { readonly tools: InProcessTools; count(): number } {
  let called = 0
  const tools = new InProcessTools({
    tools: {
      find: {
        input: record({ q: string }),
        call: async () => {
          called++
          await later()
          return { text: "found", is_error: false }
        },
      },
    },
  })
  return { tools, count: () => called }
}

/** Sums over the calls that were made in one life or several. */
function assertWithin(shape: Shape, calls: readonly { agent: string; usage: TokenUsage; price: Price }[]): void {
  const check = (limits: Limits | null, some: typeof calls): void => {
    const tokens = some.reduce((sum, { usage }) => sum + usage.input_tokens + usage.output_tokens, 0)
    const cost = some.reduce((sum, one) => sum + costOf(one.usage, one.price), 0n)
    if (limits?.tokens !== undefined) assert.ok(tokens <= limits.tokens, `${tokens} tokens of ${limits.tokens}`)
    // Reservations of calls in flight are stored rounded to 1e-6.
    const slack = toMoney(1e-6) * BigInt(calls.length)
    if (limits?.cost !== undefined) assert.ok(cost <= toMoney(limits.cost) + slack, `${cost} of ${limits.cost}`)
    if (limits?.model_calls !== undefined) assert.ok(some.length <= limits.model_calls)
  }
  check(shape.limits, calls)
  for (const [index, { limits }] of shape.agents.entries()) {
    check(
      limits,
      calls.filter(({ agent: path }) => path === `agent.a${index}`),
    )
  }
}

test("no limit is exceeded, wherever the process dies, and every run comes to an end", async () => {
  let ended = 0
  let refused = 0
  let resumed = 0
  await fc.assert(
    fc.asyncProperty(shapes, fc.array(fc.nat(), { maxLength: 3 }), async (shape, crashes) => {
      if (shape.limits === null && shape.agents.every(({ limits }) => limits === null)) return
      const workflow = planOf(shape)
      const options = { max_concurrency: shape.concurrency }
      const model = new SpendingModel(shape.seed)
      const found = finding()
      const store = new Recording(() => model.made.size)
      const whole = await runPlan(workflow, { model, tools: found.tools, store, options })
      assert.deepEqual(whole.bugs, [])
      const all = [...model.made.values()]
      assertWithin(shape, all)
      if (shape.limits?.tool_calls !== undefined) assert.ok(found.count() <= shape.limits.tool_calls)
      const last = whole.events.at(-1)
      ended++
      if (last?.type === "workflow_failed") {
        if (last.data.error.kind === "limit_exceeded") refused++
        else assert.equal(last.data.error.kind, "provider_error")
      }
      for (const crash of crashes) {
        const kept = 1 + (crash % store.appends.length)
        if (kept === store.appends.length) continue
        const before = store.appends.slice(0, kept)
        const again = new MemoryStore(systemClock)
        const request = { source: "", input: {}, secrets: {}, options: { ...defaultOptions, ...options } }
        const created = await again.create(
          { run_id: "r", caller: "", request, created_at: Date.now(), idempotency: null },
          "dead",
          60_000,
        )
        if (created.outcome !== "created") throw new Error("not created")
        for (const { events } of before) await again.append(created.lease, events)
        await again.release(created.lease)
        const second = new SpendingModel(shape.seed + 1)
        const outcome = await runPlan(workflow, {
          model: second,
          tools: finding().tools,
          store: again,
          run_id: "r",
          resumed: "again",
          options,
        })
        assert.deepEqual(outcome.bugs, [])
        resumed++
        // The process died when the next append was due: the answers that it had by then were asked for in the first life.
        const first = all.slice(0, store.appends[kept]?.made ?? all.length)
        assertWithin(shape, [...first, ...second.made.values()])
      }
    }),
    { numRuns: atStrength(25, 300) },
  )
  assertOften(refused, 0, `of ${ended} runs were refused`)
  assertOften(ended - refused, 0, `of ${ended} runs were not refused`)
  assertOften(resumed, 0, `of ${ended} runs were resumed`)
})

test("a run whose calls fit together is never refused", async () => {
  await fc.assert(
    fc.asyncProperty(shapes, async (shape) => {
      const huge = { tokens: 1e9, cost: 1e9, model_calls: 1e6, tool_calls: 1e6 }
      const free = { ...shape, limits: huge, agents: shape.agents.map((one) => ({ ...one, limits: null })) }
      const first = await runPlan(planOf(free), {
        model: new SpendingModel(shape.seed),
        tools: finding().tools,
        options: { max_concurrency: shape.concurrency },
      })
      if (first.events.at(-1)?.type !== "workflow_completed") return
      const started = first.events.flatMap((event) =>
        event.type === "model_call_started" ? [event.data.reserved] : [],
      )
      const tools = first.events.filter(({ type }) => type === "tool_call_started").length
      const limits = {
        tokens: Math.max(
          1,
          started.reduce((sum, { tokens }) => sum + tokens, 0),
        ),
        cost: started.reduce((sum, { cost }) => sum + (cost ?? 0) + 1e-6, 1e-6),
        model_calls: Math.max(1, started.length),
        tool_calls: Math.max(1, tools),
      }
      const outcome = await runPlan(planOf({ ...free, limits }), {
        model: new SpendingModel(shape.seed),
        tools: finding().tools,
        options: { max_concurrency: shape.concurrency },
      })
      assert.equal(outcome.events.at(-1)?.type, "workflow_completed", JSON.stringify(outcome.events.at(-1)?.data))
    }),
    { numRuns: cases(100) },
  )
})
