import assert from "node:assert/strict"
import { request } from "node:http"
import { describe, it } from "node:test"
import { allEvents } from "./read-stream.ts"
import { ada, errorOf, heldAgent, hello, startService } from "./start-service.ts"

const body = { workflow_source: hello, input: ada }

describe("callers with keys", async () => {
  const service = await startService({ API_KEYS: "ann:ann-key-1,ann:ann-key-2,bob:bob-key" })
  const ann = { authorization: "Bearer ann-key-1" }
  const annNew = { authorization: "Bearer ann-key-2" }
  const bob = { authorization: "Bearer bob-key" }

  it("need a key for everything but the probes and the playground", async () => {
    for (const path of ["/healthz", "/readyz", "/playground", "/"]) {
      assert.notEqual((await service.get(path)).status, 401, path)
    }
    for (const path of ["/metrics", "/openapi.json", "/execute/x", "/execute/x/events"]) {
      const error = await errorOf(await service.get(path))
      assert.deepEqual([path, error.status, error.kind], [path, 401, "unauthorized"])
    }
    for (const path of [
      "/execute",
      "/validate",
      "/format",
      "/cache/invalidate",
      "/execute/x/cancel",
      "/demo/v1/responses",
    ]) {
      assert.equal((await service.post(path, {})).status, 401, path)
    }
  })

  it("are refused with a wrong or malformed key", async () => {
    for (const authorization of ["Bearer nope", "Bearer", "Basic YTpi", "ann-key-1", "Bearer ann-key-1x", "Bearer "]) {
      assert.equal((await service.post("/validate", body, { authorization })).status, 401, authorization)
    }
  })

  it("own their runs: with any of a name's keys, and with no other", async () => {
    const response = await service.post("/execute", body, ann)
    assert.equal(response.status, 200)
    const run = `/execute/${response.headers.get("x-service-run-id")}`
    assert.equal((await service.get(run, annNew)).status, 200)
    assert.equal((await allEvents(await service.get(`${run}/events`, ann))).length, 5)
    for (const path of [run, `${run}/events`]) assert.equal((await service.get(path, bob)).status, 404)
    assert.equal((await service.post(`${run}/cancel`, "", bob)).status, 404)
  })

  it("have idempotency keys and caches of their own", async () => {
    const key = { "idempotency-key": "same" }
    const ours = await service.post("/execute", body, { ...ann, ...key })
    const theirs = await service.post("/execute", body, { ...bob, ...key })
    assert.notEqual(ours.headers.get("x-service-run-id"), theirs.headers.get("x-service-run-id"))
    const cached = { ...body, options: { cache_key: "k" } }
    await (await service.post("/execute", cached, ann)).json()
    assert.deepEqual(await (await service.post("/cache/invalidate", { cache_key: "k" }, bob)).json(), {
      purged_entries: 0,
    })
    assert.deepEqual(await (await service.post("/cache/invalidate", { cache_key: "k" }, ann)).json(), {
      purged_entries: 1,
    })
  })

  it("may be browsers of any origin: the key is what counts", async () => {
    const headers = { ...ann, origin: "https://elsewhere.example" }
    assert.equal((await service.post("/validate", body, headers)).status, 200)
  })
})

