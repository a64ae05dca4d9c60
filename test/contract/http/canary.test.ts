import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import type { JsonObject, JsonValue } from "../../../src/base/json-value.ts"
import type { Started } from "../../cli/run-wire.ts"
import { startWire } from "../../cli/run-wire.ts"
import { canary, CanaryWatch, formsOf } from "../../support/canaries.ts"
import { messageItem, response as answerOf, streamOf } from "../../support/fake-backend.ts"
import type { TestServer } from "../../support/http-server.ts"
import { startServer } from "../../support/http-server.ts"
import { sendRaw } from "../../support/raw-http.ts"
import type { TinyCall } from "../../support/tiny-mcp.ts"
import { tinyMcp } from "../../support/tiny-mcp.ts"
import { within } from "../../support/within.ts"

// Secrets with values of their own go everywhere that secrets may go, everything fails in every way, and those values are in
// nothing that the service says or keeps.

const secrets = {
  key: canary("key"),
  header: canary("header"),
  path: canary("path"),
  token: canary("token"),
  bound: canary("bound", ` "odd"\\ /+%&<>é`),
}
const apiKey = canary("apikey")
const encryptionKey = randomBytes(32).toString("base64")
const all = Object.values(secrets)
const watch = new CanaryWatch([...all, apiKey, { name: "encryption key", value: encryptionKey }])

const folder = mkdtempSync(join(tmpdir(), "wire-canary-"))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Every secret in every form, as a malicious or careless counterpart would repeat them. */
const echo = all
  .flatMap(({ name, value }) => Object.entries(formsOf(value)).map(([form, text]) => `${name} ${form} <${text}>`))
  .join("; ")
/** The same where no line break or odd character may stand. */
const headerEcho = [secrets.key, secrets.header, secrets.path, secrets.token].map(({ value }) => value).join(" ")

type Behaviour = (reply: ServerResponse, asked: JsonObject) => void

const send =
  (status: number, body: JsonValue | string, headers: Record<string, string> = {}, reason?: string): Behaviour =>
  (reply) => {
    const type = typeof body === "string" ? "text/html" : "application/json"
    const all = { "content-type": type, ...headers }
    if (reason === undefined) reply.writeHead(status, all)
    else reply.writeHead(status, reason, all)
    reply.end(typeof body === "string" ? body : JSON.stringify(body))
  }

const says = (text: string, more: JsonObject = {}): JsonObject => answerOf([messageItem(text)], more)
const toolCall = (more: JsonObject): JsonObject =>
  answerOf([{ type: "function_call", id: "fc", call_id: "c1", name: "probe", arguments: "{}", ...more }])

const streamed =
  (events: readonly JsonObject[], tail: string | null = ""): Behaviour =>
  (reply) => {
    reply.writeHead(200, { "content-type": "text/event-stream" })
    for (const event of events) reply.write(`event: ${event["type"] as string}\ndata: ${JSON.stringify(event)}\n\n`)
    if (tail === null) setImmediate(() => reply.destroy())
    else reply.end(tail)
  }

const rawly =
  (text: string): Behaviour =>
  (reply) => {
    reply.socket?.end(text)
  }

const answer = JSON.stringify({ message: `I saw ${echo}` })
const error = (message: string, more: JsonObject = {}): JsonObject => ({ error: { message, type: "x", ...more } })

