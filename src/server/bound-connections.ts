import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/**
 * Keeps so many connections at most. One more closes the connection that has been without a request for the longest, which may be itself:
 * connections that are only held cost a client nothing, and must not take the file descriptors of runs, or the place of others.
 */
export function boundConnections(server: Server, most: number): void {
  /** Connections without a request, the longest idle first. */
  const idle = new Set<Socket>()
  /** Requests of one connection that are not answered yet: clients may send several at once. */
  const pending = new WeakMap<Socket, number>()
  let open = 0
  server.on("connection", (socket: Socket) => {
    open++
    idle.add(socket)
    socket.once("close", () => {
      open--
      idle.delete(socket)
    })
    if (open <= most) return
    const [oldest = socket] = idle
    oldest.destroy()
  })
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    idle.delete(socket)
    pending.set(socket, (pending.get(socket) ?? 0) + 1)
    response.once("close", () => {
      const left = (pending.get(socket) ?? 1) - 1
      pending.set(socket, left)
      if (left === 0 && !socket.destroyed) idle.add(socket)
    })
  })
}
