import { jetstream, jetstreamManager, type JetStreamClient, type JsMsg } from "@nats-io/jetstream"
import { connect } from "@nats-io/transport-node"
import { spawn, type ChildProcess } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { availableParallelism, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { DatabaseSync } from "node:sqlite"
import { readAddress } from "../src/adapters/nats/address.ts"
import { Broker } from "../src/adapters/nats/broker.ts"
import { namesOf } from "../src/adapters/nats/names.ts"
import { execute } from "../src/adapters/sqlite/execute.ts"
import { SqliteLeaseRules } from "../src/adapters/sqlite/lease-rules.ts"
import { PreparedStatements } from "../src/adapters/sqlite/prepared-statements.ts"
import { listRuns } from "../src/store/run-list-reader.ts"
import { migrations } from "../src/store/schema.ts"
import { runSteps, type SqlValue } from "../src/store/sql.ts"
import { Writes, type Operation } from "../src/store/writes.ts"
import { natsServers, startNats } from "../test/support/nats-server.ts"
import { noProofs } from "../test/support/nats-store.ts"

// What it would cost a replica on NATS to keep an index of its own: a SQLite file with the tables of src/store, kept by the writer of src/store
// from one stream of facts. A fact is an operation of src/store without what is sealed. Everything is on this machine.
//   npm run bench -- nats-index [--quick | --million]
// The floor of each figure is in the same run: reading the stream without an index, the acknowledgement of a write, the list of runs as it is made today.

const quick = process.argv.includes("--quick")
const sizes = quick ? [2_000, 20_000] : [20_000, 200_000, ...(process.argv.includes("--million") ? [1_000_000] : [])]
const rates = quick ? [0, 500] : [0, 500, 2_000]
const waits = quick ? 200 : 1_000
/** Facts one after the other; and, where each replaces the one before, the rows of runs as they are now. */
const streams = { facts: "FACTS", rows: "ROWS" } as const
const names = namesOf("today")
const caller = "caller 3"
/** Applied in one transaction: more would keep the event loop busy for longer. */
const batch = 250

/** Ids of runs are random: pages of an index over them are, too. */
const idOf = (n: number): string => createHash("md5").update(String(n)).digest("hex")
const empty = new Uint8Array()

/**
 * What a run leaves for the index: created, ended. One run in 50 asked somebody, waited and was answered, one in 20 notifies its caller of its end.
 * Bodies are in the log, and not in the index.
 */
function* factsOf(n: number): Generator<Operation> {
  const run_id = idOf(n)
  const created_at = 1_700_000_000_000 + n * 10
  const notifies = n % 20 === 0
  const asks = n % 50 === 0
  yield {
    kind: "create",
    run_id,
    caller: `caller ${n % 10}`,
    created_at,
    workflow: n % 4 < 2 ? "summarise" : null,
    version: n % 4 < 2 ? "sha256:0123456789abcdef" : null,
    started_by: null,
    key_until: null,
    owner: "replica",
    lease_until: 0,
    last: 0,
    notify_events: notifies ? " completed failed " : null,
    notify_receiver: notifies ? "receiver" : null,
    blobs: [null, null, empty, null, null, notifies ? Buffer.alloc(80) : null, null, null, null],
  }
  const append = { kind: "append", run: run_id, fence: 1, caused: null, outcome: null, error_kind: null } as const
  const open = { finished_at: null, usage: null }
  if (asks) {
    const opened = [{ kind: "question", id: `q${n}`, opened_at: created_at, due_at: created_at + 3_600_000 }] as const
    const asking = { now: created_at, opened, taken: [], parks: true }
    yield {
      ...append,
      ...open,
      first: 1,
      last: 2,
      waits: asking,
      blobs: [empty, null, empty, Buffer.alloc(16, n % 7)],
    }
    yield {
      ...append,
      ...open,
      fence: 2,
      first: 3,
      last: 4,
      waits: { ...asking, opened: [], taken: [`q${n}`], parks: false },
      blobs: [empty, null],
    }
  }
  const usage = { input_tokens: 812, output_tokens: 95, cached_tokens: 0, reasoning_tokens: 0, cost: null }
  // Parking the run ended the first lease.
  const fence = asks ? 2 : 1
  const first = asks ? 5 : 1
  const last = first + 3
  const caused = notifies ? ({ event_id: last, event: "completed", caused_at: created_at + 500 } as const) : null
  const outcome = n % 10 === 0 ? "failed" : "completed"
  yield {
    ...append,
    fence,
    first,
    last,
    finished_at: created_at + 500,
    caused,
    outcome,
    usage: { whole: true, usage },
    blobs: [empty, null],
  }
  if (notifies) {
    yield { kind: "settle notice", run_id, event_id: last, attempts: 1, status: "delivered", due_at: 0, blobs: [null] }
  }
}

/** The row of an ended run, as the last message on its subject has it. */
function rowOf(n: number): SqlValue[] {
  const created_at = 1_700_000_000_000 + n * 10
  const usage = '{"input_tokens":812,"output_tokens":95,"cached_tokens":0,"reasoning_tokens":0,"cost":null}'
  const [workflow, version] = n % 4 < 2 ? ["summarise", "sha256:0123456789abcdef"] : [null, null]
  const outcome = n % 10 === 0 ? "failed" : "completed"
  return [idOf(n), `caller ${n % 10}`, created_at, created_at + 500, workflow, version, outcome, usage, 4_000]
}

function pack(fact: Operation): Uint8Array {
  const blobs = fact.blobs.map((blob) => (blob === null ? null : Buffer.from(blob).toString("base64")))
  return Buffer.from(JSON.stringify({ ...fact, blobs }))
}

function textOf(data: Uint8Array): string {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("utf8")
}

function unpack({ data }: JsMsg): Operation {
  const fact = JSON.parse(textOf(data)) as { readonly blobs: readonly (string | null)[] }
  const blobs = fact.blobs.map((blob) => (blob === null ? null : Buffer.from(blob, "base64")))
  return { ...fact, blobs } as unknown as Operation
}

/** An index that can be deleted: its last sequence is stored with what was applied, and nothing waits for the disk. */
class Index {
  readonly path: string
  readonly #database: DatabaseSync
  readonly #statements: PreparedStatements
  readonly #writes = new Writes(new SqliteLeaseRules("", "bench"))
  seq = 0

  constructor(path: string) {
    this.path = path
    this.#database = new DatabaseSync(this.path)
    this.#database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536")
    for (const step of migrations) this.#database.exec(step)
    this.#database.exec(
      "CREATE TABLE followed (id INTEGER PRIMARY KEY, seq INTEGER NOT NULL); INSERT INTO followed VALUES (1, 0)",
    )
    this.#statements = new PreparedStatements(this.#database)
  }

  apply(messages: readonly JsMsg[]): void {
    const seq = messages.at(-1)?.seq ?? this.seq
    this.#database.exec("BEGIN")
    for (const message of messages) {
      runSteps(this.#writes.steps(unpack(message)), (statement) => execute(this.#statements, statement))
    }
    this.#statements.get("UPDATE followed SET seq = ?").run(seq)
    this.#database.exec("COMMIT")
    this.#writes.over("committed")
    this.seq = seq
  }

  applyRows(messages: readonly JsMsg[]): void {
    const insert = this.#statements.get(
      `INSERT OR REPLACE INTO runs (run_id, caller, created_at, finished_at, workflow, version, outcome, usage, bytes, resumable, fence, lease_until, key)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 2, 0, x'')`,
    )
    this.#database.exec("BEGIN")
    for (const { data } of messages) insert.run(...(JSON.parse(textOf(data)) as SqlValue[]))
    this.#database.exec("COMMIT")
  }

  list(): number {
    const query = { caller, workflow: null, status: null, since: null, error_kind: null, limit: 20, after: null }
    return runSteps(listRuns(query), (statement) => execute(this.#statements, statement)).length
  }

  count(): number {
    return this.#statements.get("SELECT count(*) AS n FROM runs WHERE finished_at IS NOT NULL").get()?.["n"] as number
  }

  /** Of the file, the write-ahead log taken in. */
  bytes(): number {
    this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    return statSync(this.path).size
  }

  close(): void {
    this.#database.close()
  }
}

/** Calls back with the messages of the stream from a sequence on, some at a time, as they come. */
async function follow(
  js: JetStreamClient,
  stream: keyof typeof streams,
  from: number,
  take: (messages: readonly JsMsg[]) => void,
): Promise<() => Promise<void>> {
  const consumer = await js.consumers.get(streams[stream], { opt_start_seq: from })
  let waiting: JsMsg[] = []
  let due = false
  const flush = (): void => {
    due = false
    const now = waiting.splice(0, batch)
    if (waiting.length > 0) later()
    if (now.length > 0) take(now)
  }
  const later = (): void => {
    if (due) return
    due = true
    setImmediate(flush)
  }
  const messages = await consumer.consume({
    max_messages: 4 * batch,
    callback: (message) => {
      waiting.push(message)
      later()
    },
  })
  return async () => {
    waiting = []
    await messages.close()
  }
}

interface Cost {
  readonly seconds: number
  readonly cpu: number
  /** Milliseconds. */
  readonly longestTurn: number
}

/** Reads all that is in a stream. */
async function readAll(
  js: JetStreamClient,
  stream: keyof typeof streams,
  last: number,
  take: (messages: readonly JsMsg[]) => void,
): Promise<Cost> {
  const turns = monitorEventLoopDelay({ resolution: 1 })
  const cpu = process.cpuUsage()
  const begun = performance.now()
  turns.enable()
  const done = Promise.withResolvers<void>()
  const stop = await follow(js, stream, 1, (messages) => {
    take(messages)
    if ((messages.at(-1)?.seq ?? 0) >= last) done.resolve()
  })
  await done.promise
  turns.disable()
  const seconds = (performance.now() - begun) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  await stop()
  return { seconds, cpu: (user + system) / 1_000_000, longestTurn: turns.max / 1_000_000 }
}

/** Publishes facts of runs, as another process: so many at a time, or so many a second until it is ended. */
async function publish(url: string, first: number, last: number, perSecond: number): Promise<void> {
  const connection = await connect({ servers: url })
  const js = jetstream(connection, { timeout: 60_000 })
  const begun = performance.now()
  let sent = 0
  let acks: Promise<unknown>[] = []
  for (let n = first; n <= last; n++) {
    for (const fact of factsOf(n)) {
      acks.push(js.publish(`facts.${idOf(n)}`, pack(fact)))
      sent++
    }
    // And what today's list of runs is made of.
    if (perSecond === 0) {
      const entry = {
        caller: `caller ${n % 10}`,
        workflow: null,
        created_at: 1_700_000_000_000 + n * 10,
        run_id: idOf(n),
      }
      acks.push(js.publish(`rows.${idOf(n)}`, JSON.stringify(rowOf(n))), js.publish(names.listed(entry), empty))
    }
    const ahead = perSecond === 0 ? 0 : (sent / perSecond) * 1_000 - (performance.now() - begun)
    if (acks.length >= 1_000 || ahead > 5) {
      await Promise.all(acks)
      acks = []
    }
    if (ahead > 5) await new Promise((resolve) => setTimeout(resolve, ahead))
  }
  await Promise.all(acks)
  await connection.close()
}

function publisher(url: string, first: number, last: number, perSecond = 0) {
  const args = ["--publish", url, first, last, perSecond].map(String)
  return spawn(process.execPath, [import.meta.filename, ...args], { stdio: "inherit" })
}

/** Milliseconds, sorted. */
interface Waits {
  readonly acknowledged: number[]
  readonly afterwards: number[]
}

/** Writes a fact, and waits until the own index has it. */
async function readOwnWrites(js: JetStreamClient, index: Index, first: number, after: number): Promise<Waits> {
  const acknowledged: number[] = []
  const afterwards: number[] = []
  const passed = new Map<number, () => void>()
  const stop = await follow(js, "facts", after + 1, (messages) => {
    index.apply(messages)
    for (const [seq, tell] of passed) {
      if (seq > index.seq) continue
      passed.delete(seq)
      tell()
    }
  })
  for (let n = 0; n < waits; n++) {
    const [fact] = factsOf(first + n)
    if (fact === undefined) continue
    const begun = performance.now()
    const { seq } = await js.publish(`facts.${idOf(first + n)}`, pack(fact))
    const stored = performance.now()
    if (index.seq < seq) await new Promise<void>((resolve) => passed.set(seq, resolve))
    acknowledged.push(stored - begun)
    afterwards.push(performance.now() - stored)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await stop()
  return { acknowledged: sorted(acknowledged), afterwards: sorted(afterwards) }
}

const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b)
const quantile = (values: readonly number[], q: number): number =>
  values[Math.floor((values.length - 1) * q)] ?? Number.NaN
const ms = (values: readonly number[]): string =>
  `median ${quantile(values, 0.5).toFixed(2)} ms, 99 of 100 within ${quantile(values, 0.99).toFixed(2)} ms, worst ${quantile(values, 1).toFixed(2)} ms`

function show(name: string, cost: Cost, messages: number, runs: number, floor?: Cost): void {
  const { seconds, cpu, longestTurn } = cost
  const figures = [
    `${seconds.toFixed(2)} s`,
    `${(messages / seconds).toFixed(0)} a second`,
    `${((cpu * 1e6) / messages).toFixed(1)} us of CPU each`,
    `${((cpu / runs) * 1e6).toFixed(0)} s of CPU for a million runs${runs === 1_000_000 ? "" : " (extrapolated)"}`,
    `longest turn ${longestTurn.toFixed(0)} ms`,
    ...(floor === undefined
      ? []
      : [`${(seconds / floor.seconds).toFixed(1)}x time`, `${(cpu / floor.cpu).toFixed(1)}x CPU`]),
  ]
  console.log(`  ${name}: ${figures.join(", ")}`)
}

async function ended(child: ChildProcess): Promise<void> {
  const [code] = (await once(child, "exit")) as [number | null]
  if (code !== 0) throw new Error("the facts could not be published")
}

async function bench(): Promise<void> {
  const server = natsServers().at(-1) ?? natsServers()[0]
  const cluster = await startNats(1, "", server)
  const folder = mkdtempSync(join(tmpdir(), "wireworks-index-"))
  try {
    const connection = await connect({ servers: cluster.url })
    const js = jetstream(connection, { timeout: 60_000 })
    const manager = await jetstreamManager(connection)
    const newest = { discard: "old", max_msgs_per_subject: 1, storage: "file", allow_direct: true } as const
    await manager.streams.add({ name: streams.facts, subjects: ["facts.>"], storage: "file" })
    await manager.streams.add({ name: streams.rows, subjects: ["rows.>"], ...newest })
    await manager.streams.add({ name: names.stream("rows"), subjects: [`${names.prefix}.rows.>`], ...newest })
    const read = readAddress(cluster.url)
    if (!read.ok) throw new Error(read.must)
    const broker = await Broker.connect(read.address, noProofs, names)
    console.log(`nats-server ${server.version}, one node, and all processes on this machine.\n`)

    let made = 0
    let index = new Index(join(folder, "none.db"))
    for (const size of sizes) {
      await ended(publisher(cluster.url, made + 1, size))
      made = size
      const facts = (await manager.streams.info(streams.facts)).state
      const rows = (await manager.streams.info(streams.rows)).state
      console.log(
        `${size} runs, ${loadavg()[0]?.toFixed(1)} processes that want to run on ${availableParallelism()} cores`,
      )

      const plain = await readAll(js, "facts", facts.last_seq, () => undefined)
      show(
        `${facts.messages} facts of ${(facts.bytes / facts.messages).toFixed(0)} bytes, read only`,
        plain,
        facts.messages,
        size,
      )
      index.close()
      index = new Index(join(folder, `${size}.db`))
      const indexed = await readAll(js, "facts", facts.last_seq, (part) => index.apply(part))
      if (index.count() !== size) throw new Error(`the index has ${index.count()} runs that ended`)
      show("the same, with the index", indexed, facts.messages, size, plain)
      const plainRows = await readAll(js, "rows", rows.last_seq, () => undefined)
      show(
        `${rows.messages} rows of ${(rows.bytes / rows.messages).toFixed(0)} bytes, read only`,
        plainRows,
        rows.messages,
        size,
      )
      const byRows = new Index(join(folder, `${size}-rows.db`))
      const indexedRows = await readAll(js, "rows", rows.last_seq, (part) => byRows.applyRows(part))
      if (byRows.count() !== size) throw new Error(`the index has ${byRows.count()} runs that ended`)
      show("the same, with the index", indexedRows, rows.messages, size, plainRows)
      const disk = [index, byRows].map((one) => (one.bytes() / size).toFixed(0))
      console.log(`  disk for a million runs: ${disk[0]} MB from facts, ${disk[1]} MB from rows`)
      byRows.close()

      const today: number[] = []
      const found: number[] = []
      for (let round = 0; round < 7; round++) {
        let begun = performance.now()
        const subjects = await broker.list("rows", names.listedOf(caller, null))
        today.push(performance.now() - begun)
        if (subjects.length !== size / 10) throw new Error(`${subjects.length} entries`)
        begun = performance.now()
        if (index.list() !== 20) throw new Error("no page")
        found.push(performance.now() - begun)
      }
      const [before, after] = [quantile(sorted(today), 0.5), quantile(sorted(found), 0.5)]
      console.log(
        `  the newest of a caller's ${size / 10} runs: ${before.toFixed(1)} ms for their subjects alone (today), ${after.toFixed(2)} ms by the index: ${(before / after).toFixed(0)}x\n`,
      )
    }

    console.log("A caller reads its own write: after the broker's acknowledgement, until the own index has it.")
    for (const rate of rates) {
      const first = made + 1
      made += waits
      const others = rate === 0 ? null : publisher(cluster.url, made + 1, made + 1_000_000, rate)
      made += rate === 0 ? 0 : 1_000_000
      // Others publish from now on.
      if (others !== null) await new Promise((resolve) => setTimeout(resolve, 1_000))
      const { last_seq } = (await manager.streams.info(streams.facts)).state
      const { acknowledged, afterwards } = await readOwnWrites(js, index, first, last_seq)
      if (others !== null) {
        others.kill()
        await once(others, "exit")
      }
      console.log(`  ${rate} facts/s of others`)
      console.log(`    the acknowledgement   ${ms(acknowledged)}`)
      console.log(
        `    the wait after it     ${ms(afterwards)}: ${(quantile(afterwards, 0.5) / quantile(acknowledged, 0.5)).toFixed(2)}x`,
      )
    }
    index.close()
    await broker.close()
    await connection.close()
  } finally {
    await cluster.close()
    rmSync(folder, { recursive: true })
  }
}

if (process.argv[2] === "--publish") {
  const [url = "", first, last, perSecond] = process.argv.slice(3)
  await publish(url, Number(first), Number(last), Number(perSecond))
} else await bench()
