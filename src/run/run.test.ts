import assert from "node:assert/strict"
import { test } from "node:test"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { systemClock } from "../adapters/system/system-clock.ts"
import { MemoryStore } from "../adapters/memory/memory-store.ts"
import { agent, dynamic, lit, loopOver, object, output, plan, ref, text } from "../../test/support/build-plan.ts"
import { integer, record, string } from "../../test/support/build-types.ts"
import { ManualClock } from "../../test/support/manual-clock.ts"
import { dataOf, errorOf, resultOf, runPlan, typesOf } from "../../test/support/run-plan.ts"
import { answers, hangs, lastText, noRetryProgress, ScriptedModel } from "../../test/support/scripted-model.ts"
import { within } from "../../test/support/within.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { LightSignal } from "../base/light-signal.ts"
import { failure } from "../ports/run-failure.ts"
import type { RunOptions } from "../ports/store.ts"
import { StoreFailure } from "../ports/store.ts"
import { atStrength, soakTest } from "../../test/support/strength.ts"

const echo = (): ScriptedModel => new ScriptedModel((request) => answers({ message: lastText(request) }, request))

test("one agent: the events of the contract, in order, numbered without gaps", async () => {
  const one = plan([
    agent("reply", { instruction: text("Greet ", ref("input.name"), ".") }),
    output({ message: ref("agent.reply.message") }),
  ])
  const outcome = await runPlan(one, { model: echo(), input: { name: "Ada" } })
  const { events } = outcome
  assert.deepEqual(typesOf(events), [
    "workflow_started",
    "workflow_planned",
    "agent_started",
    "agent_completed",
    "workflow_completed",
  ])
  assert.deepEqual(
    events.map(({ id }) => id),
    [1, 2, 3, 4, 5],
  )
  assert.deepEqual(events[0]?.data, {})
  assert.deepEqual(dataOf(events, "workflow_planned")[0], {
    nodes: [
      { id: "agent.reply", kind: "agent", name: "reply", depends_on: [] },
      { id: "output", kind: "output", name: "output", depends_on: ["agent.reply"] },
    ],
  })
  assert.deepEqual(dataOf(events, "agent_started")[0], {
    agent: "reply",
    model: "demo",
    tools: [],
    instruction: "Greet Ada.",
  })
  const completed = dataOf(events, "agent_completed")[0]
  assert.deepEqual(completed?.output, { message: "Greet Ada." })
  assert.equal(completed?.cached, false)
  assert.equal(completed?.calls.length, 1)
  assert.deepEqual(resultOf(outcome), { message: "Greet Ada." })
  for (const event of events.slice(1)) assert.equal((event.data as { at?: string }).at, event.at)
})

test("an empty workflow completes with an empty result", async () => {
  assert.deepEqual(resultOf(await runPlan(plan([]), { model: echo() })), {})
})

test("nodes that do not wait for each other run side by side, a dependent one after them", async () => {
  const model = new ScriptedModel(async (request) => {
    // Each waits until both are under way: side by side, or never.
    if (request.path !== "agent.last") while (model.maxOpen < 2) await new Promise((resolve) => setImmediate(resolve))
    return answers({ message: request.path }, request)
  })
  const graph = plan([
    agent("a"),
    agent("b"),
    agent("last", { instruction: text(ref("agent.a.message"), ref("agent.b.message")) }),
    output({ all: ref("agent.last.message") }),
  ])
  const outcome = await runPlan(graph, { model })
  assert.deepEqual(resultOf(outcome), { all: "agent.last" })
  assert.equal(lastText(model.requests[2] ?? assert.fail()), "agent.aagent.b")
})

test("a loop gives its results in the order of its items, whatever order they come in", async () => {
  const model = new ScriptedModel(async (request) => {
    const n = Number(lastText(request))
    for (let wait = 0; wait < 10 - n; wait++) await new Promise((resolve) => setImmediate(resolve))
    return answers({ n }, request)
  })
  const loop = plan([
    agent("each", {
      loop: loopOver(ref("input.items"), "item"),
      instruction: text(ref("variable.item")),
      output: record({ n: integer }),
    }),
    output({ all: ref("agent.each.*.n") }),
  ])
  const items = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  const outcome = await runPlan(loop, { model, input: { items }, options: { max_concurrency: 4 } })
  assert.deepEqual(resultOf(outcome), { all: items })
  assert.equal(model.maxOpen, 4)
  const { events } = outcome
  assert.deepEqual(dataOf(events, "agent_loop_started"), [{ agent: "each", iterations: 10 }])
  assert.equal(dataOf(events, "agent_loop_completed")[0]?.iterations, 10)
  const started = dataOf(events, "agent_started").map(({ iteration }) => iteration)
  assert.deepEqual(
    started.toSorted((a = 0, b = 0) => a - b),
    items,
  )
})

