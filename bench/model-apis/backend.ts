import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { JsonObject } from "../../src/base/json-value.ts"
import type { Voice } from "../../test/contract/model-client/voices.ts"
import { voices } from "../../test/contract/model-client/voices.ts"

// A backend that speaks every API and answers at once, whole or streamed, with the same text.

const text = JSON.stringify({ summary: "The owls were asleep and the report was late. ".repeat(4), score: 7 })

const bodies = new Map<string, { readonly type: string; readonly body: Buffer }>()
for (const voice of voices) {
  bodies.set(`${voice.api} whole`, {
    type: "application/json",
    body: Buffer.from(JSON.stringify(voice.says({ text }))),
  })
  bodies.set(`${voice.api} streamed`, { type: "text/event-stream", body: Buffer.from(events(voice)) })
}

function events(voice: Voice): string {
  const lines = voice.streams({ text }).map((event: JsonObject) => {
    const name = voice.names ? `event: ${event["type"] as string}\n` : ""
    return `${name}data: ${JSON.stringify(event)}\n\n`
  })
  return `${lines.join("")}${voice.api === "chat" ? "data: [DONE]\n\n" : ""}`
}

const apis: readonly [string, string][] = [
  ["/responses", "responses"],
  ["/chat/completions", "chat"],
  ["/messages", "anthropic"],
  ["enerateContent", "google"],
]

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const url = request.url ?? ""
    const api = apis.find(([path]) => url.includes(path))?.[1] ?? ""
    const streamed = url.includes(":stream") || Buffer.concat(chunks).includes('"stream":true')
    const reply = bodies.get(`${api} ${streamed ? "streamed" : "whole"}`)
    response.writeHead(200, { "content-type": reply?.type ?? "text/plain", "content-length": reply?.body.length ?? 0 })
    response.end(reply?.body)
  })
})
server.keepAliveTimeout = 600_000
server.listen({ port: 0, host: "127.0.0.1" }, () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
