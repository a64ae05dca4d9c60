import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import { fromJsonSchema, McpServer } from "@modelcontextprotocol/server"
import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import { startWire } from "../cli/run-wire.ts"
import type { SeenEvent } from "../contract/http/read-stream.ts"
import type { TestServer } from "../support/http-server.ts"
import { startServer } from "../support/http-server.ts"
import type { RealMcpServer } from "../support/mcp-server.ts"
import { startMcpServer } from "../support/mcp-server.ts"
import { ReconnectingReader } from "../support/reconnecting-reader.ts"
import { within } from "../support/within.ts"

// One service, killed while a model call of each of these runs is in flight, and started again. The model and the MCP server
// live on in this process.

interface Asked {
  readonly body: string
  readonly at: number
}

type Reply = (response: ServerResponse) => void

interface Case {
  /** The replies of the model, in their order; the last one to all further calls. */
  readonly replies: readonly Reply[]
  /** How many calls are in flight when the process is killed. */
  readonly killedAt: number
  /** An event without which it is too early. */
  readonly seen?: string
  readonly inference?: string
  readonly uses?: string
  readonly options?: JsonObject
}

function reply(body: JsonValue, status = 200, headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(JSON.stringify(body))
  }
}

const usage = { input_tokens: 10, output_tokens: 5 }
const says = (value: JsonValue): Reply =>
  reply({
    output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: JSON.stringify(value) }] }],
    usage,
  })
const calls = (name: string): Reply =>
  reply({ output: [{ type: "function_call", call_id: `c_${name}`, name, arguments: "{}" }], usage })
const hangs: Reply = () => undefined
const busy = reply({}, 503)
const misfit = says({ message: "x" })
const good = says({ message: "done", count: 1 })

const pieces =
  (...events: readonly JsonObject[]): Reply =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
const piece = (delta: string): JsonObject => ({ type: "response.output_text.delta", delta })

const cases = {
  repair: { replies: [misfit, hangs, good], killedAt: 2 },
  repairs: { replies: [misfit, misfit, hangs, misfit], killedAt: 3 },
  retries: { replies: [busy, busy, hangs, busy], killedAt: 3, inference: "max_retries: 2" },
  both: { replies: [misfit, misfit, hangs, busy, good], killedAt: 3, inference: "max_retries: 1" },
  wait: { replies: [reply({}, 429, { "retry-after": "4" }), good], killedAt: 1, seen: "agent_retried" },
  tools: { replies: [calls("note"), calls("note"), hangs, good], killedAt: 3, uses: "tool.note" },
  // The call that is in flight is the tool server's.
  resource: { replies: [calls("read_page"), good], killedAt: 1, uses: "resource.page" },
  deltas: {
    replies: [
      pieces(piece('{"message":"do')),
      pieces(piece('{"message":"done",'), piece('"count":1}'), {
        type: "response.completed",
        response: { status: "completed" },
      }),
    ],
    killedAt: 1,
    seen: "agent_delta",
    options: { deltas: true },
  },
} satisfies Record<string, Case>

type Name = keyof typeof cases
const names = Object.keys(cases) as Name[]
const caseOf = (name: Name): Case => cases[name]

const asked = new Map<string, Asked[]>(names.map((name) => [name, []]))
const readers = new Map<string, ReconnectingReader>()
let reads = 0
let life = 1
let folder = ""
let model: TestServer
let tools: RealMcpServer

const askedOf = (name: Name): Asked[] => asked.get(name) ?? []
const eventsOf = (name: Name): readonly SeenEvent[] => readers.get(name)?.events ?? []
const dataOf = (name: Name, type: string): Record<string, unknown>[] =>
  eventsOf(name).flatMap((event) => (event.type === type ? [event.data] : []))
const kindsOf = (name: Name): JsonValue[] =>
  dataOf(name, "workflow_failed").map(({ error }) => (error as JsonObject)["kind"] ?? null)
const endOf = (name: Name): string | undefined => eventsOf(name).at(-1)?.type

function makeServer(): McpServer {
  const mcp = new McpServer({ name: "in flight", version: "1.0.0" })
  const config = { inputSchema: fromJsonSchema<object>({ type: "object", properties: {} }) }
  mcp.registerTool("note", config, () => ({ content: [{ type: "text", text: "noted" }] }))
  mcp.registerResource("page", "page://one", { mimeType: "text/plain" }, async (uri) => {
    reads++
    if (life === 1) await new Promise(() => undefined)
    return { contents: [{ uri: uri.href, text: "a page" }] }
  })
  return mcp
}

