import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import { describe, test } from "node:test"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { startWire } from "../cli/run-wire.ts"
import { startService } from "../contract/http/start-service.ts"
import { streamOf } from "./fake-backend.ts"
import { startServer } from "./http-server.ts"
import { folderOf } from "./workflow-folder.ts"
import { within } from "./within.ts"

// Clients that wait for a run when the service stops or is killed, however the run was begun: every run goes on to its end.

/** What a client got: null where its connection broke. */
type Answer = { readonly status: number; readonly headers: Headers; readonly text: string } | null

type Post = (path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>

interface Way {
  /** `gone` aborts when no answer can come any more. */
  ask(post: Post, url: string, gone: AbortSignal): Promise<Answer>
  /** Checks what a client gets from a service that stops. */
  stopped(answer: NonNullable<Answer>, run_id: string): void
}

const input = { question: "hi" }
const messages = [{ role: "user", content: "hi" }]

/** The run's id is in the body and the headers, with the address and the time to ask for it again. */
function cutShort({ status, headers, text }: NonNullable<Answer>, run_id: string): void {
  const body = JSON.parse(text) as { readonly error: { readonly kind: string }; readonly run_id: string }
  assert.deepEqual([status, body.error.kind, body.run_id], [503, "overloaded", run_id], text)
  assert.equal(headers.get("location"), `/execute/${run_id}`)
  assert.match(headers.get("retry-after") ?? "", /^\d+$/)
}

/** Clients of OpenAI's APIs repeat a 503 by themselves, which would be a second run. */
function cutShortOnce(answer: NonNullable<Answer>, run_id: string): void {
  cutShort(answer, run_id)
  assert.equal(answer.headers.get("x-should-retry"), "false")
}

function told({ status, text }: NonNullable<Answer>, run_id: string): void {
  assert.equal(status, 200)
  assert.match(text, new RegExp(`shutting down.*/execute/${run_id}`))
  assert.doesNotMatch(text, /"finish_reason":"stop"|response\.completed|RUN_FINISHED/)
}

const ways: Readonly<Record<string, Way>> = {
  JSON: { ask: (post) => post("/workflows/flow/execute", { input }), stopped: cutShort },
  "JSON with a key": {
    ask: (post) => post("/workflows/flow/execute", { input }, { "idempotency-key": "k" }),
    stopped: cutShort,
  },
  "a stream": {
    ask: (post) => post("/workflows/flow/execute", { input }, { accept: "text/event-stream" }),
    stopped: ({ text }) => assert.doesNotMatch(text, /workflow_(?:completed|failed|cancelled)/),
  },
  "a chat completion": {
    ask: (post) => post("/v1/chat/completions", { model: "flow", messages }),
    stopped: cutShortOnce,
  },
  "a streamed chat completion": {
    ask: (post) => post("/v1/chat/completions", { model: "flow", messages, stream: true }),
    stopped: told,
  },
  "a response": { ask: (post) => post("/v1/responses", { model: "flow", input: "hi" }), stopped: cutShortOnce },
  "a streamed response": {
    ask: (post) => post("/v1/responses", { model: "flow", input: "hi", stream: true }),
    stopped: told,
  },
  "AG-UI": {
    ask: (post) =>
      post("/workflows/flow/ag-ui", {
        threadId: "t",
        runId: "r",
        messages: [{ id: "m", ...messages[0] }],
        state: {},
        tools: [],
        context: [],
        forwardedProps: {},
      }),
    stopped: told,
  },
  "an MCP tool": {
    async ask(_post, url, gone) {
      const client = new Client({ name: "test", version: "1" })
      await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)))
      try {
        const { content } = await client.callTool({ name: "flow", arguments: input }, { signal: gone })
        return { status: 200, headers: new Headers(), text: JSON.stringify(content) }
      } catch {
        return null
      }
    },
    stopped: told,
  },
}

interface Serving {
  readonly url: string
  /** Its clients only see that their connections break. */
  readonly isKilled: boolean
  /** Resolves when it is gone. */
  end(): Promise<unknown>
}

