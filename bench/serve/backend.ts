import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { modelId, output } from "./jobs.ts"

// A model backend that takes 20 ms to think, and next to nothing to answer.

const text = JSON.stringify(output)
const item = { type: "message", id: "msg_1", status: "completed", role: "assistant" }
const answer = JSON.stringify({
  id: "resp_1",
  object: "response",
  created_at: 1_794_700_000,
  status: "completed",
  model: modelId,
  output: [{ ...item, content: [{ type: "output_text", text, annotations: [] }] }],
  usage: {
    input_tokens: 812,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 95,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 907,
  },
})
const headers = { "content-type": "application/json", "content-length": String(Buffer.byteLength(answer)) }

const server = createServer((request, response) => {
  request.resume()
  request.on("end", () => {
    setTimeout(() => {
      response.writeHead(200, headers)
      response.end(answer)
    }, 20)
  })
})
server.keepAliveTimeout = 600_000
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