function source(name: Name): string {
  const { inference = "", uses } = caseOf(name)
  const server = `
    mcp s { endpoint: "${tools.url}" }
    tool note from mcp.s.tool.note { max_calls: 2 }
    resource page from mcp.s.resource.page`
  return `
    provider p from openai { endpoint: "${model.origin}/v1" }
    model m from p { id: "${name}" inference { retry_base_delay_ms: 1 ${inference} } }
    ${uses === undefined ? "" : server}
    agent a {
        model: model.m
        uses: [${uses ?? ""}]
        instruction: "Go."
        output { message: string, count: integer }
    }
    output { message: agent.a.message }`
}

const inPlace = (name: Name): boolean => {
  const { killedAt, seen } = caseOf(name)
  if (seen !== undefined && !eventsOf(name).some(({ type }) => type === seen)) return false
  return askedOf(name).length >= killedAt && (name !== "resource" || reads > 0)
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "wire-in-flight-"))
  model = await startServer((request, response) => {
    const name = (JSON.parse(request.body) as { model: Name }).model
    askedOf(name).push({ body: request.body, at: Date.now() })
    const { replies } = caseOf(name)
    replies[Math.min(askedOf(name).length, replies.length) - 1]?.(response)
  })
  tools = await startMcpServer(makeServer)
  const settings = { WIRE_DATA_DIR: folder, WIRE_LOG_LEVEL: "error" }
  const first = await startWire(["serve", "--port", "0"], settings)
  const ends = names.map(async (name) => {
    const reader = new ReconnectingReader(first.address, 300_000)
    readers.set(name, reader)
    const { end } = await reader.start({ workflow_source: source(name), options: caseOf(name).options ?? {} })
    return end
  })
  const there = (async () => {
    while (!names.every(inPlace)) await new Promise((resolve) => setImmediate(resolve))
  })()
  await within(30_000, "the calls", there)
  first.child.kill("SIGKILL")
  await first.ended
  life = 2
  const second = await startWire(["serve", "--port", new URL(first.address).port], settings)
  await within(40_000, "the end of the runs", Promise.all(ends))
  second.child.kill("SIGTERM")
  await second.ended
})
after(async () => {
  await model.close()
  await tools.close()
  rmSync(folder, { recursive: true, force: true })
})

describe("a service that is killed while a model is asked", () => {
  test("again, because its answer did not fit: it is asked the same again, and all that was said counts", () => {
    assert.equal(endOf("repair"), "workflow_completed")
    const [first, second, third, ...more] = askedOf("repair")
    assert.deepEqual([second?.body, more], [third?.body, []])
    assert.notEqual(first?.body, second?.body)
    const [completed] = dataOf("repair", "agent_completed") as { calls: { attempt: number }[]; usage: JsonObject }[]
    assert.deepEqual(
      completed?.calls.map(({ attempt }) => attempt),
      [1, 2],
    )
    assert.equal(completed?.usage["input_tokens"], 20)
  })

  test("for the last time: it is not asked more often for that", () => {
    assert.deepEqual(kindsOf("repairs"), ["output_error"])
    assert.equal(askedOf("repairs").length, 4)
    assert.deepEqual(kindsOf("retries"), ["provider_error"])
    assert.equal(askedOf("retries").length, 4)
  })

  test("after repairs: they are not taken for retries", () => {
    assert.equal(endOf("both"), "workflow_completed")
    assert.equal(askedOf("both").length, 5)
  })

  test("not yet, because it is to be waited for: that long it is waited", () => {
    assert.equal(endOf("wait"), "workflow_completed")
    const [first, second, ...more] = askedOf("wait")
    assert.deepEqual(more, [])
    assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 3900)
  })

  test("after it has used a tool up: the conversation is the same to the letter", () => {
    assert.equal(endOf("tools"), "workflow_completed")
    const [, , third, fourth, ...more] = askedOf("tools")
    assert.deepEqual([third?.body, more], [fourth?.body, []])
    assert.match(third?.body ?? "", /has been used up/)
  })

  test("and what it wanted is being read: it is not asked for that again", () => {
    assert.equal(endOf("resource"), "workflow_completed")
    assert.deepEqual([askedOf("resource").length, reads], [2, 2])
  })

  test("and has begun to answer: what it says now is another attempt", () => {
    assert.equal(endOf("deltas"), "workflow_completed")
    const texts = new Map<unknown, string>()
    for (const { attempt, text } of dataOf("deltas", "agent_delta")) {
      texts.set(attempt, `${texts.get(attempt) ?? ""}${String(text)}`)
    }
    assert.deepEqual(
      [...texts.entries()],
      [
        [1, '{"message":"do'],
        [2, '{"message":"done","count":1}'],
      ],
    )
  })
})
