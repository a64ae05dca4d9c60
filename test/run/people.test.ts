import assert from "node:assert/strict"
import { after, test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import { LightSignal } from "../../src/base/light-signal.ts"
import type { LogEvent } from "../../src/log/events.ts"
import { allQuestions } from "../support/all-questions.ts"
import { record, string } from "../support/build-types.ts"
import { InProcessTools, type ServedTool } from "../support/in-process-tools.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { MemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { Desk, type Setting } from "../support/people.ts"
import { errorOf, resultOf, typesOf } from "../support/run-plan.ts"
import { answers, callsTools, ScriptedModel } from "../support/scripted-model.ts"
import { reduce } from "../../src/log/reduce.ts"
import { initialState } from "../../src/log/run-state.ts"
import { readRecord } from "../../src/run/run-record.ts"
import { within } from "../support/within.ts"

const review = `
provider p from openai { endpoint: "http://backend.example.com/v1" }
model m from p { id: "m" }
agent draft { model: model.m  instruction: "Write"  output { message: string } }
ask review {
    question: "Publish {{ agent.draft.message }}?"
    show: { text: agent.draft.message }
    to: "editors"
    expires_seconds: 60
    output { publish: boolean  note: maybe string }
}
agent revise when ask.review.note != null { model: model.m  instruction: "{{ ask.review.note }}"  output { message: string } }
output { publish: ask.review.publish  text: agent.revise?.message ?? agent.draft.message }
`

async function desk(source: string, setting: Setting = {}): Promise<Desk> {
  const opened = new Desk(source, setting)
  // A test that fails leaves nothing running.
  after(() => opened.runs.drain(0))
  return opened.open()
}

function eventsOf<T extends LogEvent["type"]>(events: readonly LogEvent[], type: T): Extract<LogEvent, { type: T }>[] {
  return events.filter((event): event is Extract<LogEvent, { type: T }> => event.type === type)
}

test("whoever waits for a run that is parked with an answer that it has not taken in yet waits on", async () => {
  const here = await desk(review)
  const run_id = await here.start()
  const [question] = await here.waiting(run_id)
  const parked = await here.store.lookup(run_id)
  await here.answer(run_id, question, { publish: true, note: null })
  // A process that parks the run while an answer arrives: the run is seen to wait until it is taken up again.
  const late = Object.create(here.store) as typeof here.store
  Object.defineProperty(late, "lookup", { value: async () => parked })
  Object.defineProperty(late, "read", { value: here.store.read.bind(here.store) })
  Object.defineProperty(late, "follow", { value: here.store.follow.bind(here.store) })
  Object.defineProperty(late, "waits", {
    value: { outcomes: async () => [{ id: question?.id }], onOutcome: () => () => {} },
  })
  const other = new Desk(review, { store: late })
  const end = await within(30_000, "the end", other.runs.ending(run_id, new LightSignal()))
  assert.equal(end?.type, "workflow_completed")
  await other.runs.drain(0)
  await here.close()
})

test("a run asks, waits without a lease, and goes on with the answer without repeating anything", async () => {
  const model = new ScriptedModel((request) => answers({ message: "said" }, request))
  const here = await desk(review, { model })
  const run_id = await here.start()
  const [question] = await here.waiting(run_id)
  assert.ok(question !== undefined)
  const { id, asked_at, expires_at, ...rest } = question
  assert.deepEqual(rest, {
    run_id,
    kind: "ask",
    name: "review",
    question: "Publish said?",
    show: { text: "said" },
    to: "editors",
    schema: {
      type: "object",
      properties: { publish: { type: "boolean" }, note: { anyOf: [{ type: "string" }, { type: "null" }] } },
      required: ["publish"],
      additionalProperties: false,
    },
    status: "open",
  })
  assert.equal(Date.parse(expires_at) - Date.parse(asked_at), 60_000)
  assert.equal((await here.runs.record(run_id))?.status, "waiting")
  assert.equal(await here.runs.status(run_id), "waiting")
  assert.equal(here.runs.active, 0)
  assert.deepEqual(await here.store.claim("other", 10, 1_000), [])

  await here.answer(run_id, question, { publish: true, note: "shorter" })
  assert.notEqual((await here.runs.record(run_id))?.status, "waiting")
  const events = await here.end(run_id)
  assert.deepEqual(resultOf({ events }), { publish: true, text: "said" })
  assert.deepEqual(typesOf(events), [
    "workflow_started",
    "workflow_planned",
    "agent_started",
    "agent_completed",
    "question_asked",
    "run_waiting",
    "run_continued",
    "question_answered",
    "agent_started",
    "agent_completed",
    "workflow_completed",
  ])
  assert.deepEqual(eventsOf(events, "run_waiting")[0]?.data.questions, [id])
  assert.deepEqual(eventsOf(events, "run_continued")[0]?.data.questions, [id])
  assert.deepEqual(eventsOf(events, "question_answered")[0]?.data.answered_by, { caller: null, by: "ann" })
  assert.equal(model.requests.length, 2)
  await here.close()
})

test("work that needs no answer goes on while a question is open, and the answer may come meanwhile", async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const model = new ScriptedModel(async (request) => {
    await promise
    return answers({ message: "slow" }, request)
  })
  const here = await desk(
    `
provider p from openai { endpoint: "http://backend.example.com/v1" }
model m from p { id: "m" }
agent slow { model: model.m  instruction: "Write"  output { message: string } }
ask first { question: "1?"  output { a: string } }
ask second { question: "2 {{ ask.first.a }}?"  output { b: string } }
output { m: agent.slow.message  b: ask.second.b }
`,
    { model },
  )
  const run_id = await here.start()
  await here.until(run_id, "question_asked")
  const [first] = await allQuestions(here.store, run_id)
  await here.answer(run_id, first, { a: "x" })
  await here.until(run_id, "question_answered")
  const before = await here.until(run_id, "question_asked", 5)
  assert.ok(!typesOf(before).includes("run_waiting"))
  assert.equal(eventsOf(before, "question_asked").at(-1)?.data.question, "2 x?")
  resolve()
  const [second, ...more] = await here.waiting(run_id)
  assert.deepEqual(more, [])
  await here.answer(run_id, second, { b: "y" })
  const events = await here.end(run_id)
  assert.deepEqual(resultOf({ events }), { m: "slow", b: "y" })
  assert.equal(model.requests.length, 1)
  assert.ok(!typesOf(events).includes("run_resumed"))
  await here.close()
})