test("max_concurrency bounds the calls of the whole run, not of one loop", async () => {
  const model = new ScriptedModel(async (request) => {
    await new Promise((resolve) => setImmediate(resolve))
    return answers({ message: "x" }, request)
  })
  const loop = { loop: loopOver(ref("input.items"), "item"), instruction: text("x") }
  const two = plan([agent("a", loop), agent("b", loop), agent("c"), agent("d")])
  await runPlan(two, { model, input: { items: Array.from({ length: 20 }, () => 1) }, options: { max_concurrency: 3 } })
  assert.equal(model.maxOpen, 3)
})

test("`concurrency` bounds the items of one loop, within max_concurrency", async () => {
  const most = async (concurrency: number, max_concurrency: number): Promise<number> => {
    const model = new ScriptedModel(async (request) => {
      await new Promise((resolve) => setImmediate(resolve))
      return answers({ message: "x" }, request)
    })
    const loop = { loop: loopOver(ref("input.items"), "item"), instruction: text("x"), concurrency }
    const input = { items: Array.from({ length: 20 }, () => 1) }
    const { events } = await runPlan(plan([agent("a", loop)]), { model, input, options: { max_concurrency } })
    assert.equal(dataOf(events, "agent_completed").length, 20)
    return model.maxOpen
  }
  assert.equal(await most(3, 10), 3)
  assert.equal(await most(10, 3), 3)
  assert.equal(await most(1_000, 50), 20)
})

test("loop patterns: fields of the item, missing ones are an evaluation error", async () => {
  const loop = plan([
    agent("each", {
      loop: loopOver(ref("input.items"), "path", "patch"),
      instruction: text(ref("variable.path"), ":", ref("variable.patch")),
    }),
    output({ all: ref("agent.each.*.message") }),
  ])
  const items = [
    { path: "a", patch: "1" },
    { path: "b", patch: null },
  ]
  assert.deepEqual(resultOf(await runPlan(loop, { model: echo(), input: { items } })), { all: ["a:1", "b:null"] })
  const failed = await runPlan(loop, { model: echo(), input: { items: [{ path: "a" }] } })
  assert.equal(errorOf(failed).kind, "evaluation_error")
  assert.match(errorOf(failed).message, /patch is not there/)
  const scalar = await runPlan(loop, { model: echo(), input: { items: { a: 1 } } })
  const message = "Cannot evaluate input.items: agent.each loops over an array, found an object with the field a"
  assert.deepEqual(errorOf(scalar).issues, [{ path: "agent.each", message }])
})

test("an empty loop completes; one over the limit is refused before any call", async () => {
  const loop = plan([
    agent("each", { loop: loopOver(ref("input.items"), "item"), instruction: text("x") }),
    output({ all: ref("agent.each") }),
  ])
  const model = echo()
  assert.deepEqual(resultOf(await runPlan(loop, { model, input: { items: [] } })), { all: [] })
  const over = await runPlan(loop, { model, input: { items: [1, 2, 3] }, limits: { maxIterations: 2 } })
  assert.equal(errorOf(over).kind, "limit_exceeded")
  assert.equal(model.requests.length, 0)
})

const numbered = plan([
  agent("each", {
    loop: loopOver(ref("input.items"), "item"),
    instruction: text(ref("variable.item")),
    output: record({ n: integer }),
  }),
  output({ all: ref("agent.each.*.n") }),
])

test("thousands of iterations: all results in order, so many calls at once and no more", async () => {
  const items = Array.from({ length: atStrength(2_000, 10_000) }, (_, index) => index)
  const model = new ScriptedModel((request) => {
    model.requests.length = 0
    return answers({ n: Number(lastText(request)) }, request)
  })
  const outcome = await runPlan(numbered, { model, input: { items }, options: { max_concurrency: 50 } })
  assert.deepEqual(resultOf(outcome), { all: items })
  assert.equal(model.maxOpen, 50)
  assert.equal(outcome.events.length, 2 + 2 + 2 * items.length + 1)
})