describe("callers without keys", async () => {
  const service = await startService({ ALLOWED_HOSTS: "wire.example", ALLOWED_ORIGINS: "https://app.example" })

  /** `fetch` does not let a caller set these headers. */
  function send(headers: Record<string, string>, method = "POST", path = "/validate"): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const call = request({ port: service.port, host: "127.0.0.1", method, path, headers }, (response) => {
        let text = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => (text += chunk))
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      })
      call.on("error", reject)
      call.end(method === "POST" ? JSON.stringify(body) : undefined)
    })
  }
  interface Answer {
    readonly status: number
    readonly headers: Record<string, unknown>
    readonly text: string
  }
  const json = { "content-type": "application/json" }

  it("that are no browsers pass under any Host", async () => {
    const clients = [
      "curl/8.14.1",
      "undici",
      "node",
      "python-requests/2.32.4",
      "Python/3.13 aiohttp/3.12",
      "Go-http-client/1.1",
    ]
    assert.equal((await send({ ...json, host: "whatever.example" })).status, 200)
    for (const agent of clients) {
      assert.equal((await send({ ...json, host: "whatever.example", "user-agent": agent })).status, 200, agent)
    }
  })

  it("that are browsers by their User-Agent alone need a known Host", async () => {
    const agents = [
      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
      "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
    ]
    const hosts: [string, number][] = [
      ["rebound.example", 403],
      [`rebound.example:${service.port}`, 403],
      ["wire.example", 200],
      ["localhost", 200],
      ["192.0.2.7:13703", 200],
      ["[2001:db8::1]", 200],
    ]
    for (const agent of agents) {
      for (const [host, status] of hosts) {
        for (const path of ["/metrics", "/openapi.json", "/playground", "/healthz"]) {
          const answer = await send({ host, "user-agent": agent }, "GET", path)
          assert.deepEqual([host, path, answer.status], [host, path, status])
        }
      }
    }
  })

  it("that a page sends under another User-Agent need a known Host: no page can leave out Accept-Language", async () => {
    const page = { "user-agent": "curl/8.5.0", "accept-language": "*" }
    for (const [host, status] of [
      ["rebound.example", 403],
      ["localhost", 200],
    ] as const) {
      assert.equal((await send({ ...page, host }, "GET", "/openapi.json")).status, status, host)
    }
    // Node's `fetch`.
    const node = { ...page, "user-agent": "node", "sec-fetch-mode": "cors", host: "whatever.example" }
    assert.equal((await send(node, "GET", "/openapi.json")).status, 200)
  })

  it("that are browsers need an own or allowed origin, under a known Host", async () => {
    const own = `127.0.0.1:${service.port}`
    const rows: [Record<string, string>, number][] = [
      [{ host: own, origin: `http://${own}` }, 200],
      [{ host: `localhost:${service.port}`, origin: `http://localhost:${service.port}` }, 200],
      [{ host: "[::1]:13703", origin: "http://[::1]:13703" }, 200],
      [{ host: "wire.example", origin: "https://wire.example" }, 200],
      [{ host: own, origin: "https://app.example" }, 200],
      [{ host: own, "sec-fetch-site": "same-origin" }, 200],
      [{ host: own, "sec-fetch-site": "none" }, 200],
      [{ host: own, origin: "https://evil.example" }, 403],
      [{ host: own, origin: "null" }, 403],
      [{ host: own, origin: `http://127.0.0.1:1` }, 403],
      [{ host: own, "sec-fetch-site": "cross-site" }, 403],
      [{ host: own, "sec-fetch-site": "same-site" }, 403],
      [{ host: "rebound.example", origin: "http://rebound.example" }, 403],
      [{ host: "rebound.example", "sec-fetch-site": "same-origin" }, 403],
      [{ host: "rebound.example", origin: "https://app.example" }, 403],
    ]
    for (const [headers, status] of rows) {
      const answer = await send({ ...json, ...headers })
      assert.deepEqual([headers, answer.status], [headers, status])
      if (status === 403) assert.match(answer.text, /"kind":"forbidden".*WIRE_ALLOWED_(?:HOSTS|ORIGINS)/)
    }
  })

  it("may follow a link from elsewhere to the playground", async () => {
    const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }
    assert.equal((await send(link, "GET", "/playground")).status, 200)
    assert.equal((await send(link, "GET", "/metrics")).status, 403)
  })

  it("get CORS for the origins that are allowed, preflight included", async () => {
    const origin = "https://app.example"
    const answer = await send({ ...json, origin })
    assert.equal(answer.headers["access-control-allow-origin"], origin)
    assert.match(String(answer.headers["access-control-expose-headers"]), /x-service-run-id/)
    const preflight = await send({ origin, "access-control-request-method": "POST" }, "OPTIONS", "/execute")
    assert.equal(preflight.status, 204)
    assert.match(String(preflight.headers["access-control-allow-headers"]), /idempotency-key/)
    const foreign = await send(
      { origin: "https://evil.example", "access-control-request-method": "POST" },
      "OPTIONS",
      "/execute",
    )
    assert.equal(foreign.status, 403)
    assert.equal(foreign.headers["access-control-allow-origin"], undefined)
  })
})

