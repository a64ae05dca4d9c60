import assert from "node:assert/strict"
import { test } from "node:test"
import { ownTrace, OwnTraces } from "./own-traces.ts"
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  RandomIdGenerator,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base"
import type { LogEvent } from "../../log/events.ts"
import { compile } from "../../compile.ts"
import { RunTracer } from "./run-tracer.ts"
import { traceNames } from "./trace-names.ts"

const at = "2026-11-15T19:00:00.000Z"

const { plan } = compile(`
provider p from openai { endpoint: "http://models.example.com:8080/v1"  api_key: "k" }
model fast from p { id: "id-1" }
agent a { model: model.fast  instruction: "Hi"  output { text: string } }
output { text: agent.a.text }
`)

function completedBy(provider: string): LogEvent[] {
  const usage = {
    input_tokens: 10,
    output_tokens: 5,
    cached_tokens: 4,
    written_tokens: 0,
    reasoning_tokens: 0,
    cost: 0.25,
  }
  const call = { turn: 1, attempt: 1, started_at: at, duration_ms: 7, model: "fast", id: "id-1", provider, usage }
  const calls = [{ ...call, format: "json_schema" }]
  const about = { agent: "a", at }
  return [
    { id: 1, type: "agent_started", at, data: { ...about, model: "first", tools: [], instruction: "" } },
    {
      id: 2,
      type: "agent_completed",
      at,
      data: { ...about, output: {}, cached: false, duration_ms: 7, usage, calls },
    },
    { id: 3, type: "workflow_completed", at, data: { output: { result: {} }, usage, duration_ms: 7, at } },
  ]
}

for (const [kind, name] of Object.entries({
  openai: "openai",
  openai_compatible: "openai",
  openai_chat: "openai",
  anthropic: "anthropic",
  anthropic_compatible: "anthropic",
  cohere: "cohere",
  google: "gcp.gemini",
  mistral: "mistral_ai",
  xai: "x_ai",
  groq: "groq",
  deepseek: "deepseek",
  perplexity: "perplexity",
  ollama: "ollama",
})) {
  test(`calls of a provider of the kind ${kind} are those of ${name}, by the id of their own model`, () => {
    const exporter = new InMemorySpanExporter()
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
    const tracer = new RunTracer(provider.getTracer("test"), traceNames({}), { next: null })
    assert.ok(plan !== undefined)
    tracer.planned("r", null, plan)
    const response = { id: "resp_1", model: "id-1-2026", finish_reasons: ["completed"] }
    tracer.responded("r", { agent: "a", turn: 1, attempt: 1 }, response)
    tracer.responded("another", { agent: "a", turn: 1, attempt: 1 }, { id: "resp_2" })
    tracer.appended("r", completedBy(kind))
    const chat = exporter.getFinishedSpans().find((span) => span.name.startsWith("chat"))
    assert.equal(chat?.name, "chat id-1")
    assert.equal(chat?.attributes["gen_ai.provider.name"], name)
    assert.equal(chat?.attributes["gen_ai.request.model"], "id-1")
    assert.equal(chat?.attributes["gen_ai.usage.input_tokens"], 10)
    assert.equal(chat?.attributes["server.address"], "models.example.com")
    assert.equal(chat?.attributes["server.port"], 8080)
    assert.equal(chat?.attributes["gen_ai.response.id"], "resp_1")
    assert.equal(chat?.attributes["gen_ai.response.model"], "id-1-2026")
    assert.deepEqual(chat?.attributes["gen_ai.response.finish_reasons"], ["completed"])
    assert.equal(chat?.attributes["wireworks.usage.cost"], 0.25)
  })
}

test("the last call of a failed step has the backend's status as its type of error", () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = new RunTracer(provider.getTracer("test"), traceNames({}), { next: null })
  const call = { turn: 1, started_at: at, duration_ms: 7, model: "fast", id: "id-1", provider: "openai" }
  const calls = [1, 2].map((attempt) => ({ ...call, attempt }))
  const message = "The model backend answered 503"
  const error = {
    kind: "provider_error",
    message,
    issues: [{ path: "agent.a", message, upstream_status: 503 }],
  } as const
  tracer.appended("r", [
    ...completedBy("openai").slice(0, 1),
    { id: 2, type: "agent_failed", at, data: { agent: "a", at, error, duration_ms: 14, calls } },
  ])
  const spans = exporter.getFinishedSpans()
  const types = (name: string) =>
    spans.filter((span) => span.name.startsWith(name)).map(({ attributes }) => attributes["error.type"])
  assert.deepEqual(types("chat"), ["_OTHER", "503"])
  assert.deepEqual(types("invoke_agent"), ["provider_error"])
})

