import type { AddressInfo, Socket } from "node:net"
import { connect, createServer } from "node:net"

export interface CuttingProxy {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** Connections so far. */
  readonly connections: () => number
  /** Resets every connection that is open. */
  cut(): void
  close(): Promise<void>
}

export interface CuttingRules {
  /** How many bytes of the answers the nth connection (from 1) lets through before it is reset; null: all. */
  readonly bytes: (connection: number) => number | null
}

/** A TCP proxy on loopback that breaks connections. */
export async function cuttingProxy(targetPort: number, rules: CuttingRules): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  let count = 0
  const server = createServer((near) => {
    let left = rules.bytes(++count)
    const far = connect({ port: targetPort, host: "127.0.0.1" })
    const drop = (): void => {
      near.resetAndDestroy()
      far.destroy()
    }
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on("error", drop)
      socket.on("close", () => {
        sockets.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    if (left === 0) {
      drop()
      return
    }
    near.on("data", (chunk) => far.write(chunk))
    near.on("end", () => far.end())
    far.on("data", (chunk) => {
      if (left === null) {
        near.write(chunk)
        return
      }
      const piece = chunk.subarray(0, left)
      left -= piece.length
      near.write(piece, () => {
        if (left === 0) drop()
      })
    })
    far.on("end", () => near.end())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => count,
    cut() {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
