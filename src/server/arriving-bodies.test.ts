import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { connect, type AddressInfo, type Socket } from "node:net"
import { test } from "node:test"
import type { Transform } from "node:stream"
import { MemoryShare } from "../run/shares/memory-share.ts"
import { ArrivingBodies } from "./arriving-bodies.ts"

/** A server whose next request is counted for a caller, and the bytes that it sends. */
async function begin(t: test.TestContext, bodies: ArrivingBodies, caller: string, bytes: number) {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
  t.after(() => {
    socket.destroy()
    server.close()
  })
  socket.on("error", () => undefined)
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n${"x".repeat(bytes)}`)
  const [request, answer] = (await once(server, "request")) as [IncomingMessage, ServerResponse]
  return { socket, answer, body: bodies.count(request, answer, caller) }
}

/** Reads a body until this many bytes of it have come. */
async function come(body: Transform, bytes: number): Promise<void> {
  let seen = 0
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    seen += (chunk as Buffer).length
    if (seen >= bytes) return
  }
}

const left = async (socket: Socket, body: Transform): Promise<void> => {
  const ended = once(body, "error")
  socket.destroy()
  await ended
}

test("bodies that stall take no more than a caller's share, and all of them no more than there is", async (t) => {
  const bodies = new ArrivingBodies(new MemoryShare({ all: 1000, perCaller: 600, perRun: 0 }))
  const first = await begin(t, bodies, "ada", 500)
  await come(first.body, 500)
  const second = await begin(t, bodies, "ada", 200)
  await assert.rejects(come(second.body, 200), /your share of the memory/)
  const other = await begin(t, bodies, "bob", 450)
  await come(other.body, 450)
  const third = await begin(t, bodies, "ada", 80)
  await assert.rejects(come(third.body, 80), /all of the memory/)
  await left(other.socket, other.body)
  const fourth = await begin(t, bodies, "ada", 80)
  await come(fourth.body, 80)
})

test("a body that is whole, and one whose client has left, are not counted any more", async (t) => {
  const bodies = new ArrivingBodies(new MemoryShare({ all: 1000, perCaller: 1000, perRun: 0 }))
  const whole = await begin(t, bodies, "ada", 1000)
  await come(whole.body, Infinity)
  const cut = await begin(t, bodies, "ada", 900)
  await come(cut.body, 900)
  await left(cut.socket, cut.body)
  const next = await begin(t, bodies, "ada", 1000)
  await come(next.body, Infinity)
})

test("a body that nobody reads before the answer is not counted any more", async (t) => {
  const bodies = new ArrivingBodies(new MemoryShare({ all: 1000, perCaller: 1000, perRun: 0 }))
  const { answer, body } = await begin(t, bodies, "ada", 1000)
  const ended = once(body, "error")
  answer.end("refused")
  await ended
  const next = await begin(t, bodies, "ada", 1000)
  await come(next.body, Infinity)
})
