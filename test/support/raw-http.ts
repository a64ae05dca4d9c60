import type { Socket } from "node:net"
import { connect } from "node:net"
import { atEnd } from "./at-end.ts"
import { within } from "./within.ts"

// HTTP by hand: bytes that no client would send, and answers read to the letter.

export interface RawAnswer {
  readonly status: number
  /** Names in lower case; of repeated ones the last. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface RawExchange {
  /** In the order in which they came; interim ones (100) left out. */
  readonly answers: readonly RawAnswer[]
  /** Whether the other side closed the connection. */
  readonly closed: boolean
}

export interface RawOptions {
  /** Send the end of our half after the bytes. */
  readonly end?: boolean
  /** Done when so many answers are there (1 unless set), or the connection is closed. */
  readonly answers?: number
  readonly deadline_ms?: number
}

/** Sends the bytes on a connection of their own, and reads what comes back. */
export async function sendRaw(
  port: number,
  bytes: string | Uint8Array,
  options: RawOptions = {},
): Promise<RawExchange> {
  const socket = await open(port)
  try {
    socket.write(bytes)
    if (options.end === true) socket.end()
    return await within(options.deadline_ms ?? 10_000, "an answer", readAnswers(socket, options.answers ?? 1))
  } finally {
    socket.destroy()
  }
}

export function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true })
    // One whose other side has ended without a reset stays half open, and keeps the process of the tests alive.
    atEnd(() => socket.destroy())
    socket.once("error", reject)
    socket.once("connect", () => {
      socket.off("error", reject)
      // The other side may close while we still write: what it said before that counts.
      socket.on("error", () => {})
      resolve(socket)
    })
  })
}

/** Resolves when the other side has closed the connection. */
export function gone(socket: Socket): Promise<void> {
  if (socket.readableEnded || socket.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    socket.once("end", resolve)
    socket.once("close", () => resolve())
    socket.resume()
  })
}

/** Resolves with what has come when there are so many answers, or when the connection is closed. */
export function readAnswers(socket: Socket, wanted: number): Promise<RawExchange> {
  return new Promise((resolve) => {
    let text = ""
    const answers: RawAnswer[] = []
    const done = (closed: boolean): void => {
      socket.off("data", read)
      socket.off("end", end)
      socket.off("close", end)
      resolve({ answers, closed })
    }
    const take = (closed: boolean): void => {
      for (let next = parseAnswer(text, closed); next !== null; next = parseAnswer(text, closed)) {
        text = text.slice(next.length)
        if (next.answer.status >= 200) answers.push(next.answer)
        if (answers.length >= wanted) return
      }
    }
    const read = (chunk: Buffer): void => {
      text += chunk.toString("latin1")
      take(false)
      if (answers.length >= wanted) done(false)
    }
    const end = (): void => {
      take(true)
      done(true)
    }
    socket.on("data", read)
    socket.on("end", end)
    socket.on("close", end)
  })
}

/** The first whole answer of a text, and how many characters it takes; null when it is not all there. */
function parseAnswer(text: string, closed: boolean): { answer: RawAnswer; length: number } | null {
  const headEnd = text.indexOf("\r\n\r\n")
  if (headEnd < 0) return null
  const [statusLine = "", ...lines] = text.slice(0, headEnd).split("\r\n")
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1] ?? Number.NaN)
  if (Number.isNaN(status)) throw new Error(`This is no status line: ${statusLine}`)
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  )
  const start = headEnd + 4
  const answer = (body: string, length: number) => ({
    answer: { status, headers, body: Buffer.from(body, "latin1").toString("utf8") },
    length,
  })
  if (status < 200 || status === 204 || status === 304) return answer("", start)
  if (headers["transfer-encoding"] === "chunked") {
    let body = ""
    for (let at = start; ;) {
      const lineEnd = text.indexOf("\r\n", at)
      if (lineEnd < 0) return closed ? answer(body, text.length) : null
      const size = Number.parseInt(text.slice(at, lineEnd), 16)
      const next = lineEnd + 2 + size + 2
      if (text.length < next) return closed ? answer(body, text.length) : null
      if (size === 0) return answer(body, next)
      body += text.slice(lineEnd + 2, lineEnd + 2 + size)
      at = next
    }
  }
  const size = headers["content-length"]
  if (size === undefined) return closed ? answer(text.slice(start), text.length) : null
  const end = start + Number(size)
  return text.length < end && !closed ? null : answer(text.slice(start, end), Math.min(end, text.length))
}
