import assert from "node:assert/strict"
import { test } from "node:test"
import { defaultOptions, dataOf, errorOf, resultOf, runPlan, typesOf } from "../../../test/support/run-plan.ts"
import { answers, lastText, ScriptedModel } from "../../../test/support/scripted-model.ts"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { systemClock } from "../../adapters/system/system-clock.ts"
import { compile } from "../../compile.ts"
import type { LogEvent } from "../../log/events.ts"
import { reduce } from "../../log/reduce.ts"
import { initialState } from "../../log/run-state.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { failure } from "../../ports/run-failure.ts"

const backends = `
provider p from openai {
    endpoint: "https://api.example.com"
}

model m from p {
    id: "m"
    price { input: 1 output: 1 }
}
`

function planOf(source: string): Plan {
  const { plan, diagnostics } = compile(`${backends}${source}`)
  assert.ok(plan, JSON.stringify(diagnostics))
  return plan
}

/** Counts up to what `until` wants: each round is told what the one before gave. */
const counting = (more = "", head = "", until = "result.n >= 3", last = "agent.count"): Plan =>
  planOf(`
input {
    n: integer
}

agent count${head} {
    model: model.m
    instruction: "After {{ previous?.n ?? input.n }}"
    ${more}

    repeat {
        until: ${until}
        at_most: 5
    }

    output {
        n: integer
    }
}

output {
    last: ${last}
    all: rounds(agent.count).*.n
}
`)

const next = (): ScriptedModel =>
  new ScriptedModel((request) => answers({ n: Number(/\d+/.exec(lastText(request))?.[0]) + 1 }, request))

test("rounds follow each other until the condition holds: the value is the last one's", async () => {
  const model = next()
  const outcome = await runPlan(counting(), { model, input: { n: 0 } })
  assert.deepEqual(resultOf(outcome), { last: { n: 3 }, all: [1, 2, 3] })
  assert.deepEqual(model.requests.map(lastText), ["After 0", "After 1", "After 2"])
  assert.deepEqual(
    dataOf(outcome.events, "agent_started").map(({ iteration }) => iteration),
    [0, 1, 2],
  )
  assert.deepEqual(
    model.requests.map(({ step }) => step),
    ["count[0]", "count[1]", "count[2]"],
  )
  const [started] = dataOf(outcome.events, "agent_loop_started")
  const [completed] = dataOf(outcome.events, "agent_loop_completed")
  assert.deepEqual([started?.iterations, completed?.iterations], [5, 3])
  const state = outcome.events.reduce(reduce, initialState())
  const node = state.nodes.find(({ id }) => id === "agent.count")
  assert.deepEqual(node?.loop, { total: 3, started: 3, completed: 3, skipped: 0 })
  assert.deepEqual([node?.state, node?.usage.input_tokens], ["completed", 30])
})

test("a repetition ends after `at_most` rounds, whatever the condition says of the last", async () => {
  const model = next()
  const outcome = await runPlan(counting("", "", "1 / (5 - round) < 0"), { model, input: { n: 0 } })
  assert.deepEqual(resultOf(outcome), { last: { n: 5 }, all: [1, 2, 3, 4, 5] })
})

test("a requirement judges each round, and sees the one before", async () => {
  const rejected: number[] = []
  const model = new ScriptedModel(async (request) => {
    const output = { n: Number(/\d+/.exec(lastText(request))?.[0]) + rejected.length }
    rejected.push((await request.contract?.requirements?.rejections(output))?.length ?? -1)
    return answers(output, request)
  })
  const plan = counting("require result.n == (previous?.n ?? 0)")
  await runPlan(plan, { model, input: { n: 0 } })
  assert.deepEqual(rejected, [0, 1, 1])
})

test("the condition of an agent is decided once: without it there are no rounds", async () => {
  const model = next()
  const outcome = await runPlan(counting("", " when input.n > 0"), { model, input: { n: 0 } })
  assert.deepEqual(resultOf(outcome), { last: null, all: [] })
  assert.equal(model.requests.length, 0)
  assert.deepEqual(dataOf(outcome.events, "step_skipped"), [{ step: "agent.count" }])
  assert.deepEqual(outcome.events.reduce(reduce, initialState()).nodes[0]?.state, "skipped")
})

test("a round that fails for good makes the agent null, and keeps the rounds before", async () => {
  const model = new ScriptedModel((request) => {
    if (lastText(request) === "After 2") throw failure("provider_error", "", "No more")
    return answers({ n: Number(/\d+/.exec(lastText(request))?.[0]) + 1 }, request)
  })
  const outcome = await runPlan(counting("on_failure: skip"), { model, input: { n: 0 } })
  assert.deepEqual(resultOf(outcome), { last: null, all: [1, 2] })
  const why = await runPlan(counting("on_failure: skip", "", "result.n >= 3", "failure(agent.count)?.message"), {
    model,
    input: { n: 0 },
  })
  assert.deepEqual(resultOf(why), { last: "No more", all: [1, 2] })
  assert.deepEqual(outcome.events.reduce(reduce, initialState()).nodes[0]?.state, "skipped")
  const failed = await runPlan(counting(), { model, input: { n: 0 } })
  assert.deepEqual(errorOf(failed).issues[0]?.path, "agent.count")
})