const each = `
input { items: [string] }
ask check for item in input.items when item != "skip" {
    question: "Is {{ item }} right?"
    expires_seconds: 60
    output { right: boolean }
}
output { all: ask.check.*.right }
`

test("a loop asks all at once, whatever max_concurrency is, and takes answers one by one", async () => {
  const here = await desk(each)
  const run_id = await here.start({ input: { items: ["a", "skip", "b", "c"] }, options: { max_concurrency: 1 } })
  const questions = await here.waiting(run_id)
  assert.deepEqual(
    questions.map(({ question, iteration }) => [question, iteration]),
    [
      ["Is a right?", 0],
      ["Is b right?", 2],
      ["Is c right?", 3],
    ],
  )
  let last = 0
  for (const [index, question] of questions.toReversed().entries()) {
    await here.answer(run_id, question, { right: index === 0 })
    const events = await (index < 2 ? here.until(run_id, "run_waiting", last + 2) : here.end(run_id))
    last = events.at(-1)?.id ?? 0
  }
  const events = await here.end(run_id)
  assert.deepEqual(resultOf({ events }), { all: [false, null, false, true] })
  assert.equal(eventsOf(events, "question_asked").length, 3)
  await here.close()
})

test("more than 1,000 open questions are too many, and none is asked", async () => {
  const here = await desk(each)
  const items = Array.from({ length: 1_001 }, (_, index) => `item ${index}`)
  const events = await here.end(await here.start({ input: { items } }))
  assert.equal(errorOf({ events }).kind, "limit_exceeded")
  assert.equal(errorOf({ events }).issues[0]?.path, "ask.check")
  assert.deepEqual(eventsOf(events, "question_asked"), [])
  const run_id = await here.start({ input: { items: items.slice(1) } })
  assert.equal((await here.waiting(run_id)).length, 1_000)
  await here.close()
})

