import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer } from "node:http"
import type { ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { connect } from "node:net"
import { after, test } from "node:test"
import { spreadPipelined } from "./pipelined-requests.ts"

interface Begun {
  readonly url: string | undefined
  readonly response: ServerResponse
  /** The turn of the event loop. */
  readonly turn: number
}

/** A server whose requests wait for the test, and connections to it. */
async function served() {
  const begun: Begun[] = []
  let turn = 0
  let onBegin = (): void => undefined
  const server = createServer((request, response) => {
    begun.push({ url: request.url, response, turn })
    onBegin()
  })
  spreadPipelined(server)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  let counts = true
  const count = (): void => {
    turn++
    if (counts) setImmediate(count)
  }
  count()
  after(() => {
    counts = false
    server.close()
  })
  const begunCount = async (most: number): Promise<void> => {
    while (begun.length < most) await new Promise<void>((resolve) => (onBegin = resolve))
  }
  const open = (): Socket => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
    after(() => socket.destroy())
    return socket
  }
  return { begun, begunCount, open }
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`

test("requests behind others of their connection begin a few in each turn, in their order", async () => {
  const { begun, begunCount, open } = await served()
  const socket = open()
  let text = ""
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()))
  const paths = Array.from({ length: 100 }, (_, at) => `/${at}`)
  socket.write(paths.map(get).join(""))
  await begunCount(100)
  assert.deepEqual(
    begun.map(({ url }) => url),
    paths,
  )
  const turns = Map.groupBy(begun, ({ turn }) => turn)
  assert.ok(turns.size >= 12, `${turns.size} turns`)
  for (const { response, url } of begun.toReversed()) {
    if (url === "/99") response.setHeader("connection", "close")
    response.end(`answer ${url};`)
  }
  await once(socket, "close")
  assert.deepEqual(
    [...text.matchAll(/answer (\S+);/g)].map(([, path]) => path),
    paths,
  )
})

test("what waits on a connection that closes never begins", async () => {
  const { begun, begunCount, open } = await served()
  const [first, second] = [open(), open()]
  first.write(Array.from({ length: 100 }, () => get("/first")).join(""))
  await begunCount(1)
  begun[0]?.response.socket?.destroy()
  second.write(get("/second"))
  while (begun.at(-1)?.url !== "/second") await begunCount(begun.length + 1)
  assert.ok(begun.length < 20, String(begun.length))
})
