import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { systemClock } from "../../adapters/system/system-clock.ts"
import { agent, dynamic, entries, lit, loopOver, output, plan, ref, text } from "../../../test/support/build-plan.ts"
import { maybe, record, string } from "../../../test/support/build-types.ts"
import type { Outcome } from "../../../test/support/run-plan.ts"
import { dataOf, errorOf, resultOf, runPlan, defaultOptions } from "../../../test/support/run-plan.ts"
import { answers, callsTools, lastText, ScriptedModel } from "../../../test/support/scripted-model.ts"
import type { LogEvent } from "../../log/events.ts"
import { reduce } from "../../log/reduce.ts"
import { initialState } from "../../log/run-state.ts"
import type { Expression, WorkflowCallExpression } from "../../plan/expression.ts"
import type { AskNode, CalledWorkflow, Plan } from "../../plan/plan-shape.ts"
import { failure } from "../../ports/run-failure.ts"

const called = (name: string, inner: Plan, more: Partial<CalledWorkflow> = {}): CalledWorkflow => ({
  name,
  file: `${name}.wire`,
  version: "v1",
  description: null,
  plan: inner,
  secrets: {},
  ...more,
})

const callOf = (
  workflow: string,
  site: string,
  input: Readonly<Record<string, Expression>>,
  more: Partial<WorkflowCallExpression> = {},
): WorkflowCallExpression => ({
  op: "call-workflow",
  workflow,
  site,
  input: entries(input),
  approval: null,
  text: `call workflow.${workflow}`,
  ...more,
})

const input = record({ text: string })

/** Asks a model, and gives what it says. */
const triage: Plan = plan(
  [
    agent("classify", { instruction: text("Classify ", ref("input.text")) }),
    output({ text: ref("agent.classify.message") }),
  ],
  { input },
)

/** Calls it once more inside. */
const desk: Plan = plan(
  [
    dynamic("sorted", callOf("triage", "dynamic.sorted", { text: text("desk ", ref("input.text")) })),
    agent("reply", { instruction: text("Reply to ", ref("dynamic.sorted.text")) }),
    output({ text: ref("agent.reply.message") }),
  ],
  { input, workflows: { triage: called("triage", triage) } },
)

/** Calls in a value, in each item of a loop, within each other, repeated, and by a model. */
const everything: Plan = plan(
  [
    dynamic("first", callOf("triage", "dynamic.first", { text: lit("one") })),
    dynamic("nested", callOf("desk", "dynamic.nested", { text: lit("two") })),
    agent("each", {
      loop: loopOver(lit(["a", "b"]), "item"),
      instruction: text(
        "Each ",
        callOf("triage", "agent.each.instruction", { text: text("each ", ref("variable.item")) }),
      ),
    }),
    dynamic(
      "polished",
      callOf(
        "triage",
        "dynamic.polished",
        { text: lit("draft") },
        {
          repeat: {
            until: {
              op: "binary",
              operator: "==",
              left: { op: "reference", root: { kind: "round" }, text: "round" },
              right: lit(3),
              text: "round == 3",
            },
            next: entries({ text: ref("result.text") }),
            at_most: 4,
          },
        },
      ),
    ),
    agent("plan", {
      workflows: [{ workflow: "desk", bindings: [], max_calls: 2, approval: null, description: "Sorts." }],
      instruction: text("Plan ", ref("dynamic.first.text")),
    }),
    output({
      nested: ref("dynamic.nested.text"),
      each: ref("agent.each.*.message"),
      polished: ref("dynamic.polished"),
      plan: ref("agent.plan.message"),
    }),
  ],
  { workflows: { triage: called("triage", triage), desk: called("desk", desk) } },
)

