import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { DatabaseSync } from "node:sqlite"
import { Agent, request } from "undici"
import { callGroups, modelId, outputSchema } from "./jobs.ts"
import type { JobName } from "./jobs.ts"

// A minimal durable proxy, written by hand: what a run asks for and what each of its calls answered is a row of one SQLite
// table, durable before anything depends on it. What one turn of the event loop writes is one transaction. Requests and
// answers are validated. It has no routes, no encryption, no log to follow, and nothing reads the table after a crash.

const [endpoint = "", file = ""] = process.argv.slice(2)
const dispatcher = new Agent({ connections: 1000, keepAliveTimeout: 600_000 })
const database = new DatabaseSync(file)
database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE log (id INTEGER PRIMARY KEY, run TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL) STRICT`)
const insert = database.prepare("INSERT INTO log (run, kind, body) VALUES (?, ?, ?)")
const begin = database.prepare("BEGIN IMMEDIATE")
const commit = database.prepare("COMMIT")

let waiting: { readonly run: string; readonly kind: string; readonly body: string; readonly stored: () => void }[] = []

function store(run: string, kind: string, body: string): Promise<void> {
  return new Promise((stored) => {
    if (waiting.push({ run, kind, body, stored }) === 1) setImmediate(commitAll)
  })
}

function commitAll(): void {
  const batch = waiting
  waiting = []
  begin.run()
  for (const { run, kind, body } of batch) insert.run(run, kind, body)
  commit.run()
  for (const { stored } of batch) stored()
}

async function call(key: string, instruction: string): Promise<string> {
  const body = JSON.stringify({
    model: modelId,
    input: [{ type: "message", role: "user", content: instruction }],
    store: false,
    text: { format: { type: "json_schema", name: "reply", strict: true, schema: outputSchema } },
  })
  const headers = { "content-type": "application/json", authorization: `Bearer ${key}` }
  const answer = await request(`${endpoint}/responses`, { method: "POST", headers, body, dispatcher })
  const { output } = (await answer.body.json()) as { output: { content: { text: string }[] }[] }
  const { summary, score } = JSON.parse(output[0]?.content[0]?.text ?? "") as { summary: unknown; score: unknown }
  if (typeof summary !== "string" || !Number.isInteger(score)) throw new Error("The answer does not fit")
  return summary
}

async function work(job: JobName, text: string, tell: (event: string, data: unknown) => void): Promise<string> {
  const { topic, key } = JSON.parse(text) as { topic: unknown; key: unknown }
  if (typeof topic !== "string" || typeof key !== "string") throw new Error("The request does not fit")
  const run = randomUUID()
  await store(run, "request", JSON.stringify({ job, topic }))
  let last = topic
  for (const calls of callGroups[job]) {
    const said = await Promise.all(
      Array.from({ length: calls }, async (_, n) => {
        const instruction = `Part ${n} of ${last}`
        tell("started", { instruction })
        const summary = await call(key, instruction)
        await store(run, "answer", JSON.stringify({ n, summary }))
        tell("completed", { summary })
        return summary
      }),
    )
    last = said.join(" ")
  }
  return last
}

const server = createServer((incoming, response) => {
  const chunks: Buffer[] = []
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
  incoming.on("end", () => {
    const stream = incoming.headers.accept === "text/event-stream"
    let id = 0
    const tell = (event: string, data: unknown): void => {
      if (stream) response.write(`id: ${++id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    }
    if (stream) response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" })
    work(incoming.url === "/fan" ? "fan" : "one", Buffer.concat(chunks).toString("utf8"), tell).then(
      (summary) => {
        if (stream) {
          tell("done", { summary })
          response.end()
          return
        }
        const result = JSON.stringify({ summary })
        response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(result) })
        response.end(result)
      },
      () => response.destroy(),
    )
  })
})
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
