import assert from "node:assert/strict"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { fromJsonSchema, inputRequired, McpServer } from "@modelcontextprotocol/server"
import type { Question } from "../../../src/log/events.ts"
import { reduce } from "../../../src/log/reduce.ts"
import { initialState } from "../../../src/log/run-state.ts"
import { startMcpServer } from "../../support/mcp-server.ts"
import { within } from "../../support/within.ts"
import { allEvents } from "./read-stream.ts"
import { errorOf, startService } from "./start-service.ts"

// MCP servers of the newest revision that ask back during a call: on the protocol's own SDK, through the service's HTTP API.

interface Request {
  readonly tool: string
  readonly responses: unknown
  readonly state: unknown
}

const directory = mkdtempSync(join(tmpdir(), "wireworks-elicitation-"))
after(() => rmSync(directory, { recursive: true }))

const state = 'v1 "{{ }}"   \u00e4'.repeat(5)
const form = {
  type: "object" as const,
  properties: {
    name: { type: "string" as const, minLength: 2, description: "Who it is for" },
    copies: { type: "integer" as const, minimum: 1, maximum: 9, default: 2 },
    mail: { type: "string" as const, format: "email" as const },
  },
  required: ["name"],
}

const flow = (url: string, tool: string, more = "elicitation: ask"): string => `
mcp shop { endpoint: "${url}"  ${more} }
tool buy from mcp.shop.tool.${tool}
dynamic { done: call tool.buy }
output { done: dynamic.done }
`

interface Waiting {
  readonly run_id: string
  readonly questions: readonly Question[]
}

