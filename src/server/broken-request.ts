import { STATUS_CODES, type IncomingMessage, type OutgoingMessage, type Server, type ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { errorStatus } from "../api/error-kinds.ts"
import { refuse, type HttpError } from "./http-error.ts"

// Refuses what is not a request that a route could see. Such answers are written by hand, and the connection is
// closed: where the next request would begin is unknown.

/** The parser's complaints, and requests that do not arrive in time. */
export function answerBrokenRequest(error: Error & { readonly code?: string }, socket: Duplex): void {
  // An answer that has begun must not get another one in its middle.
  const begun = (socket as { _httpMessage?: OutgoingMessage | null })._httpMessage?.headersSent === true
  if (socket.destroyed || error.code === "ECONNRESET" || !socket.writable || begun) {
    socket.destroy()
    return
  }
  writeRefusal(socket, describe(error.code))
}

function describe(code: string | undefined): HttpError {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return refuse("invalid_request", "The request did not arrive in time")
    case "HPE_HEADER_OVERFLOW":
      return refuse("invalid_request", "The URL and the headers are too large")
    case "HPE_INVALID_EOF_STATE":
      return refuse("invalid_request", "The request ended before it was complete")
    default:
      return refuse("invalid_request", "The request is not valid HTTP")
  }
}

/** Requests for what this service does not do: tunnels, and expectations other than `100-continue`. */
export function refuseOddities(server: Server): void {
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => socket.destroy())
    writeRefusal(
      socket,
      refuse("method_not_allowed", "This service is not a proxy", [], { allow: "GET, HEAD, POST, DELETE, OPTIONS" }),
    )
  })
  server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    const { error, status } = refuse("invalid_request", "The only supported Expect value is 100-continue")
    response.writeHead(status, { "content-type": "application/json; charset=utf-8", connection: "close" })
    response.end(JSON.stringify({ error }))
  })
}

function writeRefusal(socket: Duplex, { error, headers }: HttpError): void {
  const status = errorStatus[error.kind]
  const body = JSON.stringify({ error })
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${lines.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy())
}
