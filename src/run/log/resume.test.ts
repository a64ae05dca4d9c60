import about from "../../../package.json" with { type: "json" }
import assert from "node:assert/strict"
import { test } from "node:test"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { systemClock } from "../../adapters/system/system-clock.ts"
import { compile } from "../../compile.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import {
  agent,
  call,
  dynamic,
  entries,
  lit,
  loopOver,
  output,
  plan,
  ref,
  text,
  tool,
  use,
} from "../../../test/support/build-plan.ts"
import { record, string } from "../../../test/support/build-types.ts"
import type { Served } from "../../../test/support/in-process-tools.ts"
import { InProcessTools } from "../../../test/support/in-process-tools.ts"
import type { Outcome } from "../../../test/support/run-plan.ts"
import { dataOf, errorOf, resultOf, runPlan, typesOf, defaultOptions } from "../../../test/support/run-plan.ts"
import {
  answers,
  callsTools,
  lastText,
  noRetryProgress,
  says,
  ScriptedModel,
} from "../../../test/support/scripted-model.ts"
import type { LogEvent } from "../../log/events.ts"
import { ManualClock } from "../../../test/support/manual-clock.ts"
import { Suspects } from "../suspects.ts"
import { thisWriter } from "../../log/log-version.ts"
import { toText } from "../values/value-builders.ts"
import { failure } from "../../ports/run-failure.ts"
import type { ModelRequest } from "../../ports/model.ts"

/** Remembers each append as the engine made it. */
class Recording extends MemoryStore {
  readonly appends: LogEvent[][] = []
  override append(lease: Parameters<MemoryStore["append"]>[0], events: readonly LogEvent[]): Promise<void> {
    this.appends.push([...events])
    return super.append(lease, events)
  }
}

/** A few turns of the event loop, so that answers come one by one, and each in an append of its own. */
async function later(turns = 2): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** A store that holds a run whose process died after so many appends. */
async function crashedAfter(appends: readonly (readonly LogEvent[])[], request: object): Promise<MemoryStore> {
  const store = new MemoryStore(systemClock)
  const created = await store.create(
    {
      run_id: "r",
      caller: "",
      request: { source: "", input: {}, secrets: {}, options: defaultOptions, ...request },
      created_at: Date.now(),
      idempotency: null,
    },
    "dead",
    60_000,
  )
  assert.equal(created.outcome, "created")
  if (created.outcome !== "created") throw new Error("unreachable")
  for (const events of appends) await store.append(created.lease, events)
  await store.release(created.lease)
  return store
}

const searchInput = record({ query: string })

const served = (idempotent: boolean): Served => ({
  tools: {
    search: {
      input: searchInput,
      idempotent,
      call: async ({ query }) => {
        await later(2 + (toText(query ?? null).charCodeAt(0) % 7) * 3)
        return { text: `found ${toText(query ?? null)}`, is_error: false }
      },
    },
  },
  resources: { page: { variables: [], read: () => ({ text: "page text", media_type: null }) } },
  prompts: { style: { arguments: [], render: () => [{ role: "user", text: "Be brief.", images: [] }] } },
})

/** One of everything: values with effects, a loop with its own values, tools, a prompt, contexts, both whole and compacted. */
const everything: Plan = plan(
  [
    dynamic("related", call("search", { query: ref("input.topic") }, { site: "related" })),
    dynamic("page", {
      op: "read",
      resource: "page",
      bindings: [],
      site: "dynamic.doc/read doc",
      text: "read resource.page",
    }),
    agent("each", {
      loop: loopOver(ref("input.items"), "item"),
      locals: entries({ hit: call("search", { query: ref("variable.item") }, { site: "each.hit" }) }),
      instruction: text(ref("variable.item"), ": ", ref("local.hit")),
    }),
    agent("research", {
      uses: [use("tool", "search", { max_calls: 3 }), use("prompt", "style")],
      instruction: text("Research ", ref("dynamic.related"), " ", ref("dynamic.page")),
    }),
    agent("go_on", { context: { agent: "research", compact: null }, instruction: text("Go on.") }),
    agent("sum", {
      context: { agent: "go_on", compact: { models: [{ name: "m", inference: {} }], instruction: null } },
      instruction: text("Sum up ", ref("agent.each.*.message")),
    }),
    output({ sum: ref("agent.sum.message"), each: ref("agent.each.*.message") }),
  ],
  {
    tools: { search: tool({ remote: "search" }) },
    resources: { page: { server: "s", remote: "page", bindings: [] } },
    prompts: { style: { server: "s", remote: "style", bindings: [] } },
  },
)

