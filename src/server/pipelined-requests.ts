import type { RequestListener, Server } from "node:http"
import type { Socket } from "node:net"
import { RequestTurns } from "./request-turns.ts"

/** Requests behind others of their connection that begin in one turn of the event loop. */
const perTurn = 2

interface Connection {
  readonly id: string
  /** Requests that are not answered yet. */
  unanswered: number
}

/**
 * A client may send thousands of requests over one connection before the first is answered, and Node hands over all of them in one turn of the
 * event loop. Here the first begins at once, and those behind it a few in each turn. To be called before others listen.
 */
export function spreadPipelined(server: Server): void {
  const listeners = server.listeners("request") as RequestListener[]
  server.removeAllListeners("request")
  const turns = new RequestTurns(undefined, perTurn)
  const connections = new WeakMap<Socket, Connection>()
  let last = 0
  server.on("request", (request, response) => {
    const { socket } = request
    const connection = connections.get(socket) ?? { id: String(++last), unanswered: 0 }
    connections.set(socket, connection)
    const handle = (): void => {
      if (!socket.destroyed) for (const listener of listeners) listener(request, response)
    }
    response.once("close", () => connection.unanswered--)
    if (connection.unanswered++ === 0) handle()
    else turns.take(connection.id, handle)
  })
}
