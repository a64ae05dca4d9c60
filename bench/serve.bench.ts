import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { request } from "node:http"
import type { Socket } from "node:net"
import { connect } from "node:net"
import { dirname, join } from "node:path"
import { build } from "../scripts/build.mjs"
import { streamOf } from "../test/support/fake-backend.ts"
import { startServer } from "../test/support/http-server.ts"
import type { JobName } from "./serve/jobs.ts"
import { executeBody, plainBody, source, topic, key } from "./serve/jobs.ts"
import type { LoadOptions, LoadResult } from "./serve/load.ts"
import { BenchProcess, cpuSeconds, pinned, residentBytes, runBeside } from "./serve/process.ts"

// The service under load, against three others in the same run that make the same calls of the same backend, which thinks for
// 20 ms: the floor (bare `node:http` and undici), the durable floor (the same with validation and one SQLite table) and what
// one would write instead (Fastify and the official SDK). Servers have a core of their own; the load comes from autocannon.
// `--quick` is a smoke test: its figures mean little.

const quick = process.argv.includes("--quick")
const root = dirname(import.meta.dirname)
mkdirSync(join(root, ".cache"), { recursive: true })
const folder = mkdtempSync(join(root, ".cache", "bench-serve-"))
const node = process.execPath
const file = (name: string): string => join(import.meta.dirname, "serve", name)

const goals = {
  cpu: { memory: 1.5, sqlite: 1.8 },
  /** SQLite, times the durable floor, at 50 connections. */
  durable: { one: 1.25, fan: 1.15 },
  /** SQLite, more than the durable floor at one connection. */
  durable_ms: 0.4,
  perSecond: 1800,
  added_ms: 1.5,
  delta_ms: 1,
  /** CPU of a streamed run with partials, times one with deltas alone. */
  partials: 1.15,
  stream_bytes: 30_000,
  ready_ms: 400,
  idle_bytes: 100_000_000,
  /** Memory store, 500 connections of the graph job. */
  peak_bytes: 400_000_000,
}
const missed: string[] = []

function goal(what: string, value: number, most: number, unit: string): string {
  const met = value <= most
  if (!met) missed.push(`${what}: ${value.toFixed(2)} ${unit}, at most ${most} wanted`)
  return met ? "✓" : `✗ (goal ${most})`
}

// ----------------------------------------------------------------------------------------------------------- servers

type ServerName = "floor" | "durable" | "hand-written" | "memory" | "sqlite"
const names: readonly ServerName[] = ["floor", "durable", "hand-written", "memory", "sqlite"]

const entry = join(folder, "dist", "wire.js")

function serviceSettings(store: "memory" | "sqlite", data: string): Record<string, string> {
  return {
    WIRE_PORT: "0",
    WIRE_STORE: store,
    WIRE_DATA_DIR: join(folder, data),
    WIRE_RATE_LIMIT: "0",
    WIRE_MAX_RUNS: "1000",
    WIRE_MAX_QUEUED: "10000",
    // Else the heap grows by every run of the benchmark, as it does in a day of production.
    WIRE_RETENTION: "10s",
  }
}

function startService(store: "memory" | "sqlite", data = store as string): Promise<BenchProcess> {
  return BenchProcess.start("server", [node, "--max-semi-space-size=16", entry, "serve"], serviceSettings(store, data))
}

async function startAll(endpoint: string): Promise<Record<ServerName, BenchProcess>> {
  return {
    floor: await BenchProcess.start("server", [node, file("floor.ts"), endpoint]),
    durable: await BenchProcess.start("server", [node, file("durable.ts"), endpoint, join(folder, "durable.db")]),
    "hand-written": await BenchProcess.start("server", [node, file("handwritten.ts"), endpoint]),
    memory: await startService("memory"),
    sqlite: await startService("sqlite"),
  }
}

// -------------------------------------------------------------------------------------------------------------- load

function loadOf(name: ServerName, server: BenchProcess, job: JobName, mode: Mode, endpoint: string): LoadOptions {
  const own = name === "memory" || name === "sqlite"
  return {
    url: `${server.address}/${own ? "execute" : job}`,
    body: own ? executeBody(job, endpoint) : plainBody(),
    headers: { "content-type": "application/json", ...(mode === "SSE" && { accept: "text/event-stream" }) },
    connections: 1,
    amount: 1,
    pid: server.pid,
  }
}

