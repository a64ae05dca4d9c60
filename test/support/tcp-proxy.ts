import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

export interface TcpProxy {
  readonly port: number
  /** Nothing passes any more, in neither direction; connections stay open, as when a cable is pulled. */
  cut(): void
  /** New connections pass again; the old ones are gone. */
  mend(): void
  close(): Promise<void>
}

export async function startProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let passing = true
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1")
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on("data", (chunk: Buffer) => {
        if (passing) other.write(chunk)
      })
      socket.on("error", () => undefined)
      socket.on("close", () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  return {
    port: address !== null && typeof address === "object" ? address.port : 0,
    cut() {
      passing = false
    },
    mend() {
      passing = true
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
