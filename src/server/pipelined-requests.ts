import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"

/** Requests behind others of their connection that begin in one turn of the event loop. */
const perTurn = 2

type Request = readonly [IncomingMessage, ServerResponse]

/**
 * A client may send thousands of requests over one connection before the first is answered, and Node hands over all of them in one turn of the
 * event loop. Here the first begins at once, and those behind it a few in each turn. To be called before others listen.
 */
export function spreadPipelined(server: Server): void {
  const listeners = server.listeners("request") as RequestListener[]
  server.removeAllListeners("request")
  /** Requests of each connection that are not answered yet. */
  const unanswered = new WeakMap<Socket, number>()
  const waiting: Request[] = []
  const handle = (request: Request): void => {
    for (const listener of listeners) listener(...request)
  }
  const turn = (): void => {
    for (const request of waiting.splice(0, perTurn)) if (!request[0].socket.destroyed) handle(request)
    if (waiting.length > 0) setImmediate(turn)
  }
  server.on("request", (...request) => {
    const [{ socket }, response] = request
    const before = unanswered.get(socket) ?? 0
    unanswered.set(socket, before + 1)
    response.once("close", () => unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1))
    if (before === 0) handle(request)
    else if (waiting.push(request) === 1) setImmediate(turn)
  })
}
