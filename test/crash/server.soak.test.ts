import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, beforeEach, describe, it } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import { startWire } from "../cli/run-wire.ts"
import type { SeenEvent } from "../contract/http/read-stream.ts"
import { allEvents, isEnd } from "../contract/http/read-stream.ts"
import type { TestServer } from "../support/http-server.ts"
import { startServer } from "../support/http-server.ts"
import { ReconnectingReader } from "../support/reconnecting-reader.ts"
import { within } from "../support/within.ts"

// The service as a process, with its clients on the other side of real connections: killed, and asked to stop.

let folder = ""
let backend: TestServer
/** Calls by their instruction. */
let calls = new Map<string, number>()
/** Their instructions in the order in which they came. */
let asked: string[] = []
/** Decides when a call is answered. */
let answerWhen: (instruction: string) => Promise<void>
let called: () => void = () => {}

before(async () => {
  backend = await startServer((request, response) => {
    const instruction = instructionOf(JSON.parse(request.body) as JsonObject)
    calls.set(instruction, (calls.get(instruction) ?? 0) + 1)
    asked.push(instruction)
    called()
    void answerWhen(instruction).then(() => {
      response.writeHead(200, { "content-type": "application/json" })
      const content = [{ type: "output_text", text: JSON.stringify({ message: `said ${instruction}` }) }]
      response.end(JSON.stringify({ output: [{ type: "message", role: "assistant", content }] }))
    })
  })
})
after(() => backend.close())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wire-server-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  calls = new Map()
  asked = []
})

function instructionOf(body: JsonObject): string {
  const [message] = body["input"] as { content: { text: string }[] | string }[]
  const content = message?.content ?? ""
  return typeof content === "string" ? content : (content[0]?.text ?? "")
}

const agent = (name: string, instruction: string, loop = ""): string =>
  `agent ${name}${loop} { model: model.m  instruction: "${instruction}"  output { message: string } }`

const source = (): string => `
input { n: string }
provider p from openai { endpoint: "${backend.origin}/v1" }
model m from p { id: "m" }
${agent("one", "{{ input.n }} one")}
${agent("each", "{{ input.n }} each {{ item }}", ' for item in ["a", "b", "c"]')}
${agent("two", "{{ input.n }} two after {{ agent.one.message }}")}
${agent("three", "{{ input.n }} three after {{ agent.two.message }} {{ agent.each.*.message }}")}
output { message: agent.three.message }
`
/** Model calls of one undisturbed run. */
const callsOfRun = 6

const settings = (port: number) => ({
  WIRE_PORT: String(port),
  WIRE_DATA_DIR: folder,
  WIRE_RATE_LIMIT: "0",
  WIRE_LOG_LEVEL: "error",
})

const portOf = (address: string): number => Number(new URL(address).port)

function checkWhole(events: readonly SeenEvent[], what: string): void {
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, index) => index + 1),
    what,
  )
  assert.equal(events.filter(isEnd).length, 1, what)
}

/** What the agents were asked whose end a client has seen. */
function answeredOf(events: readonly SeenEvent[]): string[] {
  const started = new Map<string, string>()
  const answered: string[] = []
  for (const { type, data } of events) {
    const step = `${String(data["agent"])}#${String(data["iteration"])}`
    if (type === "agent_started") started.set(step, String(data["instruction"]))
    if (type === "agent_completed") answered.push(started.get(step) ?? "")
  }
  return answered
}

/** Once an agent's answer has led to another question, it is not asked for again, whenever the process died. */
function checkOrder(n: string): void {
  const first = (what: string): number => asked.findIndex((one) => one.startsWith(`${n} ${what}`))
  const last = (what: string): number => asked.findLastIndex((one) => one.startsWith(`${n} ${what}`))
  assert.ok(last("one") < first("two"), `one of ${n}`)
  assert.ok(last("two") < first("three"), `two of ${n}`)
  assert.ok(last("each") < first("three"), `each of ${n}`)
}

