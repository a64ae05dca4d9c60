import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync, mkdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { hello, startService } from "./start-service.ts"

const asking = `
input { name: string }
ask review { question: "Greet {{ input.name }}?" output { yes: boolean } }
output { yes: ask.review.yes }
`

const waiting = `
input { name: string }
wait greeted { event: "greeted" key: input.name output { by: string } }
output { by: wait.greeted.by }
`

const folder = mkdtempSync(join(tmpdir(), "wireworks-mcp-"))
after(() => rmSync(folder, { recursive: true, force: true }))
mkdirSync(join(folder, "tickets"))
for (const [name, text] of Object.entries({
  "hello.wire": `// Greets.\n${hello}`,
  "tickets/triage.wire": hello,
  "a_b.wire": hello,
  "asking.wire": asking,
  "waiting.wire": waiting,
  "broken.wire": "agent {",
  "odd name.wire": hello,
}))
  writeFileSync(join(folder, name), text)
mkdirSync(join(folder, "a"))
writeFileSync(join(folder, "a", "b.wire"), hello)

async function connect(url: string, key?: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" })
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  after(() => client.close())
  return client
}

describe("/mcp", async () => {
  const service = await startService({ WORKFLOWS: folder, API_KEYS: "ann:a-key,bob:b-key" })

  it("offers each workflow as a tool; those whose names clash are absent", async () => {
    const client = await connect(service.url, "a-key")
    const { tools } = await client.listTools()
    assert.deepEqual(
      tools.map(({ name, description }) => [name, description]),
      [
        ["asking", "Runs the workflow asking."],
        ["hello", "Greets."],
        ["tickets_triage", "Runs the workflow tickets/triage."],
        ["waiting", "Runs the workflow waiting."],
      ],
    )
    assert.deepEqual(tools[1]?.inputSchema["required"], ["name"])
  })

  it("runs them for the caller", async () => {
    const client = await connect(service.url, "a-key")
    const result = await client.callTool({ name: "tickets_triage", arguments: { name: "Ada" } })
    assert.deepEqual(result.structuredContent, { message: "Hello, Ada." })
    const list = (await (await service.get("/runs", { authorization: "Bearer a-key" })).json()) as {
      runs: { workflow: string }[]
    }
    assert.deepEqual(
      list.runs.map(({ workflow }) => workflow),
      ["tickets/triage"],
    )
    const misfit = await client.callTool({ name: "hello", arguments: { nam: "Ada" } })
    assert.equal(misfit.isError, true)
  })

  it("returns the run and where to answer when it waits for people", async () => {
    const client = await connect(service.url, "a-key")
    const { structuredContent } = await client.callTool({ name: "asking", arguments: { name: "Ada" } })
    const { run_id, status, questions } = structuredContent as {
      run_id: string
      status: string
      questions: { id: string; answer_at: string }[]
    }
    assert.equal(status, "waiting")
    const [question] = questions
    assert.equal(question?.answer_at, `/execute/${run_id}/questions/${question?.id}`)
    const ann = { authorization: "Bearer a-key" }
    const answered = await service.post(question?.answer_at ?? "", { answer: { yes: true } }, ann)
    assert.equal(answered.status, 200, await answered.clone().text())
    const record = (await (await service.get(`/execute/${run_id}?wait=10`, ann)).json()) as Record<string, unknown>
    assert.deepEqual(record["output"], { yes: true })
  })

  it("says which event a run waits for", async () => {
    const client = await connect(service.url, "a-key")
    const { structuredContent } = await client.callTool({ name: "waiting", arguments: { name: "Ada" } })
    const { waits } = structuredContent as { waits: { event: string; key: string }[] }
    assert.deepEqual(
      waits.map(({ event, key }) => [event, key]),
      [["greeted", "Ada"]],
    )
  })

  it("needs a key", async () => {
    assert.equal((await service.post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" })).status, 401)
  })
})

describe("/mcp without a folder", () => {
  it("is not there", async () => {
    const service = await startService()
    assert.equal((await service.post("/mcp", {})).status, 404)
  })
})
