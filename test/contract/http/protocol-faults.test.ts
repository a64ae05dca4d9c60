import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { streamOf } from "../../support/fake-backend.ts"
import { startServer } from "../../support/http-server.ts"
import { open } from "../../support/raw-http.ts"
import { within } from "../../support/within.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { startService } from "./start-service.ts"

// The faces for OpenAI's APIs and AG-UI with models that repeat secrets, with clients that do not read, and in the metrics.

const secret = "sk-server-5b2d7e40c1f9"

const faces = (model: string, text: string): Readonly<Record<string, { path: string; body: object }>> => ({
  "chat completions": {
    path: "/v1/chat/completions",
    body: { model, messages: [{ role: "user", content: text }], stream: true },
  },
  responses: { path: "/v1/responses", body: { model, input: text, stream: true } },
  "AG-UI": {
    path: `/workflows/${model}/ag-ui`,
    body: {
      threadId: "t",
      runId: "r",
      state: {},
      messages: [{ id: "1", role: "user", content: text }],
      tools: [],
      context: [],
      forwardedProps: {},
    },
  },
})

describe("faces of workflows with a chat", async () => {
  /** Repeats its caller's key in its answer, a few characters at a time. */
  const leaking = await startServer(({ headers, body }, response) => {
    const text = JSON.stringify({ text: `The key is ${headers.authorization ?? ""}. ${"More text. ".repeat(20)}` })
    const events = streamOf(text, 100)
    if (!body.includes('"stream":true')) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(events.at(-1)?.["response"]))
      return
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`)
    response.end()
  })
  const folder = folderOf({
    "leaking.wire": `
input { question: string }
secrets { key: string }
provider llm from openai { endpoint: "${leaking.origin}/v1" api_key: secrets.key }
model m from llm { id: "m" }
agent answer { model: model.m instruction: "{{ input.question }}" output { text: string } }
chat { message: input.question reply: output.text }
output { text: agent.answer.text }
`,
    "large.wire": `
input { question: string }
chat { message: input.question reply: output.text }
output { text: "{{ input.question }}{{ input.question }}{{ input.question }}{{ input.question }}" }
`,
  })
  const service = await startService({ WORKFLOWS: folder, SECRET_KEY: secret })

  for (const [face, { path, body }] of Object.entries(faces("leaking", "hi"))) {
    it(`hide secrets that a model repeats: ${face}`, async () => {
      const response = await service.post(path, body)
      const text = await response.text()
      assert.equal(response.status, 200, text)
      const said = [...text.matchAll(/"(?:delta|content)":"((?:[^"\\]|\\.)*)"/g)].map(([, part]) => part).join("")
      assert.ok(!text.includes(secret) && !said.includes(secret), text)
      assert.match(said, /The key is Bearer \[secret:key\]\. More text/)
    })
  }

  for (const [face, { path, body }] of Object.entries(faces("large", "x".repeat(500_000)))) {
    it(`finish the run of a client that does not read, and give it the rest later: ${face}`, async () => {
      const before = await completed()
      const socket = await open(Number(new URL(service.url).port))
      socket.pause()
      const text = JSON.stringify(body)
      const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${text.length}\r\n\r\n`
      socket.write(head + text)
      const deadline = Date.now() + 30_000
      while ((await completed()) === before) assert.ok(Date.now() < deadline, "The run does not end")
      assert.equal((await service.get("/healthz")).status, 200)
      const chunks: Buffer[] = []
      const end = new Promise<void>((resolve) => socket.once("end", resolve))
      socket.on("data", (chunk: Buffer) => chunks.push(chunk))
      socket.resume()
      await within(30_000, "the end of the stream", end)
      const all = Buffer.concat(chunks).toString()
      const last = { "chat completions": "data: [DONE]", responses: "data: [DONE]", "AG-UI": "RUN_FINISHED" }[face]
      assert.ok(all.includes(last ?? ""), all.slice(-500))
      assert.ok(all.split("x").length > 2_000_000, String(all.length))
      socket.destroy()
    })
  }

  async function completed(): Promise<number> {
    const text = await (await service.get("/metrics")).text()
    return [...text.matchAll(/^wire_runs_total\{.*completed.*\} (\d+)$/gm)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    )
  }

  it("are counted by workflow", async () => {
    const text = await (await service.get("/metrics")).text()
    for (const route of ["/v1/chat/completions", "/v1/responses", "/workflows/*"]) {
      const line = `wire_http_requests_total{method="POST",route="${route}",status="200",workflow="leaking"} 1`
      assert.ok(text.includes(line), `${line}\n${text.match(/^wire_http_requests_total.*$/gm)?.join("\n") ?? ""}`)
    }
  })
})
