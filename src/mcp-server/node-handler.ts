import type { IncomingMessage, ServerResponse } from "node:http"
import { Buffer } from "node:buffer"
import type { McpHttpHandler } from "@modelcontextprotocol/server"
import { drained } from "../base/drained.ts"
import { tooLargeBody } from "../base/too-large-body.ts"

/** A body that has been read and parsed; undefined where there was none. */
export interface ReadBody {
  readonly value: unknown
}

export interface AnswerOptions {
  readonly maxBody: number
  /** Where the body was read before. */
  readonly read?: ReadBody
  /** What goes out in the place of a part of the answer. */
  readonly fill?: (part: Uint8Array) => readonly Uint8Array[]
  /** Counts what the client has not read. */
  readonly unread?: UnreadBytes
}

export interface UnreadBytes {
  /** False: it is too much. */
  add(bytes: number): boolean
  remove(bytes: number): void
}

/** Has a handler of web requests answer one of Node's. The request counts as gone when its connection is. */
export async function answerWith(
  handler: McpHttpHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { maxBody, read, fill = (part) => [part], unread }: AnswerOptions,
): Promise<void> {
  const gone = new AbortController()
  outgoing.on("close", () => gone.abort())
  const body = read === undefined ? await readBody(incoming, maxBody) : Buffer.alloc(0)
  if (body === null) {
    outgoing.writeHead(413, { connection: "close", "content-type": "text/plain" }).end(`${tooLargeBody(maxBody)}\n`)
    return
  }
  const answer = await handler.fetch(toRequest(incoming, body, gone.signal), { parsedBody: read?.value })
  if (outgoing.destroyed) return
  const headers = new Map(answer.headers)
  // `fill` may make it longer.
  headers.delete("content-length")
  outgoing.writeHead(answer.status, Object.fromEntries(headers))
  outgoing.flushHeaders()
  if (answer.body === null) {
    outgoing.end()
    return
  }
  try {
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
      const { length } = chunk
      // Who asks again and again and reads nothing is cut off.
      if (unread?.add(length) === false) outgoing.destroy()
      for (const part of fill(chunk)) {
        if (!outgoing.write(part)) await drained(outgoing, gone.signal)
        if (gone.signal.aborted) break
      }
      unread?.remove(length)
      if (gone.signal.aborted) break
    }
  } finally {
    outgoing.end()
  }
}

async function readBody(incoming: IncomingMessage, maxBody: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBody) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function toRequest(incoming: IncomingMessage, body: Buffer, signal: AbortSignal): Request {
  const headers = new Headers()
  for (let at = 0; at + 1 < incoming.rawHeaders.length; at += 2) {
    headers.append(incoming.rawHeaders[at] ?? "", incoming.rawHeaders[at + 1] ?? "")
  }
  const method = incoming.method ?? "GET"
  // Only the path of the address matters; the host is the name that the caller used for us.
  const url = new URL(incoming.url ?? "/", "http://localhost")
  const hasBody = method !== "GET" && method !== "HEAD"
  return new Request(url, { method, headers, signal, ...(hasBody ? { body: new Uint8Array(body) } : {}) })
}