/** Ways of a model backend, by name: the name is the run's input. */
const backendWays: Record<string, Behaviour> = {
  "an answer that repeats them": send(200, says(answer)),
  "an answer in pieces": streamed(streamOf(answer, 97)),
  "an answer in single characters": streamed(streamOf(JSON.stringify({ message: secrets.key.value }), 1000)),
  "fields named by them": send(200, says(JSON.stringify({ message: "x", [secrets.key.value]: secrets.header.value }))),
  "no JSON": send(200, says(`not JSON: ${echo}`)),
  "half of a JSON": send(200, says(`{"message": "${secrets.key.value}`)),
  "a wrong type": send(200, says(JSON.stringify({ message: { [secrets.key.value]: echo } }))),
  "a refusal": send(401, error(`Incorrect API key provided: ${echo}`, { code: secrets.key.value, param: echo })),
  "a refused field": send(400, error(`Unknown parameter: ${echo}`, { param: `text.${secrets.key.value}` })),
  "a page of HTML": send(500, `<h1>${echo}</h1>`),
  "a long error": send(503, error(echo.repeat(50)), { "retry-after": "0" }),
  "headers that repeat them": send(429, error("slow down"), {
    "retry-after": headerEcho,
    "x-request-id": headerEcho,
    "www-authenticate": headerEcho,
    "set-cookie": headerEcho,
  }),
  "a reason phrase": send(500, error("x"), {}, headerEcho),
  "a redirect to elsewhere": send(307, "", { location: `http://169.254.169.254/${secrets.key.value}` }),
  "a redirect to nowhere": send(307, "", { location: `http://${secrets.key.value}.invalid/` }),
  "a redirect to no URL": send(302, "", { location: `http://[${headerEcho}` }),
  "an odd content type": send(200, echo, { "content-type": headerEcho.replaceAll(" ", "/") }),
  "a stream that fails": streamed([
    ...streamOf(answer, 5).slice(0, 4),
    { type: "error", message: echo, code: secrets.key.value, param: echo },
    { type: "response.failed", response: { status: "failed", error: { code: secrets.key.value, message: echo } } },
  ]),
  "a stream that breaks": streamed(streamOf(answer, 9).slice(0, 6), null),
  "a stream of nonsense": streamed([], `event: ${headerEcho}\ndata: {"type": "${secrets.key.value}\n\n`),
  incomplete: send(200, says(echo, { status: "incomplete", incomplete_details: { reason: secrets.key.value } })),
  "an error with status 200": send(200, { ...error(echo, { code: secrets.key.value }), status: "failed" }),
  "no HTTP": rawly(`HTTP/1.1 banana ${headerEcho}\r\n\r\n`),
  "half of an answer": rawly(`HTTP/1.1 200 OK\r\ncontent-length: 5000\r\nx: ${headerEcho}\r\n\r\n{"a":"${headerEcho}`),
  "an unknown tool": send(200, toolCall({ name: secrets.key.value, arguments: JSON.stringify({ a: echo }) })),
  "arguments that repeat them": send(200, toolCall({ arguments: JSON.stringify({ q: echo, [headerEcho]: 1 }) })),
  "arguments that are no JSON": send(200, toolCall({ arguments: `{"q": "${secrets.token.value}` })),
  "a call id": send(200, toolCall({ call_id: secrets.key.value, id: secrets.header.value })),
  "a bound argument": send(200, toolCall({ arguments: JSON.stringify({ password: echo }) })),
  "no tool": send(200, says('{"message":"fine"}')),
}

const toolText = (text: string, more: JsonObject = {}): JsonObject => ({ content: [{ type: "text", text }], ...more })
const byHand =
  (status: number, body: (id: JsonValue) => string, headers: Record<string, string> = {}) =>
  ({ response, id }: TinyCall): undefined => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(body(id))
  }

