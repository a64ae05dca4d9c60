import assert from "node:assert/strict"
import { after, describe, it } from "node:test"
import { fakeBackend, json, says } from "../../support/fake-backend.ts"
import { startServer } from "../../support/http-server.ts"
import { within } from "../../support/within.ts"
import { allEvents, collect, eventsOf, isEnd } from "./read-stream.ts"
import { ada, errorOf, heldAgent, hello, oneAgent, startService, untilMetric } from "./start-service.ts"

describe("POST /execute", async () => {
  const service = await startService()
  const strict = await startService({ EGRESS: "example.com" })
  const sse = { accept: "text/event-stream" }

  it("answers with the fields of the output block, and the run's id", async () => {
    const response = await service.post("/execute", { workflow_source: hello, input: ada })
    assert.equal(response.status, 200)
    assert.deepEqual(await response.json(), { message: "Hello, Ada." })
    assert.match(response.headers.get("x-service-run-id") ?? "", /^[\w-]{22,}$/)
  })

  it("takes the source in Base64, padded or not", async () => {
    const padded = Buffer.from(hello).toString("base64")
    for (const workflow_source_base64 of [padded, padded.replace(/=+$/, "")]) {
      const response = await service.post("/execute", { workflow_source_base64, input: ada })
      assert.equal(response.status, 200)
    }
  })

  it("takes null for what is absent", async () => {
    const body = { workflow_source: hello, input: ada, secrets: null, options: null }
    assert.equal((await service.post("/execute", body)).status, 200)
    const options = { cache_key: null, use_cache: null, max_concurrency: null, timeout_ms: null, deltas: null }
    assert.equal((await service.post("/execute", { ...body, options })).status, 200)
  })

  it("streams the events of the contract's example, in its order", async () => {
    const response = await service.post("/execute", { workflow_source: hello, input: ada }, sse)
    assert.equal(response.headers.get("content-type")?.split(";")[0], "text/event-stream")
    assert.equal(response.headers.get("cache-control"), "no-store")
    assert.equal(response.headers.get("x-accel-buffering"), "no")
    const other: string[] = []
    const events = await collect(eventsOf(response, other))
    assert.equal(other[0], "retry: 1000")
    assert.deepEqual(
      events.map(({ id, type }) => [id, type]),
      [
        [1, "workflow_started"],
        [2, "workflow_planned"],
        [3, "agent_started"],
        [4, "agent_completed"],
        [5, "workflow_completed"],
      ],
    )
    const [started, planned, agent, completed, end] = events.map(({ data }) => data)
    assert.deepEqual(started, {})
    assert.deepEqual(planned?.["nodes"], [
      { id: "agent.reply", kind: "agent", name: "reply", depends_on: [] },
      { id: "output", kind: "output", name: "output", depends_on: ["agent.reply"] },
    ])
    const { at: startedAt, ...about } = agent ?? {}
    assert.deepEqual(about, { agent: "reply", model: "demo", tools: [], instruction: "Greet Ada." })
    assert.match(String(startedAt), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    assert.deepEqual(completed?.["output"], { message: "Hello, Ada." })
    assert.equal(completed?.["cached"], false)
    assert.deepEqual(Object.keys(completed?.["usage"] as object), [
      "input_tokens",
      "output_tokens",
      "cached_tokens",
      "written_tokens",
      "reasoning_tokens",
      "cost",
    ])
    const [call] = (completed?.["calls"] ?? []) as Record<string, unknown>[]
    assert.equal(call?.["turn"], 1)
    assert.equal(call?.["attempt"], 1)
    assert.equal(call?.["format"], "json_schema")
    assert.deepEqual(end?.["output"], { result: { message: "Hello, Ada." } })
  })

  it("refuses in both modes, with plain HTTP, what can be refused before the run", async () => {
    for (const headers of [{}, sse]) {
      const error = await errorOf(await service.post("/execute", { workflow_source: hello, input: {} }, headers))
      assert.deepEqual([error.status, error.kind, error.issues[0]?.path], [422, "input_error", "input.name"])
    }
  })

  it("names every misfit of input and secrets", async () => {
    const source = `input { files: [{ path: string }] n: integer } secrets { key: string } output { n: input.n }`
    const input = { files: [{ path: "a" }, { path: 2 }, { pth: "c" }], n: 1.5, extra: true }
    const error = await errorOf(await service.post("/execute", { workflow_source: source, input, secrets: { key: 5 } }))
    assert.equal(error.kind, "input_error")
    assert.deepEqual(error.issues.map(({ path }) => path).sort(), [
      "input.extra",
      "input.files[1].path",
      "input.files[2].path",
      "input.files[2].pth",
      "input.n",
      "secrets.key",
    ])
    assert.match(error.message, /\(and 5 more\)$/)
  })

  it("refuses more or longer secrets than it can search for", async () => {
    const source = `secrets { keys: [string] } output { done: true }`
    const cases = [
      { keys: Array.from({ length: 257 }, (_, n) => `k${n}`), path: "secrets", message: /257 values; at most 256/ },
      { keys: ["a", "b".repeat(16 * 1024 + 1)], path: "secrets.keys.1", message: /16385 bytes; at most 16384/ },
      { keys: Array.from({ length: 200 }, () => "c".repeat(5000)), path: "secrets", message: /1000000 bytes in all/ },
    ]
    for (const { keys, path, message } of cases) {
      for (const route of ["/execute", "/validate"]) {
        const response = await service.post(route, { workflow_source: source, secrets: { keys } })
        const body = (await response.json()) as { issues?: unknown[]; error?: { kind: string; issues: unknown[] } }
        const [issue] = (body.issues ?? body.error?.issues ?? []) as { path: string; message: string }[]
        assert.equal(issue?.path, path)
        assert.match(issue?.message ?? "", message)
        assert.doesNotMatch(issue?.message ?? "", /bbb|ccc/)
        if (route === "/execute") assert.deepEqual([response.status, body.error?.kind], [422, "input_error"])
      }
    }
    const most = { keys: Array.from({ length: 256 }, () => "d".repeat(256)) }
    assert.equal((await service.post("/execute", { workflow_source: source, secrets: most })).status, 200)
  })

  it("replaces a long secret that a backend echoes", async (t) => {
    const key = "k(+)\\".repeat(2000)
    const { backend } = await fakeBackend(t, () => says(JSON.stringify({ message: `<${key}>` })))
    const source = `secrets { key: string }\n${oneAgent(backend.endpoint, "api_key: secrets.key")}`
    const response = await service.post("/execute", { workflow_source: source, input: ada, secrets: { key } })
    assert.deepEqual(await response.json(), { message: "<[secret:key]>" })
  })

  it("hides a secret in the host of an endpoint, however the host is written", async () => {
    for (const key of ["SeCrEt-Canary-0123", "Gehéim-Canary-0123"]) {
      for (const [kind, rest] of [
        ["provider", oneAgent("http://{{ secrets.key }}.invalid:1/v1")],
        ["mcp", `mcp p { endpoint: "http://{{ secrets.key }}.invalid:1/mcp" } tool t from mcp.p.tool.t`],
      ] as const) {
        const source = `secrets { key: string }\n${rest}`
        const input = kind === "provider" ? ada : {}
        for (const egress of [service, strict]) {
          const response = await egress.post("/execute", { workflow_source: source, input, secrets: { key } })
          const text = await response.text()
          assert.ok(response.status === 502 || text.includes("blocked_destination"), text)
          assert.match(text, /\[secret:key\]/)
          assert.doesNotMatch(text, /canary|xn--/i)
        }
      }
    }
  })

  it("shows nothing of an endpoint that is a secret: scheme, host, port or path", async () => {
    const wrongPath = await startServer((_, response) => response.writeHead(404).end("{}"))
    after(() => wrongPath.close())
    const { port } = new URL(wrongPath.origin)
    const shown: string[] = []
    for (const [key, egress] of [
      ["Canary-Scheme-0123://host/v1", service],
      ["Canary-User-0123:password", service],
      ["http://Canary-Host-0123.invalid:4711/v1", service],
      [" http://canary-host-0123.invalid:4711/v1", service],
      ["ht\ttp://canary-host-0123.invalid:4711/v1", service],
      ["http://canary-host-0123.invalid.:4711/v1", service],
      ["http://canary-host-0123.invalid.:4711/v1", strict],
      ["http://[fd00:ca:0:0:0:0:0:1]:4711/v1", strict],
      [`http://LOCALHOST:${port}/Canary-Path-0123`, service],
      [`http://127.1:${port}/Canary-Path-0123/../v1`, service],
    ] as const) {
      for (const [kind, rest] of [
        ["provider", oneAgent("{{ secrets.key }}")],
        ["mcp", `mcp p { endpoint: secrets.key } tool t from mcp.p.tool.t output { a: call tool.t }`],
      ] as const) {
        const source = `secrets { key: string }\n${rest}`
        const input = kind === "provider" ? ada : {}
        const response = await egress.post("/execute", { workflow_source: source, input, secrets: { key } })
        const text = await response.text()
        assert.ok(response.status >= 400, text)
        if (new RegExp(`canary|invalid|4711|fd00|localhost|127\\.0|${port}`, "i").test(text))
          shown.push(`${key}: ${text}`)
      }
    }
    assert.deepEqual(shown, [])
  })

  it("takes safe integers only", async () => {
    const source = `input { n: integer } output { n: input.n }`
    const unsafe = `{"workflow_source":${JSON.stringify(source)},"input":{"n":9007199254740993}}`
    assert.equal((await errorOf(await service.post("/execute", unsafe))).kind, "input_error")
    const safe = await service.post("/execute", { workflow_source: source, input: { n: 9007199254740991 } })
    assert.deepEqual(await safe.json(), { n: 9007199254740991 })
  })

  it("adds deltas when they are asked for, and none otherwise", async () => {
    const body = { workflow_source: hello, input: ada }
    const without = await allEvents(await service.post("/execute", body, sse))
    assert.equal(
      without.some(({ type }) => type === "agent_delta"),
      false,
    )
    const streamed = await allEvents(await service.post("/execute", { ...body, options: { deltas: true } }, sse))
    const deltas = streamed.filter(({ type }) => type === "agent_delta").map(({ data }) => data["text"])
    assert.deepEqual(JSON.parse(deltas.join("")), { message: "Hello, Ada." })
  })

  it("fails the run, not the request, over what happens in it, and says the same in both modes", async (t) => {
    const { backend } = await fakeBackend(t, () => json({ error: { message: "broken" } }, 500))
    const body = { workflow_source: oneAgent(backend.endpoint), input: ada }
    const error = await errorOf(await service.post("/execute", body))
    assert.deepEqual([error.status, error.kind], [502, "provider_error"])
    assert.match(error.issues[0]?.path ?? "", /^agent\.reply/)
    const response = await service.post("/execute", body, sse)
    assert.equal(response.status, 200)
    const events = await allEvents(response)
    assert.deepEqual(
      events.slice(-2).map(({ type }) => type),
      ["agent_failed", "workflow_failed"],
    )
    const streamed = events.at(-1)?.data["error"] as { kind: string; message: string }
    assert.deepEqual([streamed.kind, streamed.message], [error.kind, error.message])
  })

  it("gives output_error when the model's answer does not fit, without the answer", async (t) => {
    const { backend } = await fakeBackend(t, () => says('{"message": 12345678}'))
    const error = await errorOf(
      await service.post("/execute", { workflow_source: oneAgent(backend.endpoint), input: ada }),
    )
    assert.deepEqual([error.status, error.kind], [502, "output_error"])
    assert.match(error.message, /agent\.reply\.output\.message/)
  })

  it("gives timeout when the run's time is up, and stops the call", async (t) => {
    const closed = Promise.withResolvers<void>()
    const { backend, asked } = await fakeBackend(t, () => (reply) => reply.on("close", () => closed.resolve()))
    // On a slow machine the time may be up before the call is made: the next run has more of it.
    for (let timeout_ms = 200; asked.length === 0; timeout_ms *= 2) {
      const body = { workflow_source: oneAgent(backend.endpoint), input: ada, options: { timeout_ms } }
      const error = await errorOf(await service.post("/execute", body))
      assert.deepEqual([error.status, error.kind], [504, "timeout"])
    }
    await within(30_000, "the end of the call", closed.promise)
  })

  it("gives evaluation_error for a value that lacks what an expression needs", async () => {
    const source = `input { any: object } output { x: input.any.a.b }`
    const error = await errorOf(await service.post("/execute", { workflow_source: source, input: { any: { a: 3 } } }))
    assert.deepEqual([error.status, error.kind], [422, "evaluation_error"])
    assert.match(error.message, /input\.any\.a/)
  })

  it("gives blocked_destination for what the egress policy forbids, in the run", async () => {
    const source = oneAgent("http://169.254.169.254/latest")
    const response = await service.post("/execute", { workflow_source: source, input: ada }, sse)
    const events = await allEvents(response)
    assert.equal(events[1]?.type, "workflow_planned")
    const error = events.at(-1)?.data["error"] as { kind: string; message: string }
    assert.equal(error.kind, "blocked_destination")
    const json = await errorOf(await service.post("/execute", { workflow_source: source, input: ada }))
    assert.deepEqual([json.status, json.kind], [422, "blocked_destination"])
  })

  it("gives limit_exceeded for a loop over its limit", async () => {
    const small = await startService({ MAX_ITERATIONS: "2" })
    const source = hello
      .replace("name: string", "names: [string]")
      .replace("agent reply {", "agent reply for name in input.names {")
      .replace("input.name }}", "name }}")
      .replace("agent.reply.message", "agent.reply.*.message")
    const error = await errorOf(
      await small.post("/execute", { workflow_source: source, input: { names: ["a", "b", "c"] } }),
    )
    assert.deepEqual([error.status, error.kind], [422, "limit_exceeded"])
  })

  it("cancels the run of a JSON client that goes away, unless it sent an Idempotency-Key", async () => {
    const statuses: string[] = []
    const held = await heldAgent()
    for (const headers of [{}, { "idempotency-key": "stay" }]) {
      const gone = new AbortController()
      const sent = fetch(`${service.url}/execute`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ workflow_source: held.source, input: ada }),
        signal: gone.signal,
      })
      sent.catch(() => {})
      await untilMetric(service, "wire_runs_active", 1)
      gone.abort()
      await assert.rejects(sent)
      // The second one goes on after its client has gone.
      if ("idempotency-key" in headers) held.release()
      await untilMetric(service, "wire_runs_active", 0)
      const text = await (await service.get("/metrics")).text()
      statuses.push(/wire_runs_total\{status="cancelled"\} (\d+)/.exec(text)?.[1] ?? "0")
    }
    assert.deepEqual(statuses, ["1", "1"])
    const replay = await service.post(
      "/execute",
      { workflow_source: held.source, input: ada },
      { "idempotency-key": "stay" },
    )
    assert.equal(replay.headers.get("idempotency-replayed"), "true")
    assert.equal(replay.status, 200)
  })
})