/** Its answers follow from its requests alone, so that the same request twice gives the same answer. */
function thinking(): ScriptedModel {
  return new ScriptedModel(async (request, watch) => {
    await later(2 + (lastText(request).charCodeAt(0) % 5) * 4)
    if (request.contract === null) return says("the summary", request)
    if (request.path === "agent.research" && request.turn <= 2) {
      if (request.attempts_before === 0) {
        await watch.retried({ attempt: 2, reason: "busy", delay_ms: 0, progress: noRetryProgress })
      }
      return callsTools(
        [
          { name: "search", arguments: { query: `t${request.turn}` }, call_id: "x" },
          { name: "search", arguments: request.turn === 1 ? { query: "u" } : { nonsense: true }, call_id: "y" },
        ],
        request,
      )
    }
    const said = request.input.map((item) => JSON.stringify("parts" in item ? item.parts : item.output)).join(" ")
    return answers({ message: `${lastText(request)} after ${said.length}` }, request)
  })
}

const input = { topic: "wires", items: ["a", "b", "c"] }

/** What tells one model call from another. */
const nameOf = (request: ModelRequest): string =>
  `${request.path} ${request.turn} ${request.path === "agent.each" ? lastText(request) : ""}`

function publicFacts({ events }: Outcome): string[] {
  return events
    .filter(({ type }) => type !== "run_resumed")
    .map(({ type, data }) => {
      const { at: _, duration_ms: __, calls: ___, call_id: ____, ...rest } = data as Record<string, unknown>
      return JSON.stringify([type, rest])
    })
    .toSorted()
}

test("killed after any append, a run goes on to the same end, and what was completed is not done again", async () => {
  const recording = new Recording(systemClock)
  const tools = new InProcessTools(served(true))
  const model = thinking()
  const whole = await runPlan(everything, { model, tools, store: recording, input })
  const result = resultOf(whole)
  const calls = model.requests.map(nameOf).toSorted()
  assert.equal(new Set(calls).size, calls.length)
  assert.ok(recording.appends.length > 15, `${recording.appends.length} appends`)

  for (let count = 0; count < recording.appends.length; count++) {
    const before = recording.appends.slice(0, count).flat()
    const store = await crashedAfter(recording.appends.slice(0, count), { input })
    const again = thinking()
    const toolsAgain = new InProcessTools(served(true))
    const outcome = await runPlan(everything, {
      model: again,
      tools: toolsAgain,
      store,
      input,
      run_id: "r",
      resumed: "The process restarted",
    })
    const where = `after append ${count} (${before.at(-1)?.type ?? "nothing"})`
    assert.deepEqual(resultOf(outcome), result, where)
    assert.deepEqual(
      outcome.events.map(({ id }) => id),
      outcome.events.map((_, index) => index + 1),
      where,
    )
    assert.deepEqual(publicFacts(outcome), publicFacts(whole), where)
    assert.deepEqual(outcome.bugs, [], where)
    assert.deepEqual(dataOf(outcome.events, "run_resumed"), [{ reason: "The process restarted" }], where)

    // Agents and calls whose end is in the log are not asked again.
    for (const event of before) {
      if (event.type === "agent_completed") {
        const { agent: name, iteration } = event.data
        const repeated = again.requests.filter(
          (request) =>
            request.path === `agent.${name}` &&
            request.contract !== null &&
            (iteration === undefined || lastText(request).startsWith(`${input.items[iteration]}:`)),
        )
        assert.deepEqual(repeated.map(nameOf), [], where)
      }
      if (event.type === "tool_call_completed") {
        assert.ok(!toolsAgain.calls.some(({ callId }) => callId === event.data.call_id), where)
      }
      if (event.type === "context_compacted") {
        assert.ok(!again.requests.some((request) => request.contract === null), where)
      }
    }
    // A turn whose tool calls have started is not asked for again either.
    const turns = before.filter((event) => event.type === "tool_call_started" && event.data.agent === "research")
    const asked = again.requests.filter(({ path }) => path === "agent.research").map(({ turn }) => turn)
    if (turns.length > 0) assert.ok(!asked.includes(1), where)
    // An interrupted call of an idempotent tool is made again under its old id.
    const started = before.filter((event) => event.type === "tool_call_started")
    for (const event of started) {
      const ended = before.some(
        (other) =>
          (other.type === "tool_call_completed" || other.type === "tool_call_failed") &&
          other.data.call_id === event.data.call_id,
      )
      const made = toolsAgain.calls.filter(({ callId }) => callId === event.data.call_id)
      assert.equal(made.length, ended ? 0 : 1, where)
    }
  }
})

