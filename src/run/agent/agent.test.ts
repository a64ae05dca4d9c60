import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { test } from "node:test"
import { MemoryStore } from "../../adapters/memory/memory-store.ts"
import { systemClock } from "../../adapters/system/system-clock.ts"
import type { JsonObject } from "../../base/json-value.ts"
import type { Expression } from "../../plan/expression.ts"
import type { ContextPlan, Plan } from "../../plan/plan-shape.ts"
import { agent, entries, lit, loopOver, output, plan, ref, text, tool, use } from "../../../test/support/build-plan.ts"
import { integer, record, string } from "../../../test/support/build-types.ts"
import type { ServedTool } from "../../../test/support/in-process-tools.ts"
import { InProcessTools } from "../../../test/support/in-process-tools.ts"
import { LightSignal } from "../../base/light-signal.ts"
import { dataOf, errorOf, resultOf, runPlan, typesOf } from "../../../test/support/run-plan.ts"
import {
  answers,
  callsTools,
  hangs,
  lastText,
  partsOf,
  says,
  ScriptedModel,
  textOf,
} from "../../../test/support/scripted-model.ts"
import { toText } from "../values/value-builders.ts"
import { failure } from "../../ports/run-failure.ts"
import type { AssistantPart } from "../../log/messages.ts"
import type { ModelRequest, ModelTurn } from "../../ports/model.ts"
import type { ToolAnswer } from "../../ports/tools.ts"

const searchInput = record({ query: string, project: string })

function search(more: Partial<ServedTool> = {}): ServedTool {
  return {
    input: searchInput,
    call: ({ query }) => ({ text: `found ${toText(query ?? null)}`, is_error: false }),
    ...more,
  }
}

/** Calls tools in the first turns, then answers with what it was shown last. */
function callsThenAnswers(...turns: Parameters<typeof callsTools>[0][]): ScriptedModel {
  return new ScriptedModel((request) => {
    const calls = turns[request.turn - 1]
    if (calls !== undefined) return callsTools(calls, request)
    return answers({ message: outputsOf(request).join("|") }, request)
  })
}

function outputsOf(request: ModelRequest): string[] {
  return request.input.filter(({ role }) => role === "tool").map(textOf)
}

function toolPlan(more: Partial<Plan["tools"][string]> = {}, uses: Parameters<typeof use>[2] = {}, steps = 16): Plan {
  return plan(
    [
      agent("a", { uses: [use("tool", "search", uses)], max_steps: steps }),
      output({ message: ref("agent.a.message") }),
    ],
    { tools: { search: tool({ remote: "search", ...more }) } },
  )
}

test("a tool turn: the call, its events, and the result back to the model", async () => {
  const tools = new InProcessTools({ tools: { search: search() } })
  const model = callsThenAnswers([{ name: "search", arguments: { query: "x", project: "wire" }, call_id: "c1" }])
  const outcome = await runPlan(toolPlan(), { model, tools })
  assert.deepEqual(resultOf(outcome), { message: "found x" })
  assert.deepEqual(typesOf(outcome.events), [
    "workflow_started",
    "workflow_planned",
    "mcp_server_connected",
    "agent_started",
    "tool_call_started",
    "tool_call_completed",
    "agent_completed",
    "workflow_completed",
  ])
  assert.deepEqual(dataOf(outcome.events, "agent_started")[0]?.tools, ["search"])
  assert.deepEqual(dataOf(outcome.events, "agent_started")[0]?.tool_definitions, model.requests[0]?.tools)
  const started = dataOf(outcome.events, "tool_call_started")[0]
  assert.equal(started?.call_id, tools.calls[0]?.callId)
  assert.deepEqual(started?.arguments, { query: "x", project: "wire" })
  assert.equal(started?.server, "s")
  assert.equal(dataOf(outcome.events, "tool_call_completed")[0]?.result, "found x")
  assert.deepEqual(model.requests[1]?.input.slice(1), [
    {
      role: "assistant",
      parts: [{ type: "tool_call", name: "search", call_id: "c1", arguments: '{"query":"x","project":"wire"}' }],
    },
    { role: "tool", call_id: "c1", name: "search", output: "found x" },
  ])
  assert.equal(tools.closed, 1)
  // Two turns: 4 + 10 tokens in, 2 + 5 out.
  assert.equal(dataOf(outcome.events, "agent_completed")[0]?.usage.input_tokens, 14)
  assert.equal(dataOf(outcome.events, "agent_completed")[0]?.calls.length, 2)
})