describe("elicitation over HTTP", async () => {
  const seen: Request[] = []
  let held = Promise.withResolvers<void>()

  function makeServer(): McpServer {
    const mcp = new McpServer({ name: "shop", version: "1.0.0" }, { capabilities: { tools: {} } })
    const none = { inputSchema: fromJsonSchema<Record<string, unknown>>({ type: "object", properties: {} }) }
    type Answer = ReturnType<typeof inputRequired> | { content: { type: "text"; text: string }[] }
    const tool = (name: string, ask: (responses: Record<string, unknown>) => Answer | Promise<Answer>): void => {
      mcp.registerTool(name, none, async (_args, { mcpReq }) => {
        const responses: Record<string, unknown> = mcpReq.inputResponses ?? {}
        seen.push({ tool: name, responses, state: mcpReq.requestState() })
        return ask(responses)
      })
    }
    const said = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] })
    const who = inputRequired.elicit({ message: "Who is it for?\u202e", requestedSchema: form })
    const sure = inputRequired.elicit({
      message: "Sure?",
      requestedSchema: { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] },
    })
    tool("both", (responses) =>
      "who" in responses ? said(responses) : inputRequired({ inputRequests: { who, sure }, requestState: state }),
    )
    tool("held", async (responses) => {
      if (!("sure" in responses)) return inputRequired({ inputRequests: { sure } })
      held.resolve()
      return new Promise<never>(() => undefined)
    })
    tool("again", () => inputRequired({ inputRequests: { sure } }))
    tool("idle", (responses) => {
      const calls = seen.filter((one) => one.tool === "idle").length
      return calls < 3 ? inputRequired({ requestState: `step ${calls}` }) : said({ calls, responses })
    })
    tool("link", (responses) =>
      "open" in responses
        ? said(responses)
        : inputRequired({
            inputRequests: {
              open: inputRequired.elicitUrl({ message: "Sign in", url: "https://bank.example.com/in?a=1" }),
            },
          }),
    )
    tool("large", () => inputRequired({ inputRequests: { sure }, requestState: "x".repeat(65_537) }))
    return mcp
  }

  const server = await startMcpServer(makeServer)
  const service = await startService()
  after(() => server.close())

  async function started(tool: string, on = service, more?: string): Promise<Waiting> {
    const response = await on.post("/execute", { workflow_source: flow(server.url, tool, more), input: {} })
    const body = (await response.json()) as Waiting
    assert.equal(response.status, 202, JSON.stringify(body))
    return body
  }
  const give = (question: Question, answer: unknown, on = service) =>
    on.post(`/execute/${question.run_id}/questions/${question.id}`, { answer })
  const named = ({ questions }: Waiting, text: string): Question => {
    const found = questions.find(({ question }) => question.startsWith(text))
    assert.ok(found !== undefined, JSON.stringify(questions))
    return found
  }
  async function record(run_id: string, on = service): Promise<Record<string, unknown>> {
    return (await (await on.get(`/execute/${run_id}?wait=20`)).json()) as Record<string, unknown>
  }

  it("becomes questions, all entries together, and goes on with the answers and the state", async () => {
    const waiting = await started("both")
    assert.equal(waiting.questions.length, 2)
    const who = named(waiting, "Who is it for?")
    assert.deepEqual(
      { kind: who.kind, server: who.server, tool: who.tool, name: who.name, to: who.to, question: who.question },
      { kind: "elicitation", server: "shop", tool: "both", name: "buy", to: null, question: "Who is it for?" },
    )
    const bad = [
      { action: "maybe" },
      { action: "decline", content: { name: "Ada" } },
      { action: "accept" },
      { action: "accept", content: { name: "A" } },
      { action: "accept", content: { name: "Ada", copies: 1.5 } },
      { action: "accept", content: { name: "Ada", unknown: 1 } },
      { action: "accept", content: { name: "Ada" }, more: 1 },
      "yes",
    ]
    for (const answer of bad) assert.equal((await errorOf(await give(who, answer))).kind, "input_error")
    const first = await give(who, { action: "accept", content: { name: "Ada" } })
    assert.equal(first.status, 200)
    assert.deepEqual(((await first.json()) as Question).answer, {
      action: "accept",
      content: { name: "Ada", copies: 2 },
    })
    assert.equal((await give(named(waiting, "Sure?"), { action: "decline" })).status, 200)
    const { output } = await record(waiting.run_id)
    assert.deepEqual(output, {
      done: { who: { action: "accept", content: { name: "Ada", copies: 2 } }, sure: { action: "decline" } },
    })
    const calls = seen.filter(({ tool }) => tool === "both")
    assert.deepEqual(
      calls.map(({ state: echoed }) => echoed),
      [undefined, state],
    )
    for (const { body } of server.received) {
      const declares = body.includes('"elicitation":{"form":{},"url":{}}')
      assert.equal(declares, body.includes('"method":"tools/call"'), body)
    }
    const events = await allEvents(await service.get(`/execute/${waiting.run_id}/events`))
    const counted = (type: string) => events.filter((event) => event.type === type).length
    assert.deepEqual(
      ["tool_call_started", "tool_call_continued", "tool_call_completed"].map(counted),
      [1, 1, 1],
      "it is one call",
    )
    assert.ok(!JSON.stringify(events).includes("v1"), "nobody sees the state")
    // The step that called is shown as one that waits for people, until both are answered.
    const shown = initialState()
    const states: string[] = []
    for (const event of events) {
      reduce(shown, event as Parameters<typeof reduce>[1])
      if (event.type.startsWith("question_")) states.push(shown.nodes[0]?.state ?? "")
    }
    assert.deepEqual(states, ["asking", "asking", "asking", "running"])
    assert.equal(shown.nodes[0]?.state, "completed")
  })

  it("shows the whole address that a server wants opened, and opens nothing", async () => {
    const waiting = await started("link")
    const [question] = waiting.questions
    assert.deepEqual(question?.show, { host: "bank.example.com", url: "https://bank.example.com/in?a=1" })
    assert.ok(question !== undefined)
    assert.equal((await give(question, { action: "accept", content: {} })).status, 422)
    assert.equal((await give(question, { action: "accept" })).status, 200)
    assert.deepEqual((await record(waiting.run_id))["output"], { done: { open: { action: "accept" } } })
  })

  it("is sent to the group of `to`, and an expiry is `cancel`", async () => {
    const workflow_source = flow(server.url, "both", 'elicitation { to: "sales"  expires_seconds: 1 }')
    const stream = await service.post("/execute", { workflow_source, input: {} }, { accept: "text/event-stream" })
    const events = await allEvents(stream)
    const asked = events.filter(({ type }) => type === "question_asked")
    assert.deepEqual(
      asked.map(({ data }) => data["to"]),
      ["sales", "sales"],
    )
    assert.equal(events.at(-1)?.type, "workflow_completed")
    const { output } = await record(stream.headers.get("x-service-run-id") ?? "")
    assert.deepEqual(output, { done: { who: { action: "cancel" }, sure: { action: "cancel" } } })
  })

  it("repeats a call that has a state only, and ends a call that asks for the eleventh time", async () => {
    const response = await service.post("/execute", { workflow_source: flow(server.url, "idle"), input: {} })
    assert.equal(response.status, 200)
    assert.deepEqual(
      seen.filter(({ tool }) => tool === "idle").map(({ state: echoed }) => echoed),
      [undefined, "step 1", "step 2"],
    )
    const { run_id, questions: asked } = await started("again")
    let questions = asked
    for (let round = 1; ; round++) {
      const [question] = questions
      if (question === undefined) break
      assert.equal((await give(question, { action: "accept", content: { yes: true } })).status, 200)
      const next = await record(run_id)
      if (next["status"] !== "waiting") {
        assert.equal(round, 10)
        assert.match(JSON.stringify(next["error"]), /asked more than 10 times/)
        break
      }
      const listed = (await (await service.get(`/execute/${run_id}/questions`)).json()) as Waiting
      questions = listed.questions.filter(({ status }) => status === "open")
    }
    assert.equal(seen.filter(({ tool }) => tool === "again").length, 11)
  })

  it("refuses a state of more than 64 KiB, and asks nobody without the property", async () => {
    const large = await service.post("/execute", { workflow_source: flow(server.url, "large"), input: {} })
    assert.match((await errorOf(large)).message, /65536 bytes/)
    server.received.length = 0
    const silent = await service.post("/execute", { workflow_source: flow(server.url, "both", ""), input: {} })
    assert.equal((await errorOf(silent)).kind, "tool_error")
    assert.ok(server.received.some(({ body }) => body.includes("tools/call")))
    assert.ok(!server.received.some(({ body }) => body.includes("elicitation")))
  })

  it("survives the process while it waits; one that dies during the repeated call leaves it interrupted", async () => {
    const settings = { STORE: "sqlite", DATA_DIR: join(directory, "data") }
    const first = await startService(settings)
    const waiting = await started("both", first)
    const other = await started("held", first)
    await first.stop()
    const stored = readdirSync(settings.DATA_DIR, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => readFileSync(join(settings.DATA_DIR, name), "latin1"))
    assert.ok(!stored.some((text) => text.includes('v1 "{{ }}"')), "the state is encrypted")
    const second = await startService(settings)
    await give(named(waiting, "Who is it for?"), { action: "accept", content: { name: "Ada" } }, second)
    await give(named(waiting, "Sure?"), { action: "cancel" }, second)
    assert.equal((await record(waiting.run_id, second))["status"], "completed")
    held = Promise.withResolvers()
    await give(named(other, "Sure?"), { action: "accept", content: { yes: true } }, second)
    await within(30_000, "the repeated call", held.promise)
    await second.stop()
    const third = await startService(settings)
    const ended = await record(other.run_id, third)
    assert.equal(ended["status"], "failed", JSON.stringify(ended))
    assert.match(JSON.stringify(ended["error"]), /was interrupted, and its outcome is unknown/)
  })
})