describe("limits", async () => {
  it("refuse a body and a source that are too large", async () => {
    const service = await startService({ MAX_BODY: "2mb" })
    const large = await errorOf(await service.post("/execute", { workflow_source: "x".repeat(3_000_000) }))
    assert.deepEqual([large.status, large.kind], [413, "payload_too_large"])
    assert.match(large.message, /larger than 2097152 bytes, .* WIRE_MAX_BODY/)
    const source = await errorOf(await service.post("/execute", { workflow_source: `// ${"x".repeat(1_100_000)}` }))
    assert.deepEqual([source.status, source.kind], [413, "payload_too_large"])
    assert.match(source.message, /larger than 1048576 bytes, which no setting raises/)
  })

  it("refuse a body of too many values, and take one of as many bytes that has few", async () => {
    const service = await startService()
    const send = (x: string) =>
      service.post("/execute", `{"workflow_source":"input { x: [integer] } output { n: 1 }","input":{"x":${x}}}`)
    const many = await errorOf(await send(`[${"1,".repeat(2_100_000)}1]`))
    assert.deepEqual([many.status, many.kind], [413, "payload_too_large"])
    assert.match(many.message, /more than \d{7} JSON values, .* WIRE_MAX_BODY/)
    const few = await send(`[${"1".repeat(15)}${`,${"1".repeat(15)}`.repeat(250_000)}]`)
    assert.equal(few.status, 200)
  })

  it("let a client that writes a large body see why it is refused", async () => {
    const service = await startService({ MAX_BODY: "1mb" })
    const body = "x".repeat(20_000_000)
    for (let round = 0; round < 10; round++) {
      assert.equal((await errorOf(await service.post("/validate", body))).status, 413)
    }
  })

  it("answer 503 with Retry-After at capacity", async () => {
    const service = await startService({ MAX_RUNS: "1", MAX_QUEUED: "1" })
    const slowly = { workflow_source: (await heldAgent()).source, input: ada }
    const sse = { accept: "text/event-stream" }
    const first = await service.post("/execute", slowly, sse)
    const second = await service.post("/execute", slowly, sse)
    const queued = (await (await service.get(`/execute/${second.headers.get("x-service-run-id")}`)).json()) as {
      status: string
    }
    assert.equal(queued.status, "queued")
    const third = await service.post("/execute", slowly, sse)
    assert.equal(third.status, 503)
    assert.ok(Number(third.headers.get("retry-after")) >= 1)
    assert.equal((await errorOf(third)).kind, "overloaded")
    await service.post(`/execute/${second.headers.get("x-service-run-id")}/cancel`, "")
    const events = await allEvents(second)
    assert.equal(events.at(-1)?.type, "workflow_cancelled")
    await service.post(`/execute/${first.headers.get("x-service-run-id")}/cancel`, "")
    await first.body?.cancel()
  })

  it("do not refuse who asks for a run that exists", async () => {
    const service = await startService({ MAX_RUNS: "1", MAX_QUEUED: "0" })
    const done = { workflow_source: 'output { m: "x" }' }
    const held = await heldAgent()
    const running = { workflow_source: held.source, input: ada }
    const keyed = (key: string, more: Record<string, string> = {}) => ({ "idempotency-key": key, ...more })
    const sse = { accept: "text/event-stream" }
    assert.equal((await service.post("/execute", done, keyed("done"))).status, 200)
    const first = await service.post("/execute", running, keyed("running", sse))
    const run_id = first.headers.get("x-service-run-id")
    assert.equal((await service.post("/execute", done)).status, 503)
    assert.equal((await service.post("/execute", done, keyed("other"))).status, 503)

    const again = await service.post("/execute", done, keyed("done"))
    assert.deepEqual([again.status, again.headers.get("idempotency-replayed")], [200, "true"])
    assert.deepEqual(await again.json(), { m: "x" })
    assert.equal((await errorOf(await service.post("/execute", running, keyed("done")))).kind, "conflict")
    const followed = await service.post("/execute", running, keyed("running", sse))
    assert.equal(followed.headers.get("x-service-run-id"), run_id)
    const waited = service.post("/execute", running, keyed("running"))
    held.release()
    const events = await allEvents(first)
    assert.deepEqual(await allEvents(followed), events)
    assert.deepEqual([(await waited).status, (await waited).headers.get("x-service-run-id")], [200, run_id])
  })

  it("answer 429 with Retry-After over the rate, by key", async () => {
    const service = await startService({ RATE_LIMIT: "1", API_KEYS: "ann:ann-key,bob:bob-key" })
    const asked = Array.from({ length: 50 }, () => service.get("/execute/x", { authorization: "Bearer ann-key" }))
    const refused = (await Promise.all(asked)).find(({ status }) => status === 429)
    assert.ok(refused !== undefined)
    assert.ok(Number(refused.headers.get("retry-after")) >= 1)
    assert.equal((await errorOf(refused)).kind, "rate_limited")
    assert.equal((await service.get("/execute/x", { authorization: "Bearer bob-key" })).status, 404)
    assert.equal((await service.get("/healthz")).status, 200)
  })

  it("hold for the playground's files and for keys that are guessed, by address", async () => {
    const service = await startService({ RATE_LIMIT: "1", API_KEYS: "ann:ann-key" })
    const statuses = async (path: string, key: string): Promise<Set<number>> => {
      const all = Array.from({ length: 30 }, () => service.get(path, { authorization: `Bearer ${key}` }))
      return new Set((await Promise.all(all)).map(({ status }) => status))
    }
    assert.ok((await statuses("/playground", "")).has(429))
    assert.ok((await statuses("/metrics", "guess")).has(429))
    // What strangers do from the same address is not the caller's, nor the probes'.
    assert.equal((await service.get("/execute/x", { authorization: "Bearer ann-key" })).status, 404)
    assert.deepEqual(await statuses("/healthz", ""), new Set([200]))
  })

  it("leave room for others: one caller's runs that hang do not starve another's", async () => {
    const service = await startService({ MAX_RUNS: "4", MAX_QUEUED: "4", API_KEYS: "ann:ann-key,bob:bob-key" })
    const ann = { authorization: "Bearer ann-key" }
    const bob = { authorization: "Bearer bob-key" }
    const hangs = { workflow_source: (await heldAgent()).source, input: ada }
    const streams: Response[] = []
    for (let n = 0; n < 4; n++) {
      streams.push(await service.post("/execute", hangs, { ...ann, accept: "text/event-stream" }))
    }
    const refused = await service.post("/execute", hangs, ann)
    assert.ok(Number(refused.headers.get("retry-after")) >= 1)
    const error = await errorOf(refused)
    assert.deepEqual([error.status, error.kind], [429, "rate_limited"])
    assert.match(error.message, /WIRE_MAX_RUNS_PER_CALLER/)
    const answer = await service.post("/execute", body, bob)
    assert.equal(answer.status, 200)
    const id = streams.at(-1)?.headers.get("x-service-run-id")
    const { status } = (await (await service.get(`/execute/${id}`, ann)).json()) as { status: string }
    assert.equal(status, "queued")
    for (const { body: open } of streams) await open?.cancel()
  })

  it("are not shared out where there is one caller", async () => {
    const service = await startService({ MAX_RUNS: "2", MAX_QUEUED: "0" })
    const sse = { accept: "text/event-stream" }
    const { source } = await heldAgent()
    const runs = [1, 2, 3].map(() => service.post("/execute", { workflow_source: source, input: ada }, sse))
    const answers = await Promise.all(runs)
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 200, 503],
    )
    for (const { body: open } of answers) await open?.cancel()
  })

  it("are shared by address without keys", async () => {
    const limits = { MAX_RUNS: "4", MAX_QUEUED: "0", MAX_RUNS_PER_CALLER: "1" }
    const service = await startService({ ...limits, HOST: "0.0.0.0", EGRESS: "private" })
    const { source } = await heldAgent()
    const sse = { accept: "text/event-stream" }
    const hanging = await service.post("/execute", { workflow_source: source, input: ada }, sse)
    const bytes = JSON.stringify({ workflow_source: 'output { m: "x" }' })
    const send = (localAddress: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const options = { port: service.port, host: "127.0.0.1", localAddress, method: "POST", path: "/execute" }
        const call = request({ ...options, headers: { "content-type": "application/json" } }, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
        call.on("error", reject)
        call.end(bytes)
      })
    assert.equal(await send("127.0.0.1"), 429)
    assert.equal(await send("127.0.0.2"), 200)
    await hanging.body?.cancel()
  })
})
