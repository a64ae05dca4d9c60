import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { systemClock } from "../../adapters/system/system-clock.ts"
import type { ErrorKind, LogEvent } from "../../log/events.ts"
import { toText } from "../values/value-builders.ts"
import type { ModelUses, Plan } from "../../plan/plan-shape.ts"
import type { ModelRequest, ModelTurn } from "../../ports/model.ts"
import { RunFailure, wireError } from "../../ports/run-failure.ts"
import { agent, lit, output, plan, ref, tool, use } from "../../../test/support/build-plan.ts"
import { record, string } from "../../../test/support/build-types.ts"
import { price } from "../../../test/support/price.ts"
import { InProcessTools } from "../../../test/support/in-process-tools.ts"
import { dataOf, errorOf, resultOf, runPlan, defaultOptions } from "../../../test/support/run-plan.ts"
import { answers, callsTools, says, ScriptedModel, textOf } from "../../../test/support/scripted-model.ts"

const models = {
  fast: modelPlan("fast-1", price(1, 1, 1)),
  careful: modelPlan("careful-1", price(10, 1, 20)),
  last: modelPlan("last-1", null),
}
const both: ModelUses = [
  { name: "fast", inference: {} },
  { name: "careful", inference: { temperature: 0 } },
]

function modelPlan(id: string, price: Plan["models"][string]["price"]): Plan["models"][string] {
  return {
    provider: "p",
    api: null,
    id: lit(id),
    inference: {},
    assets: [],
    response_format: null,
    system: null,
    price,
  }
}

function failed(kind: ErrorKind, message: string, request: ModelRequest): RunFailure {
  const call = {
    turn: request.turn,
    attempt: request.attempts_before + 1,
    started_at: "2026-11-15T00:00:00.000Z",
    duration_ms: 1,
    model: request.name,
    usage: {
      input_tokens: 2,
      output_tokens: 1,
      cached_tokens: 0,
      written_tokens: 0,
      reasoning_tokens: 0,
      cost: 0.000003,
    },
  }
  const answer = kind === "output_error" ? `answer of ${request.name}` : undefined
  return new RunFailure(wireError(kind, [{ path: request.path, message }]), [call], answer)
}

const simple = plan([agent("a", { models: both }), output({ m: ref("agent.a.message") })], { models })

for (const kind of ["provider_error", "timeout", "output_error"] as const) {
  test(`after a ${kind} the next model of the list is asked, with its own settings`, async () => {
    const model = new ScriptedModel((request) => {
      if (request.name === "fast") throw failed(kind, "no luck", request)
      return answers({ message: "by careful" }, request)
    })
    const outcome = await runPlan(simple, { model })
    assert.deepEqual(resultOf(outcome), { m: "by careful" })
    assert.deepEqual(
      model.requests.map(({ name, model: id, inference, attempts_before }) => [name, id, inference, attempts_before]),
      [
        ["fast", "fast-1", {}, 0],
        ["careful", "careful-1", { temperature: 0 }, 1],
      ],
    )
    const [fallback] = dataOf(outcome.events, "agent_fallback")
    assert.equal(fallback?.agent, "a")
    assert.equal(fallback?.from, "fast")
    assert.equal(fallback?.to, "careful")
    assert.deepEqual(fallback?.error, { kind, message: "no luck", issues: [{ path: "agent.a", message: "no luck" }] })
    assert.equal(fallback?.answer, kind === "output_error" ? "answer of fast" : undefined)
    const [completed] = dataOf(outcome.events, "agent_completed")
    assert.deepEqual(
      completed?.calls.map(({ model: name, attempt }) => [name, attempt]),
      [
        ["fast", 1],
        ["careful", 2],
      ],
    )
    // 3 tokens at 1, and 10 at 10 with 5 at 20, each per million.
    assert.equal(completed?.usage.cost, 0.000203)
    assert.equal(completed?.usage.input_tokens, 12)
  })
}