test("a call is made only when its start is in the store", async () => {
  const store = new MemoryStore(systemClock)
  const stored: string[] = []
  const call = async (): Promise<ToolAnswer> => {
    stored.push(...typesOf(await store.read("stored-first", 0, 100)))
    return { text: "ok", is_error: false }
  }
  const model = callsThenAnswers([{ name: "search", arguments: { query: "x", project: "w" } }])
  const tools = new InProcessTools({ tools: { search: search({ call }) } })
  await runPlan(toolPlan(), { model, tools, store, run_id: "stored-first" })
  assert.equal(stored.at(-1), "tool_call_started")
})

test("several calls of one turn run side by side; results in the order of the calls", async () => {
  let open = 0
  let most = 0
  const tools = new InProcessTools({
    tools: {
      search: search({
        call: async ({ query }) => {
          most = Math.max(most, ++open)
          for (let wait = 0; wait < (query === "a" ? 6 : 2); wait++) await new Promise((next) => setImmediate(next))
          open--
          return { text: toText(query ?? null), is_error: false }
        },
      }),
    },
  })
  const calls = ["a", "b", "c"].map((query) => ({ name: "search", arguments: { query, project: "w" }, call_id: query }))
  const outcome = await runPlan(toolPlan(), { model: callsThenAnswers(calls), tools })
  assert.deepEqual(resultOf(outcome), { message: "a|b|c" })
  assert.equal(most, 3)
  const bounded = await runPlan(toolPlan(), { model: callsThenAnswers(calls), tools, options: { max_concurrency: 1 } })
  assert.deepEqual(resultOf(bounded), { message: "a|b|c" })
})

test("arguments that do not fit, unknown tools and broken JSON go back to the model; nothing is called", async () => {
  const tools = new InProcessTools({ tools: { search: search() } })
  const model = callsThenAnswers([
    { name: "search", arguments: { query: 5, project: "w" } },
    { name: "search", arguments: "{not json" },
    { name: "search", arguments: "[1]" },
    { name: "erase", arguments: {} },
    { name: "search", arguments: { query: "x", project: "w", more: 1 } },
  ])
  const outcome = await runPlan(toolPlan({ max_calls: 1 }), { model, tools })
  const [typed, broken, list, unknown, extra] = outputsOf(model.requests[1] ?? assert.fail())
  assert.match(typed ?? "", /do not fit:\n- .*query.*string/)
  assert.match(broken ?? "", /not a JSON object/)
  assert.match(list ?? "", /not a JSON object/)
  assert.match(unknown ?? "", /There is no tool named erase. Available: search\./)
  assert.match(extra ?? "", /more/)
  assert.equal(tools.calls.length, 0)
  const { events } = outcome
  assert.equal(dataOf(events, "tool_call_started").length, 5)
  assert.deepEqual(
    dataOf(events, "tool_call_failed").map(({ error }) => error.kind),
    Array(5).fill("tool_error"),
  )
  // A refused call does not count: the allowed one is still there.
  assert.deepEqual(
    model.requests[1]?.tools.map(({ name }) => name),
    ["search"],
  )
})

test("a bound argument is not in the schema, the model cannot set it, and a secret in it is shown by name", async () => {
  const tools = new InProcessTools({ tools: { search: search() } })
  const model = callsThenAnswers([{ name: "search", arguments: { query: "x", project: "evil" } }])
  const bound = toolPlan({ bindings: entries({ project: text("p-", ref("secrets.t")) }) })
  const outcome = await runPlan(bound, { model, tools, secrets: { t: "tok" } })
  const parameters = model.requests[0]?.tools[0]?.parameters
  assert.deepEqual(Object.keys((parameters?.["properties"] ?? {}) as JsonObject), ["query"])
  assert.deepEqual(parameters?.["required"], ["query"])
  assert.deepEqual(tools.calls[0]?.values, { query: "x", project: "p-tok" })
  assert.deepEqual(dataOf(outcome.events, "tool_call_started")[0]?.arguments, {
    query: "x",
    project: "p-[secret:t]",
  })
})

