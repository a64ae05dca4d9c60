import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import { fromJsonSchema, McpServer } from "@modelcontextprotocol/server"
import type { JsonObject } from "../../src/base/json-value.ts"
import type { Started } from "../cli/run-wire.ts"
import { startWire } from "../cli/run-wire.ts"
import type { TestServer } from "../support/http-server.ts"
import { startServer } from "../support/http-server.ts"
import type { RealMcpServer } from "../support/mcp-server.ts"
import { startMcpServer } from "../support/mcp-server.ts"
import { within } from "../support/within.ts"

// The service is a process of its own, killed with SIGKILL while tool calls are open. The MCP server and the model live on in
// this one: they know what they were asked, by which process.

interface Call {
  readonly tool: string
  readonly life: number
  readonly run_id: unknown
  readonly call_id: unknown
}

let life = 1
const calls: Call[] = []
const turns = new Map<string, JsonObject[][]>()
let server: RealMcpServer
let model: TestServer
let folder = ""

function makeServer(): McpServer {
  const mcp = new McpServer({ name: "crash", version: "1.0.0" })
  const nothing = fromJsonSchema<object>({ type: "object", properties: {} })
  const add = (name: string, idempotent: boolean, hangs: boolean): void => {
    const config = { inputSchema: nothing, annotations: { idempotentHint: idempotent } }
    mcp.registerTool(name, config, async (_args, ctx) => {
      const meta = ctx.mcpReq._meta as Record<string, unknown>
      calls.push({ tool: name, life, run_id: meta["wireworks/run_id"], call_id: meta["wireworks/call_id"] })
      // In the first life the answer never comes: the process that waits for it is killed.
      if (hangs && life === 1) await new Promise(() => undefined)
      return { content: [{ type: "text", text: `${name} is done` }] }
    })
  }
  add("quick", false, false)
  add("safe", true, true)
  add("risky", false, true)
  return mcp
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "wireworks-mcp-crash-"))
  server = await startMcpServer(makeServer)
  model = await startServer((request, response) => {
    const { model: name, input } = JSON.parse(request.body) as { model: string; input: JsonObject[] }
    turns.set(name, [...(turns.get(name) ?? []), input])
    const asked = input.some((item) => item["type"] === "function_call")
    const output = asked
      ? [{ type: "message", role: "assistant", content: [{ type: "output_text", text: '{"message":"done"}' }] }]
      : ["quick", "safe", "risky"].map((tool) => ({
          type: "function_call",
          call_id: tool,
          name: tool,
          arguments: "{}",
        }))
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ output }))
  })
})
after(async () => {
  await server.close()
  await model.close()
  rmSync(folder, { recursive: true, force: true })
})
const imports = (): string => `
  mcp s { endpoint: "${server.url}" }
  tool quick from mcp.s.tool.quick
  tool safe from mcp.s.tool.safe
  tool risky from mcp.s.tool.risky
`

function start(): Promise<Started> {
  return startWire(["serve", "--port", "0", "--data-dir", join(folder, "data")])
}

interface Seen {
  readonly id: number
  readonly event: string
  readonly data: JsonObject
}

/** Events as they come; ends where the stream does. */
async function* eventsOf(response: Response): AsyncGenerator<Seen> {
  let text = ""
  const decoder = new TextDecoder()
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true })
      const blocks = text.split("\n\n")
      text = blocks.pop() ?? ""
      for (const block of blocks) {
        const field = (name: string): string => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1] ?? ""
        if (field("event") === "") continue
        yield { id: Number(field("id")), event: field("event"), data: JSON.parse(field("data")) as JsonObject }
      }
    }
  } catch {
    // The process is gone.
  }
}

interface Case {
  readonly source: () => string
  readonly options?: JsonObject
  /** The events of the first life are these: now it may end. */
  readonly ready: (events: readonly Seen[]) => boolean
}