test("an expired question fails the run, or is answered by on_expiry", async () => {
  const clock = new ManualClock()
  for (const [fallback, result] of [
    ["", null],
    ["on_expiry: { publish: false, note: null }", { publish: false }],
  ] as const) {
    const here = await desk(
      `ask review { question: "?"  expires_seconds: 5  ${fallback}  output { publish: boolean  note: maybe string } }
       output { publish: ask.review.publish }`,
      { clock },
    )
    const run_id = await here.start({ options: { timeout_ms: 1_000 } })
    await here.waiting(run_id)
    // The time that it waits does not count toward its timeout.
    for (let second = 0; second < 5; second++) clock.advance(1_000)
    const events = await here.end(run_id)
    assert.equal(eventsOf(events, "question_expired").length, 1)
    assert.deepEqual(typesOf(events).slice(3, 6), ["run_waiting", "run_continued", "question_expired"])
    if (result === null) {
      const { kind, issues } = errorOf({ events })
      assert.deepEqual([kind, issues[0]?.path], ["timeout", "ask.review"])
    } else assert.deepEqual(resultOf({ events }), result)
    await here.close()
  }
})

test("a run that waits can be cancelled", async () => {
  const here = await desk(review)
  const run_id = await here.start()
  await here.waiting(run_id)
  assert.equal(await here.runs.cancel(run_id), true)
  const events = await here.end(run_id)
  assert.deepEqual(typesOf(events).slice(-3), ["run_waiting", "run_continued", "workflow_cancelled"])
  assert.equal((await allQuestions(here.store, run_id))[0]?.status, "withdrawn")
  await here.close()
})

test("an answer and a cancel at once: one outcome, one end", async () => {
  for (let round = 0; round < 10; round++) {
    const here = await desk(review)
    const run_id = await here.start()
    const [question] = await here.waiting(run_id)
    assert.ok(question !== undefined)
    const given = { answer: { publish: true, note: null }, answered_by: { caller: null, by: null } }
    await Promise.all([here.store.questions.answer(run_id, question.id, given), here.runs.cancel(run_id)])
    const events = await here.end(run_id)
    assert.deepEqual(
      events.map(({ id }) => id),
      events.map((_, index) => index + 1),
    )
    assert.equal(eventsOf(events, "run_continued").length, 1)
    assert.ok(eventsOf(events, "question_answered").length <= 1)
    await here.close()
  }
})

test("answers that come while no process runs it are taken in by the next one, with secrets removed", async () => {
  const store = new MemoryStore(new ManualClock())
  const source = review
    .replace("provider p", "secrets { token: string }\nprovider p")
    .replace('"http://backend.example.com/v1" }', '"http://backend.example.com/v1"  api_key: secrets.token }')
  const first = await desk(source, { store })
  const run_id = await first.start({ secrets: { token: "s3cret-token-123" } })
  const [question] = await first.waiting(run_id)
  await first.close()
  await first.answer(run_id, question, { publish: true, note: "use s3cret-token-123" })
  const second = await desk(source, { store })
  const events = await second.end(run_id)
  assert.deepEqual(eventsOf(events, "question_answered")[0]?.data.answer, {
    publish: true,
    note: "use [secret:token]",
  })
  assert.equal(JSON.stringify(events).includes("s3cret-token-123"), false)
  assert.ok(!typesOf(events).includes("run_resumed"))
  await second.close()
})

test("with `concurrency` so many questions of a loop are open at a time, also after a restart", async () => {
  const source = `
input { items: [string] }
ask check for item in input.items when item != "skip" {
    question: item
    concurrency: 2
    output { right: boolean }
}
output { all: ask.check }
`
  const store = new MemoryStore(systemClock)
  const items = ["a", "skip", "b", "c", "d", "e"]
  const first = await desk(source, { store })
  const run_id = await first.start({ input: { items } })
  const seen: string[][] = []
  let last = 0
  const open = async (here: Desk) => {
    const questions = await here.waiting(run_id, last)
    last = (await here.until(run_id, "run_waiting", last)).length
    seen.push(questions.map(({ question }) => question))
    return questions
  }
  // The second is answered before the first: its place goes to the next one.
  await first.answer(run_id, (await open(first))[1], { right: false })
  await open(first)
  await first.close()
  const second = await desk(source, { store })
  for (let left = 4; left > 0; left--) {
    const questions = (await allQuestions(store, run_id)).filter(({ status }) => status === "open")
    await second.answer(run_id, questions.at(-1), { right: true })
    if (left > 1) await open(second)
  }
  assert.deepEqual(seen, [["a", "b"], ["a", "c"], ["a", "d"], ["a", "e"], ["a"]])
  const right = { right: true }
  assert.deepEqual(resultOf({ events: await second.end(run_id) }), {
    all: [right, null, { right: false }, right, right, right],
  })
})