test("bindings of a use win over those of the declaration, and can come from a loop", async () => {
  const tools = new InProcessTools({ tools: { search: search() } })
  const model = callsThenAnswers([{ name: "search", arguments: { query: "x" } }])
  const looped = plan(
    [
      agent("a", {
        loop: loopOver(ref("input.items"), "item"),
        uses: [use("tool", "search", { bindings: entries({ project: ref("variable.item") }) })],
      }),
    ],
    { tools: { search: tool({ remote: "search", bindings: entries({ project: lit("declared") }) }) } },
  )
  const options = { max_concurrency: 1 }
  const { events } = await runPlan(looped, { model, tools, input: { items: ["one", "two"] }, options })
  assert.deepEqual(
    tools.calls.map(({ values }) => values["project"]),
    ["one", "two"],
  )
  // Described once, without what is bound.
  const described = dataOf(events, "agent_started").map(({ tool_definitions }) => tool_definitions)
  assert.deepEqual(described, [model.requests[0]?.tools, undefined])
  assert.ok(!JSON.stringify(described).includes("project"))
})

test("isError goes back to the model; a transport failure fails the agent", async () => {
  const flaky = search({ call: () => ({ text: "no such project", is_error: true }) })
  const calls = [{ name: "search", arguments: { query: "x", project: "w" } }]
  const answered = await runPlan(toolPlan(), {
    model: callsThenAnswers(calls),
    tools: new InProcessTools({ tools: { search: flaky } }),
  })
  assert.deepEqual(resultOf(answered), { message: "no such project" })
  assert.equal(dataOf(answered.events, "tool_call_failed")[0]?.error.message, "search: no such project")

  const down = search({ call: () => Promise.reject(failure("tool_error", "tool.search", "The server is gone")) })
  const tools = new InProcessTools({ tools: { search: down } })
  const failed = await runPlan(toolPlan(), { model: callsThenAnswers(calls), tools })
  assert.deepEqual(typesOf(failed.events).slice(-3), ["tool_call_failed", "agent_failed", "workflow_failed"])
  assert.deepEqual(errorOf(failed).issues, [{ path: "agent.a", message: "The server is gone" }])
  assert.equal(tools.calls.length, 1)
})

test("a transport failure of an idempotent tool is tried once more, with the same call id", async () => {
  for (const more of [{ plan: { idempotent: true } }, { served: { idempotent: true } }]) {
    let count = 0
    const once = search({
      ...more.served,
      call: () =>
        ++count === 1
          ? Promise.reject(failure("tool_error", "", "reset"))
          : Promise.resolve({ text: "second", is_error: false }),
    })
    const tools = new InProcessTools({ tools: { search: once } })
    const model = callsThenAnswers([{ name: "search", arguments: { query: "x", project: "w" } }])
    const outcome = await runPlan(toolPlan(more.plan ?? {}), { model, tools })
    assert.deepEqual(resultOf(outcome), { message: "second" })
    assert.equal(tools.calls.length, 2)
    assert.equal(tools.calls[0]?.callId, tools.calls[1]?.callId)
    assert.equal(dataOf(outcome.events, "tool_call_started").length, 1)
  }
})

test("max_calls: a tool that is used up is withdrawn, and the model is informed", async () => {
  const call = { name: "search", arguments: { query: "x", project: "w" } }
  for (const [declared, used] of [
    [{ max_calls: 2 }, {}],
    [{}, { max_calls: 2 }],
  ]) {
    const tools = new InProcessTools({ tools: { search: search() } })
    const model = callsThenAnswers([call, { ...call, call_id: "b" }, { ...call, call_id: "c" }])
    const outcome = await runPlan(toolPlan(declared, used), { model, tools })
    assert.equal(tools.calls.length, 2)
    assert.deepEqual(resultOf(outcome), { message: "found x|found x|The tool search has been used up." })
    assert.deepEqual(model.requests[1]?.tools, [])
    assert.match(lastText(model.requests[1] ?? assert.fail()), /The tool search has been used up/)
  }
})

test("max_calls of a declaration counts for the whole run, of a use for each step", async () => {
  const call = { name: "search", arguments: { query: "x", project: "w" } }
  const looped = (declared: number | null, used: number | null): Plan =>
    plan(
      [
        agent("a", {
          loop: loopOver(ref("input.items"), "item"),
          uses: [use("tool", "search", { max_calls: used })],
        }),
      ],
      { tools: { search: tool({ remote: "search", max_calls: declared }) } },
    )
  const input = { items: [1, 2, 3] }
  const options = { max_concurrency: 1 }
  for (const [declared, used, expected] of [
    [2, null, 2],
    [null, 1, 3],
    [null, null, 3],
  ] as const) {
    const tools = new InProcessTools({ tools: { search: search() } })
    await runPlan(looped(declared, used), { model: callsThenAnswers([call]), tools, input, options })
    assert.equal(tools.calls.length, expected)
  }
})