describe("kill -9 of the service with 50 runs under way", () => {
  it("its clients come back to whole streams, and no agent that had completed runs again", async () => {
    const runs = 50
    // Slowly enough that every kill finds runs in all their states.
    const all = Promise.withResolvers<void>()
    answerWhen = async () => {
      await all.promise
      await new Promise((resolve) => setTimeout(resolve, 50 + ((asked.length * 317) % 800)))
    }
    let service = await startWire(["serve"], settings(0))
    const port = portOf(service.address)
    const readers = Array.from({ length: runs }, () => new ReconnectingReader(service.address, 300_000))
    const body = (n: number) => ({ workflow_source: source(), input: { n: `run ${n}` } })
    const started = await Promise.all(readers.map((reader, n) => reader.start(body(n))))

    const answered = (): string[] => readers.flatMap(({ events }) => answeredOf(events))
    all.resolve()
    let resumed = 0
    let reconnected = 0
    const deaths: { readonly calls: number; readonly answered: readonly string[] }[] = []
    for (const share of [0.1, 0.2, 0.3, 0.3, 0.5, 0.7, 0.7]) {
      await until(async () => (answered().length >= runs * callsOfRun * share ? true : null))
      service.child.kill("SIGKILL")
      assert.deepEqual(await service.ended, { code: null, signal: "SIGKILL" })
      deaths.push({ calls: asked.length, answered: answered() })
      service = await startWire(["serve"], settings(port))
    }
    await Promise.all(started.map(({ end }) => end))

    for (const [n, { events, run_id, connections }] of readers.entries()) {
      const what = `run ${n}`
      checkWhole(events, what)
      assert.equal(events.at(-1)?.type, "workflow_completed", what)
      // On a busy machine a run may have ended before the first kill.
      if (connections > 1) reconnected++
      assert.deepEqual(await allEvents(await fetch(`${service.address}/execute/${run_id}/events`)), events, what)
      checkOrder(what)
      resumed += events.filter(({ type }) => type === "run_resumed").length
    }
    for (const death of deaths) {
      const again = new Set(asked.slice(death.calls))
      for (const instruction of death.answered) assert.equal(again.has(instruction), false, instruction)
    }
    assert.ok(reconnected > runs / 2 && resumed > runs / 2, `${reconnected} reconnected, ${resumed} resumptions`)
    assert.equal(calls.size, runs * callsOfRun)
    assert.equal(service.output().match(/"level":"error"/g), null)
    service.child.kill("SIGTERM")
    assert.deepEqual(await service.ended, { code: 0, signal: null })
  })
})

describe("SIGTERM to the service with runs under way", () => {
  it("no new runs, a grace time, and the rest goes on after the restart", async () => {
    const released = Promise.withResolvers<void>()
    const later = Promise.withResolvers<void>()
    answerWhen = (instruction) => (instruction.startsWith("quick") ? released.promise : later.promise)
    const service = await startWire(["serve"], settings(0))
    const port = portOf(service.address)
    const [quick, slow] = ["quick", "slow"].map((n) => ({
      n,
      reader: new ReconnectingReader(service.address, 300_000),
    }))
    assert.ok(quick !== undefined && slow !== undefined)
    const [quickly, slowly] = await Promise.all(
      [quick, slow].map(({ n, reader }) => reader.start({ workflow_source: source(), input: { n } })),
    )
    assert.ok(quickly !== undefined && slowly !== undefined)
    const json = fetch(`${service.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ workflow_source: source(), input: { n: "unkeyed" } }),
    })
    const keyed = (): Promise<Response> =>
      fetch(`${service.address}/execute`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": "done" },
        body: JSON.stringify({ workflow_source: 'output { m: "done" }' }),
      })
    assert.equal((await keyed()).status, 200)
    const busy = Promise.withResolvers<void>()
    called = () => {
      if (calls.size >= 12) busy.resolve()
    }
    called()
    await within(30_000, "the first calls", busy.promise)
    called = () => {}

    assert.equal((await fetch(`${service.address}/readyz`)).status, 200)
    service.child.kill("SIGTERM")
    const ready = await until(async () => {
      const response = await fetch(`${service.address}/readyz`)
      return response.status === 200 ? null : response
    })
    assert.deepEqual([ready.status, await ready.json()], [503, { status: "draining" }])
    assert.equal((await fetch(`${service.address}/healthz`)).status, 200)
    const refused = await fetch(`${service.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ workflow_source: source(), input: { n: "late" } }),
    })
    assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "1"])
    assert.equal(((await refused.json()) as { error: { kind: string } }).error.kind, "overloaded")

    // A request for a run that exists creates nothing new.
    const replayed = await keyed()
    assert.deepEqual([replayed.status, replayed.headers.get("idempotency-replayed")], [200, "true"])

    // What ends within the grace time ends as ever.
    released.resolve()
    await within(30_000, "the end of the quick run", quickly.end)
    assert.equal(quick.reader.connections, 1)
    checkWhole(quick.reader.events, "quick")
    const cut = await within(30_000, "the answer to the JSON client", json)
    const { run_id: unkeyed } = (await cut.json()) as { run_id: string }
    assert.deepEqual([cut.status, cut.headers.get("location")], [503, `/execute/${unkeyed}`])
    assert.deepEqual(await within(30_000, "the stop", service.ended), { code: 0, signal: null })
    assert.equal(slow.reader.events.some(isEnd), false)

    const again = await startWire(["serve"], settings(port))
    later.resolve()
    await within(30_000, "the end of the slow run", slowly.end)
    checkWhole(slow.reader.events, "slow")
    assert.equal(slow.reader.events.at(-1)?.type, "workflow_completed")
    assert.equal(slow.reader.events.filter(({ type }) => type === "run_resumed").length, 1)
    const record = await until(async () => {
      const found = (await (await fetch(`${again.address}/execute/${unkeyed}`)).json()) as { status: string }
      return found.status === "running" ? null : found
    })
    assert.equal(record.status, "completed")
    again.child.kill("SIGTERM")
    assert.deepEqual(await again.ended, { code: 0, signal: null })
  })
})

async function until<T>(look: () => Promise<T | null>): Promise<T> {
  const deadline = Date.now() + 300_000
  for (;;) {
    const found = await look()
    if (found !== null) return found
    if (Date.now() > deadline) throw new Error("It did not come to that")
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
