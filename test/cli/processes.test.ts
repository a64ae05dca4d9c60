import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { after, before, describe, test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import type { SeenEvent } from "../contract/http/read-stream.ts"
import { isEnd, parseFrame } from "../contract/http/read-stream.ts"
import { startServer, type TestServer } from "../support/http-server.ts"
import { startNats } from "../support/nats-server.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { ReconnectingReader } from "../support/reconnecting-reader.ts"
import { soakTest } from "../support/strength.ts"
import { folderWith, runWire, startWire, type Started } from "./run-wire.ts"

// `wire serve --processes 2`: real processes, real connections. Each request has a connection of its own, and those go to the processes in turns.

let backend: TestServer
/** Calls that wait for their answer now, and the most that ever did. */
let open = 0
let most = 0
let asked = 0
let hold = Promise.withResolvers<void>()

before(async () => {
  backend = await startServer((_request, response) => {
    asked++
    most = Math.max(most, ++open)
    void hold.promise.then(() => {
      open--
      response.writeHead(200, { "content-type": "application/json" })
      const content = [{ type: "output_text", text: JSON.stringify({ message: "done" }) }]
      response.end(JSON.stringify({ output: [{ type: "message", role: "assistant", content }] }))
    })
  })
})
after(() => backend.close())

function holdAnswers(): void {
  hold = Promise.withResolvers()
  open = 0
  most = 0
  asked = 0
}

const agent = (name: string, after: string): string =>
  `agent ${name} { model: model.m  instruction: "${name} ${after}"  output { message: string } }`

const source = (): string => `
provider p from openai { endpoint: "${backend.origin}/v1" }
model m from p { id: "m" }
${agent("one", "")}
${agent("two", "{{ agent.one.message }}")}
output { message: agent.two.message }
`

const asking = `
ask name { question: "Who are you?"  output { name: string } }
output { name: ask.name.name }
`

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** On a connection of its own. */
function call(url: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      agent: false,
      method: body === undefined ? "GET" : "POST",
      headers: { "content-type": "application/json", ...headers },
    })
    sent.on("error", reject)
    sent.on("response", (response) => {
      text(response).then(
        (received) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received }),
        reject,
      )
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

const inBackground = { prefer: "respond-async" }

async function startRun(address: string, workflow_source: string): Promise<string> {
  const { status, body } = await call(`${address}/execute`, { workflow_source }, inBackground)
  assert.equal(status, 202, body)
  return (JSON.parse(body) as { run_id: string }).run_id
}

async function statusOf(address: string, run_id: string): Promise<string> {
  return (JSON.parse((await call(`${address}/execute/${run_id}`)).body) as { status: string }).status
}