const started = (events: readonly Seen[]): number => events.filter(({ event }) => event === "tool_call_started").length
const quickDone = (events: readonly Seen[]): boolean =>
  events.some(({ event, data }) => event === "tool_call_completed" && data["tool"] === "quick")

const agent = (id: string): string => `${imports()}
  provider p from openai { endpoint: "${model.origin}/v1" }
  model m from p { id: "${id}" }
  agent a { model: model.m uses: [tool.quick, tool.safe, tool.risky] instruction: "Go." output { message: string } }
  output { m: agent.a.message }`

const cases = {
  model: {
    source: () => agent("m"),
    ready: (events) => started(events) === 3 && quickDone(events),
  },
  safe: {
    source: () => `${imports()}
      dynamic { a: call tool.quick, b: call tool.safe }
      output { a: dynamic.a, b: dynamic.b }`,
    ready: (events) => started(events) === 2 && quickDone(events),
  },
  risky: {
    source: () => `${imports()}
      dynamic { a: call tool.risky }
      output { a: dynamic.a }`,
    ready: (events) => started(events) === 1,
  },
  // With one permit, the call of risky still waits for its place when the process dies.
  queued: {
    source: () => agent("queued"),
    options: { max_concurrency: 1 },
    ready: (events) => started(events) >= 2 && quickDone(events),
  },
  queuedOwn: {
    source: () => `${imports()}
      dynamic { a: call tool.safe, b: call tool.risky }
      output { a: dynamic.a, b: dynamic.b }`,
    options: { max_concurrency: 1 },
    ready: (events) => started(events) >= 1,
  },
} satisfies Record<string, Case>

interface Story {
  readonly run_id: string
  readonly before: readonly Seen[]
  readonly after: readonly Seen[]
}

async function begin(
  address: string,
  { source, ready, options = {} }: Case,
): Promise<{ run_id: string; before: Seen[] }> {
  const response = await fetch(`${address}/execute`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ workflow_source: source(), options }),
  })
  const before: Seen[] = []
  for await (const event of eventsOf(response)) {
    before.push(event)
    if (ready(before)) break
  }
  // Started in the log is not yet arrived at the server.
  const ids = before
    .filter(
      ({ event, data }) =>
        event === "tool_call_started" && (options["max_concurrency"] !== 1 || data["tool"] === "safe"),
    )
    .map(({ data }) => data["call_id"])
  while (!ids.every((id) => calls.some(({ call_id }) => call_id === id))) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { run_id: response.headers.get("x-service-run-id") ?? "", before }
}

async function finish(address: string, run_id: string, last: number): Promise<Seen[]> {
  const response = await fetch(`${address}/execute/${run_id}/events?after=${last}`)
  const after: Seen[] = []
  for await (const event of eventsOf(response)) after.push(event)
  return after
}

/** All cases in one service, which is killed when each is where it should be, and started again. */
async function livesAndDies(): Promise<Record<keyof typeof cases, Story>> {
  const first = await start()
  const names = ["model", "safe", "risky", "queued", "queuedOwn"] as const
  const begun = Promise.all(names.map((name) => begin(first.address, cases[name])))
  const open = await within(30_000, "the calls", begun)
  first.child.kill("SIGKILL")
  await first.ended
  life = 2
  const second = await start()
  const finished = Promise.all(open.map(({ run_id, before }) => finish(second.address, run_id, before.at(-1)?.id ?? 0)))
  const rest = await within(40_000, "the end of the runs", finished)
  second.child.kill("SIGTERM")
  await second.ended
  const story = (index: number): Story => {
    const { run_id, before } = open[index] ?? assert.fail()
    return { run_id, before, after: rest[index] ?? [] }
  }
  return { model: story(0), safe: story(1), risky: story(2), queued: story(3), queuedOwn: story(4) }
}