type Mode = "JSON" | "SSE"

async function measure(options: LoadOptions): Promise<LoadResult> {
  const printed = await runBeside([node, file("load.ts"), JSON.stringify(options)])
  const result = JSON.parse(printed) as LoadResult
  if (result.failed > 0) throw new Error(`${result.failed} of ${result.requests} requests failed at ${options.url}`)
  return result
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
/** Others who use the machine can only add to a cost: the least tells the most. */
const least = (values: readonly number[]): number => Math.min(...values)

function amountOf(job: JobName, connections: number): number {
  const full = connections === 1 ? 100 : connections === 50 ? 3000 : 8000
  const wanted = job === "one" ? full : full / 5
  return quick ? Math.max(connections, wanted / 10) : wanted
}

async function compare(servers: Record<ServerName, BenchProcess>, endpoint: string, direct: number): Promise<void> {
  const rounds = quick ? 1 : 3
  for (const job of ["one", "fan"] as const) {
    for (const mode of ["JSON", "SSE"] as const) {
      for (const connections of quick ? [1, 50] : [1, 50, 500]) {
        const rows = new Map<ServerName, LoadResult[]>(names.map((name) => [name, []]))
        const amount = amountOf(job, connections)
        for (let round = 0; round < rounds; round++) {
          // Another one first each time: whatever else goes on on the machine meets all of them.
          for (let n = 0; n < names.length; n++) {
            const name = names[(n + round) % names.length] ?? "floor"
            const options = { ...loadOf(name, servers[name], job, mode, endpoint), connections, amount }
            rows.get(name)?.push(await measure(options))
          }
        }
        show(job, mode, connections, rows, job === "one" ? direct : direct * 3)
      }
    }
  }
}

function show(
  job: JobName,
  mode: Mode,
  connections: number,
  rows: Map<ServerName, LoadResult[]>,
  direct: number,
): void {
  const title = `${job === "one" ? "one agent" : "1 → 8 → 1"}, ${mode}, concurrency ${connections}`
  process.stdout.write(`\n${title}\n`)
  const cpuOf = (name: ServerName): number => least((rows.get(name) ?? []).map(({ cpu }) => cpu))
  for (const [name, measures] of rows) {
    const cpu = cpuOf(name)
    const ratio = cpu / cpuOf("floor")
    const p50 = median(measures.map((one) => one.p50))
    const own = name === "memory" || name === "sqlite"
    const marks: string[] = []
    // At concurrency 1 most of the CPU time is the price of waking up.
    if (own && connections > 1)
      marks.push(goal(`CPU of ${title}, ${name}, times the floor`, ratio, goals.cpu[name], "x"))
    if (own && connections === 1 && job === "one") {
      marks.push(goal(`added latency of ${title}, ${name}`, p50 - direct, goals.added_ms, "ms"))
    }
    if (name === "sqlite" && mode === "JSON") {
      const times = cpu / cpuOf("durable")
      const more = p50 - median((rows.get("durable") ?? []).map((one) => one.p50))
      marks.push(`${times.toFixed(2)}x durable`)
      if (connections === 50)
        marks.push(goal(`CPU of ${title}, times the durable floor`, times, goals.durable[job], "x"))
      if (connections === 1 && job === "one") {
        marks.push(
          `+${more.toFixed(2)} ms`,
          goal(`${title}, more than the durable floor`, more, goals.durable_ms, "ms"),
        )
      }
    }
    const line = [
      name.padEnd(13),
      `${cpu.toFixed(3)} ms CPU`.padStart(13),
      `${ratio.toFixed(2)}x`.padStart(6),
      `${(1000 / cpu).toFixed(0)}/s per core`.padStart(15),
      `${Math.max(...measures.map((one) => one.perSecond)).toFixed(0)}/s`.padStart(8),
      `p50 ${p50.toFixed(1)}`.padStart(10),
      `p99 ${median(measures.map((one) => one.p99)).toFixed(0)} ms`.padStart(11),
      marks.join(" "),
    ]
    process.stdout.write(`  ${line.join("  ")}\n`)
    if (name === "sqlite" && job === "one" && mode === "JSON" && connections === 500 && 1000 / cpu < goals.perSecond) {
      missed.push(
        `${title}, sqlite: ${(1000 / cpu).toFixed(0)} runs a second and core, at least ${goals.perSecond} wanted`,
      )
    }
  }
}

// ------------------------------------------------------------------------------------------------------------ deltas

/** From the moment in which a backend writes a piece of its answer to that in which a client has it, in milliseconds. */
async function deltaLatency(store: "memory" | "sqlite"): Promise<number[]> {
  let wroteAt = 0
  const backend = await startServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    const delta = (text: string): string =>
      `data: ${JSON.stringify({ type: "response.output_text.delta", output_index: 0, content_index: 0, delta: text })}\n\n`
    setTimeout(() => {
      wroteAt = performance.now()
      response.write(delta('{"summary":"'))
      setTimeout(() => {
        const text = '{"summary":"x","score":1}'
        const item = { type: "message", role: "assistant", content: [{ type: "output_text", text }] }
        const done = { type: "response.completed", response: { status: "completed", output: [item] } }
        response.end(`${delta('x","score":1}')}data: ${JSON.stringify(done)}\n\n`)
      }, 5)
    }, 20)
  })
  const service = await startService(store, `deltas-${store}`)
  const times: number[] = []
  const body = JSON.stringify({
    workflow_source: source("one", `${backend.origin}/v1`),
    input: { topic },
    secrets: { key },
    options: { deltas: true },
  })
  for (let n = 0; n < (quick ? 20 : 200); n++) {
    await new Promise<void>((resolve, reject) => {
      const headers = { "content-type": "application/json", accept: "text/event-stream" }
      const call = request(`${service.address}/execute`, { method: "POST", headers }, (response) => {
        let seen = false
        response.on("data", (chunk: Buffer) => {
          if (seen || !chunk.includes("event: agent_delta")) return
          seen = true
          times.push(performance.now() - wroteAt)
        })
        response.on("end", resolve)
      })
      call.on("error", reject)
      call.end(body)
    })
  }
  await service.stop()
  await backend.close()
  return times.slice(times.length >> 2)
}

