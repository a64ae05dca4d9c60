import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import type { TestContext } from "node:test"
import { test } from "node:test"
import { createEgress } from "../../src/adapters/egress/egress.ts"
import { createModelClient } from "../../src/adapters/model-turn/model-client.ts"
import { systemRandom } from "../../src/adapters/system/system-random.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import type { JsonObject } from "../../src/base/json-value.ts"
import { modelApi } from "../../src/cli/compose/model-apis.ts"
import { compile } from "../../src/compile.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import { LogFold } from "../../src/log/fold.ts"
import { reduce } from "../../src/log/reduce.ts"
import { initialState } from "../../src/log/run-state.ts"
import { usageOfEvents } from "../../src/log/usage-after.ts"
import { validateRequest } from "../../src/run/validate-request.ts"
import { record, string } from "../support/build-types.ts"
import type { Behaviour, FakeBackend } from "../support/fake-backend.ts"
import { calls, fakeBackend, json, says } from "../support/fake-backend.ts"
import { InProcessTools } from "../support/in-process-tools.ts"
import type { Attempt, Outcome } from "../support/run-plan.ts"
import { dataOf, errorOf, resultOf, runPlan, typesOf } from "../support/run-plan.ts"

// Prices and limits, from their text to what is sent to a real backend.

const good = JSON.stringify({ text: "fine" })

interface Backed {
  readonly backend: FakeBackend
  readonly run: (source: string, attempt?: Partial<Attempt>) => Promise<Outcome>
}

async function backed(t: TestContext, behave: Behaviour): Promise<Backed> {
  const backend = await fakeBackend(t, behave)
  const egress = createEgress({ policy: { kind: "private" } })
  t.after(() => egress.close())
  const model = createModelClient({ api: modelApi, egress, clock: systemClock, random: systemRandom, demo: null })
  return {
    backend,
    run: async (source, attempt = {}) => {
      const outcome = await runPlan(planOf(source, backend.backend.endpoint), { model, ...attempt })
      if (outcome.bugs.length > 0) throw outcome.bugs[0]
      return outcome
    },
  }
}

function planOf(source: string, endpoint = "https://x.test/v1"): Plan {
  const { plan, diagnostics } = compile(`
provider p from openai { endpoint: "${endpoint}" }
model m from p { id: "m-1" price { input: 2 cached: 0.5 output: 8 } inference { max_retries: 1 retry_base_delay_ms: 0 } }
${source}`)
  const errors = diagnostics.filter(({ severity }) => severity === "error")
  if (plan === undefined) throw new Error(errors.map((found) => `${found.path}: ${found.message}`).join("\n"))
  return plan
}

const agent = (name: string, more = ""): string => `
agent ${name} {
    model: model.m
    instruction: "Say something."
    output { text: string }
    ${more}
}
`

function shownAt(outcome: Outcome): JsonObject {
  const last = outcome.events.at(-1)
  return (last?.data as { limits?: JsonObject } | undefined)?.limits ?? {}
}

test("usage has the cost of every call, its agent and the run; cached tokens have their own price", async (t) => {
  const { run } = await backed(t, () => says(good))
  const outcome = await run(`${agent("a")}${agent("b")} output { a: agent.a.text b: agent.b.text }`)
  // 6 of 10 input tokens at 2, 4 at 0.5, 5 output tokens at 8, each per million.
  const [first] = dataOf(outcome.events, "agent_completed")
  assert.equal(first?.usage.cost, 0.000054)
  assert.deepEqual(
    first?.calls.map(({ model, usage }) => [model, usage?.cost]),
    [["m", 0.000054]],
  )
  assert.equal(dataOf(outcome.events, "workflow_completed")[0]?.usage.cost, 0.000108)
  assert.ok(!typesOf(outcome.events).includes("model_call_started"))
  assert.deepEqual(shownAt(outcome), {})
})

test("a call reserves its estimate and its most output, and sends that number", async (t) => {
  const { run, backend } = await backed(t, () => says(good))
  const outcome = await run(`limits { tokens: 20_000 } ${agent("a")} output { a: agent.a.text }`)
  assert.deepEqual(resultOf(outcome), { a: "fine" })
  const [asked] = backend.asked
  assert.equal(asked?.["max_output_tokens"], 8192)
  const [started] = dataOf(outcome.events, "model_call_started")
  const estimate = Math.ceil(Buffer.byteLength(JSON.stringify(asked)) / 2)
  const { at: _, ...about } = (started ?? {}) as JsonObject & { at?: string }
  assert.deepEqual(about, {
    agent: "a",
    turn: 1,
    attempt: 1,
    model: "m",
    reserved: { tokens: estimate + 8192, cost: Math.round(estimate * 2 + 8192 * 8) / 1e6 },
  })
  assert.deepEqual(shownAt(outcome), { tokens: { limit: 20_000, used: 15 } })
  const types = typesOf(outcome.events)
  assert.ok(types.indexOf("model_call_started") > types.indexOf("agent_started"))
})

