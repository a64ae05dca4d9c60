import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import type { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { fakeBackend } from "../../support/fake-backend.ts"
import { gone, open, readAnswers, sendRaw } from "../../support/raw-http.ts"
import { within } from "../../support/within.ts"
import { isEnd } from "./read-stream.ts"
import { ada, heldAgent, hello, oneAgent, slow, startService, untilMetric } from "./start-service.ts"

// What clients do with their connections: too slowly, not to the end, several requests at a time, and going away.

function post(path: string, body: unknown, headers: readonly string[] = []): string {
  const text = typeof body === "string" ? body : JSON.stringify(body)
  const lines = ["Host: x", "Content-Type: application/json", `Content-Length: ${Buffer.byteLength(text)}`, ...headers]
  return `POST ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${text}`
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const body = { workflow_source: hello, input: ada }

/** Sends a piece every few milliseconds until the socket is closed. */
function trickle(socket: Socket, pieces: () => string): () => void {
  const timer = setInterval(() => {
    if (socket.writable) socket.write(pieces())
  }, 20)
  return () => clearInterval(timer)
}

describe("slow connections", async () => {
  // Nothing here needs a request to arrive in time: it might not on a busy machine.
  const service = await startService({}, { requestTimeoutMs: 400 })

  it("that send their headers too slowly are refused and closed", async () => {
    const socket = await open(service.port)
    socket.write("POST /execute HTTP/1.1\r\nHost: x\r\n")
    let n = 0
    const stop = trickle(socket, () => `X-${n++}: 1\r\n`)
    const { answers } = await within(30_000, "the refusal", readAnswers(socket, 1))
    stop()
    assert.equal(answers[0]?.status, 400)
    assert.match(answers[0]?.body ?? "", /did not arrive in time/)
    await within(30_000, "the end", gone(socket))
  })

  it("that send their body too slowly are refused and closed", async () => {
    const socket = await open(service.port)
    socket.write("POST /execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 90000\r\n\r\n")
    const stop = trickle(socket, () => " ")
    const { answers } = await within(30_000, "the refusal", readAnswers(socket, 1))
    stop()
    assert.equal(answers[0]?.status, 400)
    assert.match(answers[0]?.body ?? "", /"kind":"invalid_request".*did not arrive in time/)
    await within(30_000, "the end", gone(socket))
  })

  it("that send nothing are closed", async () => {
    const socket = await open(service.port)
    await within(30_000, "the end", gone(socket))
    socket.destroy()
  })
})

describe("connections", async () => {
  const service = await startService({ MAX_BODY: "100kb" })

  it("may be many of the slow kind: others are served meanwhile", async () => {
    const sockets = await Promise.all(Array.from({ length: 200 }, () => open(service.port)))
    for (const socket of sockets) socket.write("POST /execute HTTP/1.1\r\nHost: x\r\nX-")
    assert.equal((await service.post("/execute", body)).status, 200)
    assert.ok(sockets.every((socket) => !socket.destroyed))
    for (const socket of sockets) socket.destroy()
  })

  it("do not outlast a body that is too large, chunked or not", async () => {
    const chunk = `1000\r\n${" ".repeat(4096)}\r\n`
    const head = "POST /execute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    for (const [framing, piece] of [
      ["Transfer-Encoding: chunked", chunk],
      ["Content-Length: 999999999", " ".repeat(4096)],
    ] as const) {
      const socket = await open(service.port)
      socket.write(`${head}${framing}\r\n\r\n`)
      const stop = trickle(socket, () => piece.repeat(10))
      const { answers } = await within(30_000, "the refusal", readAnswers(socket, 1))
      assert.equal(answers[0]?.status, 413)
      assert.match(answers[0]?.body ?? "", /payload_too_large/)
      await within(30_000, `the end of ${framing}`, gone(socket))
      stop()
    }
  })

  it("that break off an upload leave nothing behind", async () => {
    const text = post("/execute", body)
    for (const length of [10, 60, 120, text.length - 1]) {
      const socket = await open(service.port)
      socket.write(text.slice(0, length))
      socket.resetAndDestroy()
    }
    await untilMetric(service, "wire_runs_active", 0)
    const metrics = await (await service.get("/metrics")).text()
    const before = /^wire_runs_total\{status="completed"\} (\d+)$/m.exec(metrics)?.[1]
    assert.equal((await service.post("/execute", body)).status, 200)
    const after = await (await service.get("/metrics")).text()
    assert.match(after, new RegExp(`^wire_runs_total\\{status="completed"\\} ${Number(before) + 1}$`, "m"))
  })

  it("that close their half are gone: the run of a JSON client is cancelled", async (t) => {
    const called = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<void>()
    const { backend } = await fakeBackend(t, () => (reply) => {
      called.resolve()
      reply.on("close", () => closed.resolve())
    })
    const socket = await open(service.port)
    socket.resume()
    socket.write(post("/execute", { workflow_source: oneAgent(backend.endpoint), input: ada }))
    await within(30_000, "the call", called.promise)
    socket.end()
    await within(30_000, "the call's end", closed.promise)
    await untilMetric(service, "wire_runs_active", 0)
  })

  it("may send requests before the answers to those before are there", async () => {
    const requests = [
      post("/execute", body),
      get("/healthz"),
      post("/validate", { workflow_source: hello }),
      get("/execute/none"),
      post("/format", "{"),
    ]
    const { answers } = await sendRaw(service.port, requests.join(""), { answers: 5 })
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 404, 400],
    )
  })

  it("get no second answer in the middle of a stream, whatever they send after it", async () => {
    const socket = await open(service.port)
    let text = ""
    const held = await heldAgent()
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()))
    socket.write(post("/execute", { workflow_source: held.source, input: ada }, ["Accept: text/event-stream"]))
    while (!text.includes("agent_started")) await within(30_000, "the stream", once(socket, "data"))
    socket.write("\u0001\u0002 this is no HTTP\r\n\r\n")
    await within(30_000, "the end", gone(socket))
    assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1)
    // Its run goes on without it.
    held.release()
    const run_id = /x-service-run-id: (\S+)/.exec(text)?.[1] ?? ""
    const events = await (await service.get(`/execute/${run_id}/events`)).text()
    assert.equal(events.match(/^event: workflow_completed$/gm)?.length, 1)
  })

  it("may expect 100-continue", async () => {
    const text = post("/execute", body, ["Expect: 100-continue"])
    const head = text.slice(0, text.indexOf("\r\n\r\n") + 4)
    const socket = await open(service.port)
    socket.write(head)
    const [interim] = (await within(30_000, "100", once(socket, "data"))) as [Buffer]
    assert.match(interim.toString(), /^HTTP\/1\.1 100 /)
    const answer = readAnswers(socket, 1)
    socket.write(text.slice(head.length))
    assert.equal((await within(30_000, "the answer", answer)).answers[0]?.status, 200)
    socket.destroy()
  })

  it("may ask for the head of a stream alone", async () => {
    const started = await service.post(
      "/execute",
      { workflow_source: slow, input: ada },
      { accept: "text/event-stream" },
    )
    const run_id = started.headers.get("x-service-run-id") ?? ""
    const head = await within(30_000, "the head", fetch(`${service.url}/execute/${run_id}/events`, { method: "HEAD" }))
    assert.equal(head.status, 200)
    assert.match(head.headers.get("content-type") ?? "", /^text\/event-stream/)
    await started.body?.cancel()
  })

  it("speak HTTP/1.0 too", async () => {
    const { answers, closed } = await sendRaw(service.port, "GET /healthz HTTP/1.0\r\n\r\n", { answers: 2 })
    assert.deepEqual([answers[0]?.status, answers[0]?.body, closed], [200, '{"status":"ok"}', true])
    const text = JSON.stringify(body)
    const lines = ["Content-Type: application/json", `Content-Length: ${text.length}`, "Accept: text/event-stream"]
    const stream = await sendRaw(service.port, `POST /execute HTTP/1.0\r\n${lines.join("\r\n")}\r\n\r\n${text}`)
    assert.equal(stream.closed, true)
    const types = [...(stream.answers[0]?.body ?? "").matchAll(/^event: (.*)$/gm)].map(([, type = ""]) => type)
    assert.equal(types.length, 5)
    assert.ok(isEnd({ id: 5, type: types.at(-1) ?? "", data: {} }))
  })
})