soakTest("memory grows by the results of iterations alone", async () => {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  /** Takes events and forgets them. */
  class Forgetful extends MemoryStore {
    override async append(): Promise<void> {}
  }
  const heaps: number[] = []
  const model = new ScriptedModel((request) => {
    model.requests.length = 0
    const n = Number(lastText(request))
    if (n > 0 && n % 1_900 === 0) {
      collect()
      heaps.push(process.memoryUsage().heapUsed)
    }
    return answers({ n }, request)
  })
  const items = Array.from({ length: 10_000 }, (_, index) => index)
  const store = new Forgetful(systemClock)
  const outcome = await runPlan(numbered, { model, store, input: { items }, options: { max_concurrency: 50 } })
  assert.equal(outcome.end?.type, "workflow_completed")
  assert.equal(heaps.length, 5)
  // V8 itself allocates now and then, for code that it compiles, for example. What iterations leave behind is there each time.
  const grown = Math.min(...heaps.slice(1).map((heap, at) => heap - (heaps[at] ?? 0)))
  // A result here is an object of one number; anything that an iteration left behind would be many times that.
  assert.ok(grown < 1_900 * 300, `${Math.round(grown / 1_900)} bytes an iteration`)
})

test("the first failure aborts what is in flight, waits for it, and then ends the run", async () => {
  let aborted = 0
  const model = new ScriptedModel(async (request, watch) => {
    if (request.path === "agent.bad") {
      while (model.open < 3) await new Promise((resolve) => setImmediate(resolve))
      throw failure("provider_error", "", "The backend said no (500)")
    }
    try {
      return await hangs(watch)
    } finally {
      for (let wait = 0; wait < 5; wait++) await new Promise((resolve) => setImmediate(resolve))
      aborted++
    }
  })
  const three = plan([
    agent("a"),
    agent("bad"),
    agent("c"),
    agent("next", { instruction: text(ref("agent.a.message")) }),
  ])
  const outcome = await runPlan(three, { model })
  assert.equal(aborted, 2)
  assert.equal(model.open, 0)
  const { events } = outcome
  assert.deepEqual(typesOf(events).slice(-2), ["agent_failed", "workflow_failed"])
  assert.deepEqual(
    dataOf(events, "agent_started").map((data) => data.agent),
    ["a", "bad", "c"],
  )
  const error = { kind: "provider_error", message: "The backend said no (500)" }
  const issues = [{ path: "agent.bad", message: "The backend said no (500)" }]
  assert.deepEqual(errorOf(outcome), { ...error, issues })
  assert.deepEqual(dataOf(events, "agent_failed")[0]?.error, { ...error, issues })
})

test("cancellation reaches every open call, and the last event comes when none is open", async () => {
  const store = new MemoryStore(systemClock)
  let closed = 0
  const model = new ScriptedModel(async (_, watch) => {
    if (model.open === 3) void store.requestCancel("to-cancel")
    try {
      return await hangs(watch)
    } finally {
      for (let wait = 0; wait < 3; wait++) await new Promise((resolve) => setImmediate(resolve))
      closed++
    }
  })
  const loop = plan([agent("a", { loop: loopOver(ref("input.items"), "i"), instruction: text("x") })])
  const input = { items: [1, 2, 3, 4, 5, 6] }
  const options = { max_concurrency: 3 }
  const outcome = await runPlan(loop, { model, store, run_id: "to-cancel", input, options })
  assert.equal(outcome.events.at(-1)?.type, "workflow_cancelled")
  assert.equal(closed, 3)
  assert.equal(model.requests.length, 3)
})

test("a cancel that was asked for before the run began ends it", async () => {
  const store = new MemoryStore(systemClock)
  const model = new ScriptedModel((_, watch) => hangs(watch))
  const running = runPlan(plan([agent("a")]), { model, store, run_id: "early" })
  await store.requestCancel("early")
  assert.equal((await running).events.at(-1)?.type, "workflow_cancelled")
})

test("a run past its time fails as timeout, and its calls are aborted", async () => {
  const clock = new ManualClock()
  const model = new ScriptedModel((_, watch) => {
    setImmediate(() => clock.advance(1000))
    return hangs(watch)
  })
  const options = { timeout_ms: 1000 }
  const outcome = await runPlan(plan([agent("a")]), { model, ports: { clock }, options })
  assert.equal(errorOf(outcome).kind, "timeout")
  assert.equal(dataOf(outcome.events, "workflow_failed")[0]?.duration_ms, 1000)
})

