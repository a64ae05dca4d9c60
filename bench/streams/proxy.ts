import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Agent, request } from "undici"

// The floor: passes the bytes of a stream on, and reads none of them. `proxy.ts BACKEND`.

const [backend = ""] = process.argv.slice(2)
const dispatcher = new Agent({ connections: 1000, bodyTimeout: 0, headersTimeout: 0 })

const server = createServer((incoming, response) => {
  incoming.resume()
  incoming.on("end", () => {
    void request(`${backend}${incoming.url ?? ""}`, { method: "POST", body: "{}", dispatcher }).then(
      ({ body, statusCode }) => {
        response.writeHead(statusCode, { "content-type": "text/event-stream" })
        body.on("error", () => response.destroy())
        response.on("close", () => body.destroy())
        body.pipe(response)
      },
      () => response.destroy(),
    )
  })
})
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