describe("connections to a service with a disk", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wire-sockets-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const service = await startService({ STORE: "sqlite", DATA_DIR: folder })

  it("answer the next request after a large body of a type that is refused", async () => {
    const large = `POST /execute HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: 2000000\r\n\r\n${"x".repeat(2_000_000)}`
    const { answers } = await sendRaw(service.port, large + get("/healthz"), { answers: 2, deadline_ms: 30_000 })
    assert.deepEqual(
      answers.map(({ status }) => status),
      [415, 200],
    )
  })

  it("that are gone before their run is stored leave no run that goes on", async (t) => {
    const called = Promise.withResolvers<void>()
    const { backend } = await fakeBackend(t, () => () => called.resolve())
    const request = post("/execute", { workflow_source: oneAgent(backend.endpoint), input: ada })
    const ask = async (until: Promise<unknown>): Promise<void> => {
      const socket = await open(service.port)
      socket.write(request)
      await until
      socket.resetAndDestroy()
    }
    // From before the request is read to after its run has begun.
    for (let n = 0; n < 60; n++) await ask(new Promise((resolve) => setTimeout(resolve, n / 10)))
    // On a slow machine none of them has begun by then.
    await ask(within(30_000, "the call of a run", called.promise))
    await untilMetric(service, "wire_runs_active", 0)
    assert.ok((await total(service, "cancelled")) > 0)
  })
})