test("a run has the time of its request, else of its file, else ten minutes; of both the smaller", async () => {
  const cases = [
    { file: undefined, request: null, expected: 600_000 },
    { file: 3_600, request: null, expected: 3_600_000 },
    { file: 30, request: null, expected: 30_000 },
    { file: 3_600, request: 5_000, expected: 5_000 },
    { file: 30, request: 60_000, expected: 30_000 },
    { file: undefined, request: 7_200_000, expected: 7_200_000 },
  ]
  for (const { file, request, expected } of cases) {
    const clock = new ManualClock()
    const model = new ScriptedModel((_, watch) => {
      setImmediate(() => {
        clock.advance(expected - 1)
        setImmediate(() => clock.advance(1))
      })
      return hangs(watch)
    })
    const timed = { ...plan([agent("a")]), limits: file === undefined ? null : { time_seconds: file } }
    const outcome = await runPlan(timed, { model, ports: { clock }, options: { timeout_ms: request } })
    assert.equal(errorOf(outcome).kind, "timeout")
    assert.equal(dataOf(outcome.events, "workflow_failed")[0]?.duration_ms, expected, JSON.stringify({ file, request }))
  }
})

test("a wall clock that is set back in the middle of a run leaves its times in order and its durations true", async () => {
  const clock = new ManualClock()
  const model = new ScriptedModel((asked) => {
    clock.advance(40)
    clock.jump(-3_600_000)
    return answers({ message: "m" }, asked)
  })
  const two = plan([agent("a"), agent("b", { instruction: text(ref("agent.a.message")) })])
  const { events } = await runPlan(two, { model, ports: { clock } })
  assert.deepEqual(
    dataOf(events, "agent_completed").map(({ duration_ms }) => duration_ms),
    [40, 40],
  )
  assert.equal(dataOf(events, "workflow_completed")[0]?.duration_ms, 80)
  const times = events.map(({ at }) => Date.parse(at))
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  )
})

test("dynamic values are nodes: computed once what they refer to is there", async () => {
  const values = plan([
    dynamic("a", object({ n: ref("input.n"), next: lit([1]) })),
    agent("x", { instruction: text(ref("dynamic.a")) }),
    dynamic("b", text("<", ref("agent.x.message"), ">")),
    output({ b: ref("dynamic.b") }),
  ])
  const outcome = await runPlan(values, { model: echo(), input: { n: 5 } })
  assert.deepEqual(resultOf(outcome), { b: '<{"n":5,"next":[1]}>' })
  assert.deepEqual(
    dataOf(outcome.events, "dynamic_resolved").map(({ name }) => name),
    ["a", "b"],
  )
})

test("an expression that meets a value it cannot take fails the run and names its place", async () => {
  const bad = plan([agent("x", { instruction: text(ref("input.a.b")) })], { input: record({ a: string }) })
  const outcome = await runPlan(bad, { model: echo(), input: { a: "text" } })
  assert.deepEqual(errorOf(outcome), {
    kind: "evaluation_error",
    message: "Cannot evaluate input.a.b: the field b is not there, found a string",
    issues: [
      {
        path: "agent.x.instruction",
        message: "Cannot evaluate input.a.b: the field b is not there, found a string",
      },
    ],
  })
})

test("outputs over 256 KiB are shown by size, the workflow's whole; over its limit it fails", async () => {
  const long = "x".repeat(300 * 1024)
  const model = new ScriptedModel((request) => answers({ message: long }, request))
  const big = plan([agent("a"), output({ m: ref("agent.a.message") })])
  const outcome = await runPlan(big, { model })
  const bytes = JSON.stringify({ message: long }).length
  assert.deepEqual(dataOf(outcome.events, "agent_completed")[0]?.output, { truncated: true, bytes })
  assert.deepEqual(resultOf(outcome), { m: long })
  const over = await runPlan(big, { model, limits: { outputBytes: 1000 } })
  assert.equal(errorOf(over).kind, "payload_too_large")
})

