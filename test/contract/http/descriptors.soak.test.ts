import assert from "node:assert/strict"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { Agent, request, type ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { startService, type Started } from "../../cli/run-wire.ts"
import { startServer } from "../../support/http-server.ts"
import { within } from "../../support/within.ts"
import { allEvents } from "./read-stream.ts"
import { builtWire } from "../../support/built-wire.ts"

describe("a process without file descriptors", () => {
  it("says so at its start, turns readiness off, and blames no provider", async () => {
    const folder = mkdtempSync(join(tmpdir(), "wire-descriptors-"))
    after(() => rmSync(folder, { recursive: true, force: true }))
    const gate = Promise.withResolvers<void>()
    const called = Promise.withResolvers<void>()
    const answering = async (response: ServerResponse): Promise<void> => {
      called.resolve()
      await gate.promise
      const content = [{ type: "output_text", text: '{"message":"m"}' }]
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify({ output: [{ type: "message", role: "assistant", content }] }))
    }
    const [first, second] = [
      await startServer((_, response) => void answering(response)),
      await startServer((_, response) => void answering(response)),
    ]
    after(() => Promise.all([first.close(), second.close()]))
    const service = await startWith(100, folder)
    await until(async () =>
      /Only 100 file descriptors are allowed: with WIRE_MAX_RUNS=1000 about 3064/.test(service.output()),
    )

    // Two agents on two backends: the connection to the second one is made when there is none left.
    const agent = (name: string, model: string, after: string): string =>
      `agent ${name} { model: model.${model}  instruction: "${after}"  output { message: string } }`
    const source = `
      provider p from openai { endpoint: "${first.origin}/v1" inference { max_retries: 0 } }
      provider q from openai { endpoint: "${second.origin}/v1" inference { max_retries: 0 } }
      model m from p { id: "m" }
      model n from q { id: "n" }
      ${agent("a", "m", "Begin.")}
      ${agent("b", "n", "Go on with {{ agent.a.message }}.")}
      output { m: agent.b.message }
    `
    const stream = await fetch(`${service.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ workflow_source: source }),
    })
    await within(30_000, "the first call", called.promise)
    const kept = new Agent({ keepAlive: true, maxSockets: 1 })
    after(() => kept.destroy())
    assert.equal((await ready(kept, service.address)).status, 200)

    const sockets = await takeAll(service.address, kept)
    assert.deepEqual((await ready(kept, service.address)).body, { status: "out of file descriptors" })
    gate.resolve()
    const end = (await within(30_000, "the end of the run", allEvents(stream))).at(-1)
    assert.ok(end?.type === "workflow_failed")
    const error = end.data["error"] as { kind: string; message: string }
    assert.equal(error.kind, "overloaded")
    assert.match(error.message, /file descriptors/)
    assert.equal(second.received.length, 0)

    for (const socket of sockets) socket.destroy()
    await until(async () => (await ready(kept, service.address)).status === 200)
    const lines = (): string[] =>
      service
        .output()
        .split("\n")
        .filter((line) => line.includes('"trouble":"descriptors"'))
    await until(async () => lines().length >= 2)
    assert.equal(lines().length, 2, lines().join("\n"))
    assert.match(lines()[0] ?? "", /"level":"error".*100 file descriptors/)
    assert.match(lines()[1] ?? "", /there are file descriptors again/)
    service.child.kill("SIGTERM")
    assert.deepEqual(await service.ended, { code: 0, signal: null })
  })

  it("answers its first request with `overloaded`", async () => {
    const folder = mkdtempSync(join(tmpdir(), "wire-descriptors-"))
    after(() => rmSync(folder, { recursive: true, force: true }))
    const service = await startWith(100, folder)
    const kept = new Agent({ keepAlive: true, maxSockets: 1 })
    after(() => kept.destroy())
    const sockets = await takeAll(service.address, kept)
    const body = JSON.stringify({ workflow_source: 'output { m: "x" }' })
    const refused = await ask(kept, `${service.address}/execute`, body)
    const message = "The service is out of file descriptors. Try again later"
    const { error } = refused.body as { error: { kind: string; message: string } }
    assert.deepEqual([refused.status, error.kind, error.message], [503, "overloaded", message])
    assert.ok(!service.output().includes("unexpected error"), service.output())
    for (const socket of sockets) socket.destroy()
    await until(async () => (await ready(kept, service.address)).status === 200)
    assert.deepEqual(await ask(kept, `${service.address}/execute`, body), { status: 200, body: { m: "x" } })
  })

  it("does not start with too few, and says so", async () => {
    const folder = mkdtempSync(join(tmpdir(), "wire-descriptors-"))
    after(() => rmSync(folder, { recursive: true, force: true }))
    for (const limit of [28, 40]) {
      await assert.rejects(startWith(limit, folder), (error: Error) => {
        const sentence = `Only ${limit} file descriptors are allowed \\(ulimit -n\\), and \\d+ are open: the service needs \\d+ more to start`
        assert.match(
          error.message,
          new RegExp(`^Ended with code 1 before it listened:\n${sentence}\\. Raise the limit\\.\n$`),
        )
        return true
      })
    }
    assert.deepEqual(readdirSync(folder), [])
  })
})

function startWith(descriptors: number, folder: string): Promise<Started> {
  const limit = [`--nofile=${descriptors}:${descriptors}`, process.execPath, builtWire, "serve"]
  return startService("prlimit", limit, { WIRE_PORT: "0", WIRE_DATA_DIR: folder, WIRE_RATE_LIMIT: "0" })
}

/** Connects until the service has no descriptors left. */
async function takeAll(address: string, kept: Agent): Promise<Socket[]> {
  assert.equal((await ready(kept, address)).status, 200)
  const sockets: Socket[] = []
  const { hostname, port } = new URL(address)
  for (let n = 0; n < 120; n++) sockets.push(connect(Number(port), hostname).on("error", () => undefined))
  await until(async () => (await ready(kept, address)).status === 503)
  return sockets
}

/** Over a connection that is there already. */
function ready(agent: Agent, address: string): Promise<{ status: number; body: unknown }> {
  return ask(agent, `${address}/readyz`)
}

function ask(agent: Agent, url: string, body?: string): Promise<{ status: number; body: unknown }> {
  const sent = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" } }
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, ...sent }, (response) => {
      const chunks: Buffer[] = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) as unknown })
      })
    })
    asked.on("error", reject)
    asked.end(body)
  })
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error("It did not come to that")
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