async function later(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Its answers follow from its requests alone. */
function thinking(): ScriptedModel {
  return new ScriptedModel(async (request) => {
    await later(2 + (lastText(request).length % 5))
    if (request.path === "agent.plan" && request.turn === 1) {
      return callsTools(
        [
          { name: "desk", arguments: { text: "x" }, call_id: "x" },
          { name: "desk", arguments: { text: "y" }, call_id: "y" },
        ],
        request,
      )
    }
    const last = request.input.at(-1)
    const said = last !== undefined && "output" in last ? last.output : lastText(request)
    return answers({ message: `<${said}>` }, request)
  })
}

/** Remembers each append as the engine made it. */
class Recording extends MemoryStore {
  readonly appends: LogEvent[][] = []
  override append(lease: Parameters<MemoryStore["append"]>[0], events: readonly LogEvent[]): Promise<void> {
    this.appends.push([...events])
    return super.append(lease, events)
  }
}

/** A store that holds a run whose process died after so many appends. */
async function crashedAfter(appends: readonly (readonly LogEvent[])[]): Promise<MemoryStore> {
  const store = new MemoryStore(systemClock)
  const created = await store.create(
    {
      run_id: "r",
      caller: "",
      request: { source: "", input: {}, secrets: {}, options: defaultOptions },
      created_at: Date.now(),
      idempotency: null,
    },
    "dead",
    60_000,
  )
  if (created.outcome !== "created") throw new Error(created.outcome)
  for (const events of appends) await store.append(created.lease, events)
  await store.release(created.lease)
  return store
}

function publicFacts({ events }: Outcome): string[] {
  return events
    .filter(({ type }) => type !== "run_resumed")
    .map(({ type, data }) => {
      const { at: _, duration_ms: __, calls: ___, call_id: ____, ...rest } = data as Record<string, unknown>
      return JSON.stringify([type, rest])
    })
    .toSorted()
}

const scopesOf = (events: readonly LogEvent[]): string[] =>
  dataOf(events, "workflow_call_started").map(({ scope = "" }) => scope)

test("killed after any append, a run goes on inside its called workflows, and nothing that was completed is done again", async () => {
  const recording = new Recording(systemClock)
  const model = thinking()
  const whole = await runPlan(everything, { model, store: recording })
  const result = resultOf(whole)
  assert.deepEqual(whole.bugs, [])
  assert.deepEqual(scopesOf(whole.events).toSorted(), [
    "desk@agent.plan#1",
    "desk@agent.plan#1/triage@dynamic.sorted",
    "desk@agent.plan#2",
    "desk@agent.plan#2/triage@dynamic.sorted",
    "desk@dynamic.nested",
    "desk@dynamic.nested/triage@dynamic.sorted",
    "triage@agent.each.instruction[0]",
    "triage@agent.each.instruction[1]",
    "triage@dynamic.first",
    "triage@dynamic.polished[0]",
    "triage@dynamic.polished[1]",
    "triage@dynamic.polished[2]",
  ])
  assert.deepEqual((result as { polished: unknown }).polished, {
    result: { text: "<Classify <Classify <Classify draft>>>" },
    rounds: 3,
    done: true,
  })
  const steps = model.requests.map(({ step, turn }) => `${step} ${turn}`)
  assert.equal(new Set(steps).size, steps.length, "names of model calls are unique over the run")

  for (let count = 0; count < recording.appends.length; count++) {
    const store = await crashedAfter(recording.appends.slice(0, count))
    const again = thinking()
    const outcome = await runPlan(everything, { model: again, store, run_id: "r", resumed: "The process restarted" })
    const before = recording.appends.slice(0, count).flat()
    const where = `after append ${count} (${before.at(-1)?.type ?? "nothing"})`
    assert.deepEqual(resultOf(outcome), result, where)
    assert.deepEqual(publicFacts(outcome), publicFacts(whole), where)
    assert.deepEqual(outcome.bugs, [], where)
    const done = new Set(
      before.flatMap(({ type, data }) =>
        type === "agent_completed" ? `${data.scope ?? ""}/${data.agent}#${data.iteration ?? ""}` : [],
      ),
    )
    for (const { step = "" } of again.requests) {
      const key = step.replace(/\[(\d+)\]$/, "#$1")
      const [, scope = "", agentKey = key] = /^(.*)\/(.*)$/.exec(key) ?? []
      assert.ok(
        !done.has(`${scope}/${agentKey.includes("#") ? agentKey : `${agentKey}#`}`),
        `${where}: ${step} was asked again`,
      )
    }
  }
})

test("usage of a call is that of all inside, and usage of the run is the sum", async () => {
  const outcome = await runPlan(everything, { model: thinking() })
  const last = outcome.events.at(-1)
  assert.equal(last?.type, "workflow_completed")
  const agents = dataOf(outcome.events, "agent_completed").reduce((sum, { usage }) => sum + usage.input_tokens, 0)
  assert.ok(last?.type === "workflow_completed" && last.data.usage.input_tokens === agents)
  const [nested] = dataOf(outcome.events, "workflow_call_completed").filter(
    ({ scope }) => scope === "desk@dynamic.nested",
  )
  const inside = outcome.events.flatMap((event) =>
    event.type === "agent_completed" && event.data.scope?.startsWith("desk@dynamic.nested") ? [event.data.usage] : [],
  )
  assert.equal(inside.length, 2)
  assert.equal(
    nested?.usage.input_tokens,
    inside.reduce((sum, one) => sum + one.input_tokens, 0),
  )
})

/** Reserves each call, as an adapter does in a run with limits. */
function counting(): ScriptedModel {
  return new ScriptedModel(async (request, watch) => {
    const price = null
    const call = { turn: request.turn, attempt: 1, model: request.name, id: "", price, input_tokens: 1, max_tokens: 1 }
    const reserved = await watch.reserve?.(call)
    reserved?.settle(
      { input_tokens: 1, output_tokens: 1, cached_tokens: 0, written_tokens: 0, reasoning_tokens: 0 },
      true,
    )
    return answers({ message: `<${lastText(request)}>` }, request)
  })
}

const failing = (): ScriptedModel =>
  new ScriptedModel(() => Promise.reject(failure("provider_error", "", "The backend is down")))

test("a failure inside fails the call with the same kind, and its paths begin with the scope", async () => {
  const one = plan(
    [dynamic("first", callOf("desk", "dynamic.first", { text: lit("one") })), output({ text: ref("dynamic.first") })],
    { workflows: { desk: called("desk", desk) } },
  )
  const outcome = await runPlan(one, { model: failing() })
  const path = "desk@dynamic.first/triage@dynamic.sorted/agent.classify"
  assert.deepEqual(errorOf(outcome).issues, [{ path, message: "The backend is down" }])
  assert.equal(errorOf(outcome).kind, "provider_error")
  assert.deepEqual(
    dataOf(outcome.events, "workflow_call_failed").map(({ scope, error }) => [scope, error.issues[0]?.path]),
    [
      ["desk@dynamic.first/triage@dynamic.sorted", path],
      ["desk@dynamic.first", path],
    ],
  )
})

test("a model may leave out an input that may be null", async () => {
  const inner = plan([output({ text: ref("input.text"), note: ref("input.note") })], {
    input: record({ text: string, note: maybe(string) }),
  })
  const outer = plan(
    [
      agent("plan", {
        workflows: [{ workflow: "inner", bindings: [], max_calls: null, approval: null, description: "Says." }],
      }),
      output({ said: ref("agent.plan.message") }),
    ],
    { workflows: { inner: called("inner", inner) } },
  )
  const model = new ScriptedModel((request) => {
    if (request.turn === 1) return callsTools([{ name: "inner", arguments: { text: "x" }, call_id: "x" }], request)
    const last = request.input.at(-1)
    return answers({ message: last !== undefined && "output" in last ? last.output : "" }, request)
  })
  assert.deepEqual(resultOf(await runPlan(outer, { model })), { said: '{"text":"x","note":null}' })
})

test("on_failure: skip makes the value of a call null", async () => {
  const one = plan(
    [
      dynamic("first", callOf("triage", "dynamic.first", { text: lit("one") }, { skips: true })),
      output({ first: ref("dynamic.first") }),
    ],
    { workflows: { triage: called("triage", triage) } },
  )
  const outcome = await runPlan(one, { model: failing() })
  assert.deepEqual(resultOf(outcome), { first: null })
})

test("a called workflow that fails does not wait for the people whom it has asked", async () => {
  const asks: AskNode = {
    id: "ask.sure",
    kind: "ask",
    name: "sure",
    depends_on: [],
    loop: null,
    when: null,
    concurrency: null,
    question: text("Sure?"),
    show: null,
    to: null,
    prefill: null,
    expires_seconds: lit(3600),
    on_expiry: null,
    output: record({ note: string }),
    requires: [],
  }
  const asking = plan([asks, agent("fails"), output({ text: ref("agent.fails.message") })], { input })
  const one = plan(
    [
      dynamic("first", callOf("asking", "dynamic.first", { text: lit("one") }, { skips: true })),
      output({ first: ref("dynamic.first") }),
    ],
    { workflows: { asking: called("asking", asking) } },
  )
  const model = new ScriptedModel(async () => {
    await later(5)
    throw failure("provider_error", "", "The backend is down")
  })
  const outcome = await runPlan(one, { model })
  assert.equal(dataOf(outcome.events, "question_asked").length, 1)
  assert.deepEqual(dataOf(outcome.events, "run_waiting"), [])
  assert.deepEqual(resultOf(outcome), { first: null })
})

test("calls that are open when the call around them fails are over, also in what is shown of the run", async () => {
  const two = plan(
    [
      dynamic("one", callOf("triage", "dynamic.one", { text: lit("fails") })),
      dynamic("other", callOf("triage", "dynamic.other", { text: lit("hangs") })),
      output({ one: ref("dynamic.one"), other: ref("dynamic.other") }),
    ],
    { input, workflows: { triage: called("triage", triage) } },
  )
  const outer = plan(
    [
      dynamic("first", callOf("two", "dynamic.first", { text: lit("") }, { skips: true })),
      agent("after", { instruction: text("after ", ref("dynamic.first")) }),
      output({ first: ref("dynamic.first"), after: ref("agent.after.message") }),
    ],
    { workflows: { two: called("two", two) } },
  )
  const shownAt = new Map<string, string>()
  const state = initialState()
  const model = new ScriptedModel(async (request, { signal }) => {
    if (lastText(request).includes("hangs")) await new Promise((_, reject) => signal.addEventListener("abort", reject))
    if (!lastText(request).includes("fails")) return answers({ message: "" }, request)
    await later(5)
    throw failure("provider_error", "", "The backend is down")
  })
  const { events } = await runPlan(outer, { model })
  for (const event of events) {
    reduce(state, event)
    if (event.type !== "agent_started" || event.data.agent !== "after") continue
    for (const [scope, { status }] of Object.entries(state.inside ?? {})) shownAt.set(scope, status)
  }
  assert.deepEqual(Object.fromEntries(shownAt), {
    "two@dynamic.first": "failed",
    "two@dynamic.first/triage@dynamic.one": "failed",
    "two@dynamic.first/triage@dynamic.other": "cancelled",
  })
})

test("a called file's own limits hold for each call and fail that call; those of the run end the run", async () => {
  const limited: Plan = { ...desk, limits: { model_calls: 1 } }
  const skipped = plan(
    [
      dynamic("first", callOf("desk", "dynamic.first", { text: lit("one") }, { skips: true })),
      dynamic("second", callOf("triage", "dynamic.second", { text: lit("two") })),
      output({ first: ref("dynamic.first"), second: ref("dynamic.second.text") }),
    ],
    { workflows: { desk: called("desk", limited), triage: called("triage", triage) } },
  )
  const outcome = await runPlan(skipped, { model: counting() })
  assert.deepEqual(resultOf(outcome), { first: null, second: "<Classify two>" })
  const [error] = dataOf(outcome.events, "workflow_call_failed").map((data) => data.error)
  assert.equal(error?.kind, "limit_exceeded")
  assert.equal(error?.issues[0]?.path, "desk@dynamic.first/limits.model_calls")

  const ended = await runPlan({ ...skipped, limits: { model_calls: 1 } }, { model: counting() })
  assert.equal(errorOf(ended).kind, "limit_exceeded")
  assert.equal(errorOf(ended).issues[0]?.path, "limits.model_calls")
})

test("at most eight workflows are called within each other", async () => {
  let inner = triage
  for (let level = 0; level < 9; level++) {
    inner = plan(
      [
        dynamic("next", callOf("w", "dynamic.next", { text: ref("input.text") })),
        output({ text: ref("dynamic.next.text") }),
      ],
      { input, workflows: { w: called("w", inner) } },
    )
  }
  const outcome = await runPlan(inner, { model: thinking(), input: { text: "deep" } })
  assert.equal(errorOf(outcome).kind, "limit_exceeded")
  assert.match(errorOf(outcome).message, /At most 8 workflows/)
})

test("a called workflow has the secrets that were bound, under its own names, and no others", async () => {
  const shows = plan(
    [agent("say", { instruction: text("Say ", ref("input.text")) }), output({ text: ref("agent.say.message") })],
    { input },
  )
  const keyed: Plan = {
    ...shows,
    providers: Object.fromEntries(
      Object.entries(shows.providers).map(([name, provider]) => [name, { ...provider, api_key: ref("secrets.own") }]),
    ),
  }
  const caller = plan(
    [
      dynamic("first", callOf("say", "dynamic.first", { text: lit("hi") })),
      output({ text: ref("dynamic.first.text") }),
    ],
    { workflows: { say: called("say", keyed, { secrets: { own: "mine", none: null } }) } },
  )
  const model = thinking()
  await runPlan(caller, { model, secrets: { mine: "key-1", other: "key-2" } })
  assert.deepEqual(
    model.requests.map(({ backend }) => backend.api_key),
    ["key-1"],
  )
})

test("a re-run takes inner steps over by file, step and facts, and `from` takes scope paths", async () => {
  const first = await runPlan(everything, { model: thinking(), run_id: "earlier" })
  const again = thinking()
  const rerun = await runPlan(everything, {
    model: again,
    store: first.store,
    run_id: "later",
    rerun: { run_id: "earlier", from: [] },
  })
  assert.deepEqual(resultOf(rerun), resultOf(first))
  assert.deepEqual(again.requests, [])

  const forced = thinking()
  const from = ["triage@dynamic.polished[1]", "desk@dynamic.nested/agent.reply"]
  await runPlan(everything, { model: forced, store: first.store, run_id: "forced", rerun: { run_id: "earlier", from } })
  assert.deepEqual(forced.requests.map(({ step = "" }) => step).toSorted(), [
    "desk@dynamic.nested/reply",
    "triage@dynamic.polished[1]/classify",
  ])
})

test("a re-run from a step in a call that a model made asks the model again, and takes over the rest", async () => {
  const first = await runPlan(everything, { model: thinking(), run_id: "earlier" })
  const forced = thinking()
  const from = ["desk@agent.plan#2/agent.reply"]
  const rerun = await runPlan(everything, {
    model: forced,
    store: first.store,
    run_id: "forced",
    rerun: { run_id: "earlier", from },
  })
  assert.deepEqual(resultOf(rerun), resultOf(first))
  assert.deepEqual(forced.requests.map(({ step = "" }) => step).toSorted(), ["desk@agent.plan#2/reply", "plan", "plan"])
})

/** Each level calls the next one so often, side by side; the last asks a model. */
function levels(depth: number, perLevel: number): Plan {
  if (depth === 0) return triage
  const names = Array.from({ length: perLevel }, (_, at) => `d${at}`)
  return plan(
    [
      ...names.map((name) => dynamic(name, callOf("next", `dynamic.${name}`, { text: lit(name) }))),
      output({ text: ref("dynamic.d0.text") }),
    ],
    { input, workflows: { next: called("next", levels(depth - 1, perLevel)) } },
  )
}

test("called workflows take places like other calls, and go on however few there are", async () => {
  for (const max_concurrency of [1, 3]) {
    let open = 0
    const model = new ScriptedModel(async (request) => {
      open++
      assert.ok(open <= max_concurrency)
      await later(2)
      open--
      return answers({ message: "x" }, request)
    })
    const outcome = await runPlan(levels(3, 4), { model, options: { max_concurrency }, input: { text: "" } })
    assert.deepEqual(resultOf(outcome), { text: "x" })
    let underWay = 0
    let most = 0
    for (const { type } of outcome.events) {
      if (type === "workflow_call_started") most = Math.max(most, ++underWay)
      if (type === "workflow_call_completed") underWay--
    }
    assert.equal(underWay, 0)
    // In each place one of each level.
    assert.ok(most <= 3 * max_concurrency, `${most} were under way`)
  }
})

test("a run calls so many workflows, nested ones included, and a resumed one counts those before", async () => {
  const nested = levels(2, 3)
  const given = { input: { text: "" }, options: { max_concurrency: 1 } }
  const whole = new Recording(systemClock)
  resultOf(await runPlan(nested, { ...given, model: thinking(), store: whole, limits: { maxCalled: 12 } }))
  const error = errorOf(await runPlan(nested, { ...given, model: thinking(), limits: { maxCalled: 11 } }))
  assert.equal(error.kind, "limit_exceeded")
  assert.match(error.message, /more than 11 workflows, nested ones included/)
  const firstEnd = whole.appends.findIndex((events) => events.some(({ type }) => type === "workflow_call_completed"))
  for (const [maxCalled, fits] of [
    [12, true],
    [11, false],
  ] as const) {
    const store = await crashedAfter(whole.appends.slice(0, firstEnd))
    const resumed = { ...given, store, run_id: "r", resumed: "restart", limits: { maxCalled } }
    const outcome = await runPlan(nested, { model: thinking(), ...resumed })
    assert.equal(outcome.events.at(-1)?.type, fits ? "workflow_completed" : "workflow_failed")
  }
})