async function showDeltas(): Promise<void> {
  process.stdout.write("\nfirst piece of a streamed answer, from the backend's write to the client\n")
  for (const store of ["memory", "sqlite"] as const) {
    const times = await deltaLatency(store)
    const p50 = median(times)
    const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0
    const mark = goal(`first delta, ${store}`, p50, goals.delta_ms, "ms")
    process.stdout.write(`  ${store.padEnd(13)}  p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms  ${mark}\n`)
  }
}

// ---------------------------------------------------------------------------------------------------------- partials

/** The same streamed run, with deltas alone and with partials, in turns. */
async function showPartials(): Promise<void> {
  process.stdout.write("\na streamed run, 100 pieces of 5 kB of text\n")
  const answer = JSON.stringify({ summary: 'The owls were asleep, and "late" is a word. '.repeat(110), score: 7 })
  const stream = streamOf(answer, 100)
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .join("")
  const backend = await startServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).end(stream)
  })
  for (const store of ["memory", "sqlite"] as const) {
    const service = await startService(store, `partials-${store}`)
    const ways = { deltas: { deltas: true }, partials: { partials: true } }
    const cpu = { deltas: [] as number[], partials: [] as number[] }
    // The first round warms up, and does not count.
    for (let round = 0; round <= (quick ? 2 : 8); round++) {
      for (const way of ["deltas", "partials"] as const) {
        const body = JSON.stringify({
          workflow_source: source("one", `${backend.origin}/v1`),
          input: { topic },
          secrets: { key },
          options: ways[way],
        })
        const headers = { "content-type": "application/json", accept: "text/event-stream" }
        const load = { url: `${service.address}/execute`, body, headers, connections: 10, pid: service.pid }
        const result = await measure({ ...load, amount: quick ? 100 : 400 })
        if (round > 0) cpu[way].push(result.cpu)
      }
    }
    const [without, using] = [least(cpu.deltas), least(cpu.partials)]
    const mark = goal(`CPU of partials, ${store}, times deltas`, using / without, goals.partials, "x")
    const shown = `${without.toFixed(2)} ms CPU with deltas  ${using.toFixed(2)} ms with partials`
    process.stdout.write(`  ${store.padEnd(13)}  ${shown}  ${(using / without).toFixed(3)}x  ${mark}\n`)
    await service.stop()
  }
  await backend.close()
}