for (const kind of ["limit_exceeded", "blocked_destination", "overloaded", "evaluation_error"] as const) {
  test(`a ${kind} is nothing that another model could do better`, async () => {
    const model = new ScriptedModel((request) => {
      throw failed(kind, "no", request)
    })
    const outcome = await runPlan(simple, { model })
    assert.equal(errorOf(outcome).kind, kind)
    assert.equal(model.requests.length, 1)
    assert.deepEqual(dataOf(outcome.events, "agent_fallback"), [])
  })
}

test("when the last one fails, its error is the agent's, and its issues list what each one said", async () => {
  const uses: ModelUses = [...both, { name: "last", inference: {} }]
  const model = new ScriptedModel((request) => {
    throw failed(request.name === "last" ? "output_error" : "provider_error", `${request.name} says no`, request)
  })
  const outcome = await runPlan(plan([agent("a", { models: uses })], { models }), { model })
  const error = errorOf(outcome)
  assert.equal(error.kind, "output_error")
  assert.equal(error.message, "model.last: last says no (and 2 more)")
  assert.deepEqual(error.issues, [
    { path: "agent.a", message: "model.last: last says no" },
    { path: "agent.a", message: "model.fast: fast says no" },
    { path: "agent.a", message: "model.careful: careful says no" },
  ])
  const [ended] = dataOf(outcome.events, "agent_failed")
  assert.equal(ended?.answer, "answer of last")
  assert.deepEqual(
    ended?.calls.map(({ model: name }) => name),
    ["fast", "careful", "last"],
  )
  // The last one has no price.
  assert.equal(dataOf(outcome.events, "workflow_failed")[0]?.usage?.cost, null)
})

const looped = plan(
  [agent("a", { models: both, uses: [use("tool", "search")] }), output({ m: ref("agent.a.message") })],
  { models, tools: { search: tool({ remote: "search", idempotent: true }) } },
)

/** The first model calls a tool, then fails; the next one calls another, then answers with all results. */
function halfway(request: ModelRequest): ModelTurn {
  const results = request.input.filter(({ role }) => role === "tool").map(textOf)
  if (request.name === "fast" && results.length === 1) throw failed("provider_error", "gone", request)
  if (results.length < 2) {
    return callsTools(
      [{ call_id: `c${results.length}`, name: "search", arguments: `{"q":"${results.length}"}` }],
      request,
    )
  }
  return answers({ message: results.join("|") }, request)
}

function searching(): { readonly tools: InProcessTools; readonly called: string[] } {
  const called: string[] = []
  const tools = new InProcessTools({
    tools: {
      search: {
        input: record({ q: string }),
        call: ({ q }) => {
          called.push(toText(q ?? null))
          return { text: `found ${toText(q ?? null)}`, is_error: false }
        },
      },
    },
  })
  return { tools, called }
}

test("the conversation goes on: tools that were called are not called again", async () => {
  const { tools, called } = searching()
  const outcome = await runPlan(looped, { model: new ScriptedModel(halfway), tools })
  assert.deepEqual(resultOf(outcome), { m: "found 0|found 1" })
  assert.deepEqual(called, ["0", "1"])
})

class Recording extends MemoryStore {
  readonly appends: LogEvent[][] = []
  override append(lease: Parameters<MemoryStore["append"]>[0], events: readonly LogEvent[]): Promise<void> {
    this.appends.push([...events])
    return super.append(lease, events)
  }
}