test("what fails because the process lacks something is no bug", async () => {
  const model = new ScriptedModel(() => {
    throw new Error("ERR_WORKER_INIT_FAILED")
  })
  const message = "The service is out of file descriptors"
  const outcome = await runPlan(plan([agent("a")]), { model, ports: { shortage: () => message } })
  assert.deepEqual(errorOf(outcome), { kind: "overloaded", message, issues: [{ path: "", message }] })
  assert.deepEqual(outcome.bugs, [])
})

test("a bug is an internal error that says nothing of the request", async () => {
  const model = new ScriptedModel(() => {
    throw new TypeError("cannot read input.password of undefined")
  })
  const outcome = await runPlan(plan([agent("a")]), { model })
  assert.deepEqual(errorOf(outcome), {
    kind: "internal_error",
    message: "An internal error stopped the run",
    issues: [{ path: "", message: "An internal error stopped the run" }],
  })
  assert.equal(outcome.bugs.length, 1)
})

test("headers and keys are evaluated before any call; one that could end its line is refused", async () => {
  const model = echo()
  const provider = {
    endpoint: text("https://", ref("input.host"), "/v1"),
    api_key: ref("secrets.key"),
    headers: [{ key: "X-Tenant", value: text("t-", ref("input.tenant")) }],
  }
  const named = plan([agent("a")], { provider })
  const attempt = { model, input: { host: "x.test", tenant: "1" }, secrets: { key: "sk-secret-value" } }
  await runPlan(named, attempt)
  assert.deepEqual(model.requests[0]?.backend, {
    api: "responses",
    endpoint: "https://x.test/v1",
    api_key: "sk-secret-value",
    headers: { "X-Tenant": "t-1" },
  })
  const bad = await runPlan(named, { ...attempt, input: { host: "x.test", tenant: "1\r\nX-Evil: 1" } })
  assert.deepEqual(
    errorOf(bad).issues.map(({ path }) => path),
    ["provider.p.headers.X-Tenant"],
  )
  assert.equal(model.requests.length, 1)
})

test("inference is merged provider, model, agent, key by key", async () => {
  const model = echo()
  const merged = plan([agent("a", { models: [{ name: "m", inference: { temperature: 0.3, extra: { c: 3 } } }] })], {
    provider: { inference: { temperature: 0.1, top_p: 0.5, extra: { a: 1, b: 1 } } },
    model: { inference: { temperature: 0.2, seed: 7, extra: { b: 2 } }, response_format: "json_object" },
  })
  await runPlan(merged, { model })
  assert.deepEqual(model.requests[0]?.inference, {
    temperature: 0.3,
    top_p: 0.5,
    seed: 7,
    extra: { a: 1, b: 2, c: 3 },
  })
  assert.equal(model.requests[0]?.response_format, "json_object")
})

test("usage is summed per agent and run", async () => {
  const outcome = await runPlan(plan([agent("a"), agent("b")]), { model: echo() })
  const sum = {
    input_tokens: 20,
    output_tokens: 10,
    cached_tokens: 0,
    written_tokens: 0,
    reasoning_tokens: 0,
    cost: null,
  }
  assert.deepEqual(dataOf(outcome.events, "workflow_completed")[0]?.usage, sum)
})

test("retries are in the log before their wait begins, and so are deltas, joined", async () => {
  const store = new MemoryStore(systemClock)
  const model = new ScriptedModel(async (request, watch) => {
    watch.delta(1, "Hel")
    watch.delta(1, "lo")
    await watch.retried({ attempt: 2, reason: "429", delay_ms: 5, progress: noRetryProgress })
    assert.deepEqual(typesOf(await store.read("retried", 0, 10)).slice(-2), ["agent_delta", "agent_retried"])
    watch.delta(2, "Hi")
    return answers({ message: "Hi" }, request)
  })
  const outcome = await runPlan(plan([agent("a")]), { model, store, run_id: "retried", options: { deltas: true } })
  assert.deepEqual(dataOf(outcome.events, "agent_delta"), [
    { agent: "a", attempt: 1, text: "Hello" },
    { agent: "a", attempt: 2, text: "Hi" },
  ])
  assert.deepEqual(dataOf(outcome.events, "agent_retried"), [{ agent: "a", attempt: 2, reason: "429", delay_ms: 5 }])
})

