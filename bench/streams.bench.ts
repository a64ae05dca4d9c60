import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { build } from "../scripts/build.mjs"
import { voices } from "../test/contract/model-client/voices.ts"
import { BenchProcess, runBeside } from "./serve/process.ts"
import type { ReadOptions, ReadResult } from "./streams/readers.ts"

// Answers that are streamed from a backend through the service to clients, by each API, against a bare proxy in the same run: pieces that one core passes
// on in a second, and how long a piece is on its way. `npm run bench -- streams [STREAMS [RATE [OTHER/wire.js]]]`; `--quick` is a smoke test.

const quick = process.argv.includes("--quick")
const [streams = quick ? "20" : "500", rate = "50", other] = process.argv
  .slice(2)
  .filter((one) => !one.startsWith("--"))
const seconds = quick ? 1 : 5

const root = dirname(import.meta.dirname)
mkdirSync(join(root, ".cache"), { recursive: true })
const folder = mkdtempSync(join(root, ".cache", "bench-streams-"))
const file = (name: string): string => join(import.meta.dirname, "streams", name)
const node = process.execPath
await build(join(folder, "dist"))
// Ten times as long as it takes to begin and measure on a quiet machine: no stream may end before.
const pieces = String(Number(rate) * seconds * 10)
const backend = await BenchProcess.start("load", [node, file("backend.ts"), rate, pieces])

const kinds: Readonly<Record<string, string>> = {
  responses: "openai",
  chat: "openai_chat",
  anthropic: "anthropic",
  google: "google",
}

function source(api: string): string {
  return `
provider p from ${kinds[api]} { endpoint: "${backend.address}/v1" }
model m from p { id: "test-model" }
agent a { model: model.m  instruction: "Tell of the owls."  output { text: string } }
output { text: agent.a.text }`
}

async function measure(args: readonly string[], path: string, body: string): Promise<ReadResult> {
  const server = await BenchProcess.start("server", args, {
    WIRE_PORT: "0",
    WIRE_STORE: "memory",
    WIRE_DATA_DIR: folder,
    WIRE_RATE_LIMIT: "0",
    WIRE_MAX_RUNS: "2000",
    WIRE_MAX_RUNS_PER_CALLER: "2000",
  })
  const options: ReadOptions = {
    url: `${server.address}${path}`,
    body,
    streams: Number(streams),
    seconds,
    pid: server.pid,
  }
  try {
    return JSON.parse(await runBeside([node, file("readers.ts"), JSON.stringify(options)])) as ReadResult
  } finally {
    // Its runs go on without their readers: nobody waits for them.
    server.child.kill("SIGKILL")
  }
}

function line(name: string, { pieces: read, p50, p99, cpu, load }: ReadResult, floor: ReadResult): string {
  const perSecond = Math.round(1000 / cpu)
  const times = (cpu / floor.cpu).toFixed(1)
  const delay = `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`
  const share = `${read} pieces with ${(load * 100).toFixed(0)} % of a core`
  return `${name.padEnd(22)} ${String(perSecond).padStart(7)} pieces a second and core  ${times.padStart(4)}x  ${delay}  (${share})`
}

console.log(`${streams} streams of ${rate} pieces a second`)
const service = (bundle: string): string[] => [node, "--max-semi-space-size=16", bundle, "serve"]
for (const { api, url } of voices) {
  const body = JSON.stringify({ workflow_source: source(api), options: { deltas: true } })
  const floor = await measure([node, file("proxy.ts"), backend.address], url(true), "{}")
  console.log(line(`${api}, bare proxy`, floor, floor))
  console.log(line(`${api}, service`, await measure(service(join(folder, "dist", "wire.js")), "/execute", body), floor))
  if (other !== undefined) {
    console.log(line(`${api}, other`, await measure(service(other), "/execute", body), floor))
  }
}
await backend.stop()
rmSync(folder, { recursive: true, force: true })