// ----------------------------------------------------------------------------------------------------------- streams

async function showStreams(): Promise<void> {
  const wanted = quick ? 500 : 5000
  const runs = quick ? 10 : 100
  const backend = await startServer(() => undefined)
  for (const store of ["memory", "sqlite"] as const) {
    const service = await startService(store, `streams-${store}`)
    const port = Number(new URL(service.address).port)
    const sockets: Socket[] = []
    const open = (text: string): Promise<Socket> =>
      new Promise((resolve, reject) => {
        const socket = connect({ port, host: "127.0.0.1" })
        socket.once("error", reject)
        socket.once("data", () => resolve(socket))
        socket.write(text)
        sockets.push(socket)
      })
    const body = JSON.stringify({
      workflow_source: source("one", `${backend.origin}/v1`),
      input: { topic },
      secrets: { key },
    })
    const ids: string[] = []
    for (let n = 0; n < runs; n++) {
      const response = await fetch(`${service.address}/execute`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "text/event-stream" },
        body,
      })
      ids.push(response.headers.get("x-service-run-id") ?? "")
      await response.body?.cancel()
    }
    const follow = (n: number): Promise<Socket> =>
      open(`GET /execute/${ids[n % runs]}/events HTTP/1.1\r\nHost: x\r\n\r\n`)
    const before = service.memory()
    for (let n = 0; n < wanted; n += 100) await Promise.all(Array.from({ length: 100 }, (_, m) => follow(n + m)))
    const each = (service.memory() - before) / wanted
    const mark = goal(`memory of an open stream, ${store}`, each, goals.stream_bytes, "bytes")
    process.stdout.write(`  ${store.padEnd(13)}  ${(each / 1000).toFixed(1)} kB each  ${mark}\n`)
    for (const socket of sockets) socket.destroy()
    service.child.kill("SIGKILL")
    await once(service.child, "exit")
  }
  await backend.close()
}

// -------------------------------------------------------------------------------------------------------------- peak

/** Fresh processes: what a server needed for an earlier load would count. */
async function showPeak(endpoint: string): Promise<void> {
  const connections = quick ? 50 : 500
  process.stdout.write(`\npeak memory, 1 → 8 → 1, JSON, concurrency ${connections}\n`)
  for (const name of ["floor", "memory", "sqlite"] as const) {
    const floor = (): Promise<BenchProcess> => BenchProcess.start("server", [node, file("floor.ts"), endpoint])
    const server = name === "floor" ? await floor() : await startService(name, `peak-${name}`)
    const options = { ...loadOf(name, server, "fan", "JSON", endpoint), connections }
    await measure({ ...options, amount: amountOf("fan", connections) })
    const peak = server.peakMemory()
    const mark = name === "memory" ? goal("peak memory", peak, goals.peak_bytes, "bytes") : ""
    process.stdout.write(`  ${name.padEnd(13)}  ${(peak / 1e6).toFixed(0)} MB  ${mark}\n`)
    await server.stop()
  }
}

// ------------------------------------------------------------------------------------------------------------- start

type Started = "bare node:http" | "memory" | "sqlite"

interface StartUp {
  /** Milliseconds from spawn to the first 200 of `/readyz`, and of CPU until then. */
  readonly ready: number
  readonly cpu: number
  /** Bytes of memory a second after it. */
  readonly idle: number
}

const bareServer = `require("node:http").createServer((_, response) => response.end()).listen(process.env.WIRE_PORT, "127.0.0.1")`