test("an interrupted call of a tool that is not idempotent: its model learns that the outcome is unknown, a workflow's own call fails the run", async () => {
  const oneTool = plan([agent("a", { uses: [use("tool", "search")] }), output({ m: ref("agent.a.message") })], {
    tools: { search: tool({ remote: "search", max_calls: 1 }) },
  })
  const ownCall = plan([dynamic("d", call("search", { query: lit("q") }))], {
    tools: { search: tool({ remote: "search" }) },
  })
  const model = (): ScriptedModel =>
    new ScriptedModel((request) =>
      request.turn === 1
        ? callsTools([{ name: "search", arguments: { query: "q" }, call_id: "x" }], request)
        : answers(
            { message: request.input.map((item) => (item.role === "tool" ? item.output : "")).join("") },
            request,
          ),
    )
  const started = async (of: Plan): Promise<LogEvent[][]> => {
    const recording = new Recording(systemClock)
    await runPlan(of, { model: model(), tools: new InProcessTools(served(false)), store: recording })
    const upTo = recording.appends.findIndex((events) => events.some(({ type }) => type === "tool_call_started"))
    return recording.appends.slice(0, upTo + 1)
  }
  const unknown = /The call of search was interrupted, and its outcome is unknown/

  const tools = new InProcessTools(served(false))
  const again = model()
  const store = await crashedAfter(await started(oneTool), {})
  const resumedRun = await runPlan(oneTool, { model: again, tools, store, run_id: "r", resumed: "restart" })
  assert.match(JSON.stringify(resultOf(resumedRun)), unknown)
  assert.equal(tools.calls.length, 0)
  assert.match(dataOf(resumedRun.events, "tool_call_failed")[0]?.error.message ?? "", unknown)
  // The interrupted call counts: it may have been made.
  assert.deepEqual(again.requests[0]?.tools, [])

  const failed = await runPlan(ownCall, {
    model: model(),
    tools,
    store: await crashedAfter(await started(ownCall), {}),
    run_id: "r",
    resumed: "restart",
  })
  assert.equal(errorOf(failed).kind, "tool_error")
  assert.match(errorOf(failed).message, unknown)
  assert.equal(errorOf(failed).issues[0]?.path, "dynamic.d")
  assert.equal(tools.calls.length, 0)
})

test("a run that had failed before its end was written ends with the same failure, and makes no calls", async () => {
  const recording = new Recording(systemClock)
  const bad = plan([agent("a"), agent("b")])
  const model = new ScriptedModel(async (request) => {
    await later()
    if (request.path === "agent.a") throw failure("provider_error", "", "no")
    return answers({ message: "b" }, request)
  })
  const whole = await runPlan(bad, { model, store: recording })
  const events = recording.appends.flat()
  const cut = events.slice(0, events.findIndex(({ type }) => type === "agent_failed") + 1)
  const again = new ScriptedModel(() => assert.fail("nobody is called"))
  const store = await crashedAfter([cut], {})
  const outcome = await runPlan(bad, { model: again, store, run_id: "r", resumed: "restart" })
  assert.deepEqual(errorOf(outcome), errorOf(whole))
  assert.deepEqual(typesOf(outcome.events).slice(-3), ["agent_failed", "run_resumed", "workflow_failed"])
})