/** Ways of a tool server. */
const toolWays: Record<string, (call: TinyCall) => JsonObject | undefined> = {
  "a result that repeats them": () => toolText(echo, { structuredContent: { q: echo, [secrets.token.value]: [echo] } }),
  "an error result": () => toolText(echo, { isError: true }),
  "an image": () => ({
    content: [{ type: "image", data: Buffer.from(echo).toString("base64"), mimeType: headerEcho }],
  }),
  "a link": () => ({
    content: [{ type: "resource_link", uri: `file:///${headerEcho}`, name: echo, description: echo }],
  }),
  "an error of the protocol": byHand(200, (id) =>
    JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: echo, data: { echo } } }),
  ),
  "a refusal": byHand(401, () => JSON.stringify(error(echo)), {
    "www-authenticate": headerEcho,
    "mcp-session-id": headerEcho,
  }),
  "a page of HTML": byHand(500, () => `<b>${echo}</b>`, { "content-type": "text/html" }),
  "half of a JSON": byHand(200, () => `{"jsonrpc": "2.0", "result": "${secrets.token.value}`),
  "a stream that breaks": ({ response }) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(
      `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":${JSON.stringify(echo)}}}\n\n`,
    )
    setImmediate(() => response.destroy())
    return undefined
  },
  "a reset": ({ response }) => {
    response.socket?.resetAndDestroy()
    return undefined
  },
}

let backend: TestServer
let tools: Awaited<ReturnType<typeof tinyMcp>>
let receiver: TestServer
let service: Started

function start(): Promise<Started> {
  return startWire(["serve"], {
    WIRE_PORT: "0",
    WIRE_DATA_DIR: folder,
    WIRE_LOG_LEVEL: "trace",
    WIRE_RATE_LIMIT: "0",
    WIRE_MAX_BODY: "64kb",
    WIRE_API_KEYS: `ann:${apiKey.value}`,
    WIRE_ENCRYPTION_KEY: encryptionKey,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin,
    OTEL_BSP_SCHEDULE_DELAY: "100",
    WIRE_TRACE_CONTENT: "all",
    TMPDIR: folder,
  })
}

const values = Object.fromEntries(Object.entries(secrets).map(([name, { value }]) => [name, value]))

/** A workflow in which secrets are wherever the language lets them be. */
function source(more: { endpoint?: string; direct?: boolean; key?: string } = {}): string {
  const direct = more.direct === true ? "direct: call tool.probe { input { way: input.tool } }" : ""
  return `
input { way: string  tool: string }
secrets { key: string  header: string  path: string  token: string  bound: string }
provider p from openai {
    endpoint: "${more.endpoint ?? `${backend.origin}/{{ secrets.path }}/v1`}"
    api_key: ${more.key ?? "secrets.key"}
    headers { X-Trace: "{{ secrets.header }}", "X-Path": secrets.path }
    inference { max_retries: 1, retry_base_delay_ms: 1, output_retries: 1, timeout_seconds: 5 }
}
model m from p { id: "m" }
mcp s { endpoint: "${tools.url}?k={{ secrets.path }}"  headers { Authorization: "Bearer {{ secrets.token }}" } }
tool probe from mcp.s.tool.probe { bindings { password: secrets.bound } }
agent reply {
    model: model.m
    uses: [tool.probe]
    instruction: "way=<{{ input.way }}>"
    output { message: string }
}
output { message: agent.reply.message ${direct} }
`
}

async function searchedText(where: string, response: Response): Promise<string> {
  const text = await within(30_000, where, response.text())
  watch.search(`the answer (${where})`, text)
  watch.search(`the headers (${where})`, JSON.stringify([...response.headers]))
  return text
}

