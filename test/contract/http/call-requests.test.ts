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

// What a run keeps of its model calls is what went over the wire, and no secret is in it.

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

describe("the requests of model calls", async () => {
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

  test("are not kept where the operator says so", async (t) => {
    const { backend } = await fakeBackend(t, () => says('{"message":"done"}'))
    const without = await startService({ KEEP_REQUESTS: "off" })
    const { run_id } = await runEvents(without, oneAgent(backend.endpoint))
    const error = await errorOf(await without.get(`/execute/${run_id}/calls/reply.1.1`))
    assert.equal(error.kind, "not_found")
    assert.match(error.message, /WIRE_KEEP_REQUESTS/)
  })
})
