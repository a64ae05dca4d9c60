import { randomBytes } from "node:crypto"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { startPostgres } from "../test/support/postgres-server.ts"
import { builtWire } from "../test/support/built-wire.ts"
import { BenchProcess, residentBytes } from "./serve/process.ts"

// Runs that wait for people, against an idle service in the same run: the memory of a service that has them, its start, and how
// long one takes to go on after its answer. `npm run bench -- waiting [RUNS [POSTGRES_RUNS]]`; 0 leaves a store out.

const [sqliteRuns = 50_000, postgresRuns = 5_000] = process.argv.slice(2).map(Number)
const root = dirname(import.meta.dirname)
mkdirSync(join(root, ".cache"), { recursive: true })
const folder = mkdtempSync(join(root, ".cache", "bench-waiting-"))

const goals = { memory_mb: 30, wake_ms: 1_000 }
const missed: string[] = []

const source = `
input { name: string }
ask review {
    question: "Publish the report of {{ input.name }}?"
    show: { name: input.name }
    output { publish: boolean }
}
output { publish: ask.review.publish }
`

const settings = {
  WIRE_PORT: "0",
  WIRE_RATE_LIMIT: "0",
  WIRE_LOG_LEVEL: "error",
  WIRE_MAX_RUNS: "200",
  WIRE_MAX_QUEUED: "10000",
  WIRE_MAX_WAITING: "1000000",
  WIRE_ENCRYPTION_KEY: randomBytes(32).toString("base64"),
}

interface Started {
  readonly process: BenchProcess
  readonly ready_ms: number
}

async function start(more: Readonly<Record<string, string>>): Promise<Started> {
  const from = performance.now()
  const process_ = await BenchProcess.start("server", [process.execPath, builtWire, "serve"], { ...settings, ...more })
  return { process: process_, ready_ms: performance.now() - from }
}

/** The least of some seconds: collections of garbage come when they come. */
async function settledMemory(pid: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let look = 0; look < 20; look++) {
    await pause(250)
    least = Math.min(least, residentBytes(pid))
  }
  return least
}

async function post(url: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
}

/** Starts runs, and waits until all of them are parked. Their ids. */
async function fill(address: string, count: number): Promise<string[]> {
  const ids: string[] = []
  const work = async (): Promise<void> => {
    while (ids.length < count) {
      const at = ids.push("") - 1
      const body = { workflow_source: source, input: { name: `person ${at}` } }
      const response = await post(`${address}/execute`, body, { prefer: "respond-async" })
      if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`)
      ids[at] = ((await response.json()) as { run_id: string }).run_id
    }
  }
  await Promise.all(Array.from({ length: 50 }, work))
  for (;;) {
    const text = await (await fetch(`${address}/metrics`)).text()
    if (Number(/^wire_runs_waiting (\d+)$/m.exec(text)?.[1]) >= count) return ids
    await pause(250)
  }
}

/** From the answer to the end of the run. */
async function wake(address: string, run_id: string): Promise<number> {
  const path = `${address}/execute/${run_id}`
  const { questions } = (await (await fetch(`${path}/questions`)).json()) as { questions: { id: string }[] }
  const from = performance.now()
  const answered = await post(`${path}/questions/${questions[0]?.id}`, { answer: { publish: true } })
  if (answered.status !== 200) throw new Error(await answered.text())
  const record = (await (await fetch(`${path}?wait=60`)).json()) as { status: string }
  if (record.status !== "completed") throw new Error(`The run is ${record.status}`)
  return performance.now() - from
}

const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

function goal(what: string, value: number, most: number): string {
  if (value <= most) return "✓"
  missed.push(`${what}: ${value.toFixed(1)}, at most ${most} wanted`)
  return `✗ (goal ${most})`
}

async function measure(name: string, count: number, empty: Record<string, string>, full: Record<string, string>) {
  console.log(`\n${name}, ${count} waiting runs`)
  const idle = await start(empty)
  const idleBytes = await settledMemory(idle.process.pid)
  await idle.process.stop()

  const filling = await start(full)
  const from = performance.now()
  const ids = await fill(filling.process.address, count)
  const seconds = (performance.now() - from) / 1000
  console.log(`  parked in ${seconds.toFixed(1)} s (${(count / seconds).toFixed(0)} a second)`)
  console.log(`  the process that parked them: ${mb(await settledMemory(filling.process.pid))}`)
  await filling.process.stop()

  const service = await start(full)
  const above = (await settledMemory(service.process.pid)) - idleBytes
  const verdict = goal(`${name}: MB above idle`, above / 1e6, goals.memory_mb)
  console.log(`  memory after a start: ${mb(idleBytes + above)}, idle ${mb(idleBytes)}: ${mb(above)} above ${verdict}`)
  console.log(
    `  ready after ${service.ready_ms.toFixed(0)} ms, idle ${idle.ready_ms.toFixed(0)} ms: ` +
      `${(service.ready_ms / idle.ready_ms).toFixed(2)} times`,
  )
  const times: number[] = []
  for (let n = 0; n < 20; n++) {
    times.push(await wake(service.process.address, ids[Math.floor((n * ids.length) / 20)] ?? ""))
  }
  times.sort((a, b) => a - b)
  const [median = 0, worst = 0] = [times[10], times.at(-1)]
  const within = goal(`${name}: ms to wake`, worst, goals.wake_ms)
  console.log(
    `  from an answer to the run's end: median ${median.toFixed(0)} ms, worst ${worst.toFixed(0)} ms ${within}`,
  )
  const scrapes: number[] = []
  for (let n = 0; n < 10; n++) {
    const asked = performance.now()
    await (await fetch(`${service.process.address}/metrics`)).text()
    scrapes.push(performance.now() - asked)
  }
  const first = scrapes.shift() ?? 0
  console.log(
    `  /metrics: ${first.toFixed(0)} ms, then ${(scrapes.toSorted((a, b) => a - b)[4] ?? 0).toFixed(0)} ms (median of 9)`,
  )
  await service.process.stop()
}

try {
  const data = (name: string): Record<string, string> => ({ WIRE_STORE: "sqlite", WIRE_DATA_DIR: join(folder, name) })
  if (sqliteRuns > 0) await measure("SQLite", sqliteRuns, data("empty"), data("full"))
  if (postgresRuns > 0) {
    const server = await startPostgres()
    try {
      const store = (schema: string) => ({ WIRE_STORE: server.url(), WIRE_POSTGRES_SCHEMA: schema })
      await measure("PostgreSQL", postgresRuns, store("empty"), store("full"))
    } finally {
      await server.close()
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
for (const sentence of missed) console.log(`missed: ${sentence}`)
process.exitCode = missed.length === 0 ? 0 : 1