/** `variables` name the store, without `WIRE_`. */
export function checkWaitingClients(store: string, variables: () => Promise<Readonly<Record<string, string>>>): void {
  describe(`clients that wait, on ${store}`, () => {
    test("the service stops: they get the run's id, and every run goes on after the start", async () => {
      const stopping = async (settings: Readonly<Record<string, string>>): Promise<Serving> => {
        const service = await startService(settings)
        return { url: service.url, isKilled: false, end: () => service.stop() }
      }
      const { answers, runs } = await check(await variables(), stopping)
      for (const [name, answer] of Object.entries(answers)) {
        if (answer === null) throw new Error(`${name}: the connection broke`)
        const run_id =
          answer.headers.get("x-service-run-id") ?? /\/execute\/([\w-]+)/.exec(answer.text)?.[1] ?? "no run"
        assert.ok(runs.includes(run_id), `${name}: ${answer.text}`)
        ways[name]?.stopped(answer, run_id)
      }
    })

    test("kill -9: every run goes on after the start", async () => {
      const killed = async (settings: Readonly<Record<string, string>>): Promise<Serving> => {
        const named = Object.entries(settings).map(([name, value]) => [`WIRE_${name}`, value])
        const { child, address, ended } = await startWire(["serve"], { WIRE_PORT: "0", ...Object.fromEntries(named) })
        const end = (): Promise<unknown> => (child.kill("SIGKILL"), ended)
        return { url: address, isKilled: true, end }
      }
      await check(await variables(), killed)
    })
  })
}

async function check(
  store: Readonly<Record<string, string>>,
  serve: (settings: Readonly<Record<string, string>>) => Promise<Serving>,
): Promise<{ readonly answers: Readonly<Record<string, Answer>>; readonly runs: readonly string[] }> {
  const held: { readonly response: ServerResponse; readonly isStream: boolean }[] = []
  let isHeld = true
  let onCall = (): void => {}
  const answer = (response: ServerResponse, isStream: boolean): void => {
    const events = streamOf(JSON.stringify({ text: "done" }))
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" })
    response.end(
      isStream
        ? events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")
        : JSON.stringify(events.at(-1)?.["response"]),
    )
  }
  const model = await startServer((request, response) => {
    const isStream = request.body.includes('"stream":true')
    if (!isHeld) return answer(response, isStream)
    held.push({ response, isStream })
    onCall()
  })
  const flow = `
input { question: string }
provider llm from openai { endpoint: "${model.origin}/v1" }
model m from llm { id: "m" }
agent answer { model: model.m instruction: "{{ input.question }}" output { text: string } }
chat { message: input.question reply: output.text }
output { text: agent.answer.text }
`
  const settings = { ...store, WORKFLOWS: folderOf({ "flow.wire": flow }) }
  const first = await serve(settings)
  const names = Object.keys(ways)
  const gone = new AbortController()
  const allAsked = new Promise<void>((resolve) => {
    onCall = () => held.length === names.length && resolve()
  })
  const asked = Object.entries(ways).map(
    async ([name, way]) => [name, await way.ask(postTo(first.url), first.url, gone.signal)] as const,
  )
  await within(60_000, "a call of every run", allAsked)
  await within(60_000, "the end of the service", first.end())
  if (first.isKilled) gone.abort()
  const answers = Object.fromEntries(await within(60_000, "the clients' answers", Promise.all(asked)))

  isHeld = false
  const second = await serve(settings)
  const ended = async (): Promise<readonly { readonly run_id: string; readonly status: string }[]> => {
    for (;;) {
      const { runs } = (await (await fetch(`${second.url}/runs`)).json()) as {
        runs: { run_id: string; status: string }[]
      }
      if (runs.length === names.length && runs.every(({ status }) => !["queued", "running"].includes(status)))
        return runs
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const runs = await within(120_000, "the end of every run", ended())
  assert.deepEqual(new Set(runs.map(({ status }) => status)), new Set(["completed"]))
  for (const { run_id } of runs) {
    const record = (await (await fetch(`${second.url}/execute/${run_id}`)).json()) as { readonly output: unknown }
    assert.deepEqual(record.output, { text: "done" })
  }
  await second.end()
  await model.close()
  return { answers, runs: runs.map(({ run_id }) => run_id) }
}

function postTo(url: string): Post {
  return async (path, body, headers = {}) => {
    try {
      const sent = await fetch(`${url}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      })
      return { status: sent.status, headers: sent.headers, text: await sent.text() }
    } catch {
      return null
    }
  }
}
