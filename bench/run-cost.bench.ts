import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { build } from "../scripts/build.mjs"
import type { Counted, CountersQuestion } from "./serve/counters.ts"
import { executeBody, type JobName } from "./serve/jobs.ts"
import type { LoadOptions, LoadResult } from "./serve/load.ts"
import { BenchProcess, runBeside } from "./serve/process.ts"

// What one run costs the service: bytes and promises that it makes, and CPU. `npm run bench -- run-cost [OTHER/wire.js]` measures
// the bundle of another version too, in turns, and prints how many times as much this one takes. `--quick` is a smoke test.

const [other] = process.argv.slice(2).filter((argument) => !argument.startsWith("--"))
const quick = process.argv.includes("--quick")
const warmUp = quick ? 200 : 10_000
const counted = quick ? 200 : 1000
const turns = quick ? 1 : 15

const root = dirname(import.meta.dirname)
mkdirSync(join(root, ".cache"), { recursive: true })
const folder = mkdtempSync(join(root, ".cache", "bench-run-cost-"))
const file = (name: string): string => join(import.meta.dirname, "serve", name)
const own = join(folder, "dist", "wire.js")
await build(join(folder, "dist"))
const bundles = other === undefined ? [own] : [own, other]
const backend = await BenchProcess.start("load", [process.execPath, file("backend.ts")])

type Store = "memory" | "sqlite"
let folders = 0

function startService(bundle: string, store: Store, flags: readonly string[] = []): Promise<BenchProcess> {
  const args = [process.execPath, "--max-semi-space-size=16", ...flags, bundle, "serve"]
  return BenchProcess.start("server", args, {
    WIRE_PORT: "0",
    WIRE_STORE: store,
    WIRE_DATA_DIR: join(folder, String(++folders)),
    WIRE_RATE_LIMIT: "0",
    WIRE_MAX_RUNS: "1000",
    WIRE_MAX_QUEUED: "10000",
    WIRE_RETENTION: "10s",
  })
}

async function load(server: BenchProcess, job: JobName, connections: number, amount: number): Promise<LoadResult> {
  const options: LoadOptions = {
    url: `${server.address}/execute`,
    body: executeBody(job, backend.address),
    headers: { "content-type": "application/json" },
    connections,
    amount,
    pid: server.pid,
  }
  const result = JSON.parse(await runBeside([process.execPath, file("load.ts"), JSON.stringify(options)])) as LoadResult
  if (result.failed > 0) throw new Error(`${result.failed} of ${result.requests} requests failed`)
  return result
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

function compared(values: readonly number[]): string {
  const [mine = 0, others] = values
  return others === undefined ? "" : `, ${(mine / others).toFixed(2)} times the other's ${others.toFixed(1)}`
}

async function count(server: BenchProcess, how: CountersQuestion, job: JobName): Promise<Counted> {
  const ask = async (question: CountersQuestion): Promise<unknown> => {
    const answered = once(server.child, "message")
    server.child.send(question)
    const [answer] = (await answered) as [unknown]
    return answer
  }
  await ask(how)
  await load(server, job, 20, counted)
  return (await ask("end")) as Counted
}

async function countAll(job: JobName): Promise<void> {
  const bytes: number[] = []
  const promises: number[] = []
  for (const bundle of bundles) {
    // Nothing may be collected while bytes are counted.
    const flags = [
      "--expose-gc",
      "--min-semi-space-size=1024",
      "--max-semi-space-size=1024",
      "--import",
      file("counters.ts"),
    ]
    const server = await startService(bundle, "memory", flags)
    await load(server, job, 20, quick ? 200 : 3000)
    const rounds: number[] = []
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      const { bytes: found, collected } = await count(server, "begin", job)
      if (!collected) rounds.push(found / counted / 1000)
    }
    bytes.push(median(rounds))
    promises.push((await count(server, "begin with promises", job)).promises / counted)
    await server.stop()
  }
  console.log(`${job}: ${(bytes[0] ?? 0).toFixed(1)} kB allocated${compared(bytes)}`)
  console.log(`${job}: ${(promises[0] ?? 0).toFixed(1)} promises${compared(promises)}`)
}

async function cpu(job: JobName, store: Store, connections: number): Promise<void> {
  const servers = await Promise.all(bundles.map((bundle) => startService(bundle, store)))
  const amount = connections === 1 ? 50 : job === "one" ? 1000 : 200
  for (const server of servers) await load(server, job, 50, job === "one" ? warmUp : warmUp / 5)
  const found = servers.map(() => ({ cpu: [] as number[], p50: [] as number[] }))
  for (let turn = 0; turn < (quick ? 1 : turns); turn++) {
    for (const [index, server] of servers.entries()) {
      const { cpu: ms, p50 } = await load(server, job, connections, amount)
      found[index]?.cpu.push(ms)
      found[index]?.p50.push(p50)
    }
  }
  for (const server of servers) await server.stop()
  const [mine, others] = found
  const ratio = (of: "cpu" | "p50"): string => {
    const each = (mine?.[of] ?? []).map((value, turn) => value / (others?.[of][turn] ?? value))
    return others === undefined ? "" : `, ${median(each).toFixed(2)} times the other's`
  }
  const name = `${job}, ${store}, ${connections} at once`
  console.log(`${name}: ${median(mine?.cpu ?? []).toFixed(3)} ms of CPU${ratio("cpu")}`)
  if (connections === 1) console.log(`${name}: median ${median(mine?.p50 ?? []).toFixed(2)} ms${ratio("p50")}`)
}

const only = process.argv.includes("--counts")
await countAll("one")
if (!only) {
  for (const store of ["memory", "sqlite"] as const) {
    await cpu("one", store, 50)
    await cpu("fan", store, 50)
    await cpu("one", store, 1)
  }
}
await backend.stop()
rmSync(folder, { recursive: true, force: true })
