import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, beforeEach, test } from "node:test"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { startWire } from "../cli/run-wire.ts"
import type { SeenEvent } from "../contract/http/read-stream.ts"
import { isEnd } from "../contract/http/read-stream.ts"
import type { TestServer } from "../support/http-server.ts"
import { startServer } from "../support/http-server.ts"
import { ReconnectingReader } from "../support/reconnecting-reader.ts"
import { within } from "../support/within.ts"

// The service as a process on SQLite, killed with SIGKILL while it is inside of a called workflow, and started again.

let folder = ""
let backend: TestServer
/** The instructions of all model calls, in the order in which they came. */
let asked: string[] = []
/** Calls whose instruction contains this are not answered, as long as it is set. */
let held: string | null = null
let called: () => void = () => undefined

before(async () => {
  backend = await startServer((request, response) => {
    const { input } = JSON.parse(request.body) as { input: JsonObject[] }
    const instruction = textOf(input.find(({ role }) => role === "user"))
    asked.push(instruction)
    called()
    if (held !== null && instruction.includes(held)) return
    response.writeHead(200, { "content-type": "application/json" })
    const hasAnswer = input.some(({ type }) => type === "function_call_output")
    const output =
      instruction.startsWith("host") && !hasAnswer
        ? [{ type: "function_call", call_id: "c1", name: "inner", arguments: JSON.stringify({ text: "x" }) }]
        : [{ type: "message", role: "assistant", content: [{ type: "output_text", text: said(instruction) }] }]
    response.end(JSON.stringify({ output, usage: { input_tokens: 3, output_tokens: 2 } }))
  })
})
after(() => backend.close())
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wire-called-"))
  after(() => rmSync(folder, { recursive: true, force: true }))
  asked = []
  held = null
})

function textOf(message: JsonObject | undefined): string {
  const content = message?.["content"]
  if (typeof content === "string") return content
  const [first] = (content ?? []) as { text: string }[]
  return first?.text ?? ""
}

function said(instruction: string): string {
  return JSON.stringify({ message: `<${instruction}>` })
}

const declarations = (): string =>
  `provider p from openai { endpoint: "${backend.origin}/v1" }\nmodel m from p { id: "m" }`

const agent = (name: string, instruction: string, more = ""): string =>
  `agent ${name} { model: model.m  instruction: "${instruction}"  ${more} output { message: string } }`

/** Two steps, the second of which needs the first. */
const inner = (): string => `
input { text: string }
${declarations()}
${agent("one", "one {{ input.text }}")}
${agent("two", "two {{ agent.one.message }}")}
output { text: agent.two.message }
`

/** Calls that workflow between a step before and a step after. */
const middle = (): string => `
input { text: string }
${declarations()}
workflow inner from "./inner.wire"
${agent("before", "before {{ input.text }}")}
dynamic { r: call workflow.inner { input { text: agent.before.message } } }
${agent("after", "after {{ dynamic.r.text }}")}
output { text: agent.after.message }
`

const asking = (): string => `
input { text: string }
${declarations()}
${agent("one", "one {{ input.text }}")}
ask sure { question: "Sure of {{ agent.one.message }}?"  output { note: string } }
${agent("two", "two {{ ask.sure.note }}")}
output { text: agent.two.message }
`

interface Killed {
  readonly events: readonly SeenEvent[]
  readonly result: JsonValue
  /** What was asked again after the process was killed. */
  readonly again: readonly string[]
}

interface Killing {
  readonly source: string
  readonly modules: Readonly<Record<string, string>>
  /** The model call during which the process is killed, or that goes on while it is. */
  readonly during: string | null
  /** An event without which it is too early. */
  readonly seen?: string
  /** Answers the question that is open when the process is back. */
  readonly answer?: JsonObject
}

/** Runs a workflow on a service that is killed once. */
async function killed({ source, modules, during, seen, answer }: Killing): Promise<Killed> {
  held = during
  const settings = (port: number): Record<string, string> => ({
    WIRE_PORT: String(port),
    WIRE_DATA_DIR: folder,
    WIRE_RATE_LIMIT: "0",
    WIRE_LOG_LEVEL: "error",
  })
  const first = await startWire(["serve"], settings(0))
  const port = Number(new URL(first.address).port)
  const reader = new ReconnectingReader(first.address, 300_000)
  const inFlight = Promise.withResolvers<void>()
  called = () => {
    if (during === null || asked.at(-1)?.includes(during) === true) inFlight.resolve()
  }
  const { end } = await reader.start({ workflow_source: source, file: "main.wire", modules })
  await within(60_000, "the call that is under way", inFlight.promise)
  await within(60_000, seen ?? "", shows(reader, seen))

  first.child.kill("SIGKILL")
  assert.deepEqual(await first.ended, { code: null, signal: "SIGKILL" })
  held = null
  const count = asked.length
  const second = await startWire(["serve"], settings(port))
  if (answer !== undefined) await give(second.address, reader.run_id, answer)
  await end
  const { events } = reader
  assert.deepEqual(
    events.map(({ id }) => id),
    events.map((_, index) => index + 1),
  )
  assert.equal(events.filter(isEnd).length, 1)
  assert.equal(events.at(-1)?.type, "workflow_completed", JSON.stringify(events.at(-1)))
  assert.equal(second.output().match(/"level":"error"/g), null)
  second.child.kill("SIGTERM")
  assert.deepEqual(await second.ended, { code: 0, signal: null })
  const output = events.at(-1)?.data["output"] as { result: JsonValue }
  return { events, result: output.result, again: asked.slice(count) }
}

