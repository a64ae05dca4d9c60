import type { AddressInfo, Socket } from "node:net"
import { connect, createServer } from "node:net"

/** A connection to the service that breaks. */
export interface CuttingProxy {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** Requests so far, by their method and path. */
  readonly requests: readonly string[]
  /** Resets every open connection, and refuses new ones until `restore`. */
  cut(): void
  restore(): void
  close(): Promise<void>
}

export interface CuttingRules {
  /** How many bytes of the answers the nth connection (from 1) lets through before it is reset; null: all. */
  readonly bytes: (connection: number) => number | null
}

/** A TCP proxy on loopback in front of the service at `target`. */
export async function cuttingProxy(target: string, rules: CuttingRules = { bytes: () => null }): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const requests: string[] = []
  let isCut = false
  let connections = 0
  const server = createServer((near) => {
    const allowed = isCut ? 0 : rules.bytes(++connections)
    if (allowed === 0) {
      near.on("error", () => {})
      near.resetAndDestroy()
      return
    }
    const far = connect(Number(port), hostname)
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
    near.on("data", (chunk: Buffer) => {
      const request = /^(GET|POST) \S+/.exec(chunk.toString("latin1"))?.[0]
      if (request !== undefined) requests.push(request)
    })
    near.pipe(far)
    if (allowed === null) {
      far.pipe(near)
      return
    }
    let left = allowed
    far.on("data", (chunk: Buffer) => {
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
    requests,
    cut() {
      isCut = true
      for (const socket of sockets) socket.resetAndDestroy()
    },
    restore() {
      isCut = false
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
