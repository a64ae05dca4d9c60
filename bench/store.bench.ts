import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { MemoryStore } from "../src/adapters/memory/memory-store.ts"
import { openSqliteStore } from "../src/adapters/sqlite/sqlite-store.ts"
import { createVault } from "../src/adapters/vault/vault.ts"
import type { LogEvent } from "../src/run/events.ts"
import type { Clock, Lease, RunStore } from "../src/run/ports.ts"

// Appends per second and CPU per event of each store, against a floor in the same run: the same bytes put into a bare
// `node:sqlite` table, on the main thread, not encrypted, with as many appends to a transaction as the load makes at once.

interface Load {
  readonly name: string
  /** Runs that append side by side, each waiting for its own append before the next. */
  readonly runs: number
  readonly appends: number
  readonly events: number
}

const loads: readonly Load[] = [
  { name: "1 run, 2 events an append", runs: 1, appends: 1_500, events: 2 },
  { name: "1 run, 50 events an append", runs: 1, appends: 400, events: 50 },
  { name: "20 runs, 2 events an append", runs: 20, appends: 200, events: 2 },
  { name: "500 runs, 2 events an append", runs: 500, appends: 20, events: 2 },
]

interface Measure {
  readonly cpuPerEvent: number
  readonly appendsPerSecond: number
}

const clock: Clock = { now: () => Date.now(), sleep: () => Promise.reject(new Error("nobody sleeps here")) }
const at = "2026-11-15T01:00:00.000Z"

/** About what an agent leaves in the log: one event that it started, one that it completed. */
function event(id: number): LogEvent {
  if (id % 2 === 1) {
    const instruction = `Summarise report ${id} for an impatient reader. `.repeat(4)
    return { id, type: "agent_started", at, data: { agent: "summarise", model: "m-1", tools: [], instruction, at } }
  }
  const usage = { input_tokens: 812, output_tokens: 95, cached_tokens: 0, reasoning_tokens: 0 }
  const calls = [{ turn: 1, attempt: 1, started_at: at, duration_ms: 20, usage, format: "json_schema" }]
  const output = { summary: "The owls were asleep and the report was late. ".repeat(4), score: 7 }
  const data = { agent: "summarise", iteration: id, output, cached: false, duration_ms: 21, usage, calls, at }
  return { id, type: "agent_completed", at, data }
}

async function measure(load: Load, work: () => Promise<void>): Promise<Measure> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await work()
  const seconds = (performance.now() - start) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  const appends = load.runs * load.appends
  return { cpuPerEvent: (user + system) / (appends * load.events), appendsPerSecond: appends / seconds }
}

async function measureStore(store: RunStore, load: Load): Promise<Measure> {
  const leases: Lease[] = []
  for (let n = 0; n < load.runs; n++) {
    const request = { source: "", input: {}, secrets: {}, options: noOptions }
    const run_id = randomBytes(16).toString("hex")
    const run = { run_id, caller: "", request, created_at: Date.now(), idempotency: null, resumable: true }
    const outcome = await store.create(run, "bench", 60_000)
    if (outcome.outcome === "created") leases.push(outcome.lease)
  }
  const appendAll = async (lease: Lease) => {
    for (let first = 1; first <= load.appends * load.events; first += load.events) {
      await store.append(lease, eventsFrom(first, load.events))
    }
  }
  return measure(load, async () => {
    await Promise.all(leases.map(appendAll))
  })
}

const noOptions = { cache_key: null, use_cache: true, max_concurrency: null, timeout_ms: null, deltas: false }

function measureFloor(directory: string, load: Load): Promise<Measure> {
  const database = new DatabaseSync(join(directory, `floor-${load.runs}-${load.events}.db`))
  database.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)",
  )
  const insert = database.prepare("INSERT INTO t (body) VALUES (?)")
  return measure(load, async () => {
    for (let n = 0; n < load.appends; n++) {
      database.exec("BEGIN IMMEDIATE")
      for (let run = 0; run < load.runs; run++) {
        insert.run(Buffer.from(JSON.stringify(eventsFrom(1 + n * load.events, load.events))))
      }
      database.exec("COMMIT")
    }
    database.close()
  })
}

function eventsFrom(first: number, count: number): LogEvent[] {
  return Array.from({ length: count }, (_, index) => event(first + index))
}

const directory = mkdtempSync(join(tmpdir(), "wireworks-bench-"))
try {
  const path = join(directory, "wire.db")
  const sqlite = await openSqliteStore({ path, vault: createVault(randomBytes(32)), clock })
  const memory = new MemoryStore(clock)
  // Once for nothing, so that everything is compiled.
  for (const load of loads) {
    const less = { ...load, appends: Math.ceil(load.appends / 5) }
    await measureStore(memory, less)
    await measureStore(sqlite, less)
  }
  const bytes = Buffer.byteLength(JSON.stringify(eventsFrom(1, 2))) / 2
  console.log(`An event has ${Math.round(bytes)} bytes of JSON. CPU is that of the whole process, all threads.\n`)
  console.log("load                           store    CPU µs/event   appends/s   CPU against the floor")
  for (const load of loads) {
    const floor = await measureFloor(directory, load)
    const rows = { floor, memory: await measureStore(memory, load), sqlite: await measureStore(sqlite, load) }
    for (const [name, { cpuPerEvent, appendsPerSecond }] of Object.entries(rows)) {
      const ratio = (cpuPerEvent / floor.cpuPerEvent).toFixed(2)
      const cells = [cpuPerEvent.toFixed(1).padStart(15), appendsPerSecond.toFixed(0).padStart(12), ratio.padStart(12)]
      console.log(`${load.name.padEnd(30)} ${name.padEnd(6)}${cells.join("")}`)
    }
  }
  await sqlite.close()
} finally {
  rmSync(directory, { recursive: true })
}