test("max_steps bounds the turns; the last turn's calls are not made", async () => {
  const call = { name: "search", arguments: { query: "x", project: "w" } }
  const tools = new InProcessTools({ tools: { search: search() } })
  const model = callsThenAnswers([call], [call], [call], [call])
  const outcome = await runPlan(toolPlan({}, {}, 3), { model, tools })
  assert.equal(errorOf(outcome).kind, "limit_exceeded")
  assert.match(errorOf(outcome).message, /3 turns \(max_steps\)/)
  assert.equal(model.requests.length, 3)
  assert.equal(tools.calls.length, 2)
})

test("results: structured content first, JSON in text where a type asks for it, checked against it", async () => {
  const typed = { output: record({ n: integer }) }
  const call = [{ name: "search", arguments: { query: "x", project: "w" } }]
  const answerOf = async (served: ServedTool, more: Partial<Plan["tools"][string]> = {}): Promise<unknown> => {
    const model = callsThenAnswers(call)
    return resultOf(await runPlan(toolPlan(more), { model, tools: new InProcessTools({ tools: { search: served } }) }))
  }
  const says_ =
    (text: string, structured?: JsonObject): ServedTool["call"] =>
    () =>
      structured === undefined ? { text, is_error: false } : { text, structured, is_error: false }
  assert.deepEqual(await answerOf(search({ ...typed, call: says_("ignored", { n: 1 }) })), { message: '{"n":1}' })
  assert.deepEqual(await answerOf(search({ ...typed, call: says_('{"n": 2}') })), { message: '{"n":2}' })
  assert.deepEqual(await answerOf(search({ call: says_('{"n": 2}') }), typed), { message: '{"n":2}' })
  assert.match(JSON.stringify(await answerOf(search({ ...typed, call: says_('{"n": "x"}') }))), /does not fit its type/)
  assert.deepEqual(await answerOf(search({ call: says_("42") })), { message: "42" })
  assert.deepEqual(await answerOf(search({ call: says_("5") }), { output: string }), { message: "5" })
})

test("a secret that comes back from a tool is replaced before anyone sees it", async () => {
  const leaky = search({ call: () => ({ text: "key is sk-1234567890 ok", is_error: false }) })
  const model = callsThenAnswers([{ name: "search", arguments: { query: "x", project: "w" } }])
  const outcome = await runPlan(toolPlan(), {
    model,
    tools: new InProcessTools({ tools: { search: leaky } }),
    secrets: { key: "sk-1234567890" },
  })
  assert.deepEqual(resultOf(outcome), { message: "key is [secret:key] ok" })
  assert.ok(!JSON.stringify([outcome.events, model.requests.map(({ input }) => input)]).includes("sk-1234567890"))
})

test("a sentence about a bound secret that does not fit does not quote it", async () => {
  const counted = search({ input: record({ query: string, project: integer }) })
  const tools = new InProcessTools({ tools: { search: counted } })
  const model = callsThenAnswers([{ name: "search", arguments: { query: "x" } }])
  const bindings = entries({ project: text(ref("secrets.pin"), ref("variable.item")) })
  const looped = plan(
    [
      agent("a", { loop: loopOver(ref("input.items"), "item"), uses: [use("tool", "search", { bindings })] }),
      output({ all: ref("agent.a.*.message") }),
    ],
    { tools: { search: tool({ remote: "search" }) } },
  )
  const outcome = await runPlan(looped, { model, tools, input: { items: ["z"] }, secrets: { pin: "hunt2" } })
  assert.match(JSON.stringify(resultOf(outcome)), /project: the value does not fit/)
  const everything = JSON.stringify([outcome.events, model.requests.map((request) => request.input)])
  assert.ok(!everything.includes("hunt2"))
})

test("values nested without end, from a tool or a model, are taken for text or refused", async () => {
  const deep = `{"query":${"[".repeat(50_000)}${"]".repeat(50_000)},"project":"w"}`
  const tools = new InProcessTools({ tools: { search: search({ call: () => ({ text: deep, is_error: false }) }) } })
  const model = callsThenAnswers([
    { name: "search", arguments: { query: "x", project: "w" } },
    { name: "search", arguments: deep },
  ])
  const outcome = await runPlan(toolPlan(), { model, tools, secrets: { key: "sk-1234567890" } })
  const { message } = resultOf(outcome) as { message: string }
  assert.equal(message, `${deep}|The arguments are not a JSON object.`)
  assert.deepEqual(outcome.bugs, [])
})