test("the span of a run that its process gives back ends there, in the trace of its request", () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = new RunTracer(provider.getTracer("test"), traceNames({}), { next: null })
  const traceId = "0af7651916cd43dd8448eb211c80319c"
  tracer.taken({
    run_id: "r",
    caller: "",
    workflow: null,
    resumed: false,
    trace_id: traceId,
    traceparent: `00-${traceId}-b7ad6b7169203331-01`,
    tracestate: "vendor=one",
    baggage: null,
  })
  tracer.appended("r", completedBy("openai").slice(0, 1))
  const { traceparent, tracestate } = tracer.context("r") ?? {}
  tracer.left("r")
  assert.equal(tracer.context("r"), null)
  const spans = exporter.getFinishedSpans()
  const run = spans.find(({ name }) => name === "workflow")
  assert.equal(run?.attributes["wireworks.status"], "left")
  assert.equal(traceparent, `00-${traceId}-${run?.spanContext().spanId}-01`)
  assert.equal(tracestate, "vendor=one")
  assert.deepEqual(
    spans.map((span) => [span.spanContext().traceId, span.spanContext().traceState?.serialize()]),
    [
      [traceId, "vendor=one"],
      [traceId, "vendor=one"],
    ],
  )
})

test("a step that another process began: its span begins with its first call, and names its model", () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = new RunTracer(provider.getTracer("test"), traceNames({}), { next: null })
  const later = "2026-11-15T19:00:07.000Z"
  const rest = completedBy("openai").slice(1)
  tracer.appended(
    "r",
    rest.map((event) => ({ ...event, at: later })),
  )
  const spans = exporter.getFinishedSpans()
  const step = spans.find(({ name }) => name.startsWith("invoke_agent"))
  const call = spans.find(({ name }) => name.startsWith("chat"))
  assert.ok(step !== undefined && call !== undefined)
  assert.deepEqual(step.startTime, call.startTime)
  assert.equal(step.attributes["gen_ai.request.model"], call.attributes["gen_ai.request.model"])
})

test("a run without a trace of its request has its own, whatever process works on it", () => {
  const exporter = new InMemorySpanExporter()
  const trace_id = ownTrace("r")
  assert.match(trace_id, /^[\da-f]{32}$/)
  const about = { caller: "", workflow: null, trace_id, traceparent: null, tracestate: null, baggage: null }
  for (const resumed of [false, true]) {
    const ids = new OwnTraces(new RandomIdGenerator())
    const spanProcessors = [new SimpleSpanProcessor(exporter)]
    const provider = new BasicTracerProvider({ spanProcessors, idGenerator: ids })
    const tracer = new RunTracer(provider.getTracer("test"), traceNames({}), ids)
    tracer.taken({ ...about, run_id: "r", resumed })
    tracer.appended("r", completedBy("openai"))
    tracer.taken({ ...about, run_id: "other", trace_id: null, resumed })
    tracer.appended("other", completedBy("openai"))
  }
  const traces = new Map<string, Set<string>>()
  for (const span of exporter.getFinishedSpans()) {
    const { traceId } = span.spanContext()
    traces.set(traceId, (traces.get(traceId) ?? new Set()).add(span.name))
  }
  assert.equal(traces.size, 3)
  assert.deepEqual([...(traces.get(trace_id) ?? [])], ["chat", "invoke_agent a", "workflow"])
})

test("the spans of a run have the name of its workflow, and the root its version and caller", () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = new RunTracer(provider.getTracer("test"), traceNames({}), { next: null })
  const about = { resumed: false, trace_id: null, traceparent: null, tracestate: null, baggage: null }
  tracer.taken({ ...about, run_id: "r", caller: "ann", workflow: { name: "tickets/triage", version: "0123456789ab" } })
  tracer.appended("r", completedBy("openai"))
  tracer.taken({ ...about, run_id: "s", caller: "", workflow: null })
  tracer.appended("s", completedBy("openai"))
  const spans = exporter.getFinishedSpans()
  const facts = spans.map(({ name, attributes }) => [
    name,
    attributes["gen_ai.workflow.name"],
    attributes["wireworks.workflow.version"],
    attributes["wireworks.caller"],
  ])
  assert.deepEqual(facts, [
    ["chat", "tickets/triage", undefined, undefined],
    ["invoke_agent a", "tickets/triage", undefined, undefined],
    ["workflow", "tickets/triage", "0123456789ab", "ann"],
    ["chat", undefined, undefined, undefined],
    ["invoke_agent a", undefined, undefined, undefined],
    ["workflow", undefined, undefined, undefined],
  ])
})

