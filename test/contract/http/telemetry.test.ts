import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { ownTrace } from "../../../src/adapters/telemetry/own-traces.ts"
import type { RunAnswer } from "../../../src/api/runs.ts"
import { startWire } from "../../cli/run-wire.ts"
import { apiError, calls, fakeBackend, json, says } from "../../support/fake-backend.ts"
import { startServer } from "../../support/http-server.ts"
import { tinyMcp } from "../../support/tiny-mcp.ts"
import { within } from "../../support/within.ts"
import { allEvents } from "./read-stream.ts"
import type { TestService } from "./start-service.ts"
import { ada, heldAgent, hello, oneAgent, startService, untilMetric } from "./start-service.ts"

interface OtlpSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[]
  readonly status: { readonly code?: number }
  readonly events?: readonly { readonly name: string }[]
}

interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: OtlpSpan["attributes"] }
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

function spansOf(bodies: readonly OtlpBody[]): OtlpSpan[] {
  const all = bodies.flatMap(({ resourceSpans }) => resourceSpans)
  return all.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
}

function attributesOf({ attributes }: Pick<OtlpSpan, "attributes">): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

const traceNames = ["traceparent", "tracestate", "baggage"]

const folder = mkdtempSync(join(tmpdir(), "wire-telemetry-"))
after(() => rmSync(folder, { recursive: true, force: true }))

