import assert from "node:assert/strict"
import { test } from "node:test"
import { HostileService } from "../hostile/hostile-service.ts"
import { streamOf } from "../support/fake-backend.ts"
import { startServer } from "../support/http-server.ts"
import { within } from "../support/within.ts"
import { folderOf } from "../support/workflow-folder.ts"

// `kill -9` while a workflow answers by OpenAI's APIs: what the client may ask for again is there after the restart, once.

test("a chat with a key and a response in the background survive kill -9", { timeout: 300_000 }, async (t) => {
  let isHeld = true
  let calls = 0
  const both = Promise.withResolvers<void>()
  const backend = await startServer((request, response) => {
    if (++calls === 2) both.resolve()
    if (isHeld) return
    const events = streamOf(JSON.stringify({ text: "Hello, world" }))
    if (!request.body.includes('"stream":true')) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(events.at(-1)?.["response"]))
      return
    }
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""))
  })
  t.after(() => backend.close())
  const folder = folderOf({
    "flow.wire": `
input { question: string }
provider llm from openai { endpoint: "${backend.origin}/v1" }
model m from llm { id: "m" }
agent answer { model: model.m instruction: "{{ input.question }}" output { text: string } }
chat { message: input.question reply: output.text }
output { text: agent.answer.text }
`,
  })
  const service = new HostileService({ WIRE_WORKFLOWS: folder })
  t.after(() => service.close())
  await service.start()
  const chat = { model: "flow", messages: [{ role: "user", content: "hi" }], stream: true }
  const key = { "idempotency-key": "chat-1" }
  const cut = service.post("/v1/chat/completions", chat, key).catch(() => null)
  const begun = await service.post("/v1/responses", { model: "flow", input: "hi", background: true })
  const { id } = JSON.parse(begun.text) as { id: string }
  await within(60_000, "both calls", both.promise)
  await service.kill()
  await cut
  isHeld = false
  await service.start()

  const again = await within(60_000, "the chat", service.post("/v1/chat/completions", chat, key))
  assert.equal(again.status, 200, again.text)
  assert.match(again.text, /data: \[DONE\]/)
  const said = [...again.text.matchAll(/"content":"([^"]*)"/g)].map(([, part]) => part).join("")
  assert.equal(said, "Hello, world")
  const finished = async (): Promise<string> => {
    for (;;) {
      const { text } = await service.send(`/v1/responses/${id}`)
      if (!/"status":"(?:queued|in_progress)"/.test(text)) return text
    }
  }
  const text = await within(60_000, "the response", finished())
  assert.match(text, /"status":"completed".*Hello, world/)
  const { runs } = JSON.parse((await service.send("/runs")).text) as { runs: unknown[] }
  assert.equal(runs.length, 2)
})
