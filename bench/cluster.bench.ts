import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { MemoryStore } from "../src/adapters/memory/memory-store.ts"
import { openSqliteStore } from "../src/adapters/sqlite/open-sqlite-store.ts"
import { systemClock } from "../src/adapters/system/system-clock.ts"
import { createMasterKey } from "../src/adapters/vault/vault.ts"
import type { LogEvent } from "../src/log/events.ts"
import type { Lease, RunStore } from "../src/ports/store.ts"
import { replica, replicaEnvironment, type Replica } from "../test/support/replica.ts"
import { startPostgres } from "../test/support/postgres-server.ts"
import { postgresStores } from "../test/support/postgres-store.ts"

// What a cluster costs against the homes of one machine, and how it grows: everything on this machine, the server
// included, so that figures say more about each other than about a real network.

const at = "2026-11-15T01:00:00.000Z"
const text = "The owls were asleep and the report was late. ".repeat(8)

function event(id: number): LogEvent {
  return { id, type: "agent_delta", at, data: { agent: "summarise", attempt: 1, text, at } }
}

const eventsFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => event(first + index))

async function newRun(store: RunStore): Promise<Lease> {
  const options = { cache_key: null, use_cache: true, max_concurrency: null, timeout_ms: null, deltas: false }
  const request = { source: "", input: {}, secrets: {}, options }
  const run_id = randomBytes(16).toString("hex")
  const run = { run_id, caller: "", request, created_at: Date.now(), idempotency: null }
  const outcome = await store.create(run, "bench", 60_000)
  if (outcome.outcome !== "created") throw new Error(outcome.outcome)
  return outcome.lease
}

/** Events of so many runs side by side, each waiting for its append, two events at a time. */
async function eventsPerSecond(store: RunStore, runs: number, appends: number): Promise<number> {
  const leases = await Promise.all(Array.from({ length: runs }, () => newRun(store)))
  const start = performance.now()
  await Promise.all(
    leases.map(async (lease) => {
      for (let n = 0; n < appends; n++) await store.append(lease, eventsFrom(1 + n * 2, 2))
    }),
  )
  return (runs * appends * 2) / ((performance.now() - start) / 1_000)
}

/** Milliseconds from an append's call to its event in the hands of a follower of another store (of the same, in memory). */
async function latencies(store: RunStore, other: RunStore, count: number): Promise<number[]> {
  const lease = await newRun(store)
  const stop = new AbortController()
  const follower = other.follow(lease.run_id, 0, stop.signal)[Symbol.asyncIterator]()
  const found: number[] = []
  for (let id = 1; id <= count; id++) {
    const next = follower.next()
    const start = performance.now()
    const stored = store.append(lease, [event(id)])
    await next
    found.push(performance.now() - start)
    await stored
  }
  stop.abort()
  return found.slice(Math.floor(count / 5)).toSorted((a, b) => a - b)
}

const quantile = (sorted: readonly number[], q: number) => sorted[Math.floor((sorted.length - 1) * q)] ?? Number.NaN

/** CPU and time of an event that a thousand follow in another process's store. */
async function followers(store: RunStore, other: RunStore, count: number): Promise<{ ms: number; cpuUs: number }> {
  const lease = await newRun(store)
  const stop = new AbortController()
  let waiting = 0
  let all = Promise.withResolvers<void>()
  const iterators = Array.from({ length: count }, () =>
    other.follow(lease.run_id, 0, stop.signal)[Symbol.asyncIterator](),
  )
  const round = async (id: number) => {
    all = Promise.withResolvers<void>()
    waiting = count
    for (const one of iterators) {
      void one.next().then(() => {
        if (--waiting === 0) all.resolve()
      })
    }
    await store.append(lease, [event(id)])
    await all.promise
  }
  await round(1)
  const cpu = process.cpuUsage()
  const start = performance.now()
  const rounds = 20
  for (let id = 2; id < 2 + rounds; id++) await round(id)
  const { user, system } = process.cpuUsage(cpu)
  stop.abort()
  return { ms: (performance.now() - start) / rounds, cpuUs: (user + system) / rounds / count }
}

async function measureHome(name: string, store: RunStore, other: RunStore): Promise<void> {
  await eventsPerSecond(store, 5, 20)
  const [one, many] = [await eventsPerSecond(store, 1, 150), await eventsPerSecond(store, 100, 15)]
  const latency = await latencies(store, other, 150)
  const crowd = await followers(store, other, 1_000)
  const cells = [one, many].map((n) => n.toFixed(0).padStart(11))
  const times = [quantile(latency, 0.5), quantile(latency, 0.99)].map((n) => n.toFixed(2).padStart(9))
  console.log(
    `${name.padEnd(10)}${cells.join("")}${times.join("")}${crowd.ms.toFixed(1).padStart(13)}${crowd.cpuUs.toFixed(1).padStart(13)}`,
  )
}