test("attempts, calls and outputs too large to show are counted and found again", async () => {
  const long = "x".repeat(300_000)
  const big = plan(
    [
      agent("a"),
      dynamic("d", call("search", { query: ref("agent.a.message") })),
      agent("b", { instruction: text(ref("dynamic.d")) }),
      output({ n: ref("agent.b.message") }),
    ],
    { tools: { search: tool({ remote: "search" }) } },
  )
  const model = (): ScriptedModel =>
    new ScriptedModel(async (request) => {
      await later()
      return answers({ message: request.path === "agent.a" ? long : String(lastText(request).length) }, request)
    })
  const recording = new Recording(systemClock)
  const whole = await runPlan(big, { model: model(), tools: new InProcessTools(served(true)), store: recording })
  assert.deepEqual(resultOf(whole), { n: String(long.length + "found ".length) })
  assert.equal(dataOf(whole.events, "tool_call_completed")[0]?.result instanceof Object, true)
  for (let count = 1; count < recording.appends.length; count++) {
    const store = await crashedAfter(recording.appends.slice(0, count), {})
    const tools = new InProcessTools(served(true))
    const outcome = await runPlan(big, { model: model(), tools, store, run_id: "r", resumed: "restart" })
    assert.deepEqual(resultOf(outcome), resultOf(whole))
  }
})

/** A run that owners before had for these many seconds each, with an hour between them. The last of them died during the agent's call. */
async function hadBefore(seconds: readonly number[], limits: { timeout_ms?: number; time_seconds?: number }) {
  const steps = plan([agent("a"), output({ message: ref("agent.a.message") })])
  let now = Date.now() - 24 * 3_600_000
  const at = (): string => new Date(now).toISOString()
  const log: Omit<LogEvent, "id">[] = [
    { type: "workflow_started", at: at(), data: { at: at() }, kept: { ...thisWriter } },
    { type: "workflow_planned", at: at(), data: { nodes: [], at: at() } },
  ]
  for (const [count, had] of seconds.entries()) {
    if (count > 0)
      log.push({ type: "run_resumed", at: at(), data: { reason: "restart", at: at() }, kept: { ...thisWriter } })
    now += had * 1000
    log.push({ type: "step_skipped", at: at(), data: { step: `agent.skipped${count}`, at: at() } })
    now += 3_600_000
  }
  const store = await crashedAfter([log.map((event, index) => ({ ...event, id: index + 1 }) as LogEvent)], {})
  const model = new ScriptedModel((request) => answers({ message: "done" }, request))
  const { timeout_ms = 600_000, time_seconds } = limits
  const options = time_seconds === undefined ? {} : { options: { limits: { time_seconds } } }
  return runPlan(steps, { model, store, run_id: "r", resumed: "restart", limits: { timeout_ms }, ...options })
}

test("time limits count the time that processes had the run, and not the time between them", async () => {
  for (const had of [[0], [299], [100, 100, 99], [0, 0, 0, 0]]) {
    for (const limits of [{ timeout_ms: 300_000 }, { time_seconds: 300 }]) {
      const completed = await hadBefore(had, limits)
      assert.deepEqual(resultOf(completed), { message: "done" }, `${had.join()} ${JSON.stringify(limits)}`)
      const shown = completed.events.at(-1)?.data as { readonly limits?: { time_seconds?: { used: number } } }
      const used = shown.limits?.time_seconds?.used
      const sum = had.reduce((all, one) => all + one, 0)
      assert.ok(used === undefined || (used >= sum && used < sum + 60), `${used} of ${sum}`)
    }
  }
  for (const had of [[301], [100, 100, 101], [300, 0, 1]]) {
    for (const limits of [{ timeout_ms: 300_000 }, { time_seconds: 300 }]) {
      assert.equal(errorOf(await hadBefore(had, limits)).kind, "timeout", `${had.join()} ${JSON.stringify(limits)}`)
    }
  }
})