test("the closing call: text in spite of a contract is followed by one turn without tools", async () => {
  const model = new ScriptedModel((request): ModelTurn => {
    if (request.tools.length > 0) return says("I am done", request)
    return answers({ message: "structured" }, request)
  })
  const tools = new InProcessTools({ tools: { search: search() } })
  const outcome = await runPlan(toolPlan(), { model, tools })
  assert.deepEqual(resultOf(outcome), { message: "structured" })
  assert.equal(model.requests.length, 2)
  assert.deepEqual(model.requests[1]?.tools, [])
  assert.equal(model.requests[1]?.turn, 2)
  assert.equal(model.requests[1]?.input.length, 2)
})

test("resources are read by the model through a tool of their own; template variables are its arguments", async () => {
  const tools = new InProcessTools({
    resources: {
      "docs://{page}/{lang}": {
        variables: ["page", "lang"],
        read: ({ page, lang }) => ({
          text: `{"page":"${toText(page ?? null)}-${toText(lang ?? null)}"}`,
          media_type: "application/json",
        }),
      },
    },
  })
  const model = callsThenAnswers([
    { name: "read_docs", arguments: { page: "intro" } },
    { name: "read_docs", arguments: {}, call_id: "bad" },
  ])
  const reading = plan([agent("a", { uses: [use("resource", "docs")] }), output({ message: ref("agent.a.message") })], {
    servers: { s: { endpoint: lit("http://x.test"), headers: [] } },
    resources: { docs: { server: "s", remote: "docs://{page}/{lang}", bindings: entries({ lang: lit("en") }) } },
  })
  const outcome = await runPlan(reading, { model, tools })
  assert.deepEqual(Object.keys(model.requests[0]?.tools[0]?.parameters["properties"] as JsonObject), ["page"])
  assert.match(JSON.stringify(resultOf(outcome)), /intro-en.*page: expected string/)
  assert.equal(dataOf(outcome.events, "resource_read").length, 1)
})

test("prompts are rendered into messages before the instruction", async () => {
  const tools = new InProcessTools({
    prompts: {
      style: {
        arguments: [{ name: "tone", required: true }],
        render: ({ tone }) => [
          { role: "user", text: `Be ${toText(tone ?? null)}.`, images: [] },
          { role: "assistant", text: "Yes.", images: [] },
        ],
      },
    },
  })
  const model = new ScriptedModel((request) => answers({ message: "x" }, request))
  const styled = (bindings: Record<string, ReturnType<typeof lit>>): Plan =>
    plan([agent("a", { uses: [use("prompt", "style", { bindings: entries(bindings) })] })], {
      servers: { s: { endpoint: lit("http://x.test"), headers: [] } },
      prompts: { style: { server: "s", remote: "style", bindings: [] } },
    })
  const outcome = await runPlan(styled({ tone: lit("kind") }), { model, tools })
  assert.deepEqual(model.requests[0]?.input, [
    { role: "user", parts: [{ type: "text", text: "Be kind." }] },
    { role: "assistant", parts: [{ type: "text", text: "Yes." }] },
    { role: "user", parts: [{ type: "text", text: "Do a." }] },
  ])
  assert.deepEqual(
    dataOf(outcome.events, "prompt_rendered").map(({ name, server, messages }) => [name, server, messages]),
    [
      [
        "style",
        "s",
        [
          { role: "user", text: "Be kind." },
          { role: "assistant", text: "Yes." },
        ],
      ],
    ],
  )
  // The model gets all of them, the event shows their size.
  const long = await runPlan(styled({ tone: lit("kind ".repeat(60_000)) }), { model, tools })
  const [cut] = dataOf(long.events, "prompt_rendered")
  assert.deepEqual(Object.keys(cut?.messages ?? {}), ["truncated", "bytes"])
  assert.ok(textOf(model.requests[1]?.input[0] ?? assert.fail()).length > 300_000)
  assert.deepEqual(dataOf(outcome.events, "agent_started")[0]?.tools, [])
  const missing = await runPlan(styled({}), { model, tools })
  assert.deepEqual(errorOf(missing).issues[0], {
    path: "prompt.style.bindings.tone",
    message: "style needs the argument tone",
  })
})