test("a condition that cannot be evaluated fails the agent, at its own place", async () => {
  const plan = counting("", "", "1 / (round - 2) > 1")
  const outcome = await runPlan(plan, { model: next(), input: { n: 0 } })
  assert.equal(errorOf(outcome).issues[0]?.path, "agent.count.repeat.until")
  const skipped = await runPlan(counting("on_failure: skip", "", "1 / (round - 2) > 1"), {
    model: next(),
    input: { n: 0 },
  })
  assert.deepEqual(resultOf(skipped), { last: null, all: [1, 2] })
})

test("each round has a place of its own in the cache", async () => {
  const store = new MemoryStore(systemClock)
  const options = { cache_key: "k" }
  await runPlan(counting(), { model: next(), store, options, input: { n: 0 } })
  const model = next()
  const outcome = await runPlan(counting("", "", "result.n >= 4"), { model, store, options, input: { n: 0 } })
  assert.deepEqual(resultOf(outcome), { last: { n: 4 }, all: [1, 2, 3, 4] })
  assert.deepEqual(model.requests.map(lastText), ["After 3"])
})

test("a re-run takes the rounds over that did not change", async () => {
  const store = new MemoryStore(systemClock)
  await runPlan(counting(), { model: next(), store, run_id: "first", input: { n: 0 } })
  const model = next()
  const rerun = { run_id: "first", from: [] }
  const outcome = await runPlan(counting("", "", "result.n >= 4"), { model, store, rerun, input: { n: 0 } })
  assert.deepEqual(resultOf(outcome), { last: { n: 4 }, all: [1, 2, 3, 4] })
  assert.deepEqual(model.requests.map(lastText), ["After 3"])
  assert.deepEqual(
    dataOf(outcome.events, "step_reused").map(({ iteration }) => iteration),
    [0, 1, 2],
  )
})

test("another agent continues the conversation of the last round", async () => {
  const plan = planOf(`
agent count {
    model: model.m
    instruction: "After {{ previous?.n ?? 0 }}"

    repeat {
        until: result.n >= 2
        at_most: 5
    }

    output {
        n: integer
    }
}

agent then {
    model: model.m
    context: agent.count
    instruction: "And 8"

    output {
        n: integer
    }
}

output {
    n: agent.then.n
}
`)
  const model = next()
  await runPlan(plan, { model })
  assert.deepEqual(
    model.requests.at(-1)?.input.map(({ role }) => role),
    ["user", "assistant", "user"],
  )
  assert.match(JSON.stringify(model.requests.at(-1)?.input), /After 1.*And 8/)
})

class Recording extends MemoryStore {
  readonly appends: LogEvent[][] = []
  override append(lease: Parameters<MemoryStore["append"]>[0], events: readonly LogEvent[]): Promise<void> {
    this.appends.push([...events])
    return super.append(lease, events)
  }
}

for (const [what, plan, expected] of [
  ["completes", counting(), { last: { n: 3 }, all: [1, 2, 3] }],
  ["is skipped", counting("on_failure: skip", "", "1 / (round - 2) > 1"), { last: null, all: [1, 2] }],
  ["has no rounds", counting("", " when input.n > 0"), { last: null, all: [] }],
] as const) {
  test(`killed after any append, a repetition goes on in its round, and repeats none: it ${what}`, async () => {
    const whole = new Recording(systemClock)
    const first = await runPlan(plan, { model: next(), store: whole, input: { n: 0 } })
    for (let kept = 1; kept < whole.appends.length; kept++) {
      const store = new MemoryStore(systemClock)
      const request = { source: "", input: { n: 0 }, secrets: {}, options: defaultOptions }
      const about = { run_id: "r", caller: "", request, created_at: Date.now(), idempotency: null }
      const created = await store.create(about, "dead", 60_000)
      if (created.outcome !== "created") throw new Error("not created")
      const before = whole.appends.slice(0, kept)
      for (const events of before) await store.append(created.lease, events)
      await store.release(created.lease)
      const model = next()
      const outcome = await runPlan(plan, { model, store, input: { n: 0 }, run_id: "r", resumed: "again" })
      assert.deepEqual(resultOf(outcome), expected, `after ${kept} appends`)
      const done = before.flat().filter(({ type }) => type === "agent_completed").length
      assert.equal(model.requests.length, expected.all.length - done, `after ${kept} appends`)
      const once = (events: readonly LogEvent[]): string[] =>
        typesOf(events).filter((type) => /^(?:agent_completed|agent_loop_\w+|step_skipped)$/.test(type))
      assert.deepEqual(once(outcome.events), once(first.events), `after ${kept} appends`)
    }
  })
}
