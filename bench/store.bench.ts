import { randomBytes } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { MemoryStore } from "../src/adapters/memory/memory-store.ts"
import { migrate } from "../src/adapters/sqlite/schema.ts"
import { SqliteMedium } from "../src/adapters/sqlite/sqlite-medium.ts"
import { Writer } from "../src/adapters/sqlite/writer.ts"
import { openSqliteStore } from "../src/adapters/sqlite/open-sqlite-store.ts"
import { createMasterKey } from "../src/adapters/vault/vault.ts"
import type { LogEvent } from "../src/log/events.ts"
import type { Clock } from "../src/ports/clock.ts"
import type { Lease, RunStore } from "../src/ports/store.ts"
import { CommitQueue } from "../src/store/commit-queue.ts"
import { SqlStore } from "../src/store/sql-store.ts"
import { findPostgres } from "../scripts/postgres-server.mjs"
import { startPostgres } from "../test/support/postgres-server.ts"
import { postgresStores } from "../test/support/postgres-store.ts"
import { plainMasterKey } from "./plain-vault.ts"

// What each store costs, against a floor in the same run: the same bytes put into bare `node:sqlite` tables, on the main
// thread, not encrypted, without fences, with as many appends to a transaction as the load makes at once.

interface Load {
  readonly name: string
  /** Runs at a time, each waiting for its own append before the next. */
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

/** Whole runs of one agent: created, one append, ended by another. */
const shortRuns = { runs: 3_000, width: 20, events: 3 }

interface Measure {
  /** Microseconds of CPU for each event, or run. */
  readonly cpu: number
  /** Appends, or runs. */
  readonly perSecond: number
}

const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: () => Promise.reject(new Error("nobody sleeps here")),
}
const at = "2026-11-15T01:00:00.000Z"

/** About what an agent leaves in the log: one event that it started, one that it completed. */
function event(id: number): LogEvent {
  if (id % 2 === 1) {
    const instruction = `Summarise report ${id} for an impatient reader. `.repeat(4)
    return { id, type: "agent_started", at, data: { agent: "summarise", model: "m-1", tools: [], instruction, at } }
  }
  const usage = {
    input_tokens: 812,
    output_tokens: 95,
    cached_tokens: 0,
    written_tokens: 0,
    reasoning_tokens: 0,
    cost: null,
  }
  const calls = [{ turn: 1, attempt: 1, started_at: at, duration_ms: 20, usage, format: "json_schema" }]
  const output = { summary: "The owls were asleep and the report was late. ".repeat(4), score: 7 }
  const data = { agent: "summarise", iteration: id, output, cached: false, duration_ms: 21, usage, calls, at }
  return { id, type: "agent_completed", at, data }
}

/** The least CPU of three times: others who use the machine can only add to it. */
async function measure(events: number, appends: number, work: () => Promise<void>): Promise<Measure> {
  let best: Measure = { cpu: Infinity, perSecond: 0 }
  for (let time = 0; time < 3; time++) {
    const cpu = process.cpuUsage()
    const start = performance.now()
    await work()
    const seconds = (performance.now() - start) / 1_000
    const { user, system } = process.cpuUsage(cpu)
    best = {
      cpu: Math.min(best.cpu, (user + system) / events),
      perSecond: Math.max(best.perSecond, appends / seconds),
    }
  }
  return best
}

async function create(store: RunStore): Promise<Lease> {
  const request = { source: "", input: { topic: "owls" }, secrets: { key: "sk-0123456789" }, options: noOptions }
  const run_id = randomBytes(16).toString("hex")
  const run = { run_id, caller: "", request, created_at: Date.now(), idempotency: null }
  const outcome = await store.create(run, "bench", 60_000)
  if (outcome.outcome !== "created") throw new Error("not created")
  return outcome.lease
}

async function measureStore(store: RunStore, load: Load): Promise<Measure> {
  const { runs, appends, events } = load
  const leases: Lease[] = []
  for (let n = 0; n < runs; n++) leases.push(await create(store))
  let next = 1
  return measure(runs * appends * events, runs * appends, async () => {
    const first = next
    next += appends * events
    const appendAll = async (lease: Lease) => {
      for (let n = 0; n < appends; n++) await store.append(lease, eventsFrom(first + n * events, events))
    }
    await Promise.all(leases.map(appendAll))
  })
}

function measureShortRuns(store: RunStore): Promise<Measure> {
  const { runs, width, events } = shortRuns
  return measure(runs, runs, async () => {
    let left = runs
    const some = async () => {
      while (left-- > 0) {
        const lease = await create(store)
        await store.append(lease, eventsFrom(1, events))
        await store.append(lease, [end(events + 1)])
      }
    }
    await Promise.all(Array.from({ length: width }, some))
  })
}

const noOptions = { cache_key: null, use_cache: true, max_concurrency: null, timeout_ms: null, deltas: false }

function bareTables(directory: string, tables: readonly string[]): DatabaseSync {
  const database = new DatabaseSync(join(directory, `floor-${randomBytes(4).toString("hex")}.db`))
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
  for (const table of tables) database.exec(`CREATE TABLE ${table} (id INTEGER PRIMARY KEY, body BLOB)`)
  return database
}