describe("Idempotency-Key", async () => {
  const service = await startService()
  const body = { workflow_source: hello, input: ada }

  it("gives the run that exists, result included", async () => {
    const key = { "idempotency-key": "once" }
    const first = await service.post("/execute", body, key)
    const again = await service.post("/execute", { input: ada, workflow_source: hello }, key)
    assert.equal(first.headers.get("idempotency-replayed"), null)
    assert.equal(again.headers.get("idempotency-replayed"), "true")
    assert.equal(first.headers.get("x-service-run-id"), again.headers.get("x-service-run-id"))
    assert.deepEqual(await again.json(), await first.json())
    const events = await allEvents(await service.post("/execute", body, { ...key, accept: "text/event-stream" }))
    assert.deepEqual(events.filter(isEnd).length, 1)
    assert.equal(events[0]?.id, 1)
  })

  it("gives the stored error too", async (t) => {
    const { backend, asked } = await fakeBackend(t, () => json({ error: { message: "no" } }, 401))
    const failing = { workflow_source: oneAgent(backend.endpoint), input: ada }
    const first = await errorOf(await service.post("/execute", failing, { "idempotency-key": "bad" }))
    const again = await errorOf(await service.post("/execute", failing, { "idempotency-key": "bad" }))
    assert.deepEqual(again, first)
    assert.equal(asked.length, 1)
  })

  it("refuses another body, and does not count secrets as part of it", async () => {
    const source = `secrets { key: string } ${hello}`
    const withSecret = (key: string) => ({ workflow_source: source, input: ada, secrets: { key } })
    const header = { "idempotency-key": "secret" }
    assert.equal((await service.post("/execute", withSecret("one"), header)).status, 200)
    assert.equal((await service.post("/execute", withSecret("two"), header)).status, 200)
    const other = { ...withSecret("one"), input: { name: "Bob" } }
    const error = await errorOf(await service.post("/execute", other, header))
    assert.deepEqual([error.status, error.kind], [409, "conflict"])
  })

  it("binds no key to a request that was refused", async () => {
    const header = { "idempotency-key": "refused" }
    assert.equal((await service.post("/execute", { workflow_source: hello, input: {} }, header)).status, 422)
    assert.equal((await service.post("/execute", body, header)).status, 200)
  })

  it("has 1 to 255 characters", async () => {
    for (const key of ["", "x".repeat(256)]) {
      const error = await errorOf(await service.post("/execute", body, { "idempotency-key": key }))
      assert.equal(error.kind, "invalid_request")
    }
    assert.equal((await service.post("/execute", body, { "idempotency-key": "x".repeat(255) })).status, 200)
  })
})