async function startUp(what: Started, n: number): Promise<StartUp> {
  const port = 20_000 + (process.pid % 20_000)
  const settings = what === "bare node:http" ? {} : serviceSettings(what, `start-${what}-${n}`)
  const began = performance.now()
  const child = spawn(node, what === "bare node:http" ? ["-e", bareServer] : [entry, "serve"], {
    stdio: "ignore",
    env: { ...process.env, ...settings, WIRE_PORT: String(port) },
  })
  for (;;) {
    const ready = await new Promise<boolean>((resolve) => {
      const call = request(`http://127.0.0.1:${port}/readyz`, { agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode === 200)
      })
      call.on("error", () => resolve(false))
      call.end()
    })
    if (ready) break
    if (performance.now() - began > 20_000) throw new Error("The service did not become ready")
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  const ready = performance.now() - began
  const cpu = cpuSeconds(child.pid ?? 0) * 1000
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const idle = residentBytes(child.pid)
  child.kill("SIGTERM")
  await once(child, "exit")
  return { ready, cpu, idle }
}

async function showStart(): Promise<void> {
  const starts = new Map<Started, StartUp[]>([
    ["bare node:http", []],
    ["memory", []],
    ["sqlite", []],
  ])
  // The first round keeps compiled code, and does not count.
  for (let n = 0; n < (quick ? 3 : 8); n++) {
    for (const [what, list] of starts) {
      const one = await startUp(what, n)
      if (n > 0) list.push(one)
    }
  }
  const bareCpu = least((starts.get("bare node:http") ?? []).map(({ cpu }) => cpu))
  for (const [what, list] of starts) {
    const ready = median(list.map((one) => one.ready))
    const cpu = least(list.map((one) => one.cpu))
    const idle = median(list.map((one) => one.idle))
    const own = what !== "bare node:http"
    const line = [
      what.padEnd(14),
      `ready after ${ready.toFixed(0)} ms`,
      own ? goal(`spawn to ready, ${what}`, ready, goals.ready_ms, "ms") : "",
      `${cpu.toFixed(0)} ms CPU, ${(cpu / bareCpu).toFixed(1)}x`,
      `${(idle / 1e6).toFixed(0)} MB idle`,
      own ? goal(`idle memory, ${what}`, idle, goals.idle_bytes, "bytes") : "",
    ]
    process.stdout.write(`  ${line.join("  ")}\n`)
  }
}

// -------------------------------------------------------------------------------------------------------------- main

/** What a client gets when it calls the backend itself. */
async function directLatency(endpoint: string): Promise<number> {
  const options = {
    url: `${endpoint}/responses`,
    body: "{}",
    headers: {},
    connections: 1,
    amount: quick ? 20 : 100,
    pid: process.pid,
  }
  const printed = await runBeside([node, file("load.ts"), JSON.stringify(options)])
  return (JSON.parse(printed) as LoadResult).p50
}

try {
  await build(join(folder, "dist"))
  const only = process.argv.slice(2).filter((name) => !name.startsWith("--"))
  const wants = (name: string): boolean => only.length === 0 || only.includes(name)
  if (!pinned) process.stdout.write("Without cores of their own (taskset): servers and load disturb each other.\n")
  if (wants("start")) {
    process.stdout.write("start\n")
    await showStart()
  }
  if (wants("streams")) {
    process.stdout.write(`\n${quick ? 500 : 5000} open streams\n`)
    await showStreams()
  }
  if (wants("deltas")) await showDeltas()
  if (wants("partials")) await showPartials()
  if (wants("peak")) {
    const backend = await BenchProcess.start("load", [node, file("backend.ts")])
    await showPeak(`${backend.address}/v1`)
    await backend.stop()
  }
  if (wants("load")) {
    const backend = await BenchProcess.start("load", [node, file("backend.ts")])
    const endpoint = `${backend.address}/v1`
    const servers = await startAll(endpoint)
    try {
      const direct = await directLatency(endpoint)
      process.stdout.write(`\nthe backend itself: p50 ${direct.toFixed(2)} ms\n`)
      // Warm: compiled by the JIT, connections open.
      for (const job of ["one", "fan"] as const) {
        for (const name of names) {
          const options = { ...loadOf(name, servers[name], job, "JSON", endpoint), connections: 50 }
          await measure({ ...options, amount: quick ? 100 : 2000 })
        }
      }
      await compare(servers, endpoint, direct)
    } finally {
      for (const server of Object.values(servers)) await server.stop()
      await backend.stop()
    }
  }
  process.stdout.write(missed.length === 0 ? "\nEvery goal is met.\n" : `\nMissed:\n  ${missed.join("\n  ")}\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
