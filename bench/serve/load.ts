import autocannon from "autocannon"

// One load, as a process of its own: `load.ts '{ … }'` prints what came of it as JSON.

export interface LoadOptions {
  readonly url: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly connections: number
  readonly amount: number
}

export interface LoadResult {
  readonly requests: number
  readonly failed: number
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
}

const [text = "{}"] = process.argv.slice(2)
const options = JSON.parse(text) as LoadOptions
const times: number[] = []
const began = performance.now()
const load = autocannon({ ...options, method: "POST", timeout: 60 })
// Its own histogram counts whole milliseconds.
let ended = began
load.on("response", (_client, _status, _bytes, ms) => {
  times.push(ms)
  ended = performance.now()
})
const { errors, non2xx, requests } = await load
times.sort((a, b) => a - b)
const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
const found: LoadResult = {
  requests: requests.total,
  failed: errors + non2xx,
  perSecond: requests.total / ((ended - began) / 1000),
  p50: at(0.5),
  p99: at(0.99),
}
process.stdout.write(`${JSON.stringify(found)}\n`)