test("wrong bindings fail the run before any model is called", async () => {
  const tools = new InProcessTools({ tools: { search: search() } })
  const model = callsThenAnswers()
  const cases: [Plan, JsonObject, RegExp, string][] = [
    [toolPlan({ bindings: entries({ projekt: lit("x") }) }), {}, /no argument projekt/, "tool.search.bindings.projekt"],
    [toolPlan({ bindings: entries({ project: lit(5) }) }), {}, /expected string/, "tool.search.bindings.project"],
    [
      toolPlan({}, { bindings: entries({ project: ref("input.n") }) }),
      { n: 5 },
      /expected string/,
      "tool.search.bindings.project",
    ],
    [toolPlan({ remote: "nowhere" }), {}, /No tool nowhere/, "tool.search"],
  ]
  for (const [bad, input, message, path] of cases) {
    const outcome = await runPlan(bad, { model, tools, input })
    assert.equal(errorOf(outcome).kind, "validation_error")
    assert.match(errorOf(outcome).message, message)
    assert.deepEqual(
      errorOf(outcome).issues.map((issue) => issue.path),
      [path],
    )
  }
  assert.equal(model.requests.length, 0)
})

test("assets and files become parts; the event shows text alone", async () => {
  const model = new ScriptedModel((request) => answers({ message: "x" }, request))
  const nodes = [
    agent("a", {
      instruction: text(
        "See ",
        {
          op: "asset",
          value: ref("input.url"),
          type: "image",
          media_type: null,
          title: null,
          context: null,
          citations: null,
          text: "asset",
        },
        " and ",
        {
          op: "asset",
          value: lit("AAAA"),
          type: "document",
          media_type: lit("application/pdf"),
          title: lit("q.pdf"),
          context: null,
          citations: null,
          text: "asset",
        },
        ".",
      ),
      files: [
        { stem: null, name: lit("notes.md"), content: text("# ", ref("input.url")), media_type: null },
        { stem: null, name: lit("d.json"), content: ref("input"), media_type: lit("application/x-y") },
      ],
    }),
  ]
  const pictured = plan(nodes, { model: { assets: ["image", "document"] } })
  const input = { url: "https://x.test/a.png" }
  const outcome = await runPlan(pictured, { model, input })
  const base64 = (content: string): string => Buffer.from(content).toString("base64")
  assert.deepEqual(partsOf(model.requests[0]?.input[0]), [
    { type: "text", text: "See " },
    { type: "image", url: "https://x.test/a.png" },
    { type: "text", text: " and " },
    { type: "document", name: "q.pdf", url: "data:application/pdf;base64,AAAA" },
    { type: "text", text: "." },
    {
      type: "document",
      name: "notes.md",
      url: `data:text/markdown;base64,${base64("# https://x.test/a.png")}`,
    },
    {
      type: "document",
      name: "d.json",
      url: `data:application/x-y;base64,${base64(JSON.stringify(input))}`,
    },
  ])
  assert.equal(dataOf(outcome.events, "agent_started")[0]?.instruction, "See [image] and [document: q.pdf].")
})

test("context: the whole history of another agent, and of those that it continued", async () => {
  const model = new ScriptedModel((request): ModelTurn => {
    const turn = answers({ message: "m" }, request)
    const own: AssistantPart = { type: "provider", provider: { api: "x", origin: "o", data: { id: "r" } } }
    return { ...turn, message: { role: "assistant", parts: [own, ...turn.message.parts] } }
  })
  const chain = plan([
    agent("a", { instruction: text("First.") }),
    agent("b", { instruction: text("Second."), context: { agent: "a", compact: null } }),
    agent("c", { instruction: text("Third."), context: { agent: "b", compact: null } }),
  ])
  await runPlan(chain, { model })
  const step = ["user", "assistant"]
  const roles = model.requests.map(({ input }) => input.map(({ role }) => role))
  assert.deepEqual(roles, [["user"], [...step, "user"], [...step, ...step, "user"]])
})

test("compacted context: a plain-text call, its event, and the summary in place of the history", async () => {
  const model = new ScriptedModel((request) =>
    request.contract === null ? says("They agreed.", request) : answers({ message: "m" }, request),
  )
  const compact: NonNullable<ContextPlan["compact"]> = {
    models: [{ name: "m", inference: { temperature: 0 } }],
    instruction: text("Sum up for ", ref("input.who")),
  }
  const outcome = await runPlan(plan([agent("a"), agent("b", { context: { agent: "a", compact } })]), {
    model,
    input: { who: "Bo" },
  })
  const asked = model.requests[1]
  assert.equal(asked?.contract, null)
  assert.equal(asked?.inference.temperature, 0)
  assert.equal(lastText(asked ?? assert.fail()), "Sum up for Bo")
  assert.equal(asked?.input.length, 3)
  assert.deepEqual(
    model.requests[2]?.input.map((item) => textOf(item)),
    ["Summary of the conversation so far:\n\nThey agreed.", "Do b."],
  )
  const {
    at: _,
    duration_ms: __,
    ...data
  } = (outcome.events.find(({ type }) => type === "context_compacted")?.data ?? {}) as unknown as JsonObject
  assert.deepEqual(data, {
    agent: "b",
    source: "a",
    summary: "They agreed.",
    usage: { input_tokens: 7, output_tokens: 3, cached_tokens: 0, written_tokens: 0, reasoning_tokens: 0, cost: null },
  })
  assert.equal(dataOf(outcome.events, "workflow_completed")[0]?.usage.input_tokens, 27)
})