type Attempt = "died" | "given back" | "died alone"

/** A run that was taken up again and again. Each attempt says how the process before ended; "died alone" is an attempt in which the run ran alone. */
async function takenUp(
  how: readonly Attempt[],
  between: readonly LogEvent[] = [],
  more: { readonly suspects?: Suspects; readonly given_back?: boolean } = {},
): Promise<Outcome> {
  const steps = plan([agent("a"), output({ message: ref("agent.a.message") })])
  const at = new Date().toISOString()
  const log: Omit<LogEvent, "id">[] = [
    { type: "workflow_started", at, data: {}, kept: { ...thisWriter } },
    { type: "workflow_planned", at, data: { nodes: [], at } },
  ]
  for (const [count, attempt] of how.entries()) {
    const marks = attempt === "given back" ? { given_back: true } : attempt === "died alone" ? { alone: true } : {}
    log.push({ type: "run_resumed", at, data: { reason: "restart", at }, kept: { ...thisWriter, ...marks } })
    if (count === how.length - 2) log.push(...between)
  }
  const events = log.map((event, index) => ({ ...event, id: index + 1 }) as LogEvent)
  const store = await crashedAfter([events], {})
  const model = new ScriptedModel((request) => answers({ message: "done" }, request))
  return runPlan(steps, { model, store, run_id: "r", resumed: "restart", ...more })
}

test("a run whose process died three times while it ran alone is ended", async () => {
  const alone = ["died", "died alone", "died alone", "died alone"] as const
  const failed = await takenUp(alone)
  const error = errorOf(failed)
  assert.equal(error.kind, "limit_exceeded")
  assert.match(error.message, /resumed alone 3 times without progress, and each time its process died within 30 s/)
  assert.equal(typesOf(failed.events).at(-1), "workflow_failed")
  assert.deepEqual(resultOf(await takenUp(alone.slice(0, 3))), { message: "done" })
})

test("a run is never ended for processes that died beside it, gave it back, or died after it had run alone without harm", async () => {
  const at = new Date().toISOString()
  const survived = { type: "run_survived", at, data: { at } } as unknown as LogEvent
  const further = { type: "agent_started", at, data: { agent: "a", model: "m", tools: [], instruction: "", at } }
  const done = { message: "done" }
  assert.deepEqual(resultOf(await takenUp(Array(50).fill("died"))), done)
  assert.deepEqual(resultOf(await takenUp(Array(50).fill("given back"))), done)
  const alone: readonly Attempt[] = ["died", "died alone", "died alone", "died alone"]
  assert.deepEqual(resultOf(await takenUp(alone, [survived])), done)
  assert.deepEqual(resultOf(await takenUp(alone, [further as unknown as LogEvent])), done)
  assert.deepEqual(resultOf(await takenUp(alone, [], { given_back: true })), done)
  const retried = { type: "agent_retried", at, data: { agent: "a", attempt: 2, reason: "x", delay_ms: 0, at } }
  assert.equal(errorOf(await takenUp(alone, [retried as unknown as LogEvent])).kind, "limit_exceeded")
})

