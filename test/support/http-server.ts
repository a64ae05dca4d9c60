import { createServer as createPlain } from "node:http"
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http"
import { createServer as createSecure } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { atEnd } from "./at-end.ts"

export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface TestServer {
  readonly port: number
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** Every request, whole, in the order in which they came. */
  readonly received: Received[]
  /** Connections accepted so far. */
  readonly connections: () => number
  /** Resolves when no answer is under way. */
  readonly idle: () => Promise<void>
  close(): Promise<void>
}

type Handler = (request: Received, response: ServerResponse, raw: IncomingMessage) => unknown

/** A real HTTP server on an ephemeral port of the loopback address. */
export async function startServer(
  handler: Handler,
  tls?: { readonly key: string; readonly cert: string },
  wantedPort = 0,
): Promise<TestServer> {
  const received: Received[] = []
  let open = 0
  const waiting: (() => void)[] = []
  const sockets = new Set<Socket>()
  let connections = 0
  const listener = (raw: IncomingMessage, response: ServerResponse): void => {
    open++
    response.once("close", () => {
      open--
      if (open === 0) for (const resolve of waiting.splice(0)) resolve()
    })
    const chunks: Buffer[] = []
    raw.on("data", (chunk: Buffer) => chunks.push(chunk))
    raw.on("end", () => {
      const request: Received = {
        method: raw.method ?? "",
        url: raw.url ?? "",
        headers: raw.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      }
      received.push(request)
      handler(request, response, raw)
    })
  }
  const server: Server = tls === undefined ? createPlain(listener) : createSecure({ ...tls }, listener)
  server.on("connection", (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(wantedPort, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  atEnd(close)
  return {
    port,
    origin: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    received,
    connections: () => connections,
    idle: () => (open === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    close,
  }
}
