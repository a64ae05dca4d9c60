import assert from "node:assert/strict"
import { test } from "node:test"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { folderOf } from "../../support/workflow-folder.ts"
import { ada, heldAgent, startService, untilMetric } from "./start-service.ts"

test("a service that stops promises no client a run that its store in memory loses", async () => {
  const { source } = await heldAgent()
  const chat = `${source}\nchat { message: input.name reply: output.message }\n`
  const service = await startService({ STORE: "memory", WORKFLOWS: folderOf({ "flow.wire": chat }) })
  const messages = [{ role: "user", content: "Ada" }]
  const answers = [
    service.post("/workflows/flow/execute", { input: ada }),
    service.post("/v1/chat/completions", { model: "flow", messages }),
    service.post("/v1/responses", { model: "flow", input: "Ada", stream: true }),
  ]
  const client = new Client({ name: "test", version: "1" })
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`)))
  const called = client.callTool({ name: "flow", arguments: ada })
  await untilMetric(service, "wire_runs_active", answers.length + 1)
  await service.stop()
  for (const answer of await Promise.all(answers)) {
    const text = await answer.text()
    assert.match(text, /shutting down, and the run is lost, because the store is in memory/)
    assert.doesNotMatch(text, /goes on|\/execute\//)
    assert.equal(answer.headers.get("location"), null)
    if (answer.status !== 200) assert.deepEqual([answer.status, answer.headers.get("retry-after")], [503, "5"])
  }
  const { content } = await called
  assert.match(JSON.stringify(content), /the run is lost/)
})