test("a suspect that its process survives for a while says so in the log, once, and lets the next one begin", async () => {
  const clock = new ManualClock(Date.now())
  const suspects = new Suspects(clock, { fraction: () => 0 })
  const at = new Date(clock.now()).toISOString()
  const kept = { ...thisWriter }
  const log = [
    { type: "workflow_started", at, data: {}, kept },
    { type: "workflow_planned", at, data: { nodes: [], at } },
    { type: "agent_started", at, data: { agent: "a", model: "m", tools: [], instruction: "", at } },
    { type: "run_resumed", at, data: { reason: "restart", at }, kept },
  ].map((event, index) => ({ ...event, id: index + 1 }) as LogEvent)
  const store = await crashedAfter([log], {})
  const called = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const model = new ScriptedModel(async (request) => {
    called.resolve()
    await answer.promise
    return answers({ message: "done" }, request)
  })
  const steps = plan([agent("a"), output({ message: ref("agent.a.message") })])
  // The agent began before, so that nothing but its answer is progress.
  const running = runPlan(steps, { model, store, run_id: "r", resumed: "restart", ports: { clock }, suspects })
  await called.promise
  await later(4)
  clock.advance(30_000)
  await later(10)
  let nextBegan = false
  void suspects.turn(0, new AbortController().signal).then(() => (nextBegan = true))
  await later(10)
  assert.equal(nextBegan, true)
  answer.resolve()
  const outcome = await running
  assert.deepEqual(resultOf(outcome), { message: "done" })
  assert.equal(outcome.events.filter(({ type }) => type === "run_survived").length, 1)
  assert.equal(outcome.events.at(-1)?.type, "workflow_completed")
})

test("a run that is taken up says so durably before it does anything", async () => {
  const steps = plan([agent("a"), output({ message: ref("agent.a.message") })])
  const store = await crashedAfter([], {})
  const model = new ScriptedModel(async (request) => {
    const stored = await store.read("r", 0, 100, "kept")
    // Before the plan too: the time up to it is one in which no process had the run.
    assert.deepEqual(typesOf(stored).slice(0, 2), ["workflow_started", "run_resumed"])
    assert.deepEqual(stored[1]?.kept, { log: 4, engine: about.version, given_back: true })
    return answers({ message: "done" }, request)
  })
  const outcome = await runPlan(steps, { model, store, run_id: "r", resumed: "restart", given_back: true })
  assert.deepEqual(resultOf(outcome), { message: "done" })
})

/** The first append of a run that has not ended with it. */
async function begun(): Promise<LogEvent[]> {
  const store = new Recording(systemClock)
  const model = new ScriptedModel(async (request) => {
    await later(4)
    return answers({ message: "x" }, request)
  })
  await runPlan(plan([agent("a", {}), output({})]), { model, store, run_id: "r" })
  return store.appends[0] ?? []
}

test("a run records which release began it, and which took it up", async () => {
  const first = await begun()
  assert.deepEqual(first[0]?.kept, { log: 4, engine: about.version })
  const crashed = await crashedAfter([first], {})
  const appended: LogEvent[] = []
  const append = crashed.append.bind(crashed)
  crashed.append = (lease, events) => {
    appended.push(...events)
    return append(lease, events)
  }
  const model = new ScriptedModel((request) => answers({ message: "x" }, request))
  await runPlan(plan([agent("a", {}), output({})]), { model, store: crashed, run_id: "r", resumed: "crash" })
  assert.deepEqual(appended.find(({ type }) => type === "run_resumed")?.kept, { log: 4, engine: about.version })
})

test("a run whose log has another form is not resumed: it fails, says why, and makes no calls", async () => {
  const first = await begun()
  const newer = { log: 5, engine: "9.9.0" }
  const older = { log: 3, engine: "0.0.1" }
  const at = first[0]?.at ?? ""
  const startedBy = (kept: typeof newer) =>
    first.map((event) => (event.type === "workflow_started" ? { ...event, kept } : event))
  const resumed: LogEvent = {
    id: first.length + 1,
    type: "run_resumed",
    at,
    data: { reason: "crash", at },
    kept: newer,
  }
  const tried = [
    [startedBy(newer), /cannot take up this run: Wireworks 9\.9\.0 wrote its log, in a newer form/],
    [[...first, resumed], /cannot take up this run: Wireworks 9\.9\.0 wrote its log, in a newer form/],
    [startedBy(older), /cannot take up this run: Wireworks 0\.0\.1 wrote its log, in an older form/],
  ] as const
  for (const [log, sentence] of tried) {
    const outcome = await runPlan(plan([agent("a", {}), output({})]), {
      model: new ScriptedModel(() => assert.fail("nobody is called")),
      store: await crashedAfter([log], {}),
      run_id: "r",
      resumed: "crash",
    })
    assert.equal(errorOf(outcome).kind, "internal_error")
    assert.match(errorOf(outcome).message, sentence)
    assert.deepEqual(outcome.bugs, [])
  }
})

