import type { ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Agent, request } from "undici"
import { callGroups, modelId } from "./jobs.ts"
import type { JobName } from "./jobs.ts"

// The floor: what Node itself costs for the same traffic. It reads a body, makes the job's calls with the HTTP client that
// has the least overhead, and passes text on: no routes, no checks, no log, no error handling.

const [endpoint = ""] = process.argv.slice(2)
const dispatcher = new Agent({ connections: 1000, keepAliveTimeout: 600_000 })

async function call(key: string, instruction: string): Promise<string> {
  const body = JSON.stringify({
    model: modelId,
    input: [{ type: "message", role: "user", content: instruction }],
    store: false,
  })
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` }
  const answer = await request(`${endpoint}/responses`, { method: "POST", headers, body, dispatcher })
  const { output } = (await answer.body.json()) as { output: { content: { text: string }[] }[] }
  return output[0]?.content[0]?.text ?? ""
}

async function work(job: JobName, body: string, response: ServerResponse, stream: boolean): Promise<void> {
  const { topic, key } = JSON.parse(body) as { topic: string; key: string }
  let id = 0
  const tell = (event: string, data: unknown): void => {
    if (stream) response.write(`id: ${++id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }
  if (stream) response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" })
  let last = topic
  for (const calls of callGroups[job]) {
    const said = await Promise.all(
      Array.from({ length: calls }, async (_, n) => {
        const instruction = `Part ${n} of ${last}`
        tell("started", { instruction })
        const text = await call(key, instruction)
        tell("completed", { text })
        return text
      }),
    )
    last = said.join(" ")
  }
  const result = JSON.stringify({ summary: last })
  if (stream) {
    tell("done", { summary: last })
    response.end()
  } else {
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(result) })
    response.end(result)
  }
}

const server = createServer((incoming, response) => {
  const chunks: Buffer[] = []
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
  incoming.on("end", () => {
    const stream = incoming.headers.accept === "text/event-stream"
    const job = incoming.url === "/fan" ? "fan" : "one"
    work(job, Buffer.concat(chunks).toString("utf8"), response, stream).catch(() => response.destroy())
  })
})
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
