import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { HttpAgent } from "@ag-ui/client"
import { EventSchemas } from "@ag-ui/core/schemas"
import { startServer } from "../../support/http-server.ts"
import { tinyMcp } from "../../support/tiny-mcp.ts"
import { folderOf } from "../../support/workflow-folder.ts"
import { errorOf, startService } from "./start-service.ts"

// Workflows with a `chat` block, as AG-UI's own client sees them. Its schemas judge every event.

interface Seen {
  readonly type: string
  readonly [name: string]: unknown
}

const ask = `
input { question: string }
ask review { question: "Really?" output { yes: boolean } }
ask other { question: "Who?" output { name: string } }
chat { message: input.question reply: output.text }
output { text: "{{ ask.review.yes }} {{ ask.other.name }}" }
`

const loop = `
input { question: string, history: [{ role: enum { user, assistant }, text: string }], items: [string], tone: maybe string }
provider llm from openai { endpoint: "demo" }
model m from llm { id: "demo" }
agent each for item in input.items {
    model: model.m
    instruction: "Say {{ item }}"
    output { word: string }
}
agent answer {
    model: model.m
    instruction: "Answer {{ input.question }} with {{ agent.each }}"
    output { text: string }
}
chat { message: input.question history: input.history reply: output.text }
output { text: agent.answer.text }
`

const reviewed = `
input { question: string }
provider llm from openai { endpoint: "demo" }
model m from llm { id: "demo" }
agent draft { model: model.m instruction: "Draft {{ input.question }}" output { text: string } }
ask review { question: "Good: {{ agent.draft.text }}?" output { yes: boolean } }
agent final { model: model.m instruction: "{{ agent.draft.text }} {{ ask.review.yes }}" output { text: string } }
chat { message: input.question reply: output.text }
output { text: agent.final.text }
`

const echo = `
input { question: string, history: [{ role: enum { user, assistant }, text: string }], system: maybe string, files: [string], level: integer }
chat { message: input.question history: input.history system: input.system files: input.files reply: output.text }
output { text: "{{ input }}" }
`

