import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { describe, test } from "node:test"
import type { CallRequestAnswer } from "../../../src/api/runs.ts"
import type { ModelCallRecord } from "../../../src/log/events.ts"
import { calls, fakeBackend, says } from "../../support/fake-backend.ts"
import { startServer } from "../../support/http-server.ts"
import { tinyMcp } from "../../support/tiny-mcp.ts"
import { allEvents } from "./read-stream.ts"
import { ada, errorOf, oneAgent, startService, type TestService } from "./start-service.ts"

// What a run keeps of its model calls and tool calls is what went over the wire, and no secret is in it.

async function runEvents(service: TestService, workflow_source: string, more: object = {}) {
  const response = await service.post(
    "/execute",
    { workflow_source, input: ada, ...more },
    { accept: "text/event-stream" },
  )
  const run_id = response.headers.get("x-service-run-id") ?? ""
  return { run_id, events: await allEvents(response) }
}

async function requestOf(service: TestService, run_id: string, call_id = ""): Promise<CallRequestAnswer> {
  const response = await service.get(`/execute/${run_id}/calls/${encodeURIComponent(call_id)}`)
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return JSON.parse(text) as CallRequestAnswer
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

describe("the requests of calls", async () => {
  const service = await startService()

  for (const kind of ["openai", "openai_chat", "anthropic", "google"]) {
    test(`${kind}: are kept as they were sent, without keys`, async (t) => {
      const server = await startServer((_request, response) => response.writeHead(400).end('{"error":"no"}'))
      t.after(() => server.close())
      const source = `
input { name: string }
secrets { key: string  org: string }
provider p from ${kind} { endpoint: "${server.origin}/v1"  api_key: secrets.key  headers { "X-Org": secrets.org } }
model m from p { id: "m"  system: "Be kind." }
agent reply { model: model.m  instruction: "Greet {{ input.name }}. ${"Long. ".repeat(60)}"  output { message: string } }
output { message: agent.reply.message }
`
      // Too short to be searched for.
      const secrets = { key: "k3y", org: "0rg" }
      const { run_id, events } = await runEvents(service, source, { secrets })
      const failed = events.find(({ type }) => type === "agent_failed")?.data ?? {}
      const [call] = failed["calls"] as ModelCallRecord[]
      assert.equal(call?.call_id, "reply.1.1")
      const request = await requestOf(service, run_id, call?.call_id)
      const [sent] = server.received
      assert.equal(request.text, sent?.body)
      assert.deepEqual(request.body, JSON.parse(sent?.body ?? ""))
      assert.equal(request.sha256, sha256(sent?.body ?? ""))
      assert.equal(request.bytes, Buffer.byteLength(sent?.body ?? ""))
      assert.equal(request.redacted, false)
      assert.equal(request.url, `${server.origin}${sent?.url}`)
      const headers = JSON.stringify(request.headers)
      assert.match(headers, /"(?:authorization|x-api-key|x-goog-api-key)":"(?:Bearer )?\$KEY"/)
      assert.match(headers, /"x-org":"\$X_ORG"/)
      assert.doesNotMatch(headers, /k3y|0rg/)
    })
  }

  test("of a conversation with tools are all there, what they share stored once; a secret that a body holds is named", async (t) => {
    const { backend, server: received } = await fakeBackend(t, (_request, n) =>
      n === 1 ? calls("look", { q: "long-secret-0123" }) : says('{"message":"seen"}'),
    )
    const server = await tinyMcp({ look: () => ({ content: [{ type: "text", text: "x".repeat(500) }] }) })
    t.after(() => server.close())
    const source = `secrets { token: string }
mcp s { endpoint: "${server.url}" } tool look from mcp.s.tool.look
${oneAgent(backend.endpoint).replace("output { message: string }", "uses: [tool.look]\n output { message: string }")}`
    const { run_id, events } = await runEvents(service, source, { secrets: { token: "long-secret-0123" } })
    const completed = events.find(({ type }) => type === "agent_completed")?.data ?? {}
    const made = completed["calls"] as ModelCallRecord[]
    assert.deepEqual(
      made.map(({ call_id }) => call_id),
      ["reply.1.1", "reply.2.1"],
    )
    for (const [at, { call_id }] of made.entries()) {
      const { text, redacted } = await requestOf(service, run_id, call_id)
      assert.equal(text, received.received[at]?.body)
      assert.doesNotMatch(text ?? "", /long-secret/)
      // The model's own words were searched when they came: what goes back has the name already.
      assert.equal(redacted, false)
    }
    const unknown = await errorOf(await service.get(`/execute/${run_id}/calls/reply.9.9`))
    assert.equal(unknown.kind, "not_found")
  })

  test("of tools are kept as they were sent, with short secrets by name in address and body", async (t) => {
    const api = await startServer((request, response) => {
      const isDown = request.method === "PUT" && api.received.length === 1
      response.writeHead(isDown ? 503 : 200, { "content-type": "application/json", "retry-after": "0" }).end("{}")
    })
    const mcp = await tinyMcp({ look: () => ({ content: [{ type: "text", text: "seen" }] }) })
    t.after(() => Promise.all([api.close(), mcp.close()]))
    const source = `secrets { pin: string  place: string }
api notes { endpoint: "${api.origin}/{{ secrets.place }}"  headers { "X-Pin": secrets.pin } }
tool put from api.notes."PUT /notes/{id}" { input { id: string  text: string  pin: string } bindings { pin: "is {{ secrets.pin }}" } }
tool get from api.notes."GET /notes/{id}" { input { id: string } bindings { id: secrets.pin } }
mcp s { endpoint: "${mcp.url}" }
tool look from mcp.s.tool.look { input { q: string  pin: string } bindings { pin: "is {{ secrets.pin }}" } }
tool see from mcp.s.tool.look { input { q: string } }
output {
    a: call tool.put { input { id: "n 1"  text: "${"Long. ".repeat(60)}" } }
    b: call tool.get { input {} }
    c: call tool.look { input { q: "x" } }
    d: call tool.see { input { q: "plain" } }
}`
    const { run_id, events } = await runEvents(service, source, { input: {}, secrets: { pin: "7", place: "zz" } })
    assert.equal(events.at(-1)?.type, "workflow_completed", JSON.stringify(events.at(-1)))
    const request = async (tool: string): Promise<CallRequestAnswer> => {
      const started = events.find(({ type, data }) => type === "tool_call_started" && data["tool"] === tool)
      return requestOf(service, run_id, String(started?.data["call_id"]))
    }

    const put = await request("put")
    assert.equal(put.method, "PUT")
    assert.equal(put.url, `${api.origin}/[secret:place]/notes/n%201`)
    assert.deepEqual(put.body, { text: "Long. ".repeat(60), pin: "is [secret:pin]" })
    assert.equal(put.redacted, true)
    assert.equal(put.sha256, sha256(put.text ?? ""))
    assert.equal(put.headers["x-pin"], "$X_PIN")
    const sent = api.received.find(({ method }) => method === "PUT")
    assert.equal(put.bytes, Buffer.byteLength(sent?.body ?? ""))
    assert.equal(sent?.body, put.text?.replace("[secret:pin]", "7"))

    const get = await request("get")
    assert.equal(get.url, `${api.origin}/[secret:place]/notes/%5Bsecret%3Apin%5D`)
    assert.deepEqual([get.method, get.text, get.bytes], ["GET", "", 0])

    const look = await request("look")
    const bodies = mcp.received.map(({ body }) => body).filter((body) => body.includes("tools/call"))
    assert.equal(look.url, mcp.url)
    assert.ok(bodies.includes((look.text ?? "").replace("[secret:pin]", "7")), look.text ?? "")
    assert.equal(look.redacted, true)

    const see = await request("see")
    assert.ok(bodies.includes(see.text ?? ""), see.text ?? "")
    assert.equal(see.redacted, false)
    assert.equal(see.sha256, sha256(see.text ?? ""))
  })

  test("of a tool call that failed, and of one that the end of the run cut off, are there too", async (t) => {
    const asked = Promise.withResolvers<void>()
    const api = await startServer((request, response) => {
      if (request.url === "/slow") asked.resolve()
      else response.writeHead(404).end()
    })
    t.after(() => api.close())
    const source = (path: string): string => `api a { endpoint: "${api.origin}" }
tool ask from api.a."POST ${path}" { input { q: string } }
output { a: call tool.ask { input { q: "why" } } }`
    const callOf = (events: readonly { readonly type: string; readonly data: Record<string, unknown> }[]): string =>
      String(events.find(({ type }) => type === "tool_call_started")?.data["call_id"])
    const failed = await runEvents(service, source("/missing"), { input: {} })
    assert.equal((await requestOf(service, failed.run_id, callOf(failed.events))).text, '{"q":"why"}')

    const started = await service.post(
      "/execute",
      { workflow_source: source("/slow"), input: {} },
      { prefer: "respond-async" },
    )
    const { run_id } = (await started.json()) as { run_id: string }
    await asked.promise
    await service.post(`/execute/${run_id}/cancel`, "")
    const events = await allEvents(await service.get(`/execute/${run_id}/events`))
    assert.equal(events.at(-1)?.type, "workflow_cancelled")
    assert.equal((await requestOf(service, run_id, callOf(events))).text, '{"q":"why"}')
  })

  test("are not kept where the operator says so", async (t) => {
    const { backend } = await fakeBackend(t, () => says('{"message":"done"}'))
    const without = await startService({ KEEP_REQUESTS: "off" })
    const { run_id } = await runEvents(without, oneAgent(backend.endpoint))
    const error = await errorOf(await without.get(`/execute/${run_id}/calls/reply.1.1`))
    assert.equal(error.kind, "not_found")
    assert.match(error.message, /WIRE_KEEP_REQUESTS/)
  })
})