test("a writer that lost its lease stops without a word", async () => {
  const store = new MemoryStore(systemClock)
  let aborted = false
  const model = new ScriptedModel(async (_, watch) => {
    // Another process takes the run over while the call is open, and this one's next append is refused.
    const before = await store.read("fenced", 0, 100)
    assert.equal(before.length, 0)
    await store.release({ run_id: "fenced", owner: "test", fence: 1 })
    try {
      return await hangs(watch)
    } finally {
      aborted = true
    }
  })
  const outcome = await runPlan(plan([agent("a")]), { model, store, run_id: "fenced" })
  assert.equal(outcome.end, null)
  assert.equal(aborted, true)
  assert.deepEqual(outcome.events, [])
})

test("asked to leave, a run stores what has happened and stops", async () => {
  const leave = new LightSignal()
  const model = new ScriptedModel((request, watch) => {
    if (request.path === "agent.a") return answers({ message: "a" }, request)
    setImmediate(() => leave.give())
    return hangs(watch)
  })
  const two = plan([agent("a"), agent("b", { instruction: text(ref("agent.a.message")) })])
  const outcome = await runPlan(two, { model, leave })
  assert.equal(outcome.end, null)
  assert.deepEqual(typesOf(outcome.events).slice(2), ["agent_started", "agent_completed", "agent_started"])
})

test("a store that fails ends the work with its failure, and the calls with it", async () => {
  class Failing extends MemoryStore {
    appends = 0
    override async append(...args: Parameters<MemoryStore["append"]>): Promise<void> {
      if (++this.appends > 1) throw new StoreFailure("The disk is full")
      return super.append(...args)
    }
  }
  const model = new ScriptedModel((request, watch) => {
    if (request.path === "agent.slow") return hangs(watch)
    return new Promise((resolve) => setImmediate(resolve)).then(() => answers({ message: "a" }, request))
  })
  const limits = { storePatienceMs: 0 }
  const attempt = runPlan(plan([agent("a"), agent("slow")]), { model, store: new Failing(systemClock), limits })
  await assert.rejects(within(30_000, "the failure", attempt), StoreFailure)
  assert.equal(model.open, 0)
})

/** The agents whose end was stored when each model was asked. */
async function storedWhenAsked(
  graph: Plan,
  options: Partial<RunOptions> = {},
): Promise<Record<string, readonly string[]>> {
  const stored = new Set<string>()
  class Slow extends MemoryStore {
    override async append(...[lease, events]: Parameters<MemoryStore["append"]>): Promise<void> {
      await new Promise((resolve) => setTimeout(resolve, 20))
      for (const { type, data } of events) if (type === "agent_completed") stored.add(data.agent)
      return super.append(lease, events)
    }
  }
  const found: Record<string, readonly string[]> = {}
  const model = new ScriptedModel((request) => {
    found[request.path] = [...stored]
    return answers({ message: "x" }, request)
  })
  await runPlan(graph, { model, store: new Slow(systemClock), options })
  return found
}

test("no model is asked on the strength of an answer that is not in the log yet", async () => {
  const chain = plan([
    agent("a"),
    agent("b", { instruction: text(ref("agent.a.message")) }),
    agent("c", { instruction: text(ref("agent.b.message")) }),
    output({ all: ref("agent.c.message") }),
  ])
  assert.deepEqual(await storedWhenAsked(chain), { "agent.a": [], "agent.b": ["a"], "agent.c": ["a", "b"] })
})

test("no model is asked in the room of an answer that is not in the log yet", async () => {
  const beside = plan([agent("a"), agent("b"), agent("c")])
  assert.deepEqual(await storedWhenAsked(beside, { max_concurrency: 1 }), {
    "agent.a": [],
    "agent.b": ["a"],
    "agent.c": ["a", "b"],
  })
})

test("the log of a run has a limit", async () => {
  const endless = new ScriptedModel(async (_, watch) => {
    for (let attempt = 2; ; attempt++) {
      watch.signal.throwIfAborted()
      await watch.retried({ attempt, reason: "429", delay_ms: 0, progress: noRetryProgress })
    }
  })
  const one = plan([agent("a", {})])
  const { events, end } = await runPlan(one, { model: endless, limits: { logBytes: 100_000 } })
  assert.equal(end?.type, "workflow_failed")
  const error = end.data.error
  assert.equal(error.kind, "limit_exceeded")
  assert.match(error.message, /100000 bytes \(WIRE_MAX_RUN_LOG\)/)
  assert.ok(JSON.stringify(events).length < 150_000, String(JSON.stringify(events).length))
})
