import { Agent, request } from "node:http"
import { cpuSeconds } from "../serve/process.ts"

// Reads many streams at once, as a process of its own: `readers.ts '{ … }'` prints what came of them as JSON. It measures from the moment on
// at which every stream has begun.

export interface ReadOptions {
  readonly url: string
  readonly body: string
  readonly streams: number
  readonly seconds: number
  /** The server's process. */
  readonly pid: number
}

export interface ReadResult {
  readonly pieces: number
  /** Milliseconds from the backend's write to here. */
  readonly p50: number
  readonly p99: number
  /** Milliseconds of the server's CPU for each piece. */
  readonly cpu: number
  /** Share of a core that the server used. */
  readonly load: number
}

const { url, body, streams, seconds, pid } = JSON.parse(process.argv[2] ?? "{}") as ReadOptions
const agent = new Agent({ keepAlive: true, maxSockets: streams })
const headers = { "content-type": "application/json", accept: "text/event-stream" }
const delays: number[] = []
let begun = 0
let measured: { readonly cpu: number; readonly at: number } | null = null

function open(): void {
  const asked = request(url, { method: "POST", agent, headers }, (response) => {
    if (response.statusCode !== 200) throw new Error(`${url} answered with ${response.statusCode}`)
    let rest = ""
    let isFirst = true
    response.setEncoding("utf8")
    response.on("data", (chunk: string) => {
      const now = performance.timeOrigin + performance.now()
      const text = rest + chunk
      let read = 0
      for (const found of text.matchAll(/@(\d+(?:\.\d+)?)@/g)) {
        read = found.index + found[0].length
        if (measured !== null) delays.push(now - Number(found[1]))
        if (isFirst) begin()
        isFirst = false
      }
      // A time may be cut in two.
      rest = text.slice(Math.max(read, text.length - 40))
    })
    response.on("end", () => {
      throw new Error("A stream ended before it was measured")
    })
  })
  asked.end(body)
}

function begin(): void {
  begun++
  if (begun < streams) return
  measured = { cpu: cpuSeconds(pid), at: performance.now() }
  setTimeout(report, seconds * 1000)
}

function report(): void {
  if (measured === null) return
  const cpu = (cpuSeconds(pid) - measured.cpu) * 1000
  const wall = performance.now() - measured.at
  delays.sort((a, b) => a - b)
  const at = (share: number): number => delays[Math.floor(delays.length * share)] ?? 0
  const found = { pieces: delays.length, p50: at(0.5), p99: at(0.99), cpu: cpu / delays.length, load: cpu / wall }
  process.stdout.write(`${JSON.stringify(found satisfies ReadResult)}\n`, () => process.exit(0))
}

for (let stream = 0; stream < streams; stream++) open()