test("what is left, if it is less, is the bound; nothing left fails the run with what was needed, left, and the limit", async (t) => {
  const { run, backend } = await backed(t, () => says(good))
  const two = `${agent("a")} ${agent("b", "context: agent.a")} output { b: agent.b.text }`
  const first = await run(`limits { tokens: 4_000 } ${two}`)
  assert.equal(first.events.at(-1)?.type, "workflow_completed")
  const sent = backend.asked.map((body) => Number(body["max_output_tokens"]))
  assert.ok(sent.every((most) => most > 1000 && most < 4000))

  const long = two.replace("context: agent.a", `context: agent.a system: "${"word ".repeat(100)}"`)
  const outcome = await run(`limits { tokens: 350 } ${long}`)
  const error = errorOf(outcome)
  assert.equal(error.kind, "limit_exceeded")
  assert.equal(error.issues[0]?.path, "limits.tokens")
  assert.match(
    error.message,
    /^The next model call needs \d+ tokens, and 335 are left of the limit of 350 \(limits\.tokens\)$/,
  )
})

test("the same for cost, an agent's limits and those of the request; the smallest wins", async (t) => {
  const { run } = await backed(t, () => says(good))
  const cost = await run(`limits { cost: 0.0001 } ${agent("a")} output { a: agent.a.text }`)
  assert.equal(errorOf(cost).issues[0]?.path, "limits.cost")
  assert.match(errorOf(cost).message, /may cost 0\.06\d+, and 0\.0001 is left of the limit of 0\.0001/)

  const own = await run(`${agent("a", "limits { tokens: 100 }")} output { a: agent.a.text }`)
  assert.equal(errorOf(own).issues[0]?.path, "agent.a.limits.tokens")
  assert.deepEqual(shownAt(own), { agents: { a: { tokens: { limit: 100, used: 0 } } } })

  const source = `limits { tokens: 50_000 model_calls: 1 } ${agent("a")} output { a: agent.a.text }`
  const asked = await run(source, { options: { limits: { tokens: 100, model_calls: 5 } } })
  assert.equal(errorOf(asked).issues[0]?.path, "options.limits.tokens")
  assert.deepEqual(shownAt(asked), { tokens: { limit: 100, used: 0 }, model_calls: { limit: 1, used: 0 } })
})

test("calls are counted, failed ones too, and on_failure: skip does not go past a limit", async (t) => {
  const { run, backend } = await backed(t, (_, n) => (n === 1 ? json({ error: { message: "busy" } }, 500) : says(good)))
  const outcome = await run(
    `limits { model_calls: 2 } ${agent("a", "on_failure: skip")} ${agent("b", "on_failure: skip context: agent.a").replace("agent b", "agent b when agent.a != null")} output { b: agent.b?.text }`,
  )
  assert.equal(backend.asked.length, 2)
  assert.equal(errorOf(outcome).kind, "limit_exceeded")
  assert.equal(errorOf(outcome).issues[0]?.path, "limits.model_calls")
  assert.match(errorOf(outcome).message, /needs 1, and 0 are left of the limit of 2/)
  // No limit on tokens or cost: nothing is sent that was not asked for.
  assert.equal(backend.asked[0]?.["max_output_tokens"], undefined)
  assert.deepEqual(shownAt(outcome), { model_calls: { limit: 2, used: 2 } })
})

test("the bound is not dropped after a 400", async (t) => {
  const refusal = { error: { message: "Unknown parameter: 'max_output_tokens'.", param: "max_output_tokens" } }
  const { run, backend } = await backed(t, ({ body }) =>
    body["max_output_tokens"] === undefined ? says(good) : json(refusal, 400),
  )
  const outcome = await run(`limits { tokens: 50_000 } ${agent("a")} output { a: agent.a.text }`)
  assert.equal(errorOf(outcome).kind, "provider_error")
  assert.equal(backend.asked.length, 1)
  // Without limits it is.
  const source = agent("a").replace("model.m", "model.m { inference { max_tokens: 9 } }")
  assert.deepEqual(resultOf(await run(`${source} output { a: agent.a.text }`)), { a: "fine" })
})