test("killed after any append, a run goes on with the model that it had reached, and calls no tool twice", async () => {
  const whole = new Recording(systemClock)
  const first = await runPlan(looped, {
    model: new ScriptedModel(halfway),
    tools: searching().tools,
    store: whole,
  })
  const usage = dataOf(first.events, "workflow_completed")[0]?.usage
  const fellBackIn = whole.appends.findIndex((events) => events.some(({ type }) => type === "agent_fallback"))
  assert.ok(fellBackIn > 0)
  for (let kept = 1; kept < whole.appends.length; kept++) {
    const store = new MemoryStore(systemClock)
    const request = { source: "", input: {}, secrets: {}, options: defaultOptions }
    const created = await store.create(
      { run_id: "r", caller: "", request, created_at: Date.now(), idempotency: null },
      "dead",
      60_000,
    )
    if (created.outcome !== "created") throw new Error("not created")
    for (const events of whole.appends.slice(0, kept)) await store.append(created.lease, events)
    await store.release(created.lease)
    const { tools, called } = searching()
    const model = new ScriptedModel(halfway)
    const outcome = await runPlan(looped, { model, tools, store, run_id: "r", resumed: "again" })
    assert.deepEqual(resultOf(outcome), { m: "found 0|found 1" }, `after ${kept} appends`)
    const before = whole.appends.slice(0, kept).flat()
    const done = before.filter(({ type }) => type === "tool_call_completed").length
    assert.equal(called.length, 2 - done, `after ${kept} appends`)
    if (kept > fellBackIn) assert.ok(model.requests.every(({ name }) => name === "careful"))
    assert.deepEqual(dataOf(outcome.events, "workflow_completed")[0]?.usage, usage, `after ${kept} appends`)
  }
})

test("an answer of a fallback is not cached, the first model's is", async () => {
  const store = new MemoryStore(systemClock)
  let down = true
  const model = new ScriptedModel((request) => {
    if (down && request.name === "fast") throw failed("provider_error", "down", request)
    return answers({ message: request.name }, request)
  })
  const options = { cache_key: "k" }
  assert.deepEqual(resultOf(await runPlan(simple, { model, store, options })), { m: "careful" })
  down = false
  assert.deepEqual(resultOf(await runPlan(simple, { model, store, options })), { m: "fast" })
  const asked = model.requests.length
  assert.deepEqual(resultOf(await runPlan(simple, { model, store, options })), { m: "fast" })
  assert.equal(model.requests.length, asked)
})

test("a compaction takes a list, too", async () => {
  const model = new ScriptedModel((request) => {
    if (request.contract !== null) return answers({ message: "m" }, request)
    if (request.name === "fast") throw failed("provider_error", "down", request)
    return says("They agreed.", request)
  })
  const compacted = plan(
    [
      agent("a", { models: [both[0]] }),
      agent("b", { models: [both[0]], context: { agent: "a", compact: { models: both, instruction: null } } }),
    ],
    { models },
  )
  const outcome = await runPlan(compacted, { model })
  const [fallback] = dataOf(outcome.events, "agent_fallback")
  assert.deepEqual([fallback?.agent, fallback?.from, fallback?.to], ["b", "fast", "careful"])
  // 7 tokens at 10 and 3 at 20, after the 3 of the one that failed.
  assert.equal(dataOf(outcome.events, "context_compacted")[0]?.usage.cost, 0.000133)
})

test("a run that fails has spent what its interrupted steps have spent", async () => {
  const parts = plan(
    [
      agent("a", { models: [both[0]], uses: [use("tool", "search")] }),
      agent("b", { models: [{ name: "careful", inference: {} }] }),
    ],
    { models, tools: { search: tool({ remote: "search" }) } },
  )
  const { promise: called, resolve } = Promise.withResolvers<void>()
  const tools = new InProcessTools({
    tools: {
      search: {
        input: record({ q: string }),
        call: (_, __, signal) => {
          resolve()
          return new Promise((___, reject) => {
            signal.addEventListener("abort", () => reject(new Error("stopped")), { once: true })
          })
        },
      },
    },
  })
  const model = new ScriptedModel(async (request) => {
    if (request.name === "fast") return callsTools([{ call_id: "c", name: "search", arguments: '{"q":"x"}' }], request)
    await called
    throw failed("provider_error", "down", request)
  })
  const outcome = await runPlan(parts, { model, tools })
  // 4 tokens in and 2 out at 1, for the turn that called the tool; 2 at 10 and 1 at 20 for the call that failed.
  assert.equal(dataOf(outcome.events, "workflow_failed")[0]?.usage?.cost, 0.000046)
})
