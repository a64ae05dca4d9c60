import assert from "node:assert/strict"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, test, type TestContext } from "node:test"
import type { JsonObject } from "../../../src/base/json-value.ts"
import type { WireError } from "../../../src/log/events.ts"
import { startServer } from "../../support/http-server.ts"
import { allEvents, type SeenEvent } from "./read-stream.ts"
import { startService } from "./start-service.ts"

// Tools that the provider of a model hosts: what is sent, what comes back, what it costs.

interface Case {
  readonly kind: string
  readonly hosted: string
  readonly model?: string
  readonly agent?: string
  readonly more?: string
  readonly endpoint?: string
  readonly options?: JsonObject
}

const anthropicSearch = '{ type: "web_search_20260318" max_uses: 3 }'

describe("hosted tools", async () => {
  const service = await startService()
  const demo = `${service.url}/demo`

  function sourceOf({ kind, hosted, model = "", agent = "", more = "", endpoint }: Case): string {
    const version = kind === "google" ? "v1beta" : "v1"
    return `
input { topic: string }
provider p from ${kind} { endpoint: "${endpoint ?? `${demo}/${version}`}" }
model m from p { id: "demo" ${model} }
${more}
agent research {
  model: model.m
  hosted_tools: [${hosted}]
  instruction: "What is new about {{ input.topic }}?"
  ${agent}
  output { answer: string }
}
output { answer: agent.research.answer }
`
  }

  async function run(one: Case): Promise<{ events: readonly SeenEvent[]; bodies: JsonObject[]; record: JsonObject }> {
    const body = { workflow_source: sourceOf(one), input: { topic: "wireworks releases" }, options: one.options ?? {} }
    const started = await service.post("/execute", body, { accept: "text/event-stream" })
    const id = started.headers.get("x-service-run-id") ?? ""
    const events = await allEvents(started)
    const calls = events.flatMap(({ type, data }) =>
      type === "hosted_tool_used" ? [] : ((data["calls"] ?? []) as { call_id: string }[]),
    )
    const bodies: JsonObject[] = []
    for (const { call_id } of calls) {
      const call = await service.get(`/execute/${id}/calls/${encodeURIComponent(call_id)}`)
      bodies.push(((await call.json()) as { body: JsonObject }).body)
    }
    return { events, bodies, record: (await (await service.get(`/execute/${id}`)).json()) as JsonObject }
  }

  const used = (events: readonly SeenEvent[]): unknown[] =>
    events.filter(({ type }) => type === "hosted_tool_used").map(({ data }) => [data["turn"], data["type"]])

  const cases: readonly (Case & { readonly tools: JsonObject[]; readonly type: string })[] = [
    {
      kind: "openai",
      hosted: '{ type: "web_search" search_context_size: "low" cleared: private }',
      tools: [{ type: "web_search", search_context_size: "low" }],
      type: "web_search",
    },
    {
      kind: "anthropic",
      hosted: anthropicSearch,
      tools: [{ type: "web_search_20260318", max_uses: 3, name: "web_search" }],
      type: "web_search",
    },
    {
      kind: "google",
      hosted: '{ type: "google_search" timeRangeFilter: { startTime: "2026-01-01T00:00:00Z" } }',
      tools: [{ googleSearch: { timeRangeFilter: { startTime: "2026-01-01T00:00:00Z" } } }],
      type: "google_search",
    },
  ]
  for (const { tools, type, ...one } of cases) {
    for (const deltas of [false, true]) {
      test(`${one.kind}${deltas ? ", streamed" : ""}: the entry is sent, its use is an event, and has its price`, async () => {
        const price = `price { input: 1 output: 1 hosted { ${type}: 0.01 } }`
        const { events, bodies, record } = await run({ ...one, model: price, options: { deltas } })
        assert.equal(events.at(-1)?.type, "workflow_completed", JSON.stringify(events.at(-1)))
        assert.deepEqual(bodies[0]?.["tools"], tools)
        assert.deepEqual(used(events), [[1, type]])
        const [use] = events.filter((event) => event.type === "hosted_tool_used")
        assert.match(String(use?.data["summary"]), /wireworks releases/)
        const { usage } = record as {
          usage: { cost: number; input_tokens: number; output_tokens: number; hosted: unknown }
        }
        assert.deepEqual(usage.hosted, { [type]: 1 })
        const tokens = (usage.input_tokens + usage.output_tokens) / 1e6
        assert.ok(Math.abs(usage.cost - 0.01 - tokens) < 2e-6, `${usage.cost} for ${tokens}`)
      })
    }
  }

  test("Anthropic: a pause goes on with the content as it was, and all of it goes back in a tool loop", async () => {
    const { events, bodies } = await run({
      kind: "anthropic",
      hosted: `${anthropicSearch}, { type: "web_fetch_20260318" }, { type: "code_execution_20260521" }`,
      more: 'mcp library { endpoint: "demo" } tool find from mcp.library.tool.find-books',
      agent: "uses: [tool.find]",
    })
    assert.equal(events.at(-1)?.type, "workflow_completed", JSON.stringify(events.at(-1)))
    assert.deepEqual(used(events), [
      [1, "web_search"],
      [1, "web_fetch"],
      [1, "code_execution"],
    ])
    const retries = events.filter(({ type }) => type === "agent_retried")
    assert.deepEqual(
      retries.map(({ data }) => data["reason"]),
      Array(2).fill("The provider has paused its own tools: asked to go on"),
    )
    const last = bodies.at(-1) as { messages: { role: string; content: JsonObject[] }[] }
    const said = last.messages.filter(({ role }) => role === "assistant")
    const types = said[0]?.content.map(({ type }) => type)
    assert.deepEqual(types, [
      "server_tool_use",
      "web_search_tool_result",
      "server_tool_use",
      "web_fetch_tool_result",
      "server_tool_use",
      "bash_code_execution_tool_result",
      "tool_use",
    ])
    assert.match(JSON.stringify(said[0]?.content), /"encrypted_content":"demo-/)
  })

  test("a use past `tool_calls` ends the run", async () => {
    const two = `${anthropicSearch}, { type: "web_fetch_20260318" }`
    const { events } = await run({ kind: "anthropic", hosted: two, more: "limits { tool_calls: 1 }" })
    const last = events.at(-1)
    assert.equal(last?.type, "workflow_failed")
    const { error } = last.data as unknown as { error: WireError }
    assert.equal(error.kind, "limit_exceeded")
    assert.equal(error.issues[0]?.path, "limits.tool_calls")
  })

  test("a cost budget wants a price for each type", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "hosted-"))
    t.after(() => rm(folder, { recursive: true }))
    const [prices, budgets] = [join(folder, "prices.json"), join(folder, "budgets.json")]
    await writeFile(budgets, JSON.stringify({ callers: { "*": { cost_per_day: 100 } } }))
    const models = { demo: { input: 1, output: 1 } }
    await writeFile(prices, JSON.stringify({ [`${demo}/v1`]: models }))
    const limited = await startService({ BUDGETS: budgets, PRICES: prices })
    const body = {
      workflow_source: sourceOf({ kind: "openai", hosted: '{ type: "web_search" }' }),
      input: { topic: "x" },
    }
    const { error } = (await (await limited.post("/execute", body)).json()) as { error: WireError }
    assert.equal(error.kind, "input_error")
    assert.match(error.message, /model\.m has no price for the hosted tool web_search that the budget callers\.\*/)
  })

  async function checked(one: Case): Promise<{ code: string; path: string; message: string; severity: string }[]> {
    const response = await service.post("/validate", { workflow_source: sourceOf(one) })
    const { issues } = (await response.json()) as {
      issues: { code: string; path: string; message: string; severity: string }[]
    }
    return issues
  }

  const wrong: readonly (readonly [string, Case, string])[] = [
    [
      "a type that is not known",
      { kind: "openai", hosted: '{ type: "mcp" server_url: "https://a.example" }' },
      "invalid-value",
    ],
    ["no type", { kind: "openai", hosted: "{ max_uses: 1 }" }, "invalid-value"],
    [
      "a label that is not known",
      { kind: "openai", hosted: '{ type: "web_search" cleared: public }' },
      "invalid-value",
    ],
    [
      "a value that is computed",
      { kind: "openai", hosted: '{ type: "web_search" a: input.topic }' },
      "misplaced-expression",
    ],
    ["an API without them", { kind: "openai_chat", hosted: '{ type: "web_search" }' }, "ignored-setting"],
    [
      "no price under a limit on cost",
      {
        kind: "openai",
        hosted: '{ type: "web_search" }',
        model: "price { input: 1 output: 1 }",
        more: "limits { cost: 1 }",
      },
      "unpriced-model",
    ],
  ]
  for (const [name, one, code] of wrong) {
    test(`${name}: ${code}`, async () => {
      const found = await checked(one)
      assert.deepEqual(
        found.map((each) => each.code),
        [code],
        JSON.stringify(found),
      )
    })
  }

  test("uses are reserved before a call: as many as its entry allows", async (t: TestContext) => {
    const text = [{ type: "text", text: '{"answer":"done"}' }]
    const body = {
      type: "message",
      role: "assistant",
      content: text,
      stop_reason: "end_turn",
      usage: { input_tokens: 1 },
    }
    const server = await startServer((_request, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body)),
    )
    t.after(() => server.close())
    const one = {
      kind: "anthropic",
      hosted: anthropicSearch,
      endpoint: `${server.origin}/v1`,
      model: "price { input: 1 output: 1 hosted { web_search: 1 } }",
    }
    const { events } = await run({ ...one, more: "limits { cost: 2.5 }" })
    const error = (events.at(-1) ?? assert.fail("There are no events")).data["error"] as WireError
    assert.deepEqual([error.kind, error.issues[0]?.path], ["limit_exceeded", "limits.cost"])
    assert.match(error.message, /may cost 3\.\d+, and 2\.5 is left/)
    assert.equal(server.received.length, 0)
    const enough = await run({ ...one, more: "limits { cost: 3.5 }" })
    const begun = enough.events.find(({ type }) => type === "model_call_started")
    const { cost } = (begun ?? assert.fail("No call has begun")).data["reserved"] as { cost: number }
    assert.ok(cost > 3)
    assert.equal(enough.events.at(-1)?.type, "workflow_completed")
    assert.ok((enough.record["limits"] as { cost: { used: number } }).cost.used < 1)
  })

  test("code goes on in the container that it began in", async (t: TestContext) => {
    const content = [{ type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: { code: "1" } }]
    const about = { type: "message", role: "assistant", container: { id: "container_7", expires_at: "2030-01-01" } }
    const paused = { ...about, content, stop_reason: "pause_turn", usage: { input_tokens: 1 } }
    const text = [{ type: "text", text: '{"answer":"done"}' }]
    const ended = { ...about, content: text, stop_reason: "end_turn", usage: { input_tokens: 1 } }
    let asked = 0
    const server = await startServer((_request, response) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify(asked++ === 0 ? paused : ended)),
    )
    t.after(() => server.close())
    await run({
      kind: "anthropic",
      hosted: '{ type: "code_execution_20250825" }',
      endpoint: `${server.origin}/v1`,
    })
    const [first, second] = server.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
    assert.equal(first?.["container"], undefined)
    assert.equal(second?.["container"], "container_7")
    assert.deepEqual((second["messages"] as { content: unknown }[]).at(-1)?.content, content)
  })

  test("a backend that pauses for ever is left", async (t: TestContext) => {
    const content = [{ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } }]
    const body = { type: "message", role: "assistant", content, stop_reason: "pause_turn", usage: { input_tokens: 1 } }
    const server = await startServer((_request, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body)),
    )
    t.after(() => server.close())
    const { events } = await run({ kind: "anthropic", hosted: anthropicSearch, endpoint: `${server.origin}/v1` })
    assert.match(JSON.stringify(events.at(-1)?.data["error"]), /paused its own tools 33 times in one turn; at most 32/)
    assert.equal(server.received.length, 33)
  })
})