describe("traces", () => {
  it("go to an OTLP receiver, with the names of the GenAI conventions and without payloads", async (t) => {
    const bodies: OtlpBody[] = []
    const receiver = await startServer(({ body, url }, response) => {
      assert.equal(url, "/v1/traces")
      bodies.push(JSON.parse(body) as OtlpBody)
      response.writeHead(200, { "content-type": "application/json" })
      response.end("{}")
    })
    t.after(() => receiver.close())
    let leftCalls = 0
    const { backend } = await fakeBackend(t, ({ body, headers }, n) => {
      backendHeaders += JSON.stringify(headers)
      // The first process dies while it waits for an answer.
      if (JSON.stringify(body["input"]).includes("PAYLOAD-LEFT")) {
        return leftCalls++ === 0 ? () => undefined : says('{"message":"PAYLOAD-LATE"}')
      }
      if (JSON.stringify(body["input"]).includes("PAYLOAD-FAIL")) return apiError(401, "PAYLOAD-ERROR")
      if (n === 1) return apiError(500, "busy")
      return n === 2 ? calls("look", { q: "PAYLOAD-ARGUMENT" }) : says('{"message":"PAYLOAD-ANSWER"}')
    })
    let traceparent = ""
    let tracestate = ""
    let baggage: unknown
    let backendHeaders = ""
    const server = await tinyMcp({
      look: ({ meta, headers }) => {
        for (const name of traceNames) assert.equal(headers[name], meta[name])
        baggage = meta["baggage"]
        traceparent = meta["traceparent"] as string
        tracestate = meta["tracestate"] as string
        return { content: [{ type: "text", text: "PAYLOAD-RESULT" }] }
      },
    })
    t.after(() => server.close())

    const environment = {
      WIRE_PORT: "0",
      WIRE_DATA_DIR: folder,
      WIRE_LOG_LEVEL: "error",
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin,
      OTEL_SERVICE_NAME: "my-wires",
      WIRE_TRACE_HOSTS: `127.0.0.1:${server.port}`,
      WIRE_TRACE_URL: "https://traces.example.com/trace/{trace_id}",
      OTEL_BSP_SCHEDULE_DELAY: "100",
    }
    const service = await startWire(["serve"], environment)
    const source = `mcp s { endpoint: "${server.url}" } tool look from mcp.s.tool.look
      ${oneAgent(backend.endpoint)
        .replace("max_retries: 0", "max_retries: 2 retry_base_delay_ms: 1")
        .replace("output { message: string }", "uses: [tool.look]\n output { message: string }")}`
    const caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    const execute = (workflow_source: string, name: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${service.address}/execute`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "text/event-stream", ...headers },
        body: JSON.stringify({ workflow_source, input: { name } }),
      })
    const good = await execute(source, "PAYLOAD-INPUT", {
      traceparent: caller,
      tracestate: "vendor=one,other=2",
      baggage: "user=PAYLOAD-BAGGAGE",
    })
    const events = await allEvents(good)
    assert.equal(events.at(-1)?.type, "workflow_completed")
    const refused = await execute(oneAgent(backend.endpoint), "PAYLOAD-FAIL", {
      traceparent: caller.replace("00-", "zz-"),
    })
    const bad = await allEvents(refused)
    assert.equal(bad.at(-1)?.type, "workflow_failed")
    const otherTrace = "1af7651916cd43dd8448eb211c80319c"
    const left = await execute(oneAgent(backend.endpoint), "PAYLOAD-LEFT", {
      traceparent: `00-${otherTrace}-b7ad6b7169203331-01`,
      tracestate: "vendor=left",
    })
    const leftId = left.headers.get("x-service-run-id")
    const recordOf = async (run_id: unknown): Promise<RunAnswer> =>
      (await (await fetch(`${service.address}/execute/${String(run_id)}`)).json()) as RunAnswer
    const record = await recordOf(good.headers.get("x-service-run-id"))
    const own = await recordOf(refused.headers.get("x-service-run-id"))
    const sent = async (): Promise<void> => {
      while (spansOf(bodies).filter(({ name }) => name === "workflow").length < 2 || leftCalls === 0) {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    await within(30_000, "the spans of two runs", sent())
    service.child.kill("SIGKILL")
    await left.text().catch(() => {})
    await service.ended
    const next = await startWire(["serve"], environment)
    const rest = await fetch(`${next.address}/execute/${leftId}/events`)
    if (rest.status === 200) await rest.text()
    next.child.kill("SIGTERM")
    assert.equal((await next.ended).code, 0)

    const all = bodies.flatMap(({ resourceSpans }) => resourceSpans)
    const resource = attributesOf(all[0]?.resource ?? { attributes: [] })
    assert.equal(resource["service.name"], "my-wires")
    const spans = spansOf(bodies)
    const run_id = good.headers.get("x-service-run-id")
    const root = spans.find((span) => attributesOf(span)["wireworks.run_id"] === run_id)
    assert.ok(root !== undefined)
    assert.equal(root.name, "workflow")
    assert.equal(attributesOf(root)["gen_ai.operation.name"], "invoke_workflow")
    assert.equal(attributesOf(root)["wireworks.status"], "completed")
    // The caller's trace goes on.
    assert.deepEqual([root.traceId, root.parentSpanId], ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"])
    const mine = spans.filter(({ traceId }) => traceId === root.traceId)
    assert.deepEqual(mine.map(({ name }) => name).toSorted(), [
      "chat test-model",
      "chat test-model",
      "chat test-model",
      "connect s",
      "execute_tool look",
      "invoke_agent reply",
      "workflow",
    ])
    const step = mine.find(({ name }) => name === "invoke_agent reply")
    assert.ok(step !== undefined)
    assert.equal(step.parentSpanId, root.spanId)
    const about = attributesOf(step)
    assert.deepEqual(
      [about["gen_ai.operation.name"], about["gen_ai.agent.name"], about["gen_ai.request.model"]],
      ["invoke_agent", "reply", "test-model"],
    )
    assert.equal(Number(about["gen_ai.usage.input_tokens"]), 20)
    const chats = mine.filter(({ name }) => name === "chat test-model")
    for (const chat of chats) {
      assert.equal(chat.parentSpanId, step.spanId)
      assert.equal(attributesOf(chat)["gen_ai.operation.name"], "chat")
      assert.equal(attributesOf(chat)["gen_ai.provider.name"], "openai")
      assert.ok(BigInt(chat.endTimeUnixNano) >= BigInt(chat.startTimeUnixNano))
      assert.ok(BigInt(chat.startTimeUnixNano) >= BigInt(root.startTimeUnixNano))
      assert.ok(BigInt(chat.endTimeUnixNano) <= BigInt(root.endTimeUnixNano))
    }
    assert.deepEqual(chats.map((chat) => String(attributesOf(chat)["error.type"])).toSorted(), [
      "_OTHER",
      "undefined",
      "undefined",
    ])
    const tool = mine.find(({ name }) => name === "execute_tool look")
    assert.ok(tool !== undefined)
    assert.equal(attributesOf(tool)["gen_ai.tool.name"], "look")
    assert.equal(tool.parentSpanId, step.spanId)
    assert.equal(traceparent, `00-${root.traceId}-${root.spanId}-01`)
    // What the caller's tracing systems added is in every span, and goes to the host that may have it.
    for (const span of mine) assert.equal(span.traceState, "vendor=one,other=2")
    assert.equal(tracestate, "vendor=one,other=2")
    assert.equal(baggage, "user=PAYLOAD-BAGGAGE")
    assert.ok(backendHeaders.includes("content-type"))
    assert.doesNotMatch(backendHeaders, /traceparent|tracestate|baggage/)

    assert.equal(record.trace_id, root.traceId)
    assert.equal(record.trace_url, `https://traces.example.com/trace/${root.traceId}`)
    assert.equal(own.trace_id, ownTrace(own.run_id))
    const ownRoot = spans.find((span) => attributesOf(span)["wireworks.run_id"] === own.run_id)
    assert.equal(ownRoot?.traceId, own.trace_id)

    // The run that the first process left goes on in the trace of its request.
    const lefts = spans.filter((span) => attributesOf(span)["wireworks.run_id"] === leftId)
    for (const span of lefts) {
      assert.deepEqual(
        [span.traceId, span.parentSpanId, span.traceState],
        [otherTrace, "b7ad6b7169203331", "vendor=left"],
      )
    }
    assert.deepEqual(
      lefts.map((span) => attributesOf(span)["wireworks.status"]),
      ["completed"],
    )

    const failed = spans.find((span) => attributesOf(span)["wireworks.status"] === "failed")
    assert.equal(failed?.status.code, 2)
    assert.equal(failed.parentSpanId, undefined)
    assert.equal(attributesOf(failed ?? { attributes: [] })["error.type"], "provider_error")
    assert.doesNotMatch(JSON.stringify(bodies), /PAYLOAD/)
  })

  it("go on at the backends of WIRE_TRACE_HOSTS, and at no others", async (t) => {
    const arrived: Record<string, Record<string, unknown>> = {}
    const note = (who: string, given: Readonly<Record<string, unknown>>): void => {
      arrived[who] = Object.fromEntries(traceNames.filter((name) => name in given).map((name) => [name, given[name]]))
    }
    const listed = await fakeBackend(t, ({ headers }) => {
      note("listed", headers)
      return says('{"message":"one"}')
    })
    const other = await fakeBackend(t, ({ headers }) => {
      note("other", headers)
      return says('{"message":"two"}')
    })
    const tools = await tinyMcp({
      look: ({ meta, headers }) => {
        note("tool's headers", headers)
        note("tool's _meta", meta)
        return { content: [{ type: "text", text: "seen" }] }
      },
    })
    t.after(() => tools.close())
    const workflow_source = `
      mcp s { endpoint: "${tools.url}" } tool look from mcp.s.tool.look
      provider p1 from openai { endpoint: "${listed.backend.endpoint}" }
      provider p2 from openai { endpoint: "${other.backend.endpoint}" headers { "X-Own": "1" } }
      model m1 from p1 { id: "m" }
      model m2 from p2 { id: "m" }
      dynamic { seen: call tool.look }
      agent one { model: model.m1 instruction: "1" output { message: string } }
      agent two { model: model.m2 instruction: "2" output { message: string } }
      output { one: agent.one.message, two: agent.two.message, seen: dynamic.seen }`
    const sent = {
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      tracestate: "vendor=one",
      baggage: "user=ann,not valid,tenant=x;ttl=1",
    }
    const passed = { ...sent, baggage: "user=ann,tenant=x;ttl=1" }
    const everyone = { listed: passed, other: passed, "tool's headers": passed, "tool's _meta": passed }
    const nobody = { listed: {}, other: {}, "tool's headers": {}, "tool's _meta": {} }
    const cases: [string | undefined, typeof arrived][] = [
      [undefined, nobody],
      ["none", nobody],
      [`127.0.0.1:${listed.server.port},models.example.com`, { ...nobody, listed: passed }],
      ["all", everyone],
    ]
    for (const [hosts, expected] of cases) {
      const service = await startService(hosts === undefined ? {} : { TRACE_HOSTS: hosts })
      const response = await service.post("/execute", { workflow_source, input: {} }, sent)
      assert.equal(response.status, 200, await response.text())
      assert.deepEqual(arrived, expected, hosts)
    }
    await assert.rejects(startService({ TRACE_HOSTS: "All" }), /WIRE_TRACE_HOSTS is "All": it must be none, all, or/)
  })

  it("keep no run from going, and no process from ending, where nobody receives them", async () => {
    const service = await startWire(["serve"], {
      WIRE_PORT: "0",
      WIRE_STORE: "memory",
      WIRE_LOG_LEVEL: "error",
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_EXPORTER_OTLP_TIMEOUT: "500",
    })
    const response = await fetch(`${service.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ workflow_source: hello, input: ada }),
    })
    assert.equal(response.status, 200)
    service.child.kill("SIGTERM")
    assert.deepEqual(await within(30_000, "the end", service.ended), { code: 0, signal: null })
    assert.match(service.output(), /"msg":"traces are not delivered"/)
    assert.doesNotMatch(service.output(), /bug in wire/)
  })
})

describe("metrics", async () => {
  const service: TestService = await startService()
  const read = async (): Promise<Map<string, number>> => {
    const text = await (await service.get("/metrics")).text()
    return new Map(
      [...text.matchAll(/^(wire_[^ ]+) (\S+)$/gm)].map(([, name = "", value]) => [name, Number(value)] as const),
    )
  }
  const grown = (before: Map<string, number>, now: Map<string, number>, name: string): number =>
    (now.get(name) ?? 0) - (before.get(name) ?? 0)

  it("are text that Prometheus takes", async () => {
    const response = await service.get("/metrics")
    assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/)
    const text = await response.text()
    for (const line of text.split("\n")) assert.match(line, /^(?:#.*|[a-z_][a-z\d_]*(?:\{[^}]*\})? [-\d.e+]+|)$/i)
    assert.match(text, /^nodejs_eventloop_lag_p99_seconds /m)
  })

  it("have names that promtool accepts, and every status and reason from the start", async () => {
    const text = await (await (await startService()).get("/metrics")).text()
    for (const [, name = "", type = ""] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      assert.equal(name.endsWith("_total"), type === "counter", `${type} ${name}`)
      assert.doesNotMatch(name, /_(?:count|sum|bucket|gauge|counter|histogram|summary)$|milliseconds|_ms$|[A-Z]/, name)
      assert.match(text, new RegExp(`^# HELP ${name} \\S`, "m"))
    }
    for (const status of ["completed", "failed", "cancelled"]) {
      assert.match(text, new RegExp(`^wire_runs_total\\{status="${status}"\\} 0$`, "m"))
      assert.match(text, new RegExp(`^wire_run_duration_seconds_count\\{status="${status}"\\} 0$`, "m"))
    }
    for (const reason of ["unauthorized", "rate_limited", "overloaded", "invalid_request"]) {
      assert.match(text, new RegExp(`^wire_http_refusals_total\\{reason="${reason}"\\} 0$`, "m"))
    }
    assert.match(text, /^wire_store_failures_total\{operation="append"\} 0$/m)
  })

  it("count refusals by their kind, and paths that do not exist under one name", async () => {
    const before = await read()
    await service.get("/no/such/path")
    await service.post("/execute", "{")
    await service.post("/execute", { workflow_source: "agent", input: {} })
    const now = await read()
    const counts: [string, number][] = [
      ['wire_http_refusals_total{reason="not_found"}', 1],
      ['wire_http_refusals_total{reason="invalid_request"}', 1],
      ['wire_http_refusals_total{reason="validation_error"}', 1],
      ['wire_http_requests_total{method="GET",route="none",status="404"}', 1],
      ['wire_http_requests_total{method="POST",route="/execute",status="400"}', 1],
    ]
    for (const [name, count] of counts) assert.deepEqual([name, grown(before, now, name)], [name, count])
  })

  it("have the name of the workflow, where it is one of the folder", async () => {
    const folder = mkdtempSync(join(tmpdir(), "wireworks-metrics-"))
    mkdirSync(join(folder, "tickets"))
    writeFileSync(
      join(folder, "tickets", "triage.wire"),
      hello.replace("from backend {", "from backend { price { input: 1 output: 2 }"),
    )
    const named = await startService({ WORKFLOWS: folder })
    assert.equal((await named.post("/workflows/tickets/triage/execute", { input: ada })).status, 200)
    await named.get("/workflows/tickets/triage")
    await named.get("/workflows/none/such")
    await named.post("/execute", { workflow_source: hello, input: ada })
    const text = await (await named.get("/metrics")).text()
    rmSync(folder, { recursive: true })
    const expected = [
      'wire_runs_total{status="completed",workflow="tickets/triage"} 1',
      'wire_runs_total{status="failed",workflow="tickets/triage"} 0',
      'wire_runs_total{status="completed"} 1',
      'wire_run_duration_seconds_count{status="completed",workflow="tickets/triage"} 1',
      'wire_http_requests_total{method="POST",route="/workflows/*",status="200",workflow="tickets/triage"} 1',
      'wire_http_requests_total{method="GET",route="/workflows/*",status="200",workflow="tickets/triage"} 1',
      'wire_http_requests_total{method="GET",route="/workflows/*",status="404"} 1',
      'wire_http_request_duration_seconds_count{route="/workflows/*",workflow="tickets/triage"} 2',
    ]
    for (const line of expected) assert.ok(text.includes(`${line}\n`), line)
    assert.match(
      text,
      /^wire_tokens_total\{provider="openai",model="demo",kind="input",workflow="tickets\/triage"\} [1-9]/m,
    )
    assert.match(text, /^wire_cost_total\{provider="openai",model="demo",workflow="tickets\/triage"\} [\d.e-]+$/m)
    for (const [, name = ""] of text.matchAll(/^# TYPE (\S+)/gm)) assert.match(name, /^(?:wire|nodejs|process)_/)
  })

  it("time the first token of runs with deltas", async () => {
    const before = await read()
    const body = { workflow_source: hello, input: ada, options: { deltas: true } }
    const response = await service.post("/execute", body, { accept: "text/event-stream" })
    assert.match(await response.text(), /event: agent_delta/)
    const name = 'wire_model_first_token_seconds_count{api="responses"}'
    assert.equal(grown(before, await read(), name), 1)
  })

  it("are open to their own key, which opens nothing else", async () => {
    const both = await startService({ API_KEYS: "ann:a-key", METRICS_KEY: "m-key" })
    const status = async (at: TestService, path: string, key?: string): Promise<number> =>
      (await at.get(path, key === undefined ? {} : { authorization: `Bearer ${key}` })).status
    assert.equal(await status(both, "/metrics", "m-key"), 200)
    assert.equal(await status(both, "/metrics", "a-key"), 200)
    assert.equal(await status(both, "/metrics"), 401)
    assert.equal(await status(both, "/metrics", "other"), 401)
    assert.equal(await status(both, "/workflows", "m-key"), 401)
    const alone = await startService({ METRICS_KEY: "m-key" })
    assert.equal(await status(alone, "/metrics", "m-key"), 200)
    assert.equal(await status(alone, "/metrics"), 401)
    assert.equal(await status(alone, "/workflows"), 200)
  })

  it("count runs, agents, tokens, calls, retries, tools and the cache", async (t) => {
    const server = await tinyMcp({ look: () => ({ content: [{ type: "text", text: "seen" }] }) })
    t.after(() => server.close())
    const { backend } = await fakeBackend(t, (_request, n) => {
      if (n === 1) return json({ error: { message: "busy" } }, 503)
      return n === 2 ? calls("look", {}) : says('{"message":"x"}')
    })
    const before = await read()
    const source = `mcp s { endpoint: "${server.url}" } tool look from mcp.s.tool.look
      ${oneAgent(backend.endpoint)
        .replace("max_retries: 0", "max_retries: 2 retry_base_delay_ms: 1")
        .replace("output { message: string }", "uses: [tool.look]\n output { message: string }")}`
    const body = { workflow_source: source, input: ada, options: { cache_key: "metrics" } }
    assert.equal((await service.post("/execute", body)).status, 200)
    assert.equal((await service.post("/execute", body)).status, 200)
    const failing = oneAgent("http://127.0.0.1:9")
    assert.equal((await service.post("/execute", { workflow_source: failing, input: ada })).status, 502)
    const { source: endless } = await heldAgent()
    const sse = { accept: "text/event-stream" }
    const stopped = await service.post("/execute", { workflow_source: endless, input: ada }, sse)
    await untilMetric(service, "wire_runs_active", 1)
    await untilMetric(service, "wire_streams_open", 1)
    await service.post(`/execute/${stopped.headers.get("x-service-run-id")}/cancel`, "")
    await stopped.text()
    await untilMetric(service, "wire_runs_active", 0)
    await untilMetric(service, "wire_streams_open", 0)
    const now = await read()
    const counts: [string, number][] = [
      ['wire_runs_total{status="completed"}', 2],
      ['wire_runs_total{status="failed"}', 1],
      ['wire_runs_total{status="cancelled"}', 1],
      ['wire_run_duration_seconds_count{status="completed"}', 2],
      ['wire_agents_total{outcome="completed"}', 1],
      ['wire_agents_total{outcome="cached"}', 1],
      ['wire_agents_total{outcome="failed"}', 1],
      ["wire_agent_retries_total", 1],
      ['wire_tokens_total{provider="openai",model="test-model",kind="input"}', 20],
      ['wire_tokens_total{provider="openai",model="test-model",kind="output"}', 10],
      ['wire_tokens_total{provider="openai",model="test-model",kind="cached"}', 8],
      ['wire_tokens_total{provider="openai",model="test-model",kind="reasoning"}', 4],
      ["wire_model_call_duration_seconds_count", 4],
      ['wire_tool_calls_total{server="s",tool="look",outcome="completed"}', 1],
      ['wire_tool_call_duration_seconds_count{server="s",tool="look"}', 1],
      ['wire_http_requests_total{method="POST",route="/execute",status="200"}', 3],
      ['wire_http_requests_total{method="POST",route="/execute",status="502"}', 1],
      ['wire_http_requests_total{method="POST",route="/execute/:run_id/cancel",status="202"}', 1],
      ["wire_run_queue_seconds_count", 4],
      ['wire_store_duration_seconds_count{operation="create"}', 4],
    ]
    for (const [name, count] of counts) assert.deepEqual([name, grown(before, now, name)], [name, count])
  })
})

describe("the log", () => {
  it("has one line for each run's end and for what went wrong on the way, without content", async (t) => {
    const { backend } = await fakeBackend(t, ({ body }) =>
      JSON.stringify(body["input"]).includes("PAYLOAD-GOOD")
        ? says('{"message":"PAYLOAD-ANSWER"}')
        : apiError(500, "PAYLOAD-ERROR"),
    )
    const workflows = mkdtempSync(join(folder, "workflows-"))
    const source = oneAgent(backend.endpoint).replace("max_retries: 0", "max_retries: 1 retry_base_delay_ms: 1")
    writeFileSync(join(workflows, "greet.wire"), source)
    const fallback = source
      .replace("model m from", 'model other from backend { id: "other" }\nmodel m from')
      .replace("model: model.m", "model: [model.m, model.other]")
    const data = mkdtempSync(join(folder, "log-"))
    const environment = {
      WIRE_PORT: "0",
      WIRE_DATA_DIR: data,
      WIRE_WORKFLOWS: workflows,
      WIRE_API_KEYS: "ann:a-key",
    }
    const service = await startWire(["serve"], environment)
    const post = (at: string, path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${at}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer a-key", ...headers },
        body: JSON.stringify(body),
      })
    const good = await post(service.address, "/workflows/greet/execute", { input: { name: "PAYLOAD-GOOD" } })
    assert.equal(good.status, 200)
    const bad = await post(service.address, "/workflows/greet/execute", { input: { name: "PAYLOAD-BAD" } })
    assert.equal(bad.status, 502)
    const fell = await post(service.address, "/execute", { workflow_source: fallback, input: { name: "PAYLOAD" } })
    assert.equal(fell.status, 502)
    const stream = { accept: "text/event-stream" }
    const held = await heldAgent()
    const unfinished = { workflow_source: held.source, input: { name: "PAYLOAD" } }
    const left = await post(service.address, "/execute", unfinished, stream)
    // Lines are written together, a moment after they were logged.
    const { stderr } = service.child
    assert.ok(stderr !== null)
    const written = async (): Promise<void> => {
      while (service.output().split('"run ended"').length < 4) await once(stderr, "data")
    }
    await within(30_000, "the lines of three runs", written())
    service.child.kill("SIGKILL")
    await left.text().catch(() => {})
    await service.ended

    held.release()
    const next = await startWire(["serve"], environment)
    const run_id = left.headers.get("x-service-run-id") ?? ""
    const rest = await fetch(`${next.address}/execute/${run_id}/events`, { headers: { authorization: "Bearer a-key" } })
    assert.match(await rest.text(), /event: workflow_completed/)
    next.child.kill("SIGTERM")
    await next.ended

    const output = service.output() + next.output()
    const lines = output
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const about = (response: Response, msg: string): Record<string, unknown>[] =>
      lines
        .filter((line) => line["run_id"] === response.headers.get("x-service-run-id") && line["msg"] === msg)
        .map(({ run_id: _id, time: _time, duration_ms, ...line }) => ({ ...line, timed: typeof duration_ms }))
    const usage = {
      input_tokens: 10,
      output_tokens: 5,
      cached_tokens: 4,
      written_tokens: 0,
      reasoning_tokens: 2,
      cost: null,
    }
    const nothing = {
      input_tokens: 0,
      output_tokens: 0,
      cached_tokens: 0,
      written_tokens: 0,
      reasoning_tokens: 0,
      cost: null,
    }
    const [completed] = about(good, "run ended")
    assert.match(String(completed?.["version"]), /^[\da-f]{12}$/)
    assert.deepEqual(completed, {
      level: "info",
      workflow: "greet",
      version: completed?.["version"],
      caller: "ann",
      status: "completed",
      usage,
      resumed: false,
      msg: "run ended",
      timed: "number",
    })
    const error = { kind: "provider_error", path: "agent.reply", upstream_status: 500 }
    const [failed, ...others] = about(bad, "run ended")
    assert.deepEqual(others, [])
    assert.deepEqual(
      [failed?.["level"], failed?.["status"], failed?.["error"], failed?.["usage"], failed?.["workflow"]],
      ["warn", "failed", error, nothing, "greet"],
    )
    const [exhausted] = about(bad, "agent failed after retries")
    assert.deepEqual([exhausted?.["agent"], exhausted?.["attempts"], exhausted?.["error"]], ["reply", 2, error])
    const [falls] = about(fell, "agent falls back")
    assert.deepEqual([falls?.["from"], falls?.["to"], falls?.["error"]], ["m", "other", error])
    assert.equal(about(left, "run resumed").length, 1)
    const [resumed] = about(left, "run ended")
    assert.deepEqual([resumed?.["status"], resumed?.["resumed"], resumed?.["caller"]], ["completed", true, "ann"])
    assert.doesNotMatch(output, /PAYLOAD/)
  })
})

describe("metrics of people and notifications", async () => {
  const receiver = await startServer((_request, response) => response.writeHead(204).end())
  after(() => receiver.close())
  const service = await startService({
    NOTIFY_ORIGINS: receiver.origin,
    NOTIFY_SECRET: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  })

  it("counts waiting runs, open questions and their age, outcomes, deliveries", async () => {
    const source = `ask review { question: "Publish?"  output { publish: boolean } } output { done: ask.review.publish }`
    const options = { notify: { url: `${receiver.origin}/hook`, events: ["completed"] } }
    const waiting = await service.post("/execute", { workflow_source: source, options })
    assert.equal(waiting.status, 202)
    const { run_id, questions } = (await waiting.json()) as { run_id: string; questions: { id: string }[] }
    await untilMetric(service, "wire_runs_waiting", 1)
    await untilMetric(service, "wire_questions_open", 1)
    await untilMetric(service, "wire_questions_asked_total", 1)
    const before = await (await service.get("/metrics")).text()
    assert.match(before, /^wire_question_oldest_age_seconds 0?\.?\d+/m)
    await service.post(`/execute/${run_id}/questions/${questions[0]?.id}`, { answer: { publish: true } })
    await service.get(`/execute/${run_id}?wait=30`)
    await untilMetric(service, "wire_runs_waiting", 0)
    await untilMetric(service, "wire_questions_open", 0)
    await untilMetric(service, "wire_question_oldest_age_seconds", 0)
    await untilMetric(service, 'wire_questions_settled_total{outcome="answered"}', 1)
    await untilMetric(service, 'wire_notification_attempts_total{outcome="delivered"}', 1)
  })
})
