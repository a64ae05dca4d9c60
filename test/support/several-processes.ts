import assert from "node:assert/strict"
import { request } from "node:http"
import { text } from "node:stream/consumers"
import { after } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import { folderWith, startWire, type Started } from "../cli/run-wire.ts"
import { isEnd, type SeenEvent } from "../contract/http/read-stream.ts"
import { startServer, type TestServer } from "./http-server.ts"
import { ReconnectingReader } from "./reconnecting-reader.ts"

// A service of several processes. Each request has a connection of its own, and those go to the processes in turns.

/** A model that answers when it is let. */
class HeldModel {
  /** Calls that wait for their answer now, the most that ever did, and all. */
  open = 0
  most = 0
  asked = 0
  origin = ""
  #hold = Promise.withResolvers<void>()

  /** From now on nothing is answered, and all counts begin anew. */
  hold(): void {
    this.#hold = Promise.withResolvers()
    this.open = 0
    this.most = 0
    this.asked = 0
  }

  answer(): void {
    this.#hold.resolve()
  }

  async start(): Promise<TestServer> {
    const server = await startServer((_request, response) => {
      this.asked++
      this.most = Math.max(this.most, ++this.open)
      void this.#hold.promise.then(() => {
        this.open--
        response.writeHead(200, { "content-type": "application/json" })
        const content = [{ type: "output_text", text: JSON.stringify({ message: "done" }) }]
        response.end(JSON.stringify({ output: [{ type: "message", role: "assistant", content }] }))
      })
    })
    this.origin = server.origin
    return server
  }
}

export const model = new HeldModel()
const server = await model.start()
after(() => server.close())

const agent = (name: string, after: string): string =>
  `agent ${name} { model: model.m  instruction: "${name} ${after}"  output { message: string } }`

export const source = (): string => `
provider p from openai { endpoint: "${model.origin}/v1" }
model m from p { id: "m" }
${agent("one", "")}
${agent("two", "{{ agent.one.message }}")}
output { message: agent.two.message }
`

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

/** On a connection of its own. */
export function call(url: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
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

export const inBackground = { prefer: "respond-async" }

export async function startRun(address: string, workflow_source: string): Promise<string> {
  const { status, body } = await call(`${address}/execute`, { workflow_source }, inBackground)
  assert.equal(status, 202, body)
  return (JSON.parse(body) as { run_id: string }).run_id
}

export async function statusOf(address: string, run_id: string): Promise<string> {
  return (JSON.parse((await call(`${address}/execute/${run_id}`)).body) as { status: string }).status
}

/** Lines of the log. */
export function linesOf(service: Started): JsonObject[] {
  const lines = service.output().split("\n").slice(0, -1)
  return lines.flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as JsonObject] : []))
}

export function pidOf(service: Started, msg: string, run_id: string): unknown {
  return linesOf(service).find((line) => line["msg"] === msg && line["run_id"] === run_id)?.["pid"]
}

export async function until(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 240_000
  while (!(await look())) {
    if (Date.now() > deadline) throw new Error(`It did not come to that: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export const serving = (service: Started): unknown[] =>
  linesOf(service)
    .filter(({ msg }) => msg === "service started")
    .map(({ pid }) => pid)

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export async function start(more: Readonly<Record<string, string>> = {}, processes = "2"): Promise<Started> {
  const env = { WIRE_DATA_DIR: folderWith({}), WIRE_PORT: "0", WIRE_RATE_LIMIT: "0", ...more }
  const service = await startWire(["serve", "--processes", processes], env)
  await until("all processes serve", () => new Set(serving(service)).size === Number(processes))
  return service
}

export async function stop(service: Started): Promise<void> {
  service.child.kill("SIGTERM")
  assert.deepEqual(await service.ended, { code: 0, signal: null })
}

/** Kills one of two processes of a service with these settings while both work on runs. */
export async function checkKilledProcess(more: Readonly<Record<string, string>>): Promise<void> {
  model.hold()
  const service = await start(more)
  const { address } = service
  const readers = Array.from({ length: 20 }, () => new ReconnectingReader(address, 300_000))
  const started = await Promise.all(readers.map((reader) => reader.start({ workflow_source: source() })))
  await until("all have called", () => model.asked === 20)
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
  await until("all have called again", () => model.asked === 20 + lost)
  await until("it is started again", async () => /^wire_processes 2$/m.test(await metrics()))
  await until("it is logged", () => serving(service).length === 3)
  assert.match(await metrics(), /^wire_process_restarts_total 1$/m)
  assert.match(await metrics(), /^wire_runs_active 20$/m)
  model.answer()
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
  assert.deepEqual([resumed, model.asked], [lost, 40 + lost])
  assert.match(await metrics(), /^wire_runs_total\{status="completed"\} 20$/m)
  const [death] = linesOf(service).filter(({ msg }) => msg === "a process ended and is started again")
  assert.deepEqual([death?.["child"], death?.["signal"], death?.["pid"]], [victim, "SIGKILL", service.child.pid])
  assert.ok(isAlive(other))
  await stop(service)
}