describe("a service that is killed in the middle of tool calls", () => {
  let stories: Awaited<ReturnType<typeof livesAndDies>>
  before(async () => {
    stories = await livesAndDies()
  })
  const callsOf = (run_id: string, tool: string): Call[] =>
    calls.filter((call) => call.run_id === run_id && call.tool === tool)

  /** The results of its calls that the model got in its second turn. */
  const outputsOf = (id: string): JsonObject =>
    Object.fromEntries(
      (turns.get(id)?.[1] ?? []).flatMap((item) =>
        item["type"] === "function_call_output" ? [[item["call_id"], item["output"] ?? null]] : [],
      ),
    )

  test("of a model: what has completed is not repeated, what may be repeated is, and the model is informed about the rest", () => {
    const { run_id, before: first, after: second } = stories.model
    assert.deepEqual(second.at(-1)?.event, "workflow_completed", JSON.stringify(second.at(-1)))
    assert.ok(second.some(({ event }) => event === "run_resumed"))
    assert.equal(callsOf(run_id, "quick").length, 1)
    assert.equal(callsOf(run_id, "risky").length, 1)
    const [one, two, ...more] = callsOf(run_id, "safe")
    assert.deepEqual([one?.life, two?.life, more.length], [1, 2, 0])
    assert.equal(one?.call_id, two?.call_id)

    assert.equal(turns.get("m")?.length, 2)
    assert.deepEqual(outputsOf("m"), {
      quick: "quick is done",
      safe: "safe is done",
      risky: "The call of risky was interrupted, and its outcome is unknown: it may or may not have taken effect",
    })
    // Every event once, in order, across the two processes.
    const all = [...first, ...second]
    assert.deepEqual(
      all.map(({ id }) => id),
      all.map((_, index) => index + 1),
    )
    const ends = all.filter(({ event }) => event === "tool_call_completed" || event === "tool_call_failed")
    assert.deepEqual(
      new Map(ends.map(({ data, event }) => [data["tool"], event])),
      new Map([
        ["quick", "tool_call_completed"],
        ["safe", "tool_call_completed"],
        ["risky", "tool_call_failed"],
      ]),
    )
    assert.equal(ends.length, 3)
  })

  test("of the workflow's own: one that may be repeated is, with the same ids", () => {
    const { run_id, after: second } = stories.safe
    assert.deepEqual(second.at(-1)?.data["output"], { result: { a: "quick is done", b: "safe is done" } })
    assert.equal(callsOf(run_id, "quick").length, 1)
    const [one, two, ...more] = callsOf(run_id, "safe")
    assert.deepEqual([one?.life, two?.life, more.length], [1, 2, 0])
    assert.equal(one?.call_id, two?.call_id)
  })

  test("of the workflow's own: another fails the run with the same sentence", () => {
    const { run_id, after: second } = stories.risky
    assert.equal(second.at(-1)?.event, "workflow_failed")
    const error = second.at(-1)?.data["error"] as JsonObject
    assert.equal(error["kind"], "tool_error")
    assert.deepEqual(error["issues"], [
      {
        path: "dynamic.a",
        message: "The call of risky was interrupted, and its outcome is unknown: it may or may not have taken effect",
      },
    ])
    assert.equal(callsOf(run_id, "risky").length, 1)
  })

  test("a model's call that waited for its place was not made: it is made once, and the turn is not asked for again", () => {
    const { run_id, after: second } = stories.queued
    assert.deepEqual(second.at(-1)?.event, "workflow_completed", JSON.stringify(second.at(-1)))
    assert.equal(turns.get("queued")?.length, 2)
    assert.deepEqual(outputsOf("queued"), { quick: "quick is done", safe: "safe is done", risky: "risky is done" })
    assert.deepEqual(
      callsOf(run_id, "risky").map((call) => call.life),
      [2],
    )
  })

  test("a call of the workflow's own that waited for its place is made once", () => {
    const { run_id, after: second } = stories.queuedOwn
    assert.deepEqual(second.at(-1)?.data["output"], { result: { a: "safe is done", b: "risky is done" } })
    assert.deepEqual(
      callsOf(run_id, "risky").map((call) => call.life),
      [2],
    )
  })
})
