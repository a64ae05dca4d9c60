import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

export interface TcpProxy {
  readonly port: number
  /** Nothing passes any more, in neither direction; connections stay open, as when a cable is pulled. */
  cut(): void
  /** New connections pass again; the old ones are gone. */
  restore(): void
  close(): Promise<void>
}

/** What becomes of a piece of what a client sends: it passes, it passes as the last one before the cable is pulled, or it is the first that does not pass. */
export type Passage = "pass" | "pass, then cut" | "cut"

/** `watch` sees what a client sends, in order, and each piece waits for it. */
export async function startProxy(
  target: number,
  watch: (sent: string) => Passage | Promise<Passage> = () => "pass",
): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let passing = true
  const send = async (chunk: Buffer, far: Socket): Promise<void> => {
    if (!passing) return
    const passage = await watch(chunk.toString("latin1"))
    if (passage !== "cut") far.write(chunk)
    if (passage !== "pass") passing = false
  }
  const server = createServer((near) => {
    const far = connect(target, "127.0.0.1")
    let sending = Promise.resolve()
    near.on("data", (chunk: Buffer) => {
      sending = sending.then(() => send(chunk, far))
    })
    far.on("data", (chunk: Buffer) => {
      if (passing) near.write(chunk)
    })
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
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
    restore() {
      passing = true
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