describe("workflows by AG-UI", async () => {
  const silent = await startServer(() => undefined)
  const mcp = await tinyMcp({ pay: () => ({ content: [], structuredContent: { ok: true } }) })
  const approve = `
input { question: string }
mcp bank { endpoint: "${mcp.url}" }
tool pay from mcp.bank.tool.pay { input { } output { ok: boolean } approval: required }
dynamic { paid: call tool.pay { input { } } }
chat { message: input.question reply: output.text }
output { text: "paid {{ dynamic.paid.ok }}" }
`
  const held = loop.replace('endpoint: "demo"', `endpoint: "${silent.origin}/v1"`)
  const folder = folderOf({
    "loop.wire": loop,
    "tickets/echo.wire": echo,
    "ask.wire": ask,
    "approve.wire": approve,
    "reviewed.wire": reviewed,
    "held.wire": held,
    "none.wire": "output { a: 1 }\n",
  })
  const service = await startService({ WORKFLOWS: folder })

  interface Turn {
    readonly events: Seen[]
    readonly run_id: string
    readonly agent: HttpAgent
  }

  async function run(
    name: string,
    agent = agentOf(name),
    parameters: Parameters<HttpAgent["runAgent"]>[0] = {},
  ): Promise<Turn> {
    const events: Seen[] = []
    await agent.runAgent(parameters, { onEvent: ({ event }) => void events.push(event) })
    for (const event of events) EventSchemas.parse(event)
    return { events, run_id: runIds.at(-1) ?? "", agent }
  }

  const runIds: string[] = []
  function agentOf(name: string, content = "hi"): HttpAgent {
    return new HttpAgent({
      url: `${service.url}/workflows/${name}/ag-ui`,
      threadId: "thread-1",
      initialMessages: [{ id: "1", role: "user", content }],
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        runIds.push(response.headers.get("x-service-run-id") ?? "")
        return response
      },
    })
  }

  it("stream steps, the reply and the state; the ids of the request come back", async () => {
    const { events, agent } = await run("loop", agentOf("loop"), {
      runId: "run-1",
      forwardedProps: { input: { items: ["a", "b"] } },
    })
    assert.deepEqual(
      [events[0]?.type, events[0]?.["threadId"], events[0]?.["runId"]],
      ["RUN_STARTED", "thread-1", "run-1"],
    )
    assert.deepEqual([events.at(-1)?.type, events.at(-1)?.["runId"]], ["RUN_FINISHED", "run-1"])
    const named = (type: string): string[] =>
      events.filter((event) => event.type === type).map(({ stepName }) => stepName as string)
    assert.deepEqual(named("STEP_STARTED").toSorted(), ["agent.answer", "agent.each[0]", "agent.each[1]"])
    assert.deepEqual(named("STEP_FINISHED").toSorted(), named("STEP_STARTED").toSorted())
    const text = events
      .map((event) => (event.type === "TEXT_MESSAGE_CONTENT" ? (event["delta"] as string) : ""))
      .join("")
    const last = events.at(-1) as unknown as { result: { text: string } }
    assert.equal(text, last.result.text)
    assert.deepEqual(agent.messages.map(({ role, content }) => [role, content]).at(-1), ["assistant", text])
    assert.deepEqual(Object.keys(agent.state as object).toSorted(), ["agent.answer", "agent.each[0]", "agent.each[1]"])
  })

  it("take messages as history, system texts, files and other fields", async () => {
    const agent = new HttpAgent({
      url: `${service.url}/workflows/tickets/echo/ag-ui`,
      initialMessages: [
        { id: "0", role: "system", content: "Be kind." },
        { id: "1", role: "user", content: "one" },
        { id: "2", role: "assistant", content: "two" },
        {
          id: "3",
          role: "user",
          content: [
            { type: "text", text: "three" },
            { type: "image", source: { type: "data", value: "AA==", mimeType: "image/png" } },
          ],
        },
      ],
    })
    const { events } = await run("", agent, { forwardedProps: { input: { level: 3 } } })
    const { result } = events.at(-1) as unknown as { result: { text: string } }
    assert.deepEqual(JSON.parse(result.text), {
      question: "three",
      history: [
        { role: "user", text: "one" },
        { role: "assistant", text: "two" },
      ],
      system: "Be kind.",
      files: ["data:image/png;base64,AA=="],
      level: 3,
    })
  })

  interface Interrupted {
    readonly outcome: {
      readonly type: string
      readonly interrupts: readonly {
        id: string
        reason: string
        metadata: { digest?: string }
        responseSchema: object
        expiresAt: string
      }[]
    }
  }

  it("end with interrupts where the run waits, and are answered by resume", async () => {
    const { events, agent, run_id } = await run("ask")
    const { outcome } = events.at(-1) as unknown as Interrupted
    assert.equal(outcome.type, "interrupt")
    const [review, other] = outcome.interrupts
    assert.ok(review !== undefined && other !== undefined)
    assert.deepEqual([review.reason, review.id.split("/")[0]], ["ask", run_id])
    assert.ok(Date.parse(review.expiresAt) > Date.now())
    // One answer, and one that is left open.
    const second = await run("ask", agent, {
      resume: [
        { interruptId: review.id, status: "resolved", payload: { yes: true } },
        { interruptId: other.id, status: "cancelled" },
      ],
    })
    const again = second.events.at(-1) as unknown as Interrupted
    assert.deepEqual(
      again.outcome.interrupts.map(({ id }) => id),
      [other.id],
    )
    const third = await run("ask", agent, {
      resume: [{ interruptId: other.id, status: "resolved", payload: { name: "Ada" } }],
    })
    assert.deepEqual((third.events.at(-1) as unknown as { result: unknown }).result, { text: "true Ada" })
  })

  it("say again how a run ended whose answers are repeated", async () => {
    const first = await run("ask")
    const [review, other] = (first.events.at(-1) as unknown as Interrupted).outcome.interrupts
    const resume = [
      { interruptId: review?.id ?? "", status: "resolved" as const, payload: { yes: true } },
      { interruptId: other?.id ?? "", status: "resolved" as const, payload: { name: "Ada" } },
    ]
    const ended = await run("ask", agentOf("ask"), { resume })
    const again = await run("ask", agentOf("ask"), { resume })
    for (const { events } of [ended, again]) {
      assert.deepEqual(
        events.map(({ type }) => type),
        [
          "RUN_STARTED",
          "STATE_SNAPSHOT",
          "TEXT_MESSAGE_START",
          "TEXT_MESSAGE_CONTENT",
          "TEXT_MESSAGE_END",
          "RUN_FINISHED",
        ],
      )
      assert.deepEqual((events.at(-1) as unknown as { result: unknown }).result, { text: "true Ada" })
    }
  })

  it("go on with the state that the run has", async () => {
    const { events, agent } = await run("reviewed")
    const [question] = (events.at(-1) as unknown as Interrupted).outcome.interrupts
    const draft = (agent.state as Record<string, unknown>)["agent.draft"]
    assert.ok(draft !== undefined)
    const resume = [{ interruptId: question?.id ?? "", status: "resolved" as const, payload: { yes: true } }]
    const second = await run("reviewed", agent, { resume })
    assert.deepEqual(second.events[1]?.["snapshot"], { "agent.draft": draft })
    assert.deepEqual(Object.keys(agent.state as object), ["agent.draft", "agent.final"])
    // Of a run that has ended, all of it.
    const third = await run("reviewed", agentOf("reviewed"), { resume })
    assert.deepEqual(third.events[1]?.["snapshot"], agent.state)
    assert.equal(third.events.at(-1)?.type, "RUN_FINISHED")
  })

  it("go through to the end of a run that has waited, for a request with its Idempotency-Key", async () => {
    const body = { threadId: "t", runId: "r", messages: [{ id: "1", role: "user", content: "x" }] }
    const post = async (): Promise<Seen[]> => {
      const response = await service.post("/workflows/reviewed/ag-ui", body, { "idempotency-key": "k1" })
      return (await response.text())
        .split("\n\n")
        .filter((frame) => frame.startsWith("data: "))
        .map((frame) => EventSchemas.parse(JSON.parse(frame.slice(6))) as unknown as Seen)
    }
    const [question] = ((await post()).at(-1) as unknown as Interrupted).outcome.interrupts
    const resume = [{ interruptId: question?.id ?? "", status: "resolved" as const, payload: { yes: true } }]
    await run("reviewed", agentOf("reviewed"), { resume })
    const again = await post()
    assert.deepEqual(
      again.flatMap(({ type, stepName }) => (type === "STEP_FINISHED" ? [stepName] : [])),
      ["agent.draft", "agent.final"],
    )
    const last = again.at(-1) as unknown as { type: string; result: { text: string } }
    assert.equal(last.type, "RUN_FINISHED")
    assert.ok(last.result.text.length > 0)
  })

  it("approve with the digest of what was seen, and decline by cancelling", async () => {
    const first = await run("approve")
    const [question] = (first.events.at(-1) as unknown as Interrupted).outcome.interrupts
    assert.ok(question?.metadata.digest !== undefined)
    assert.equal(question.reason, "approval")
    const bare = await service.post("/workflows/approve/ag-ui", {
      threadId: "t",
      runId: "r",
      messages: [],
      tools: [],
      context: [],
      resume: [{ interruptId: question.id, status: "resolved", payload: { approve: true, note: null } }],
    })
    assert.equal((await errorOf(bare)).status, 409)
    const declined = await run("approve", first.agent, {
      resume: [{ interruptId: question.id, status: "cancelled" }],
    }).then(
      ({ events }) => events.at(-1),
      () => ({ type: "RUN_ERROR", code: "tool_error" }),
    )
    assert.deepEqual([declined?.type, declined?.["code"]], ["RUN_ERROR", "tool_error"])
    const again = await service.post("/workflows/approve/ag-ui", {
      threadId: "t",
      runId: "r",
      messages: [],
      resume: [{ interruptId: question.id, status: "cancelled" }],
    })
    assert.match(await again.text(), /"type":"RUN_ERROR"[^\n]*"code":"tool_error"/)
  })

  it("show tool calls with their arguments and results", async () => {
    const first = await run("approve")
    const [question] = (first.events.at(-1) as unknown as Interrupted).outcome.interrupts
    const { events } = await run("approve", first.agent, {
      resume: [
        {
          interruptId: question?.id ?? "",
          status: "resolved",
          payload: { approve: true, note: null },
          metadata: { digest: question?.metadata.digest ?? "" },
        },
      ],
    })
    const calls = events.filter(({ type }) => type.startsWith("TOOL_CALL_"))
    assert.deepEqual(
      calls.map(({ type }) => type),
      ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"],
    )
    assert.deepEqual(
      [calls[0]?.["toolCallName"], calls[1]?.["delta"], calls[3]?.["content"]],
      ["pay", "{}", '{"ok":true}'],
    )
    assert.deepEqual((events.at(-1) as unknown as { result: unknown }).result, { text: "paid true" })
  })

  it("are cancelled when the client leaves", async () => {
    const leaving = new AbortController()
    const body = {
      threadId: "t",
      runId: "r",
      messages: [{ id: "1", role: "user", content: "x" }],
      forwardedProps: { input: { items: [] } },
    }
    const response = await fetch(`${service.url}/workflows/held/ag-ui`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: leaving.signal,
    })
    const reader = response.body?.getReader()
    await reader?.read()
    leaving.abort()
    const record = await service.get(`/execute/${response.headers.get("x-service-run-id")}?wait=30`)
    assert.equal(((await record.json()) as { status: string }).status, "cancelled")
  })

  it("are refused where they do not fit", async () => {
    const body = { threadId: "t", runId: "r", messages: [{ id: "1", role: "user", content: "x" }] }
    const post = (name: string, more: object): Promise<Response> =>
      service.post(`/workflows/${name}/ag-ui`, { ...body, ...more })
    assert.equal((await post("none", {})).status, 404)
    assert.equal((await post("nope", {})).status, 404)
    assert.deepEqual((await errorOf(await post("tickets/echo", {}))).issues[0]?.path, "input.level")
    assert.equal((await errorOf(await post("ask", { messages: [] }))).status, 400)
    assert.equal((await errorOf(await post("ask", { threadId: 1 }))).status, 400)
    const resume = [{ interruptId: "x/y", status: "resolved", payload: {} }]
    assert.equal((await errorOf(await post("ask", { resume }))).status, 404)
    assert.equal((await errorOf(await post("ask", { resume: [{ interruptId: "x" }] }))).status, 400)
  })
})