async function measureFloor(directory: string, { runs, appends, events }: Load): Promise<Measure> {
  const database = bareTables(directory, ["events"])
  const insert = database.prepare("INSERT INTO events (body) VALUES (?)")
  const measured = await measure(runs * appends * events, runs * appends, async () => {
    for (let n = 0; n < appends; n++) {
      database.exec("BEGIN IMMEDIATE")
      for (let run = 0; run < runs; run++) insert.run(bytesOf(eventsFrom(1 + n * events, events)))
      database.exec("COMMIT")
    }
  })
  database.close()
  return measured
}

async function measureShortFloor(directory: string): Promise<Measure> {
  const { runs, width, events } = shortRuns
  const database = bareTables(directory, ["runs", "events"])
  const [run, event] = ["runs", "events"].map((table) => database.prepare(`INSERT INTO ${table} (body) VALUES (?)`))
  const measured = await measure(runs, runs, async () => {
    for (let done = 0; done < runs; done += width) {
      const stages = [
        () => run?.run(bytesOf({ input: { topic: "owls" }, secrets: { key: "sk-0123456789" }, options: noOptions })),
        () => event?.run(bytesOf(eventsFrom(1, events))),
        () => event?.run(bytesOf([end(events + 1)])),
      ]
      for (const stage of stages) {
        database.exec("BEGIN IMMEDIATE")
        for (let n = 0; n < width; n++) stage()
        database.exec("COMMIT")
      }
    }
  })
  database.close()
  return measured
}

function bytesOf(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function end(id: number): LogEvent {
  return { id, type: "workflow_cancelled", at, data: { duration_ms: 21, at } }
}

function eventsFrom(first: number, count: number): LogEvent[] {
  return Array.from({ length: count }, (_, index) => event(first + index))
}

function show(name: string, rows: { readonly floor: Measure } & Readonly<Record<string, Measure>>): void {
  for (const [store, { cpu, perSecond }] of Object.entries(rows)) {
    const ratio = `${(cpu / rows.floor.cpu).toFixed(2)}x`
    const cells = [cpu.toFixed(1).padStart(10), perSecond.toFixed(0).padStart(12), ratio.padStart(10)]
    console.log(`${name.padEnd(30)} ${store.padEnd(14)}${cells.join("")}`)
  }
}

/** What could take the memory store's place: the store of SQL databases, in memory, in this thread and not sealed. */
function sqlInMemory(): RunStore {
  const database = new DatabaseSync(":memory:")
  migrate(database)
  const writer = new Writer(database, ":memory:", "bench")
  const queue = new CommitQueue({
    broken: null,
    write: async (batch) => writer.commit(batch.map(({ operation }) => operation)),
    close: () => Promise.resolve(),
  })
  const key = plainMasterKey("bench")
  const vault = key.unlock(key.newRecord())
  if (vault === null) throw new Error("A key opens what it has made")
  const settings = { pollMs: 200, thoroughEvery: 10, tombstoneMs: 60_000 }
  return new SqlStore(new SqliteMedium(queue, database, ":memory:", async () => clock.now()), vault, clock, settings)
}

const directory = mkdtempSync(join(tmpdir(), "wireworks-bench-"))
const server = findPostgres() === null ? null : await startPostgres()
try {
  const path = join(directory, "wire.db")
  const stores: Record<string, RunStore> = {
    memory: new MemoryStore(clock),
    "sql in memory": sqlInMemory(),
    sqlite: await openSqliteStore({ path, masterKey: createMasterKey(randomBytes(32)), clock }),
    ...(server !== null && { postgres: await postgresStores(server.url(), clock)() }),
  }
  const each = async (work: (store: RunStore) => Promise<Measure>): Promise<Record<string, Measure>> => {
    const measured: Record<string, Measure> = {}
    for (const [name, store] of Object.entries(stores)) measured[name] = await work(store)
    return measured
  }
  // Once for nothing, so that everything is compiled.
  await each((store) => measureStore(store, { name: "", runs: 50, appends: 10, events: 2 }))

  console.log(`An event has ${Math.round(bytesOf(eventsFrom(1, 2)).length / 2)} bytes of JSON.`)
  console.log("CPU is that of this process, all threads, in microseconds an event; then appends a second.")
  console.log("That of PostgreSQL's own processes is not in it.")
  console.log(server === null ? "Left out, because there is no server here: PostgreSQL.\n" : "")
  for (const load of loads) {
    const floor = await measureFloor(directory, load)
    show(load.name, { floor, ...(await each((store) => measureStore(store, load))) })
  }
  console.log("\nMicroseconds of CPU a run, from create to end, 20 at a time; then runs a second.\n")
  const floor = await measureShortFloor(directory)
  show("short runs", { floor, ...(await each(measureShortRuns)) })
  for (const store of Object.values(stores)) await store.close()
} finally {
  await server?.close()
  rmSync(directory, { recursive: true })
}