test("a limit on an agent counts over its iterations, and parallel calls do not overshoot together", async (t) => {
  let open = 0
  let most = 0
  const { run, backend } = await backed(t, () => (response) => {
    most = Math.max(most, ++open)
    setTimeout(() => {
      open--
      says(good)(response, response.req)
    }, 5)
  })
  const looped = agent("a", "limits { tokens: 10_000 }").replace("agent a", "agent a for x in [1, 2, 3, 4, 5, 6]")
  const outcome = await run(`${looped} output { a: agent.a.*.text }`)
  assert.equal(outcome.events.at(-1)?.type, "workflow_completed")
  assert.equal(backend.asked.length, 6)
  // Two full reservations do not fit: one waits for the other.
  assert.equal(most, 1)
  assert.ok(backend.asked.every((body) => body["max_output_tokens"] === 8192))
  assert.deepEqual(shownAt(outcome), { agents: { a: { tokens: { limit: 10_000, used: 90 } } } })
})

test("an answer without usage has used its reservation, a failure without usage nothing", async (t) => {
  const { run } = await backed(t, (_, n) =>
    n === 1 ? json({ error: { message: "busy" } }, 500) : says(good, { usage: null }),
  )
  const outcome = await run(`limits { tokens: 20_000 } ${agent("a")} output { a: agent.a.text }`)
  const reserved = dataOf(outcome.events, "model_call_started").map((event) => event.reserved.tokens)
  assert.equal(reserved.length, 2)
  assert.deepEqual(shownAt(outcome), { tokens: { limit: 20_000, used: reserved[1] } })
})

test("a call that is cut off has used its reservation: nobody knows what it costs", async (t) => {
  const { run } = await backed(t, () => () => undefined)
  const outcome = await run(`limits { tokens: 20_000 time_seconds: 0.2 } ${agent("a")} output { a: agent.a.text }`)
  assert.equal(errorOf(outcome).kind, "timeout")
  const [reserved] = dataOf(outcome.events, "model_call_started").map((event) => event.reserved.tokens)
  const { tokens } = shownAt(outcome)
  assert.deepEqual(tokens, { limit: 20_000, used: reserved })
  const fold = new LogFold()
  for (const event of outcome.events) fold.take(event)
  assert.equal(fold.finished().used.run.tokens, reserved, "as the log says it")
})

test("a usage that counts nothing, or what cannot be, does not make calls free", async (t) => {
  const rows: readonly JsonObject[] = [
    {},
    { input_tokens: null },
    { total_tokens: 50 },
    { input_tokens: -5, output_tokens: -100 },
    { input_tokens: "9", output_tokens: "9" },
    { input_tokens: 0, output_tokens: 0 },
    { input_tokens: 1.7e308, output_tokens: 1.7e308 },
  ]
  const choice = { index: 0, finish_reason: "stop", message: { role: "assistant", content: good } }
  for (const usage of rows) {
    const { run, backend } = await backed(t, ({ url }) =>
      url.endsWith("/responses") ? says(good, { usage }) : json({ choices: [{ ...choice }], usage: {} }),
    )
    const chat = `
      provider q from openai_chat { endpoint: "${backend.backend.endpoint}" }
      model c from q { id: "c-1" price { input: 2 output: 8 } }`
    for (const model of ["m", "c"]) {
      const asking = agent("a").replace("model.m", `model.${model}`)
      const outcome = await run(`limits { tokens: 20_000 cost: 1 } ${chat} ${asking} output { a: agent.a.text }`)
      const [reserved] = dataOf(outcome.events, "model_call_started").map((event) => event.reserved)
      assert.ok(reserved !== undefined)
      assert.deepEqual(shownAt(outcome), {
        cost: { limit: 1, used: reserved.cost },
        tokens: { limit: 20_000, used: reserved.tokens },
      })
    }
  }
})

test("tool calls and reads are counted; the one too many is not made", async (t) => {
  let made = 0
  const tools = new InProcessTools({
    tools: {
      find: {
        input: record({ query: string }),
        call: () => {
          made++
          return { text: "found", is_error: false }
        },
      },
    },
  })
  const { run } = await backed(t, () => calls("find", { query: "x" }))
  const outcome = await run(
    `
mcp s { endpoint: "https://tools.test" }
tool find from mcp.s.tool.find
limits { tool_calls: 3 } ${agent("a", "uses: [tool.find]")} output { a: agent.a.text }`,
    {
      tools,
    },
  )
  assert.equal(made, 3)
  assert.equal(errorOf(outcome).issues[0]?.path, "limits.tool_calls")
  assert.deepEqual(shownAt(outcome), { tool_calls: { limit: 3, used: 3 } })
})

