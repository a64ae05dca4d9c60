import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { voices } from "../../test/contract/model-client/voices.ts"

// A backend that speaks every API and streams an answer piece by piece: `backend.ts RATE PIECES`. Each piece is the time at which it was
// written, so that whoever receives it knows how long it was on its way.

const [rate = "50", pieces = "500"] = process.argv.slice(2)

/** Stands for the text of a piece in an event. */
const mark = "☃"

interface Stream {
  readonly begin: string
  readonly piece: (text: string) => string
  readonly end: (whole: string) => string
}

const streams = new Map<string, Stream>()
for (const voice of voices) {
  const events = voice.streams({ text: mark }).map((event) => {
    const name = voice.names ? `event: ${event["type"] as string}\n` : ""
    return `${name}data: ${JSON.stringify(event)}\n\n`
  })
  const first = events.findIndex((event) => event.includes(mark))
  const piece = events[first] ?? ""
  const rest = `${events.slice(first + 1).join("")}${voice.api === "chat" ? "data: [DONE]\n\n" : ""}`
  const written = (text: string): string => JSON.stringify(text).slice(1, -1)
  streams.set(voice.url(true), {
    begin: events.slice(0, first).join(""),
    piece: (text) => piece.replace(mark, () => written(text)),
    end: (whole) => rest.replaceAll(mark, () => written(whole)),
  })
}

function answer({ begin, piece, end }: Stream, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" })
  let whole = '{"text":"'
  response.write(begin + piece(whole))
  let left = Number(pieces)
  const timer = setInterval(
    () => {
      const text = left > 0 ? `@${performance.timeOrigin + performance.now()}@ ` : '"}'
      whole += text
      response.write(piece(text))
      if (left-- > 0) return
      clearInterval(timer)
      response.end(end(whole))
    },
    1000 / Number(rate),
  )
  response.on("close", () => clearInterval(timer))
}

const server = createServer((request, response) => {
  request.resume()
  request.on("end", () => {
    const stream = [...streams].find(([url]) => (request.url ?? "").endsWith(url.slice(url.lastIndexOf("/"))))?.[1]
    if (stream === undefined) response.writeHead(404).end()
    else answer(stream, response)
  })
})
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