async function execute(where: string, body: unknown, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`${service.address}/execute`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey.value}`, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  })
  const text = await searchedText(where, response)
  const run_id = response.headers.get("x-service-run-id")
  if (run_id !== null) {
    for (const path of [`/execute/${run_id}`, `/execute/${run_id}/events`]) {
      const more = await fetch(`${service.address}${path}`, { headers: { authorization: `Bearer ${apiKey.value}` } })
      await searchedText(`${path} of ${where}`, more)
    }
  }
  return text
}

const sse = { accept: "text/event-stream" }

describe("canaries", async () => {
  backend = await startServer((request, reply) => {
    const asked = JSON.parse(request.body) as JsonObject
    const way = /way=<([^>]*)>/.exec(request.body)?.[1] ?? ""
    const called = request.body.includes("function_call_output")
    // After a tool call, whatever came of it, an answer that repeats what the model was given.
    const next = called
      ? send(200, says(JSON.stringify({ message: JSON.stringify(asked["input"]) })))
      : backendWays[way]
    // Secrets reach the backend, and nothing of a tool's answer brings them back to it.
    if (called) watch.search(`what a model was given (${way})`, JSON.stringify(asked["input"]))
    watch.search(`what a model was offered (${way})`, JSON.stringify(asked["tools"] ?? null))
    if (next === undefined) send(200, toolCall({}))(reply, asked)
    else next(reply, asked)
  })
  tools = await tinyMcp(
    {
      probe: (call) => {
        const way = (call.values["way"] ?? "") as string
        return (toolWays[way] ?? toolWays["a result that repeats them"])?.(call)
      },
    },
    {
      title: echo,
      description: `Probes ${echo}`,
      inputSchema: {
        type: "object",
        description: echo,
        properties: { way: { type: "string", description: echo }, other: { enum: [secrets.token.value, "x"] } },
        additionalProperties: true,
      },
    },
  )
  receiver = await startServer(({ body }, response) => {
    watch.search("a trace", body)
    response.end("{}")
  })
  after(() => Promise.all([backend.close(), tools.close(), receiver.close()]))
  service = await start()

  it("reach those for whom they are meant", async () => {
    const text = await execute("a good run", {
      workflow_source: source(),
      input: { way: "no tool", tool: "" },
      secrets: values,
    })
    assert.equal(text, '{"message":"fine"}')
    const asked = backend.received.at(-1)
    assert.equal(asked?.headers["authorization"], `Bearer ${secrets.key.value}`)
    assert.equal(asked?.headers["x-trace"], secrets.header.value)
    assert.ok(asked?.url.includes(secrets.path.value))
    assert.ok(tools.received.some(({ headers }) => headers["authorization"] === `Bearer ${secrets.token.value}`))
  })

  it("are found where they are", () => {
    // Else all of this would prove nothing.
    const sure = new CanaryWatch(all)
    for (const { name, value } of all) {
      for (const [form, text] of Object.entries(formsOf(value))) {
        const before = sure.found.length
        sure.search("a test", `x${text}y`)
        assert.ok(sure.found.length > before, `${name} ${form}`)
      }
    }
  })

  for (const way of Object.keys(backendWays)) {
    it(`whatever the model does: ${way}`, async () => {
      const body = { workflow_source: source(), input: { way, tool: "" }, secrets: values }
      await execute(`${way}, JSON`, body)
      const events = await execute(`${way}, SSE`, { ...body, options: { deltas: true, cache_key: "canary" } }, sse)
      assert.match(events, /^event: workflow_(?:completed|failed)$/m)
      assert.deepEqual(watch.found.splice(0), [])
      if (way === "an answer that repeats them") assert.match(events, /\[secret:key\].*\[secret:bound\]/)
    })
  }

  for (const tool of Object.keys(toolWays)) {
    it(`whatever a tool does: ${tool}`, async () => {
      for (const direct of [true, false]) {
        const way = direct ? "no tool" : `tool: ${tool}`
        backendWays[way] ??= send(200, toolCall({ arguments: JSON.stringify({ way: tool }) }))
        const body = { workflow_source: source({ direct }), input: { way, tool }, secrets: values }
        const before = tools.received.length
        await execute(`${tool}, JSON`, body)
        const events = await execute(`${tool}, SSE`, { ...body, options: { deltas: true } }, sse)
        assert.match(events, /^event: workflow_(?:completed|failed)$/m)
        assert.match(events, /^event: tool_call_started$/m)
        assert.ok(
          tools.received.slice(before).some(({ body: sent }) => sent.includes(secrets.bound.value.slice(0, 30))),
        )
        assert.deepEqual(watch.found.splice(0), [])
      }
    })
  }

  it("wherever an endpoint leads", async () => {
    const endpoints = [
      "http://{{ secrets.path }}.invalid/v1",
      "http://{{ secrets.path }}:99999/v1",
      "{{ secrets.path }}",
      "ftp://{{ secrets.path }}/v1",
      "http://169.254.169.254/{{ secrets.path }}",
      "http://user:{{ secrets.path }}@127.0.0.1:9/v1",
      "http://127.0.0.1:9/{{ secrets.path }}",
      "http://[{{ secrets.path }}]/v1",
    ]
    for (const endpoint of endpoints) {
      const body = { workflow_source: source({ endpoint }), input: { way: "no tool", tool: "" }, secrets: values }
      await execute(`endpoint ${endpoint}`, body)
      await execute(`endpoint ${endpoint}, SSE`, body, sse)
    }
    assert.deepEqual(watch.found.splice(0), [])
  })

  it("whatever is wrong with them", async () => {
    const good = { workflow_source: source(), input: { way: "no tool", tool: "" } }
    const untooled = source().replace("uses: [tool.probe]", "")
    const { key, header } = values
    const wrong: unknown[] = [
      { ...good, secrets: { ...values, key: `${key}\r\nx: y` } },
      { ...good, secrets: { ...values, key: `${key}\0` } },
      // Another secret than the one that the description of the tool repeats, so the model is not given the tool.
      { ...good, workflow_source: untooled, secrets: { ...values, key: `${key}ü€` } },
      { ...good, secrets: { ...values, header: `${header}\nSet-Cookie: ${key}` } },
      { ...good, secrets: { ...values, key: [key] } },
      { ...good, secrets: { ...values, key: { deep: { deeper: key } } } },
      { ...good, secrets: { ...values, extra: key } },
      { ...good, secrets: { key } },
      { ...good, secrets: key },
      { ...good, secrets: [key, header] },
      { ...good, secret: { key } },
      { ...good, secrets: values, options: { cache_key: 5, key } },
      { ...good, secrets: values, options: { [String(key).slice(0, 5)]: key } },
      { workflow_source: "output { a: 1 }", secrets: values },
      { workflow_source: "nonsense", secrets: values },
      { workflow_source_base64: "!!!", secrets: values },
      JSON.stringify({ ...good, secrets: values }).slice(0, -1),
      JSON.stringify({ ...good, secrets: values }).replace('"secrets"', "secrets"),
      JSON.stringify({ ...good, secrets: values }).replaceAll('"', "'"),
      `{"secrets": {"key": ${key}}}`,
      `${key}`,
      JSON.stringify({ ...good, secrets: { ...values, padding: "x".repeat(100_000) } }),
      JSON.stringify({ ...good, secrets: values, deep: "[" }).replace('"["', "[".repeat(2000) + "]".repeat(2000)),
      JSON.stringify({ ...good, secrets: values }).replace("{", '{"__proto__":{},'),
    ]
    for (const [index, body] of wrong.entries()) {
      await execute(`wrong body ${index}`, body)
      await execute(`wrong body ${index}, SSE`, body, sse)
      const text = typeof body === "string" ? body : JSON.stringify(body)
      for (const path of ["/validate", "/format", "/cache/invalidate"]) {
        const headers = { authorization: `Bearer ${apiKey.value}`, "content-type": "application/json" }
        await searchedText(
          `wrong body ${index} of ${path}`,
          await fetch(`${service.address}${path}`, { method: "POST", headers, body: text }),
        )
      }
    }
    assert.deepEqual(watch.found.splice(0), [])
  })

  it("whatever is wrong with the request around them", async () => {
    const port = Number(new URL(service.address).port)
    const body = JSON.stringify({ workflow_source: source(), secrets: values })
    const auth = `Authorization: Bearer ${apiKey.value}`
    const requests = [
      `POST /execute HTTP/1.1\r\nHost: x\r\n${auth}\r\nContent-Type: text/html\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      `POST /execute HTTP/1.1\r\nHost: x\r\n${auth}\r\nContent-Type: ${secrets.key.value}\r\nContent-Length: 2\r\n\r\n{}`,
      `POST /execute HTTP/1.1\r\nHost: x\r\n${auth}\r\n${secrets.key.value}\r\n\r\n`,
      `POST /execute HTTP/1.1\r\nHost: x\r\n${auth}\r\nTransfer-Encoding: chunked\r\n\r\n${secrets.key.value}\r\n`,
      `POST /execute HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secrets.key.value}\r\nContent-Length: 2\r\n\r\n{}`,
      `POST /execute HTTP/1.1\r\nHost: x\r\nAuthorization: ${apiKey.value}\r\nContent-Length: 2\r\n\r\n{}`,
      `GET /execute/none?key=${secrets.key.value} HTTP/1.1\r\nHost: x\r\n${auth}\r\n\r\n`,
      `GET /execute/none/events HTTP/1.1\r\nHost: x\r\n${auth}\r\nLast-Event-ID: ${secrets.key.value}\r\n\r\n`,
      `GET /metrics HTTP/1.1\r\nHost: ${secrets.key.value}\r\n${auth}\r\nCookie: ${secrets.key.value}\r\n\r\n`,
    ]
    for (const [index, bytes] of requests.entries()) {
      const { answers } = await sendRaw(port, bytes, { end: index === 3 })
      const [got] = answers
      assert.ok(got !== undefined)
      watch.search(`broken request ${index}`, `${JSON.stringify(got.headers)}${got.body}`)
    }
    // What names a parameter is refused by that name, which nobody keeps secrets in; its value is not repeated.
    assert.deepEqual(watch.found.splice(0), [])
  })

  it("in runs that are cancelled, time out, or are killed with the process", async () => {
    backendWays["silence"] = () => {}
    const body = { workflow_source: source(), input: { way: "silence", tool: "" }, secrets: values }
    await execute("a timeout", { ...body, options: { timeout_ms: 200 } })
    const headers = { authorization: `Bearer ${apiKey.value}`, "content-type": "application/json", ...sse }
    const hanging = await fetch(`${service.address}/execute`, { method: "POST", headers, body: JSON.stringify(body) })
    const run_id = hanging.headers.get("x-service-run-id") ?? ""
    await fetch(`${service.address}/execute/${run_id}/cancel`, {
      method: "POST",
      headers: { authorization: headers.authorization },
    })
    await searchedText("a cancelled run", hanging)
    const short = JSON.stringify({ ...body, options: { timeout_ms: 5000 } })
    const left = await fetch(`${service.address}/execute`, { method: "POST", headers, body: short })
    await within(30_000, "its first events", left.body?.getReader().read() ?? Promise.reject(new Error("no body")))
    // With the secrets of a run under way in it.
    searchFolder("while a run is under way")
    service.child.kill("SIGKILL")
    await service.ended
    searchFolder("after a kill")
    watch.search("the log", service.output())
    assert.deepEqual(watch.found.splice(0), [])
  })

  it("are in no log line, metric, trace or file", async () => {
    service = await start()
    const metrics = await fetch(`${service.address}/metrics`, { headers: { authorization: `Bearer ${apiKey.value}` } })
    await searchedText("metrics", metrics)
    service.child.kill("SIGTERM")
    await service.ended
    watch.search("the log", service.output())
    searchFolder("at the end")
    assert.ok(receiver.received.length > 0)
    assert.ok(watch.searched > 500, `${watch.searched} searches`)
    assert.deepEqual(watch.found, [])
  })
})

function searchFolder(when: string): void {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  assert.ok(files.some(({ name }) => name === "wireworks.db"))
  for (const { parentPath, name } of files) {
    watch.search(`the file ${name} ${when}`, readFileSync(join(parentPath, name)))
  }
}