test("conditions: decided once, wherever the process died between a decision and the work that it guards", async () => {
  const source = `
    input { names: [string] }
    provider p from openai { endpoint: "https://x.test/v1" }
    model m from p { id: "m" }
    mcp s { endpoint: "https://tools.test" }
    tool search from mcp.s.tool.search { idempotent: true }
    agent asked when (call tool.search { input { query: "a" } }) == "found a" {
        model: model.m
        instruction: "asked {{ dynamic.d }}"
        dynamic { d: call tool.search { input { query: "d" } } }
        output { message: string }
    }
    agent unasked when (call tool.search { input { query: "b" } }) == "nothing" {
        model: model.m
        instruction: "unasked"
        output { message: string }
    }
    agent after when agent.unasked == null && agent.asked != null {
        model: model.m
        context: agent.asked
        instruction: "after {{ agent.asked.message }}"
        output { message: string }
    }
    agent each for name in input.names when name != "skipped" {
        model: model.m
        instruction: "each {{ name }}"
        on_failure: skip
        output { message: string }
    }
    output { asked: agent.asked  unasked: agent.unasked  after: agent.after?.message  each: agent.each.*.message }`
  const { plan: conditional } = compile(source)
  assert.ok(conditional !== undefined)
  const input = { names: ["one", "skipped", "bad", "two"] }
  const model = (): ScriptedModel =>
    new ScriptedModel(async (request) => {
      await later(1 + (lastText(request).length % 3) * 2)
      if (lastText(request) === "each bad") throw failure("provider_error", "", "no")
      return answers({ message: lastText(request) }, request)
    })
  const recording = new Recording(systemClock)
  const first = { model: model(), tools: new InProcessTools(served(true)), store: recording, input }
  const whole = await runPlan(conditional, first)
  assert.deepEqual(resultOf(whole), {
    asked: { message: "asked found d" },
    unasked: null,
    after: "after asked found d",
    each: ["each one", null, null, "each two"],
  })
  const decisions = skippedIn(whole.events)
  const events = recording.appends.flat()
  for (let count = 1; count < events.length; count++) {
    const cut = events.slice(0, count)
    const store = await crashedAfter([cut], { input })
    const tools = new InProcessTools(served(true))
    const again = model()
    const outcome = await runPlan(conditional, { model: again, tools, store, input, run_id: "r", resumed: "restart" })
    const where = `after event ${count}, ${cut.at(-1)?.type}`
    assert.deepEqual(outcome.bugs, [], where)
    assert.deepEqual(resultOf(outcome), resultOf(whole), where)
    assert.deepEqual(skippedIn(outcome.events), decisions, where)
    // What the log has an outcome of is not done again.
    for (const query of ["a", "b", "d"]) {
      const known = dataOf(cut, "tool_call_completed").some(({ result }) => result === `found ${query}`)
      const made = tools.calls.filter(({ values }) => values["query"] === query).length
      assert.equal(made, known ? 0 : 1, `${query} ${where}`)
    }
    const failedBefore = dataOf(cut, "agent_failed").length
    const askedBad = again.requests.filter((request) => lastText(request) === "each bad").length
    assert.equal(askedBad, 1 - failedBefore, where)
    assert.ok(!again.requests.some(({ path }) => path === "agent.unasked"), where)
  }
})

/** The skipped places, in some order. */
function skippedIn(events: readonly LogEvent[]): string[] {
  return dataOf(events, "step_skipped")
    .map(({ step, iteration, error }) => `${step} ${iteration ?? ""} ${error?.kind ?? ""}`)
    .toSorted((a, b) => a.localeCompare(b))
}
