import autocannon from "autocannon"
import { cpuSeconds } from "./process.ts"

// One load, as a process of its own: `load.ts '{ … }'` prints what came of it as JSON.

export interface LoadOptions {
  readonly url: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly amount: number
  /** The server's process. */
  readonly pid: number
}

export interface LoadResult {
  readonly requests: number
  readonly failed: number
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Milliseconds of the server's CPU for each request. */
  readonly cpu: number
}

const [text = "{}"] = process.argv.slice(2)
const options = JSON.parse(text) as LoadOptions
const times: number[] = []
const cpuBefore = cpuSeconds(options.pid)
const began = performance.now()
const { url, body, headers, connections, amount } = options
const load = autocannon({ url, body, headers, connections, amount, method: "POST", timeout: 60 })
// Its own histogram counts whole milliseconds.
let ended = began
load.on("response", (_client, _status, _bytes, ms) => {
  times.push(ms)
  ended = performance.now()
})
const { errors, non2xx, requests } = await load
const cpuAfter = cpuSeconds(options.pid)
times.sort((a, b) => a - b)
const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
const found: LoadResult = {
  requests: requests.total,
  failed: errors + non2xx,
  perSecond: requests.total / ((ended - began) / 1000),
  p50: at(0.5),
  p99: at(0.99),
  cpu: ((cpuAfter - cpuBefore) * 1000) / requests.total,
}
process.stdout.write(`${JSON.stringify(found)}\n`)
