import type { IncomingMessage, Server } from "node:http"
import type { Socket } from "node:net"

interface Arriving {
  readonly request: IncomingMessage
  since: number
  bytes: number
}

/**
 * Ends requests whose body does not arrive in time, as Node does with `requestTimeout`, which knows no exceptions: of a file that streams, each byte begins the time anew.
 * Only the newest request of a connection can still arrive.
 */
export function watchArrivals(server: Server, timeoutMs: number, streams: (request: IncomingMessage) => boolean): void {
  const connections = new Set<Socket>()
  const newest = new WeakMap<Socket, Arriving>()
  server.on("connection", (socket: Socket) => {
    connections.add(socket)
    socket.once("close", () => connections.delete(socket))
  })
  server.on("request", (request: IncomingMessage) => {
    newest.set(request.socket, { request, since: performance.now(), bytes: request.socket.bytesRead })
  })
  const check = (): void => {
    const now = performance.now()
    for (const socket of connections) {
      const arriving = newest.get(socket)
      if (arriving === undefined || arriving.request.complete || socket.destroyed) continue
      if (arriving.bytes !== socket.bytesRead && streams(arriving.request)) {
        arriving.bytes = socket.bytesRead
        arriving.since = now
      }
      if (now - arriving.since < timeoutMs) continue
      const error = Object.assign(new Error("The request did not arrive in time"), { code: "ERR_HTTP_REQUEST_TIMEOUT" })
      server.emit("clientError", error, socket)
    }
  }
  const timer = setInterval(check, Math.min(10_000, timeoutMs / 2)).unref()
  server.once("close", () => clearInterval(timer))
}