test("past WIRE_MAX_WAITING a workflow that may wait is refused, for that caller alone", async () => {
  const here = await desk(review, { settings: { maxWaiting: 1 } })
  const run_id = await here.start({ caller: "ann" })
  await here.waiting(run_id)
  const again = here.start({ caller: "ann" })
  await assert.rejects(again, /overloaded/)
  await here.start({ caller: "bob" })
  assert.equal(await here.store.waits.parked("ann"), 1)
  await here.close()
})

test("runs that people have answered come before queued ones", async () => {
  const held: PromiseWithResolvers<void>[] = []
  const order: string[] = []
  const model = new ScriptedModel(async (request) => {
    order.push(JSON.stringify(request.input))
    const gate = Promise.withResolvers<void>()
    held.push(gate)
    await gate.promise
    return answers({ message: "m" }, request)
  })
  const here = await desk(
    `
input { name: string  asks: boolean }
provider p from openai { endpoint: "http://backend.example.com/v1" }
model m from p { id: "m" }
ask first when input.asks { question: "?"  output { ok: boolean } }
agent a { model: model.m  instruction: "{{ input.name }} {{ ask.first?.ok }}"  output { message: string } }
output { m: agent.a.message }
`,
    { model, settings: { maxRuns: 1, maxQueued: 10 } },
  )
  const asks = await here.start({ input: { name: "answered", asks: true } })
  const [question] = await here.waiting(asks)
  await here.start({ input: { name: "running", asks: false } })
  const queued = await here.start({ input: { name: "queued", asks: false } })
  await within(
    30_000,
    "the first call",
    (async () => {
      while (held.length < 1) await new Promise((resolve) => setImmediate(resolve))
    })(),
  )
  await here.answer(asks, question, { ok: true })
  held[0]?.resolve()
  await within(
    30_000,
    "the second call",
    (async () => {
      while (held.length < 2) await new Promise((resolve) => setImmediate(resolve))
    })(),
  )
  assert.match(order[1] ?? "", /answered true/)
  held[1]?.resolve()
  await here.end(asks)
  await within(
    30_000,
    "the third call",
    (async () => {
      while (held.length < 3) await new Promise((resolve) => setImmediate(resolve))
    })(),
  )
  held[2]?.resolve()
  await here.end(queued)
  await here.close()
})

// ------------------------------------------------------------------------------------------------------- approvals

const approving = `
secrets { token: string }
provider p from openai { endpoint: "http://backend.example.com/v1" }
model m from p { id: "m" }
mcp s { endpoint: "http://tools.example.com/mcp" }
tool pay from mcp.s.tool.pay-now { approval { to: "finance"  expires_seconds: 60 }  bindings { key: secrets.token } }
tool look from mcp.s.tool.look
agent clerk { model: model.m  uses: [tool.pay, tool.look]  instruction: "Pay"  output { message: string } }
output { m: agent.clerk.message }
`

function served(changes: Partial<ServedTool> = {}): InProcessTools {
  const call = (values: JsonObject) => ({ text: `paid ${JSON.stringify(values["to"])}`, is_error: false })
  return new InProcessTools({
    tools: {
      "pay-now": { input: record({ to: string, key: string }), call, ...changes },
      look: { input: record({ q: string }), call: () => ({ text: "seen", is_error: false }) },
    },
  })
}

/** A clerk that pays whom it is asked to pay, looks at something beside it, and then says what the tools said. */
function clerk(args: JsonObject = { to: "bob" }): ScriptedModel {
  return new ScriptedModel((request) => {
    const replies = request.input.filter((message) => message.role === "tool")
    if (replies.length === 0) {
      return callsTools(
        [
          { name: "pay", arguments: args },
          { name: "look", arguments: { q: "x" } },
        ],
        request,
      )
    }
    return answers({ message: replies.map(({ output }) => output).join(" / ") }, request)
  })
}

const secrets = { token: "t0ken-0123456789" }

