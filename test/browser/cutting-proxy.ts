import { connect, createServer } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { after } from "node:test"

/** A connection to the service that can be cut. */
export interface CuttingProxy {
  readonly address: string
  /** Breaks every open connection, and refuses new ones until `restore`. */
  cut(): void
  restore(): void
  /** Requests seen so far, by their first line. */
  readonly lines: readonly string[]
}

/** Passes bytes between a browser and the service, on a port of its own. */
export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const lines: string[] = []
  let isCut = false
  const server = createServer((incoming) => {
    if (isCut) {
      incoming.destroy()
      return
    }
    const outgoing = connect(Number(port), hostname)
    for (const socket of [incoming, outgoing]) {
      sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => {
        sockets.delete(socket)
        incoming.destroy()
        outgoing.destroy()
      })
    }
    incoming.on("data", (chunk: Buffer) => {
      const line = /^(GET|POST) \S+/.exec(chunk.toString("latin1"))?.[0]
      if (line !== undefined) lines.push(line)
    })
    incoming.pipe(outgoing)
    outgoing.pipe(incoming)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  after(() => {
    cut()
    server.close()
  })
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    restore: () => {
      isCut = false
    },
    lines,
  }
}
