import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type AddressInfo, type Socket } from "node:net"
import { after, test } from "node:test"
import { folderWith, runWire } from "../cli/run-wire.ts"

// What stands in the place of a server that is away: nothing, a proxy, a machine that hangs, another service.

async function listen(meet: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => undefined)
    meet(socket)
  }).listen(0, "127.0.0.1")
  after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(server, "listening")
  return (server.address() as AddressInfo).port
}

/** A connection that ends has an end or a reset, as the system finds it. */
const cut = /terminated unexpectedly|ECONNRESET/

const away: Readonly<Record<string, { readonly meet: ((socket: Socket) => void) | null; readonly says: RegExp }>> = {
  "nothing listens": { meet: null, says: /ECONNREFUSED/ },
  "a proxy without a server": { meet: (socket) => void socket.destroy(), says: cut },
  "a machine that hangs": { meet: () => undefined, says: /timeout expired/ },
  "another service": {
    meet: (socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    says: cut,
  },
}

for (const [name, { meet, says }] of Object.entries(away)) {
  for (const command of [["serve"], ["store", "check"]]) {
    test(`wire ${command.join(" ")} ends with a sentence: ${name}`, async () => {
      const port = meet === null ? 9 : await listen(meet)
      const env = {
        WIRE_STORE: `postgres://ann:hidden@127.0.0.1:${port}/wire`,
        WIRE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
        WIRE_PORT: "0",
      }
      const { code, out, err } = await runWire(command, { cwd: folderWith({}), env })
      assert.deepEqual([code, out], [1, ""])
      assert.match(err, new RegExp(`^PostgreSQL at 127\\.0\\.0\\.1:${port}/wire cannot be reached: `))
      assert.match(err, says)
      assert.doesNotMatch(err, /hidden/)
    })
  }
}
