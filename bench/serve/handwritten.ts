import type { FastifyReply } from "fastify"
import { fastify } from "fastify"
import OpenAI from "openai"
import { callGroups, modelId, outputSchema } from "./jobs.ts"
import type { JobName } from "./jobs.ts"

// What one would write instead: a Fastify route, the official SDK, structured output, checked. It survives no crash, keeps
// nothing, and streams only while its client stays.

const [baseURL = ""] = process.argv.slice(2)
const app = fastify({ logger: false })

interface Body {
  readonly topic: string
  readonly key: string
}

async function call(client: OpenAI, instruction: string): Promise<string> {
  const answer = await client.responses.create({
    model: modelId,
    input: [{ role: "user", content: instruction }],
    store: false,
    text: { format: { type: "json_schema", name: "reply", strict: true, schema: outputSchema } },
  })
  const { summary, score } = JSON.parse(answer.output_text) as { summary: unknown; score: unknown }
  if (typeof summary !== "string" || !Number.isInteger(score)) throw new Error("The answer does not fit")
  return summary
}

async function work(job: JobName, { topic, key }: Body, tell: (event: string, data: unknown) => void): Promise<string> {
  const client = new OpenAI({ baseURL, apiKey: key })
  let last = topic
  for (const calls of callGroups[job]) {
    const said = await Promise.all(
      Array.from({ length: calls }, async (_, n) => {
        const instruction = `Part ${n} of ${last}`
        tell("started", { instruction })
        const text = await call(client, instruction)
        tell("completed", { text })
        return text
      }),
    )
    last = said.join(" ")
  }
  return last
}

const body = {
  type: "object",
  properties: { topic: { type: "string" }, key: { type: "string" } },
  required: ["topic", "key"],
} as const

async function stream(reply: FastifyReply, job: JobName, asked: Body): Promise<FastifyReply> {
  reply.hijack()
  let id = 0
  const tell = (event: string, data: unknown): void => {
    reply.raw.write(`id: ${++id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }
  reply.raw.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" })
  tell("done", { summary: await work(job, asked, tell) })
  reply.raw.end()
  return reply
}

for (const job of ["one", "fan"] as const) {
  app.post<{ Body: Body }>(`/${job}`, { schema: { body } }, async (request, reply) => {
    if (request.headers.accept === "text/event-stream") return stream(reply, job, request.body)
    return { summary: await work(job, request.body, () => undefined) }
  })
}
process.stdout.write(`${await app.listen({ port: 0, host: "127.0.0.1", backlog: 4096 })}\n`)
