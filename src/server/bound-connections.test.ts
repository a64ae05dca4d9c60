import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type ServerResponse } from "node:http"
import { connect, type AddressInfo, type Socket } from "node:net"
import { test } from "node:test"
import { within } from "../../test/support/within.ts"
import { boundConnections } from "./bound-connections.ts"

test("one connection too many closes the one without a request for the longest, never one with a request", async (t) => {
  const held: ServerResponse[] = []
  const server = createServer((request, response) => {
    if (request.url === "/held") held.push(response)
    else response.end("answered")
  })
  boundConnections(server, 4)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const closed: string[] = []
  const open = async (name: string, text: string): Promise<Socket> => {
    const accepted = once(server, "connection")
    const socket = connect(port, "127.0.0.1")
    t.after(() => socket.destroy())
    socket.on("error", () => undefined)
    socket.once("close", () => closed.push(name))
    socket.resume()
    await once(socket, "connect")
    await accepted
    if (text !== "") socket.write(text)
    return socket
  }
  const request = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`
  const gone = (socket: Socket): Promise<unknown> => within(30_000, "the end", once(socket, "close"))

  const requested = once(server, "request")
  await open("with a request", request("/held"))
  await requested
  const silent = await open("silent", "")
  const half = await open("half a head", "GET / HTTP/1.1\r\nhost:")
  const kept = await open("kept", "")
  const answer = once(kept, "data")
  // Two at once: it has a request until both are answered.
  kept.write(request("/") + request("/held"))
  await answer
  while (held.length < 2) await new Promise((resolve) => setImmediate(resolve))

  let ends = gone(silent)
  await open("first more", request("/held"))
  await ends
  ends = gone(half)
  while (held.length < 3) await new Promise((resolve) => setImmediate(resolve))
  await open("second more", request("/held"))
  await ends
  while (held.length < 4) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(closed, ["silent", "half a head"])
  // All have requests: the new one goes.
  await gone(await open("third more", ""))
  assert.deepEqual(closed, ["silent", "half a head", "third more"])
  held[1]?.end("late")
  await once(kept, "data")
  ends = gone(kept)
  await open("fourth more", "")
  await ends
  assert.deepEqual(closed, ["silent", "half a head", "third more", "kept"])
})