test("the steps of a loop share one summary, unless it is asked for item by item", async () => {
  const model = new ScriptedModel((request) =>
    request.contract === null ? says("They agreed.", request) : answers({ message: "m" }, request),
  )
  const looped = (instruction: Expression | null): Plan =>
    plan([
      agent("a"),
      agent("b", {
        loop: loopOver(ref("input.items"), "item"),
        context: { agent: "a", compact: { models: [{ name: "m", inference: {} }], instruction } },
      }),
    ])
  for (const [instruction, summaries] of [
    [null, 1],
    [text("For ", ref("input.who")), 1],
    [text("For ", ref("variable.item")), 3],
  ] as const) {
    model.requests.length = 0
    const outcome = await runPlan(looped(instruction), { model, input: { items: [1, 2, 3], who: "Bo" } })
    assert.equal(dataOf(outcome.events, "context_compacted").length, summaries)
    assert.equal(model.requests.length, 1 + summaries + 3)
    assert.equal(model.requests.at(-1)?.input.length, 2)
  }
})

test("an agent's own values are computed per item and may call tools", async () => {
  const tools = new InProcessTools({ tools: { search: search() } })
  const model = new ScriptedModel((request) => answers({ message: lastText(request) }, request))
  const local = plan(
    [
      agent("a", {
        loop: loopOver(ref("input.items"), "item"),
        locals: entries({
          upper: text("<", ref("variable.item"), ">"),
          found: {
            op: "call",
            tool: "search",
            input: entries({ query: ref("local.upper"), project: lit("w") }),
            bindings: [],
            max_calls: null,
            approval: null,
            site: "a.found",
            text: "call tool.search",
          },
        }),
        instruction: text(ref("local.found")),
      }),
      output({ all: ref("agent.a.*.message") }),
    ],
    { tools: { search: tool({ remote: "search" }) } },
  )
  const outcome = await runPlan(local, { model, tools, input: { items: ["x", "y"] } })
  assert.deepEqual(resultOf(outcome), { all: ["found <x>", "found <y>"] })
  const resolved = dataOf(outcome.events, "dynamic_resolved").map(({ name, agent: of, iteration }) => [
    name,
    of,
    iteration,
  ])
  assert.deepEqual(
    resolved.toSorted((a, b) => String(a).localeCompare(String(b))),
    [
      ["found", "a", 0],
      ["found", "a", 1],
      ["upper", "a", 0],
      ["upper", "a", 1],
    ],
  )
  const [started] = dataOf(outcome.events, "tool_call_started")
  assert.deepEqual([started?.agent, started?.dynamic, started?.iteration], ["a", "found", 0])
})

test("an agent that fails says so with the calls that it made", async () => {
  const model = new ScriptedModel((request) => {
    if (request.turn === 1) return callsTools([{ name: "search", arguments: { query: "x", project: "w" } }], request)
    throw failure("output_error", "", "The output does not fit")
  })
  const tools = new InProcessTools({ tools: { search: search() } })
  const outcome = await runPlan(toolPlan(), { model, tools })
  const failed = dataOf(outcome.events, "agent_failed")[0]
  assert.equal(failed?.calls.length, 1)
  assert.deepEqual(failed?.error, errorOf(outcome))
})

test("cancelling aborts an open tool call", async () => {
  const leave = new LightSignal()
  const stuck = search({
    call: (_, __, signal) => {
      setImmediate(() => leave.give())
      return hangs({ signal })
    },
  })
  const tools = new InProcessTools({ tools: { search: stuck } })
  const model = callsThenAnswers([{ name: "search", arguments: { query: "x", project: "w" } }])
  const outcome = await runPlan(toolPlan(), { model, tools, leave })
  assert.equal(outcome.end, null)
  assert.equal(tools.open_, 0)
})