async function shows({ events }: ReconnectingReader, type: string | undefined): Promise<void> {
  while (type !== undefined && !events.some((event) => event.type === type)) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function give(address: string, run_id: string, answer: JsonObject): Promise<void> {
  const response = await fetch(`${address}/questions?status=open`)
  const { questions } = (await response.json()) as { questions: { run_id: string; id: string; scope?: string }[] }
  const [question] = questions.filter((one) => one.run_id === run_id)
  assert.equal(questions.length, 1)
  assert.equal(question?.scope, "inner@dynamic.r")
  const taken = await fetch(`${address}/execute/${run_id}/questions/${question?.id ?? ""}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ answer }),
  })
  assert.equal(taken.status, 200, await taken.text())
}

const count = (events: readonly SeenEvent[], type: string): number => events.filter((one) => one.type === type).length

test("killed in a call within a call: what had completed at each level is not done again", async () => {
  const source = `
workflow middle from "./middle.wire"
${declarations()}
${agent("first", "first")}
dynamic { r: call workflow.middle { input { text: agent.first.message } } }
output { text: dynamic.r.text }
`
  const { result, again, events } = await killed({
    source,
    modules: { "middle.wire": middle(), "inner.wire": inner() },
    during: "two",
  })
  const two = "two <one <before <first>>>"
  assert.deepEqual(again, [two, `after <${two}>`])
  assert.deepEqual(asked, ["first", "before <first>", "one <before <first>>", two, two, `after <${two}>`])
  assert.deepEqual(result, { text: `<after <${two}>>` })
  assert.equal(count(events, "workflow_call_started"), 2)
  assert.equal(count(events, "workflow_call_completed"), 2)
})

const askingCaller = (more: string, output: string): string => `
workflow inner from "./inner.wire"
${declarations()}
dynamic { r: call workflow.inner { input { text: "x" } } }
${more}
output { text: dynamic.r.text  ${output} }
`

test("killed while the run waits for the answer to a question of a called workflow", async () => {
  const { result, again, events } = await killed({
    source: askingCaller("", ""),
    modules: { "inner.wire": asking() },
    during: null,
    seen: "run_waiting",
    answer: { note: "yes" },
  })
  assert.deepEqual(asked, ["one x", "two yes"])
  assert.deepEqual(again, ["two yes"])
  assert.deepEqual(result, { text: "<two yes>" })
  assert.equal(count(events, "question_asked"), 1)
})

test("killed while a question of a called workflow is open and its caller works on", async () => {
  const { result, again, events } = await killed({
    source: askingCaller(agent("beside", "beside"), "beside: agent.beside.message"),
    modules: { "inner.wire": asking() },
    during: "beside",
    seen: "question_asked",
    answer: { note: "yes" },
  })
  assert.deepEqual(again.toSorted(), ["beside", "two yes"])
  assert.deepEqual(result, { text: "<two yes>", beside: "<beside>" })
  assert.equal(count(events, "question_asked"), 1)
})

test("killed in the second round of a repetition: it goes on there, and the first round is not done again", async () => {
  const source = `
workflow inner from "./inner.wire"
dynamic {
    r: repeat workflow.inner {
        input { text: "x" }
        until: round == 3
        next { text: result.text }
        at_most: 4
    }
}
output { text: dynamic.r.result.text  rounds: dynamic.r.rounds  done: dynamic.r.done }
`
  const round = (text: string): string => `<two <one ${text}>>`
  const { result, again, events } = await killed({
    source,
    modules: { "inner.wire": inner() },
    during: `two <one ${round("x")}>`,
  })
  assert.deepEqual(result, { text: round(round(round("x"))), rounds: 3, done: true })
  assert.deepEqual(again, [`two <one ${round("x")}>`, `one ${round(round("x"))}`, `two <one ${round(round("x"))}>`])
  assert.equal(count(events, "workflow_call_started"), 3)
  assert.equal(count(events, "workflow_call_completed"), 3)
})

test("killed in a call that a model made: the model is not asked for it again", async () => {
  const source = `
workflow inner from "./inner.wire"
${declarations()}
${agent("host", "host", "uses: [workflow.inner]")}
output { text: agent.host.message }
`
  const { result, again, events } = await killed({ source, modules: { "inner.wire": inner() }, during: "two <one x>" })
  assert.deepEqual(asked, ["host", "one x", "two <one x>", "two <one x>", "host"])
  assert.deepEqual(again, ["two <one x>", "host"])
  assert.deepEqual(result, { text: "<host>" })
  assert.equal(count(events, "workflow_call_started"), 1)
})
