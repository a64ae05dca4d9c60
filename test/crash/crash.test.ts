import { LightSignal } from "../../src/base/light-signal.ts"
import assert from "node:assert/strict"
import { hash } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import type { LogEvent } from "../../src/log/events.ts"
import { isTerminal } from "../../src/log/events.ts"
import type { TestServer } from "../support/http-server.ts"
import { startServer } from "../support/http-server.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { atStrength, soakTest } from "../support/strength.ts"
import { within } from "../support/within.ts"
import { logOf, startChild } from "./run-child.ts"
import { openStore, startRuns } from "./service.ts"

// A real process, killed with SIGKILL after each of its appends; the model and the tool's counterpart live on in this one, and
// know what they were asked.

let folder = ""
let server: TestServer
let served = 0

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "wire-crash-"))
  server = await startServer((request, response) => {
    const body = JSON.parse(request.body) as JsonObject
    const answer = request.url === "/tool" ? `noted ${JSON.stringify(body["text"])}` : JSON.stringify(think(body))
    // Answers come one by one, so that each has an append of its own.
    setTimeout(
      () => {
        response.writeHead(200, { "content-type": "application/json" })
        response.end(answer)
      },
      10 + ((served++ * 7) % 5) * 8,
    )
  })
})

after(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The same answer for the same request, as a model without chance would give it. */
function think(body: JsonObject): JsonObject {
  const input = body["input"] as JsonObject[]
  const text = input.map((item) => JSON.stringify(item["content"] ?? item["output"] ?? "")).join("\n")
  const called = input.some((item) => item["type"] === "function_call_output")
  if (body["tools"] !== undefined && !called && text.includes("Scheme")) {
    const call = { type: "function_call", call_id: "c", name: "note", arguments: '{"text":"scheme"}' }
    return { output: [call], usage: { input_tokens: 5, output_tokens: 1 } }
  }
  const message = hash("sha256", text).slice(0, 12)
  const said = text.includes("Summarise the conversation") ? message : JSON.stringify({ message })
  const content = [{ type: "output_text", text: said }]
  return { output: [{ type: "message", role: "assistant", content }], usage: { input_tokens: 3, output_tokens: 2 } }
}

/** Runs the workflow in a process of its own, or continues the run. */
async function child(place: string, appends: number, known?: string): Promise<{ killed: boolean; run_id: string }> {
  const more = known === undefined ? {} : { run_id: known }
  const life = startChild({ workflow: "usual", place, origin: server.origin, appends, folder, ...more })
  const killed = await life.killed
  return { killed, run_id: known ?? (await within(30_000, "the run's id", life.run)) }
}

/** What the counterparts were asked since, each by a name. */
function asked(since: number): string[] {
  return server.received.slice(since).map(({ url, body }) => {
    if (url === "/tool") return `tool ${(JSON.parse(body) as { call_id: string }).call_id}`
    const { input, tools } = JSON.parse(body) as { input: JsonObject[]; tools?: JsonObject[] }
    return `model ${tools === undefined ? "" : "with tools "}${JSON.stringify(input)}`
  })
}

/** Names of the model requests whose answers an agent's end in the log rests on. */
function instructionsDone(events: readonly LogEvent[]): string[] {
  const started = new Map<string, string>()
  const done: string[] = []
  for (const { type, data } of events) {
    if (type === "agent_started") started.set(`${data.agent}#${data.iteration}`, data.instruction)
    if (type === "agent_completed") done.push(started.get(`${data.agent}#${data.iteration}`) ?? "")
  }
  return done
}

function result(event: LogEvent | undefined): unknown {
  assert.equal(event?.type, "workflow_completed")
  return event?.type === "workflow_completed" ? event.data.output.result : null
}

/** Facts that a crash may not change: everything but times, ids of calls, and the note of the resumption itself. */
function facts(events: readonly LogEvent[]): string[] {
  return events
    .filter(({ type }) => type !== "run_resumed")
    .map(({ type, data }) => {
      const {
        at: _,
        duration_ms: __,
        calls: ___,
        call_id: ____,
        cached: _____,
        usage: ______,
        ...rest
      } = data as JsonObject
      return JSON.stringify([type, rest])
    })
    .toSorted()
}

interface Whole {
  readonly result: unknown
  readonly facts: readonly string[]
}

/** The run as it goes when nobody kills it. Cache entries are a database's own, so that each starts without any. */
async function undisturbed(path: string): Promise<Whole> {
  const { run_id } = await child(path, 0)
  const events = await logOf(path, run_id)
  return { result: result(events.at(-1)), facts: facts(events) }
}

/** After which appends to kill it: of `npm test`, one in the middle. The soak goes on until the run ends by itself. */
const schedule = atStrength(
  [5],
  Array.from({ length: 1000 }, (_, index) => index + 1),
)

const inSqlite = (name: string): string => join(folder, `${name}.db`)

test("killed after every single append, and taken over by another process: the same end, nothing done twice", () =>
  killedAfterEach(inSqlite))

soakTest("the same on PostgreSQL", async () => {
  const postgres = await startPostgres()
  try {
    await killedAfterEach((name) => `${postgres.url()}#${name.replace("-", "_")}`)
  } finally {
    await postgres.close()
  }
})

async function killedAfterEach(placeOf: (name: string) => string): Promise<void> {
  const whole = await undisturbed(placeOf("whole"))
  for (const appends of schedule) {
    const path = placeOf(`kill-${appends}`)
    const { killed, run_id } = await child(path, appends)
    const before = await logOf(path, run_id)
    const where = `after append ${appends}, event ${before.length} (${before.at(-1)?.type ?? "none"})`
    if (!killed) {
      assert.ok(appends > 8, `only ${appends} appends`)
      assert.deepEqual(result(before.at(-1)), whole.result)
      return
    }
    const since = server.received.length
    const store = await openStore(path)
    const service = startRuns(store, server.origin)
    await service.runs.recover()
    const end = await within(30_000, `the end ${where}`, service.runs.ending(run_id, new LightSignal()))
    await service.close()
    await store.close()

    const events = await logOf(path, run_id)
    assert.deepEqual(result(end ?? undefined), whole.result, where)
    assert.deepEqual(
      events.map(({ id }) => id),
      events.map((_, index) => index + 1),
      where,
    )
    assert.deepEqual(events.slice(0, before.length), before, where)
    assert.deepEqual(facts(events), whole.facts, where)
    assert.equal(events.filter(({ type }) => isTerminal(type)).length, 1, where)

    const again = asked(since)
    for (const instruction of instructionsDone(before)) {
      // The last message of a request is the step's own; a later agent may quote it in its history.
      const repeated = again.filter((name) => name.endsWith(`${JSON.stringify(instruction).slice(1, -1)}"}]}]`))
      assert.deepEqual(repeated, [], where)
    }
    for (const event of before) {
      if (event.type !== "tool_call_completed") continue
      assert.ok(!again.includes(`tool ${event.data.call_id}`), where)
    }
    const tools = asked(0).filter((name) => name.startsWith("tool "))
    for (const event of events) {
      if (event.type !== "tool_call_started") continue
      const made = tools.filter((name) => name === `tool ${event.data.call_id}`).length
      assert.ok(made === 1 || made === 2, `${made} calls ${where}`)
    }
  }
}

soakTest("killed after each append of each of its lives, a run still gets to its end", async () => {
  const path = join(folder, "loop.db")
  const first = await child(path, 1)
  const { run_id } = first
  let { killed } = first
  let lives = 1
  while (killed) {
    assert.ok(lives < 100, "the run gets nowhere")
    // The note of the resumption is an append of its own, or goes with the first that follows.
    ;({ killed } = await child(path, 2, run_id))
    lives++
  }
  assert.ok(lives > 4, `${lives} lives`)
  const events = await logOf(path, run_id)
  const { result: expected } = await undisturbed(inSqlite("whole-again"))
  assert.deepEqual(result(events.at(-1)), expected)
  // A life that was ended by the very last append leaves the next one nothing to resume.
  const resumed = events.filter(({ type }) => type === "run_resumed").length
  assert.ok(resumed === lives - 1 || resumed === lives - 2, `${resumed} of ${lives} lives`)
})