test("a call waits for its approval, its neighbours do not, and it is made once, as approved", async () => {
  const tools = served()
  const model = clerk()
  const here = await desk(approving, { tools, model })
  const run_id = await here.start({ secrets })
  const [question] = await here.waiting(run_id)
  assert.ok(question !== undefined)
  assert.deepEqual(
    tools.calls.map(({ tool }) => tool),
    ["look"],
  )
  const { kind, name, tool, server, endpoint, to, digest } = question
  assert.deepEqual(
    { kind, name, tool, server, endpoint, to, arguments: question.arguments },
    {
      kind: "approval",
      name: "pay",
      tool: "pay-now",
      server: "s",
      endpoint: "http://tools.example.com/mcp",
      to: "finance",
      arguments: { to: "bob", key: "[secret:token]" },
    },
  )
  assert.match(digest ?? "", /^sha256:[0-9a-f]{64}$/)
  // The call that asked is counted before the run parks.
  const parked = await readRecord(here.store, run_id)
  assert.equal(parked?.state.usage.input_tokens, 4)
  await here.answer(run_id, question, { approve: true, note: null })
  const events = await here.end(run_id)
  assert.deepEqual(resultOf({ events }), { m: 'paid "bob" / seen' })
  assert.deepEqual(tools.calls.at(-1)?.values, { to: "bob", key: secrets.token })
  assert.equal(tools.calls.length, 2)
  const [asked] = eventsOf(events, "question_asked")
  assert.equal(asked?.data.agent, "clerk")
  const state = events.reduce(reduce, initialState())
  assert.equal(state.usage.input_tokens, 14)
  assert.equal(state.nodes.find(({ id }) => id === "agent.clerk")?.usage.input_tokens, 14)
  assert.equal(state.spans.filter(({ kind: one }) => one === "model_call").length, 2)
  const started = eventsOf(events, "tool_call_started").find(({ data }) => data.tool === "pay")
  assert.equal(asked?.data.call_id, started?.data.call_id)
  assert.ok((started?.id ?? 0) > (eventsOf(events, "question_answered")[0]?.id ?? Infinity))
  assert.equal(tools.calls.at(-1)?.callId, started?.data.call_id)
  assert.equal(model.requests.length, 2)
  await here.close()
})

test("a run that is cancelled while it waits for approval has used what its model calls used", async () => {
  const here = await desk(approving, { tools: served(), model: clerk() })
  const run_id = await here.start({ secrets })
  await here.waiting(run_id)
  await here.runs.cancel(run_id)
  const end = (await here.end(run_id)).at(-1)
  assert.ok(end?.type === "workflow_cancelled")
  assert.equal(end.data.usage?.input_tokens, 4)
  assert.deepEqual(
    end.data.interrupted?.map(({ agent, calls }) => [agent, calls.length]),
    [["clerk", 1]],
  )
  await here.close()
})

test("the model gets a declined call with its note; an expired one counts as declined", async () => {
  const clock = new ManualClock()
  for (const [answer, said] of [
    [{ approve: false, note: "too much" }, "The call was declined: too much"],
    [{ approve: false, note: null }, "The call was declined"],
    [null, "The call was declined: expired"],
  ] as const) {
    const tools = served()
    const here = await desk(approving, { tools, model: clerk(), clock })
    const run_id = await here.start({ secrets })
    const [question] = await here.waiting(run_id)
    if (answer === null) {
      await within(
        30_000,
        "the expiry",
        (async () => {
          while (
            (await here.store.questions.one(run_id, question?.id ?? ""))?.status !== "expired" ||
            (await here.runs.status(run_id)) === "waiting"
          ) {
            clock.advance(1_000)
            await new Promise((resolve) => setImmediate(resolve))
          }
        })(),
      )
    } else await here.answer(run_id, question, answer)
    const events = await here.end(run_id)
    assert.deepEqual(resultOf({ events }), { m: `${said} / seen` })
    assert.ok(!eventsOf(events, "tool_call_started").some(({ data }) => data.tool === "pay"))
    assert.deepEqual(
      tools.calls.map(({ tool }) => tool),
      ["look"],
    )
    await here.close()
  }
})

