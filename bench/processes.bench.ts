import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { availableParallelism } from "node:os"
import { dirname, join } from "node:path"
import { build } from "../scripts/build.mjs"
import { executeBody } from "./serve/jobs.ts"
import type { LoadResult } from "./serve/load.ts"
import { BenchProcess, runBeside } from "./serve/process.ts"

// One process against two (`wire serve --processes 2`), in turns, with SQLite: runs a second, and the CPU of a run, in which that of the parent is counted.
// Nothing is pinned to a core. Where the load, the backend and the processes share two cores, twice the runs a second cannot be seen: what can be is
// the CPU that a run costs more, which says what the parent and its messages take. `--quick` is a smoke test.

const quick = process.argv.includes("--quick")
const root = dirname(import.meta.dirname)
mkdirSync(join(root, ".cache"), { recursive: true })
const folder = mkdtempSync(join(root, ".cache", "bench-processes-"))
const file = (name: string): string => join(import.meta.dirname, "serve", name)
const node = process.execPath
const counts = ["1", "2"] as const
const connections = 50
const amount = quick ? 200 : 2000
const rounds = quick ? 1 : 5

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

function start(processes: string): Promise<BenchProcess> {
  return BenchProcess.start("any", [node, "--max-semi-space-size=16", join(folder, "dist", "wire.js"), "serve"], {
    WIRE_PORT: "0",
    WIRE_PROCESSES: processes,
    WIRE_DATA_DIR: join(folder, processes),
    WIRE_RATE_LIMIT: "0",
    WIRE_MAX_QUEUED: "10000",
    WIRE_LOG_LEVEL: "error",
    WIRE_RETENTION: "10s",
  })
}

try {
  await build(join(folder, "dist"))
  const backend = await BenchProcess.start("any", [node, file("backend.ts")])
  const servers = { "1": await start("1"), "2": await start("2") }
  const results: Record<(typeof counts)[number], LoadResult[]> = { "1": [], "2": [] }
  const load = async (processes: (typeof counts)[number]): Promise<LoadResult> => {
    const server = servers[processes]
    const options = {
      url: `${server.address}/execute`,
      body: executeBody("one", `${backend.address}/v1`),
      headers: { "content-type": "application/json" },
      connections,
      amount,
      pid: server.pid,
    }
    const result = JSON.parse(await runBeside([node, file("load.ts"), JSON.stringify(options)], "any")) as LoadResult
    if (result.failed > 0) throw new Error(`${result.failed} of ${result.requests} requests failed`)
    return result
  }
  // Each process compiles its code for itself: two take twice as long to be warm.
  for (let n = 0; n < (quick ? 1 : 3); n++) for (const processes of counts) await load(processes)
  for (let round = 0; round < rounds; round++) {
    for (const processes of round % 2 === 0 ? counts : counts.toReversed())
      results[processes].push(await load(processes))
  }
  const of = (processes: (typeof counts)[number], what: keyof LoadResult): number =>
    median(results[processes].map((result) => result[what]))
  const row = (title: string, what: keyof LoadResult, unit: string): string => {
    const [one, two] = [of("1", what), of("2", what)]
    return `${title.padEnd(28)}${one.toFixed(2).padStart(10)}${two.toFixed(2).padStart(10)} ${unit.padEnd(4)}${(two / one).toFixed(2).padStart(8)} times`
  }
  console.log(
    `${connections} connections, ${rounds} × ${amount} runs of one agent, ${availableParallelism()} cores; medians`,
  )
  console.log(`${"".padEnd(28)}${"1 process".padStart(10)}${"2".padStart(10)}`)
  console.log(row("runs a second", "perSecond", "/s"))
  console.log(row("latency, p50", "p50", "ms"))
  console.log(row("latency, p99", "p99", "ms"))
  console.log(row("CPU of a run, parent too", "cpu", "ms"))
  const cores = (of("2", "perSecond") * of("2", "cpu")) / 1000
  console.log(`two processes used ${cores.toFixed(2)} cores`)
  for (const server of [servers["1"], servers["2"], backend]) await server.stop()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