async function homes(): Promise<void> {
  console.log("           events/s    events/s   append to follower   1,000 followers (PostgreSQL: of another store)")
  console.log("home          1 run    100 runs    median     99 %     ms/event   CPU µs/follower")
  const memory = new MemoryStore(systemClock)
  await measureHome("memory", memory, memory)
  const directory = mkdtempSync(join(tmpdir(), "wireworks-bench-"))
  const masterKey = createMasterKey(randomBytes(32))
  const sqlite = await openSqliteStore({ path: join(directory, "wire.db"), masterKey, clock: systemClock })
  await measureHome("SQLite", sqlite, sqlite)
  await sqlite.close()
  rmSync(directory, { recursive: true })
  const server = await startPostgres()
  const open = postgresStores(server.url(), systemClock)
  const [store, other] = [await open(), await open()]
  await measureHome("PostgreSQL", store, other)
  await Promise.all([store.close(), other.close()])
  await server.close()
}

// ------------------------------------------------------------------------------------------------------- replicas

const source = `
input { endpoint: string }
secrets { key: string }
provider p from openai { endpoint: input.endpoint  api_key: secrets.key }
model m from p { id: "m" }
agent a { model: model.m  instruction: "Answer."  output { message: string } }
output { message: agent.a.message }
`

interface Backend {
  readonly origin: string
  /** Answers after this long; null: keeps the question. */
  delay: number | null
  readonly kept: ServerResponse[]
  asked: () => void
  close(): Promise<unknown>
}

async function startBackend(): Promise<Backend> {
  const content = [{ type: "output_text", text: '{"message":"done"}' }]
  const answer = JSON.stringify({ output: [{ type: "message", role: "assistant", content }] })
  const send = (response: ServerResponse) => response.writeHead(200, { "content-type": "application/json" }).end(answer)
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      if (backend.delay === null) backend.kept.push(response)
      else setTimeout(() => send(response), backend.delay)
      backend.asked()
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const backend: Backend = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    delay: 20,
    kept: [],
    asked: () => undefined,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
  return backend
}

function post(address: string, backend: Backend, key?: string): Promise<Response> {
  const headers = { "content-type": "application/json", ...(key !== undefined && { "idempotency-key": key }) }
  const body = {
    workflow_source: source,
    input: { endpoint: `${backend.origin}/v1` },
    secrets: { key: "sk-bench-0123456789" },
  }
  return fetch(`${address}/execute`, { method: "POST", headers, body: JSON.stringify(body) })
}

async function runsPerSecond(replicas: readonly Replica[], backend: Backend, count: number): Promise<number> {
  let left = count
  const start = performance.now()
  await Promise.all(
    Array.from({ length: 40 * replicas.length }, async (_, index) => {
      const address = replicas[index % replicas.length]?.address ?? ""
      while (left-- > 0) {
        const response = await post(address, backend)
        if (response.status !== 200) throw new Error(await response.text())
        await response.arrayBuffer()
      }
    }),
  )
  return count / ((performance.now() - start) / 1_000)
}

/** From SIGKILL to the model's question from another replica. */
async function takeOver(victim: Replica, backend: Backend): Promise<number> {
  backend.delay = null
  const asked = () => new Promise<void>((resolve) => (backend.asked = resolve))
  const first = asked()
  post(victim.address, backend, randomBytes(8).toString("hex")).catch(() => undefined)
  await first
  const again = asked()
  const start = performance.now()
  victim.signal("SIGKILL")
  await again
  const ms = performance.now() - start
  backend.delay = 20
  for (const response of backend.kept.splice(0)) response.destroy()
  return ms
}

async function replicas(): Promise<void> {
  const backend = await startBackend()
  const server = await startPostgres()
  const env = { ...replicaEnvironment(server.url()), WIRE_RATE_LIMIT: "0", WIRE_MAX_RUNS: "500" }
  const all = [replica("one", env), replica("two", env)]
  await Promise.all(all.map((one) => one.start()))
  const [one] = all
  if (one === undefined) throw new Error("no replica")
  await runsPerSecond(all, backend, 300)
  console.log(`\nruns/s, 20 ms backend        1 replica ${(await runsPerSecond([one], backend, 600)).toFixed(0)}`)
  console.log(`                             2 replicas ${(await runsPerSecond(all, backend, 600)).toFixed(0)}`)
  const times: number[] = []
  for (const _ of [1, 2, 3]) {
    times.push(await takeOver(one, backend))
    await one.ended()
    await one.start()
  }
  console.log(`take-over after SIGKILL      ${times.map((ms) => `${(ms / 1_000).toFixed(1)} s`).join(", ")}`)
  for (const each of all) each.signal("SIGKILL")
  await Promise.all(all.map((each) => each.ended()))
  await server.close()
  await backend.close()
}

await homes()
await replicas()