test("a call of the workflow's own waits, and fails with tool_error when it is declined", async () => {
  const source = `
mcp s { endpoint: "http://tools.example.com/mcp" }
tool pay from mcp.s.tool.pay-now
dynamic { paid: call tool.pay { approval: required  input { to: "bob"  key: "k" } } }
output { paid: dynamic.paid }
`
  for (const approve of [true, false]) {
    const tools = served()
    const here = await desk(source, { tools })
    const run_id = await here.start()
    const [question] = await here.waiting(run_id)
    assert.deepEqual(question?.arguments, { to: "bob", key: "k" })
    await here.answer(run_id, question, { approve, note: "because" })
    const events = await here.end(run_id)
    if (approve) assert.deepEqual(resultOf({ events }), { paid: 'paid "bob"' })
    else {
      const { kind, issues } = errorOf({ events })
      assert.deepEqual(
        [kind, issues],
        ["tool_error", [{ path: "dynamic.paid", message: "pay: The call was declined: because" }]],
      )
    }
    assert.equal(tools.calls.length, approve ? 1 : 0)
    await here.close()
  }
})

test("arguments that do not fit, or are over 256 KiB, are not asked about: the model learns why", async () => {
  for (const [args, said] of [
    [{ to: 5 }, /do not fit/],
    [{ to: "x".repeat(257 * 1024) }, /nobody is asked to approve more than 262144/],
  ] as const) {
    const tools = served()
    const here = await desk(approving, { tools, model: clerk(args) })
    const events = await here.end(await here.start({ secrets }))
    assert.match(JSON.stringify(resultOf({ events })), said)
    assert.deepEqual(eventsOf(events, "question_asked"), [])
    assert.equal(tools.calls.length, 1)
    await here.close()
  }
})

test("a tool that changes after the question is asked about again, twice at most, and never called as something else", async () => {
  for (const changes of [1, 2, 3]) {
    let description = "Pays"
    const tools = served({ description: () => description })
    const here = await desk(approving, { tools, model: clerk() })
    const run_id = await here.start({ secrets })
    const digests = new Set<string | undefined>()
    let last = 0
    for (let change = 1; change <= Math.min(changes + 1, 3); change++) {
      const [question, ...more] = await here.waiting(run_id, last)
      assert.deepEqual(more, [])
      digests.add(question?.digest)
      if (change <= changes) description = `Pays otherwise ${change}`
      last = (await here.store.read(run_id, 0, 1_000)).length
      await here.answer(run_id, question, { approve: true, note: null })
    }
    const events = await here.end(run_id)
    assert.equal(eventsOf(events, "question_asked").length, Math.min(changes + 1, 3))
    assert.equal(digests.size, Math.min(changes + 1, 3))
    const paid = tools.calls.filter(({ tool }) => tool === "pay").length
    assert.equal(paid, changes === 3 ? 0 : 1)
    if (changes === 3) assert.match(JSON.stringify(resultOf({ events })), /The call was declined: the tool changed/)
    await here.close()
  }
})

test("an agent in which an approval was asked for is not cached", async () => {
  const model = clerk()
  const here = await desk(approving, { tools: served(), model })
  for (let round = 0; round < 2; round++) {
    const run_id = await here.start({ secrets, options: { cache_key: "k" } })
    const [question] = await here.waiting(run_id)
    await here.answer(run_id, question, { approve: true, note: null })
    await here.end(run_id)
  }
  assert.equal(model.requests.length, 4)
  await here.close()
})

test("a call counts toward max_calls from its question on, also when it is declined", async () => {
  const source = approving.replace(
    "tool pay from mcp.s.tool.pay-now {",
    "tool pay from mcp.s.tool.pay-now { max_calls: 1",
  )
  let turn = 0
  const model = new ScriptedModel((request) => {
    turn++
    const replies = request.input.filter((message) => message.role === "tool").map(({ output }) => output)
    return turn <= 2
      ? callsTools([{ name: "pay", arguments: { to: "bob" } }], request)
      : answers({ message: replies.join(" / ") }, request)
  })
  const here = await desk(source, { tools: served(), model })
  const run_id = await here.start({ secrets })
  const [question] = await here.waiting(run_id)
  await here.answer(run_id, question, { approve: false, note: null })
  const events = await here.end(run_id)
  assert.equal(eventsOf(events, "question_asked").length, 1)
  assert.match(JSON.stringify(resultOf({ events })), /The call was declined.*used up|no tool named/)
  await here.close()
})
