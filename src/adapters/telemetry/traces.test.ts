import assert from "node:assert/strict"
import { test } from "node:test"
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
import type { LogEvent } from "../../log/events.ts"
import { RunTracer } from "./traces.ts"

const at = "2026-11-15T19:00:00.000Z"

function completedBy(provider: string): LogEvent[] {
  const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 4, reasoning_tokens: 0, cost: 0.25 }
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
    const tracer = new RunTracer(provider.getTracer("test"))
    tracer.appended("r", completedBy(kind))
    const chat = exporter.getFinishedSpans().find((span) => span.name.startsWith("chat "))
    assert.equal(chat?.name, "chat id-1")
    assert.equal(chat?.attributes["gen_ai.provider.name"], name)
    assert.equal(chat?.attributes["gen_ai.request.model"], "id-1")
    assert.equal(chat?.attributes["gen_ai.usage.input_tokens"], 10)
    assert.equal(chat?.attributes["wireworks.usage.cost"], 0.25)
  })
}

test("the last call of a failed step has the backend's status as its type of error", () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = new RunTracer(provider.getTracer("test"))
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
  assert.deepEqual(types("chat "), ["_OTHER", "503"])
  assert.deepEqual(types("invoke_agent"), ["provider_error"])
})

test("the span of a run that its process gives back ends there, in the trace of its request", () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = new RunTracer(provider.getTracer("test"))
  const traceId = "0af7651916cd43dd8448eb211c80319c"
  tracer.taken({
    run_id: "r",
    caller: "",
    workflow: null,
    resumed: false,
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
  const tracer = new RunTracer(provider.getTracer("test"))
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

test("the spans of a run have the name of its workflow, and the root its version and caller", () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = new RunTracer(provider.getTracer("test"))
  const about = { resumed: false, traceparent: null, tracestate: null, baggage: null }
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
    ["chat id-1", "tickets/triage", undefined, undefined],
    ["invoke_agent a", "tickets/triage", undefined, undefined],
    ["workflow", "tickets/triage", "0123456789ab", "ann"],
    ["chat id-1", undefined, undefined, undefined],
    ["invoke_agent a", undefined, undefined, undefined],
    ["workflow", undefined, undefined, undefined],
  ])
})