test("every kind of step has its span: called workflows, what happens in them, compaction, and what is asked of a server", () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = new RunTracer(provider.getTracer("test"), traceNames({}), { next: null })
  const usage = {
    input_tokens: 10,
    output_tokens: 5,
    cached_tokens: 0,
    written_tokens: 0,
    reasoning_tokens: 0,
    cost: 0.25,
  }
  const outer = { workflow: "sort", call_id: "1", scope: "sort@agent.plan", agent: "plan" }
  const inner = { workflow: "look", call_id: "2", scope: "sort@agent.plan/look@dynamic.x", dynamic: "x" }
  const agent = { model: "m", tools: [], instruction: "" }
  const tool = { tool: "find", server: "crm", call_id: "3", scope: inner.scope, dynamic: "y" }
  const kind = "tool_error" as const
  const error = { kind, message: "no", issues: [{ path: "", message: "no" }] } as const
  const ended = { cached: false, output: {}, duration_ms: 7, usage, calls: [] }
  const data: readonly Omit<LogEvent, "id" | "at">[] = [
    { type: "mcp_server_connected", data: { server: "lib", protocol: "1", tools: [], duration_ms: 9 } },
    { type: "resource_read", data: { name: "rules", server: "lib", duration_ms: 5 } },
    { type: "agent_started", data: { agent: "plan", ...agent } },
    { type: "workflow_call_started", data: { ...outer, input: {} } },
    { type: "agent_started", data: { agent: "plan", ...agent, scope: outer.scope } },
    { type: "context_compacted", data: { agent: "plan", scope: outer.scope, source: "a", duration_ms: 3, usage } },
    { type: "agent_completed", data: { agent: "plan", ...ended, scope: outer.scope } },
    { type: "workflow_call_started", data: { ...inner, input: {} } },
    { type: "tool_call_started", data: { ...tool, arguments: {} } },
    { type: "tool_call_completed", data: { ...tool, result: {}, duration_ms: 1 } },
    { type: "prompt_rendered", data: { name: "hello", server: "lib", duration_ms: 5, scope: inner.scope } },
    { type: "workflow_call_failed", data: { ...inner, error, duration_ms: 4 } },
    { type: "workflow_call_completed", data: { ...outer, output: {}, duration_ms: 6, usage } },
    { type: "agent_completed", data: { agent: "plan", ...ended } },
    {
      type: "question_answered",
      data: { id: "q", name: "review", answer: {}, answered_by: { caller: null, by: null } },
    },
    { type: "workflow_completed", data: { output: { result: {} }, usage, duration_ms: 7 } },
  ] as readonly Omit<LogEvent, "id" | "at">[]
  tracer.appended(
    "r",
    data.map((event, index) => ({ ...event, id: index + 1, at }) as LogEvent),
  )
  const spans = exporter.getFinishedSpans()
  const names = new Map(spans.map((span) => [span.spanContext().spanId, span.name]))
  const under = spans.map((span) => [names.get(span.parentSpanContext?.spanId ?? ""), span.name])
  assert.deepEqual(under, [
    ["workflow", "connect lib"],
    ["workflow", "resources/read rules"],
    ["invoke_agent plan", "compact a"],
    ["invoke_workflow sort", "invoke_agent plan"],
    ["invoke_workflow look", "execute_tool find"],
    ["invoke_workflow look", "prompts/get hello"],
    ["invoke_workflow sort", "invoke_workflow look"],
    ["invoke_agent plan", "invoke_workflow sort"],
    ["workflow", "invoke_agent plan"],
    [undefined, "workflow"],
  ])
  const of = (name: string) => spans.find((span) => span.name === name)
  assert.equal(of("compact a")?.attributes["gen_ai.usage.input_tokens"], 10)
  assert.equal(of("compact a")?.attributes["wireworks.usage.cost"], 0.25)
  assert.equal(of("invoke_workflow look")?.attributes["error.type"], kind)
  assert.deepEqual(of("resources/read rules")?.startTime, [Date.parse(at) / 1000 - 1, 995_000_000])
  assert.deepEqual(
    of("workflow")?.events.map((event) => [event.name, event.attributes?.["question"]]),
    [["question_answered", "review"]],
  )
})

test("calls of workflows that the end of a run interrupts end with it, and one that another process began has a span", () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = new RunTracer(provider.getTracer("test"), traceNames({}), { next: null })
  const usage = {
    input_tokens: 0,
    output_tokens: 0,
    cached_tokens: 0,
    written_tokens: 0,
    reasoning_tokens: 0,
    cost: null,
  }
  const about = { call_id: "1", output: {}, duration_ms: 2000, usage, input: {} }
  tracer.appended("r", [
    { id: 1, type: "workflow_call_completed", at, data: { ...about, workflow: "early", scope: "early@dynamic.a" } },
    { id: 2, type: "workflow_call_started", at, data: { ...about, workflow: "late", scope: "late@dynamic.b" } },
    { id: 3, type: "workflow_cancelled", at, data: { usage, duration_ms: 7 } },
  ])
  assert.deepEqual(
    exporter.getFinishedSpans().map((span) => [span.name, span.duration[0]]),
    [
      ["invoke_workflow early", 2],
      ["invoke_workflow late", 0],
      ["workflow", 0],
    ],
  )
})