test("a model that calls too many tools in one turn is stopped before any of them is called", async () => {
  const tools = new InProcessTools({ tools: { search: search() } })
  const many = (count: number): ScriptedModel =>
    callsThenAnswers(
      Array.from({ length: count }, (_, n) => ({
        name: "search",
        arguments: { query: "x", project: "wire" },
        call_id: `c${n}`,
      })),
    )
  const outcome = await runPlan(toolPlan(), { model: many(129), tools })
  const { kind, message, issues } = errorOf(outcome)
  assert.deepEqual([kind, issues[0]?.path, tools.calls.length], ["limit_exceeded", "agent.a", 0])
  assert.match(message, /129 tool calls in one turn; at most 128/)
  assert.equal((await runPlan(toolPlan(), { model: many(128), tools })).end?.type, "workflow_completed")
})

test("the memory of a run has a limit: outputs, conversations, histories that are continued", async () => {
  const limits = { keptBytes: 1_000_000 }
  const long = "x".repeat(400_000)
  const model = new ScriptedModel((request) => answers({ message: long }, request))
  const agents = (count: number): Plan => plan(Array.from({ length: count }, (_, n) => agent(`a${n}`, {})))
  assert.equal((await runPlan(agents(2), { model, limits })).end?.type, "workflow_completed")
  const outputs = await runPlan(agents(3), { model, limits })
  assert.equal(errorOf(outputs).kind, "limit_exceeded")
  assert.match(errorOf(outputs).message, /1000000 bytes of memory together \(WIRE_MAX_RUN_MEMORY\)/)
  assert.equal(dataOf(outputs.events, "agent_failed").length, 1)

  const tools = new InProcessTools({ tools: { search: search({ call: () => ({ text: long, is_error: false }) }) } })
  const turns = Array.from({ length: 3 }, () => [{ name: "search", arguments: { query: "x", project: "wire" } }])
  const conversation = await runPlan(toolPlan(), { model: callsThenAnswers(...turns), tools, limits })
  assert.deepEqual([errorOf(conversation).kind, errorOf(conversation).issues[0]?.path], ["limit_exceeded", "agent.a"])

  // What a step needed for its conversation is free when it has ended.
  const short = plan(
    Array.from({ length: 5 }, (_, n) => {
      const instruction = n === 0 ? text("Begin.") : text(ref(`agent.a${n - 1}.message`))
      return agent(`a${n}`, { uses: [use("tool", "search", {})], instruction })
    }),
    { tools: { search: tool({ remote: "search" }) } },
  )
  const once = new ScriptedModel((request) =>
    request.turn === 1 ? callsTools(turns[0] ?? [], request) : answers({ message: "done" }, request),
  )
  const freed = await runPlan(short, { model: once, tools, limits })
  assert.equal(freed.end?.type, "workflow_completed")
})

test("a run that goes on without a failed agent ends after the agent's other calls, which are in the log before the end", async () => {
  const { promise, resolve } = Promise.withResolvers<ToolAnswer>()
  let calls = 0
  const served = search({
    call: () => {
      calls++
      if (calls === 2) return promise
      throw failure("tool_error", "", "The connection was lost")
    },
  })
  const query = (call_id: string) => ({ name: "search", call_id, arguments: { query: "q", project: "p" } })
  // The other call answers when the agent has failed and all that is left of the run is its end.
  class Watched extends MemoryStore {
    override async append(...[lease, events]: Parameters<MemoryStore["append"]>): Promise<void> {
      await super.append(lease, events)
      if (events.some(({ type }) => type === "step_skipped")) {
        setTimeout(() => resolve({ text: "late", is_error: false }), 20)
      }
    }
  }
  const outcome = await runPlan(
    plan(
      [
        agent("a", { uses: [use("tool", "search")], on_failure: "skip" }),
        output({ done: lit(true), a: ref("agent.a") }),
      ],
      { tools: { search: tool({ remote: "search" }) } },
    ),
    {
      model: callsThenAnswers([query("one"), query("two")]),
      tools: new InProcessTools({ tools: { search: served } }),
      store: new Watched(systemClock),
    },
  )
  assert.deepEqual(outcome.bugs, [])
  assert.deepEqual(resultOf(outcome), { done: true, a: null })
  assert.deepEqual(typesOf(outcome.events).slice(-4), [
    "agent_failed",
    "step_skipped",
    "tool_call_completed",
    "workflow_completed",
  ])
})