/** Lines of the log. */
function linesOf(service: Started): JsonObject[] {
  const lines = service
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{"))
  return lines.map((line) => JSON.parse(line) as JsonObject)
}

function pidOf(service: Started, msg: string, run_id: string): unknown {
  return linesOf(service).find((line) => line["msg"] === msg && line["run_id"] === run_id)?.["pid"]
}

async function until(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 240_000
  while (!(await look())) {
    if (Date.now() > deadline) throw new Error(`It did not come to that: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

const serving = (service: Started): unknown[] =>
  linesOf(service)
    .filter(({ msg }) => msg === "service started")
    .map(({ pid }) => pid)

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function start(more: Readonly<Record<string, string>> = {}, processes = "2"): Promise<Started> {
  const env = { WIRE_DATA_DIR: folderWith({}), WIRE_PORT: "0", WIRE_RATE_LIMIT: "0", ...more }
  const service = await startWire(["serve", "--processes", processes], env)
  await until("all processes serve", () => new Set(serving(service)).size === Number(processes))
  return service
}

async function stop(service: Started): Promise<void> {
  service.child.kill("SIGTERM")
  assert.deepEqual(await service.ended, { code: 0, signal: null })
}

const processesOf = (body: string): unknown => (JSON.parse(body) as JsonObject)["processes"]

describe("wire serve --processes", () => {
  test("all processes answer on one port, with one log, one /metrics and one audit trail", async () => {
    const folder = folderWith({})
    const service = await start({ WIRE_AUDIT_FILE: join(folder, "audit.jsonl") })
    const { address } = service
    assert.match(service.output(), /processes +2 \(WIRE_PROCESSES\)/)
    const hello = { workflow_source: 'output { m: "hello" }' }
    const answers = await Promise.all(Array.from({ length: 20 }, () => call(`${address}/execute`, hello)))
    for (const { status, body } of answers) assert.deepEqual([status, body], [200, '{"m":"hello"}'])
    const pids = (): Set<unknown> =>
      new Set(
        linesOf(service)
          .filter(({ msg }) => msg === "run ended")
          .map(({ pid }) => pid),
      )
    await until("lines of both", () => pids().size === 2)
    assert.ok(!pids().has(service.child.pid))
    for (let n = 0; n < 4; n++) {
      const { body } = await call(`${address}/metrics`)
      assert.match(body, /^wire_runs_total\{status="completed"\} 20$/m)
      assert.match(body, /^wire_processes 2$/m)
    }
    assert.deepEqual(processesOf((await call(`${address}/healthz`)).body), { up: 2, of: 2 })
    await stop(service)
    const verified = await runWire(["audit", "verify", join(folder, "audit.jsonl")])
    assert.equal(verified.code, 0, verified.err)
    assert.equal(readFileSync(join(folder, "audit.jsonl"), "utf8").trim().split("\n").length, 20)
  })

  test("the limits of runs are those of all processes together", async () => {
    holdAnswers()
    const service = await start({ WIRE_MAX_RUNS: "3", WIRE_MAX_QUEUED: "4" })
    const { address } = service
    const body = { workflow_source: source() }
    const admitted = await Promise.all(Array.from({ length: 12 }, () => call(`${address}/execute`, body, inBackground)))
    const started = admitted.filter(({ status }) => status === 202)
    const refused = admitted.filter(({ status }) => status === 503)
    assert.deepEqual([started.length, refused.length], [7, 5])
    for (const one of refused) assert.match(one.body, /The service is at capacity/)
    await until("three run", () => open === 3)
    hold.resolve()
    const ids = started.map((one) => (JSON.parse(one.body) as { run_id: string }).run_id)
    for (const run_id of ids) await until("its end", async () => (await statusOf(address, run_id)) === "completed")
    assert.equal(most, 3)
    assert.equal(asked, 14)
    // All places are free again.
    for (let n = 0; n < 8; n++) assert.equal((await call(`${address}/execute`, body)).status, 200)
    await stop(service)
  })

  test("the share of a caller is one, too", async () => {
    holdAnswers()
    const service = await start({
      WIRE_API_KEYS: "ann:a-key-of-ann-0123456,bob:a-key-of-bob-0123456",
      WIRE_MAX_RUNS: "4",
      WIRE_MAX_QUEUED: "2",
    })
    const execute = (key: string): Promise<Answer> =>
      call(
        `${service.address}/execute`,
        { workflow_source: source() },
        { ...inBackground, authorization: `Bearer a-key-of-${key}-0123456` },
      )
    // Half of the four places, and half of those to wait in.
    const ann = await Promise.all(Array.from({ length: 6 }, () => execute("ann")))
    assert.deepEqual(
      ann.map(({ status }) => status).toSorted((a, b) => a - b),
      [202, 202, 202, 429, 429, 429],
    )
    const bob = await Promise.all(Array.from({ length: 3 }, () => execute("bob")))
    assert.deepEqual(
      bob.map(({ status }) => status),
      [202, 202, 202],
    )
    await until("two of each run", () => open === 4)
    hold.resolve()
    await until("all calls", () => asked === 12)
    assert.equal(most, 4)
    await stop(service)
  })

  test("cancel requests, streams and answers of people reach a run in another process", async () => {
    holdAnswers()
    const service = await start()
    const { address } = service
    let elsewhere = 0
    for (let n = 0; n < 20 && elsewhere === 0; n++) {
      const run_id = await startRun(address, source())
      const stream = call(`${address}/execute/${run_id}/events`, undefined, { "last-event-id": "1" })
      await until("its first call", () => asked === n + 1)
      // Connections go to the processes in turns.
      if (n % 2 === 1) await call(`${address}/healthz`)
      assert.equal((await call(`${address}/execute/${run_id}/cancel`, {})).status, 202)
      const events = (await stream).body.split("\n\n").flatMap((frame) => parseFrame(frame) ?? [])
      assert.deepEqual(
        events.map(({ id }) => id),
        events.map((_, at) => at + 2),
      )
      assert.equal(events.at(-1)?.type, "workflow_cancelled")
      await until("the line", () => pidOf(service, "cancel requested", run_id) !== undefined)
      if (pidOf(service, "cancel requested", run_id) !== pidOf(service, "run admitted", run_id)) elsewhere++
    }
    assert.ok(elsewhere > 0, "no request came to another process")
    for (let n = 0; n < 3; n++) {
      const run_id = await startRun(address, asking)
      await until("it waits", async () => (await statusOf(address, run_id)) === "waiting")
      const questions = (await call(`${address}/execute/${run_id}/questions`)).body
      const [question] = (JSON.parse(questions) as { questions: { id: string }[] }).questions
      const url = `${address}/execute/${run_id}/questions/${question?.id ?? ""}`
      const { status, body } = await call(url, { answer: { name: "Ada" } })
      assert.ok(status < 300, body)
      await until("its end", async () => (await statusOf(address, run_id)) === "completed")
    }
    hold.resolve()
    await stop(service)
  })

  const killed = async (more: Readonly<Record<string, string>>): Promise<void> => {
    holdAnswers()
    const service = await start(more)
    const { address } = service
    const readers = Array.from({ length: 20 }, () => new ReconnectingReader(address, 300_000))
    const started = await Promise.all(readers.map((reader) => reader.start({ workflow_source: source() })))
    await until("all have called", () => asked === 20)
    const pidsOfRuns = (): unknown[] => readers.map(({ run_id }) => pidOf(service, "run admitted", run_id))
    await until("all are logged", () => !pidsOfRuns().includes(undefined))
    // Connections go to the processes in turns, if both are as quick: the one that has more runs dies.
    const runsOf = (pid: unknown): number => pidsOfRuns().filter((one) => one === pid).length
    const [victim, other] = (serving(service) as [number, number]).toSorted((a, b) => runsOf(b) - runsOf(a))
    assert.ok(victim !== undefined && other !== undefined)
    const lost = runsOf(victim)
    assert.ok(lost >= 10)
    const metrics = async (): Promise<string> => (await call(`${address}/metrics`)).body
    assert.match(await metrics(), /^wire_runs_active 20$/m)
    process.kill(victim, "SIGKILL")
    // The other one takes up all of its runs, and another process takes its place.
    await until("all have called again", () => asked === 20 + lost)
    await until("it is started again", async () => /^wire_processes 2$/m.test(await metrics()))
    await until("it is logged", () => serving(service).length === 3)
    assert.match(await metrics(), /^wire_process_restarts_total 1$/m)
    assert.match(await metrics(), /^wire_runs_active 20$/m)
    hold.resolve()
    await Promise.all(started.map(({ end }) => end))
    let resumed = 0
    for (const { events, run_id } of readers) {
      assert.deepEqual(
        events.map(({ id }) => id),
        events.map((_: SeenEvent, at: number) => at + 1),
      )
      assert.equal(events.filter(isEnd).length, 1)
      assert.equal(events.at(-1)?.type, "workflow_completed")
      resumed += events.filter(({ type }) => type === "run_resumed").length
      assert.equal(await statusOf(address, run_id), "completed")
    }
    assert.deepEqual([resumed, asked], [lost, 40 + lost])
    assert.match(await metrics(), /^wire_runs_total\{status="completed"\} 20$/m)
    const [death] = linesOf(service).filter(({ msg }) => msg === "a process ended and is started again")
    assert.deepEqual([death?.["child"], death?.["signal"], death?.["pid"]], [victim, "SIGKILL", service.child.pid])
    assert.ok(isAlive(other))
    await stop(service)
  }

  test("kill -9 of a process during 20 runs: the other takes them up, and another process takes its place", () =>
    killed({}))

  soakTest("the same on PostgreSQL", async (t) => {
    const server = await startPostgres()
    t.after(() => server.close())
    await killed({ WIRE_STORE: server.url(), WIRE_ENCRYPTION_KEY: randomBytes(32).toString("base64") })
  })

  soakTest("the same on NATS", async (t) => {
    const broker = await startNats(1)
    t.after(() => broker.close())
    await killed({ WIRE_STORE: broker.url, WIRE_ENCRYPTION_KEY: randomBytes(32).toString("base64") })
  })

  test("SIGTERM waits for the runs of all processes, and kill -9 of the parent ends them", async () => {
    holdAnswers()
    const service = await start()
    const { address } = service
    const runs = Array.from({ length: 4 }, () => call(`${address}/execute`, { workflow_source: source() }))
    await until("all have called", () => asked === 4)
    service.child.kill("SIGTERM")
    await until("both drain", () => linesOf(service).filter(({ msg }) => msg === "service stops").length === 2)
    hold.resolve()
    for (const { status } of await Promise.all(runs)) assert.equal(status, 200)
    assert.deepEqual(await service.ended, { code: 0, signal: null })

    const again = await start()
    const pids = serving(again) as number[]
    again.child.kill("SIGKILL")
    await until("they end", () => !pids.some(isAlive))
  })

  test("what it cannot do is one sentence", async () => {
    const memory = await runWire(["serve", "--processes", "2", "--store", "memory", "--port", "0"])
    assert.deepEqual(
      [memory.code, memory.err],
      [
        2,
        "WIRE_STORE is memory, which only one process can have: set WIRE_PROCESSES to 1, or WIRE_STORE to sqlite or another store that processes share.\n",
      ],
    )
    const none = await runWire(["serve", "--processes", "0"])
    assert.deepEqual(
      [none.code, none.err],
      [2, '--processes is "0": it must be a whole number from 1 to 256, or auto.\n'],
    )
    const folder = folderWith({ file: "" })
    const refused = await runWire(["serve", "--processes", "2", "--port", "0", "--data-dir", join(folder, "file", "x")])
    assert.equal(refused.code, 1)
    assert.match(refused.err, /^WIRE_DATA_DIR is ".*": it must be a folder that can be written to \(.*\)\.\n$/)
  })
})