test("time_seconds ends the run with a timeout, an agent's too", async (t) => {
  const { run } = await backed(t, () => () => undefined)
  const slow = await run(`limits { time_seconds: 0.05 } ${agent("a")} output { a: agent.a.text }`)
  assert.equal(errorOf(slow).kind, "timeout")
  assert.equal(errorOf(slow).issues[0]?.path, "limits.time_seconds")
  const own = await run(`${agent("a", "limits { time_seconds: 0.05 } on_failure: skip")} output { a: agent.a?.text }`)
  assert.equal(errorOf(own).kind, "timeout")
  assert.equal(errorOf(own).issues[0]?.path, "agent.a.limits.time_seconds")
})

test("a limit does not fall back to another model", async (t) => {
  const { run, backend } = await backed(t, () => says(good))
  const source = `
model other from p { id: "m-2" price { input: 0 output: 0 } }
limits { cost: 0.000001 }
${agent("a").replace("model.m", "[model.m, model.other]")} output { a: agent.a.text }`
  assert.equal(errorOf(await run(source)).kind, "limit_exceeded")
  assert.equal(backend.asked.length, 0)
})

test("the state of a run shows its limits while it goes on", async (t) => {
  const { run } = await backed(t, () => says(good))
  const outcome = await run(
    `limits { tokens: 50_000 model_calls: 9 } ${agent("a", "limits { cost: 1 }")} output { a: agent.a.text }`,
  )
  const going = outcome.events.slice(0, -1).reduce(reduce, initialState())
  const expected = {
    tokens: { limit: 50_000, used: 15 },
    model_calls: { limit: 9, used: 1 },
    agents: { a: { cost: { limit: 1, used: 0.000054 } } },
  }
  assert.deepEqual(going.limits, expected)
  assert.deepEqual(outcome.events.reduce(reduce, initialState()).limits, expected)
})

test("options.limits.cost needs a price for every model that is used", () => {
  const plan = planOf(`
model free from p { id: "m-2" }
${agent("a").replace("model.m", "[model.m, model.free]")} output { a: agent.a.text }`)
  const error = validateRequest(plan, {}, {}, { cost: 1 })
  assert.equal(error?.kind, "input_error")
  assert.deepEqual(
    error?.issues.map(({ path }) => path),
    ["options.limits.cost"],
  )
  assert.match(error?.message ?? "", /model\.free has no price/)
  assert.equal(validateRequest(plan, {}, {}, { tokens: 1 }), null)
})

test("a run that goes on shows the sum of exact costs, not of rounded ones", async (t) => {
  const { run } = await backed(t, () => says(good, { usage: { input_tokens: 1, output_tokens: 0 } }))
  const outcome = await run(`
model cheap from p { id: "m-2" price { input: 0.4 output: 8 } }
limits { cost: 1 }
agent a for n in [1, 2, 3, 4, 5] { model: model.cheap instruction: "{{ n }}" output { text: string } }
output { all: agent.a }`)
  resultOf(outcome)
  const state = initialState()
  const events = outcome.events.filter(({ type }) => type !== "workflow_completed")
  for (const event of events) reduce(state, event)
  // Each call costs 0.0000004, which is shown as 0.
  assert.deepEqual(
    dataOf(outcome.events, "agent_completed").map(({ usage }) => usage.cost),
    [0, 0, 0, 0, 0],
  )
  assert.deepEqual([state.usage.cost, state.limits?.cost?.used], [0.000002, 0.000002])
  assert.equal(usageOfEvents(events)?.usage.cost?.toFixed(9), "0.000002000")
})

test("an id of a model that is too long to be remembered fails the run before a call", async (t) => {
  const { run, backend } = await backed(t, () => says(good))
  const source = (length: number): string => `
    model long from p { id: "${"x".repeat(length)}" }
    ${agent("a").replace("model.m", "model.long")} output { a: agent.a.text }`
  assert.deepEqual(resultOf(await run(source(1000))), { a: "fine" })
  const { kind, message } = errorOf(await run(source(1001)))
  assert.equal(kind, "evaluation_error")
  assert.equal(message, "The id of a model has at most 1000 characters (found 1001)")
  assert.equal(backend.asked.length, 1)
})