async function total(service: { get(path: string): Promise<Response> }, status: string): Promise<number> {
  const text = await (await service.get("/metrics")).text()
  return Number(new RegExp(`^wire_runs_total\\{status="${status}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0)
}

describe("connections, as many as there may be", async () => {
  const service = await startService({ API_KEYS: "mallory:m,bob:b" }, { maxConnections: 20 })

  it("one caller has streams and requests on half of them, and others go on", async () => {
    const { source, release } = await heldAgent()
    const started = { workflow_source: source, input: ada }
    const mallory = { authorization: "Bearer m" }
    const run = await service.post("/execute", started, { ...mallory, prefer: "respond-async" })
    const { run_id } = (await run.json()) as { run_id: string }
    const leave = new AbortController()
    const streams = await Promise.all(
      Array.from({ length: 14 }, () =>
        fetch(`${service.url}/execute/${run_id}/events`, { headers: mallory, signal: leave.signal }),
      ),
    )
    const statuses = streams.map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 10)
    const refused = streams.find(({ status }) => status === 429)
    assert.ok(refused !== undefined)
    const { error } = (await refused.json()) as { error: { kind: string; message: string } }
    assert.equal(error.kind, "rate_limited")
    assert.match(error.message, /10 requests or streams open/)
    const silent = await Promise.all(Array.from({ length: 30 }, () => open(service.port)))
    const request = post("/execute", body, ["Authorization: Bearer b"])
    const bob = await sendRaw(service.port, request, { deadline_ms: 30_000 })
    assert.equal(bob.answers[0]?.status, 200)
    leave.abort()
    for (const socket of silent) socket.destroy()
    release()
    // Streams that have ended count no more.
    const again = async (): Promise<number | undefined> => {
      const { answers } = await sendRaw(
        service.port,
        "GET /runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer m\r\n\r\n",
      )
      return answers[0]?.status
    }
    for (let status = await again(); status !== 200; status = await again()) assert.equal(status, 429)
  })
})
