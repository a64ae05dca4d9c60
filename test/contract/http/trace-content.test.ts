import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it, type TestContext } from "node:test"
import { startWire } from "../../cli/run-wire.ts"
import { apiError, calls, fakeBackend, says } from "../../support/fake-backend.ts"
import { startServer } from "../../support/http-server.ts"
import { tinyMcp } from "../../support/tiny-mcp.ts"

// What traces show of texts and values, as a receiver over HTTP gets it: public values whole, private ones as the paths that they come from,
// secrets by their names. `PRIV` is in every value that is private, and in all that models and tools make of one.

type Attributes = Readonly<Record<string, unknown>>

interface Span {
  readonly name: string
  readonly attributes: Attributes
}

interface OtlpSpan {
  readonly name: string
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
}

interface OtlpBody {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[] }[]
}

const folder = mkdtempSync(join(tmpdir(), "wire-trace-content-"))
after(() => rmSync(folder, { recursive: true, force: true }))

/** The spans that a receiver got, and every byte of them. */
interface Received {
  readonly spans: readonly Span[]
  readonly bytes: string
}

interface Request {
  readonly workflow_source: string
  readonly modules?: Readonly<Record<string, string>>
  readonly input: object
  readonly secrets?: object
  readonly status?: number
}

/** Runs each request on a service of its own that sends traces, and gives what the receiver got by the end. */
async function traced(
  t: TestContext,
  settings: Record<string, string>,
  requests: readonly Request[],
): Promise<Received> {
  const bodies: string[] = []
  const receiver = await startServer(({ body }, response) => {
    bodies.push(body)
    response.writeHead(200, { "content-type": "application/json" })
    response.end("{}")
  })
  t.after(() => receiver.close())
  const data = mkdtempSync(join(folder, "data-"))
  mkdirSync(join(data, "wires"))
  writeFileSync(join(data, "wires", "none.wire"), "output { ok: true }")
  const service = await startWire(["serve"], {
    WIRE_PORT: "0",
    WIRE_DATA_DIR: data,
    WIRE_LOG_LEVEL: "error",
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.origin,
    ...settings,
  })
  for (const { status = 200, ...request } of requests) {
    const response = await fetch(`${service.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
    })
    const text = await response.text()
    assert.equal(response.status, status, text.replaceAll(/"range":\{.*?\}\}/g, ""))
  }
  service.child.kill("SIGTERM")
  assert.equal((await service.ended).code, 0)
  const spans = bodies.flatMap((body) =>
    (JSON.parse(body) as OtlpBody).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  )
  return {
    bytes: bodies.join("\n"),
    spans: spans.map(({ name, attributes }) => ({
      name,
      attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
    })),
  }
}

function only(spans: readonly Span[], name: string, has: string): Attributes {
  const found = spans.filter((span) => span.name === name && JSON.stringify(span.attributes).includes(has))
  assert.equal(found.length, 1, `${name} with ${has}: ${found.length} of ${spans.map((span) => span.name).join(", ")}`)
  return found[0]?.attributes ?? {}
}

function parsed(attributes: Attributes, key: string): unknown {
  const value = attributes[key]
  assert.equal(typeof value, "string", `${key}: ${String(value)}`)
  return JSON.parse(String(value))
}

const input = {
  mail: "PRIV-mail",
  topic: "PUB-topic",
  who: { name: "PRIV-name" },
  mails: [{ text: "PRIV-one", id: "PUB-one" }],
  report: "PRIV-report",
  plain: "PUB-plain",
  free: "PUB-one",
}

const declared = `input {
  mail: private string
  topic: string
  who: private { name: string }
  mails: [{ text: private string  id: string }]
  report: private string
  plain: string
  free: private string
}
secrets { key: string }`

function backendOf(endpoint: string): string {
  return `provider p from openai { endpoint: "${endpoint}"  api_key: secrets.key  cleared: private }
model m from p { id: "test-model"  inference { max_retries: 0 } }`
}

describe("content in traces", () => {
  it("shows what is not private, and the paths of what is", async (t) => {
    const { backend } = await fakeBackend(t, ({ body }) => {
      const text = JSON.stringify(body)
      if (text.includes("Mixed"))
        return text.includes("PRIV-found")
          ? says('{"text":"PRIV-made","kind":"PRIV"}')
          : calls("look", { q: "PRIV-asked" }, "call_PRIV")
      if (text.includes("Open"))
        return text.includes("PUB-found") ? says('{"text":"PUB-answer"}') : calls("look", { q: "PUB-asked" })
      if (text.includes("Next")) return says('{"text":"PRIV-next"}')
      return says('{"text":"PRIV-item"}')
    })
    const tools = await tinyMcp({
      look: ({ values: given }) => ({
        content: [{ type: "text", text: JSON.stringify(given).includes("PRIV") ? "PRIV-found" : "PUB-found" }],
      }),
    })
    t.after(() => tools.close())
    const workflow_source = `${declared}
mcp s { endpoint: "${tools.url}"  cleared: private }
tool look from mcp.s.tool.look
${backendOf(backend.endpoint)}
dynamic {
  pair: "{{input.topic}} and {{input.mail}}"
  released: release input.free because "all know it"
  found: call tool.look { input { q: input.mail } }
  open: call tool.look { input { q: input.topic } }
}
agent mixed {
  model: model.m
  system: "Mixed about {{input.topic}} for {{input.who.name}}"
  instruction: "Sort {{input.mail}} and {{input.topic}}; {{dynamic.pair}}; {{dynamic.released}}"
  file input.report { name: "a.txt" }
  file input.plain { name: "b.txt" }
  uses: [tool.look]
  output { text: string  kind: string }
}
agent open {
  model: model.m
  instruction: "Open {{input.topic}} of {{input.mails[0]?.id}}"
  uses: [tool.look]
  output { text: string }
}
agent next { model: model.m  instruction: "Next {{agent.mixed.text}} and {{agent.open.text}}"  output { text: string } }
agent each for one in input.mails { model: model.m  instruction: "Each {{one.id}}: {{one.text}}"  output { text: string } }
output { a: agent.next.text  b: agent.each  c: dynamic.found  d: dynamic.open }`
    const { spans, bytes } = await traced(t, { WIRE_TRACE_CONTENT: "public" }, [
      { workflow_source, input, secrets: { key: "SECRET-CANARY-1234567890" } },
    ])
    assert.doesNotMatch(bytes, /PRIV/)
    assert.doesNotMatch(bytes, /SECRET-CANARY/)
    const chats = spans.filter(({ name }) => name === "chat test-model").map(({ attributes }) => attributes)
    const chatOf = (text: string): Attributes[] =>
      chats.filter((one) => String(one["gen_ai.input.messages"]).includes(text))

    const [asked, answered] = chatOf("Sort")
    assert.ok(asked !== undefined && answered !== undefined)
    assert.deepEqual(parsed(asked, "gen_ai.system_instructions"), [
      { type: "text", content: "Mixed about PUB-topic for [private: input.who.name]" },
    ])
    const instruction = "Sort [private: input.mail] and PUB-topic; [private: dynamic.pair]; PUB-one"
    const first = {
      role: "user",
      parts: [
        { type: "text", content: instruction },
        { type: "text", content: "[private file: document]" },
        { type: "text", content: "[file: text/plain, 9 bytes]" },
      ],
    }
    const hidden = "[private: agent.mixed]"
    const call = { type: "tool_call", id: "call_1", name: hidden, arguments: hidden }
    assert.deepEqual(parsed(asked, "gen_ai.input.messages"), [first])
    assert.deepEqual(parsed(asked, "gen_ai.output.messages"), [
      { role: "assistant", parts: [call], finish_reason: "tool_call" },
    ])
    assert.deepEqual(parsed(answered, "gen_ai.input.messages"), [
      first,
      { role: "assistant", parts: [call] },
      { role: "tool", parts: [{ type: "tool_call_response", id: "call_1", response: hidden }] },
    ])
    assert.deepEqual(parsed(answered, "gen_ai.output.messages"), [
      {
        role: "assistant",
        parts: [
          {
            type: "text",
            content: '{"text":"[private: agent.mixed.text]","kind":"[private: agent.mixed.kind]"}',
          },
        ],
        finish_reason: "stop",
      },
    ])

    assert.deepEqual(
      chats.map((one) => [one["gen_ai.response.id"], one["gen_ai.response.model"]]),
      chats.map(() => ["resp_1", "test-model"]),
    )
    const [open, closed] = chatOf("Open PUB-topic of PUB-one")
    assert.ok(open !== undefined && closed !== undefined)
    assert.deepEqual(parsed(open, "gen_ai.output.messages"), [
      {
        role: "assistant",
        parts: [{ type: "tool_call", id: "call_1", name: "look", arguments: { q: "PUB-asked" } }],
        finish_reason: "tool_call",
      },
    ])
    assert.deepEqual((parsed(closed, "gen_ai.input.messages") as unknown[])[2], {
      role: "tool",
      parts: [{ type: "tool_call_response", id: "call_1", response: "PUB-found" }],
    })
    assert.deepEqual(parsed(closed, "gen_ai.output.messages"), [
      { role: "assistant", parts: [{ type: "text", content: '{"text":"PUB-answer"}' }], finish_reason: "stop" },
    ])

    const [next] = chatOf("Next")
    const [each] = chatOf("Each")
    assert.ok(String(next?.["gen_ai.input.messages"]).includes("Next [private: agent.mixed.text] and PUB-answer"))
    assert.ok(String(each?.["gen_ai.input.messages"]).includes("Each PUB-one: [private: input.mails.text]"))

    const looks = spans.filter(({ name }) => name === "execute_tool look").map(({ attributes }) => attributes)
    const told = looks
      .map((one) => `${String(one["gen_ai.tool.call.arguments"])} ${String(one["gen_ai.tool.call.result"])}`)
      .toSorted()
    assert.deepEqual(told, [
      '"[private: agent.mixed]" "[private: tool.look]"',
      '{"q":"PUB-asked"} "PUB-found"',
      '{"q":"PUB-topic"} "PUB-found"',
      '{"q":"[private: input.mail]"} "[private: tool.look]"',
    ])
    for (const one of looks) {
      assert.equal(one["mcp.method.name"], "tools/call")
      assert.match(String(one["mcp.protocol.version"]), /^\d{4}-\d\d-\d\d$/)
    }
  })

  it("shows nothing of a file that marks nothing, unless it is told to, and with `all` everything but secrets", async (t) => {
    const secret = "SECRET-CANARY-1234567890"
    const { backend } = await fakeBackend(t, () => says(JSON.stringify({ text: `you sent ${secret}` })))
    const source = `input { topic: string }
secrets { key: string }
${backendOf(backend.endpoint).replace("cleared: private", "")}
agent a { model: model.m  system: "System"  instruction: "About {{input.topic}}"  output { text: string } }
output { text: agent.a.text }`
    const request = { workflow_source: source, input: { topic: `PUB ${secret}` }, secrets: { key: secret } }
    const marked = {
      ...request,
      workflow_source: source
        .replace("topic: string", "topic: private string")
        .replace("api_key: secrets.key", "api_key: secrets.key  cleared: private"),
    }
    const content = /gen_ai\.(?:system_instructions|input\.messages|output\.messages|tool\.call\.(?:arguments|result))/
    const none = await traced(t, {}, [request, marked])
    assert.doesNotMatch(none.bytes, content)
    assert.equal(only(none.spans.slice(0, 1), "chat test-model", "test-model")["server.address"], "127.0.0.1")
    const unmarked = await traced(t, { WIRE_TRACE_CONTENT: "public" }, [request])
    assert.doesNotMatch(unmarked.bytes, content)
    const told = await traced(t, { WIRE_TRACE_CONTENT: "public", WIRE_TRACE_CONTENT_UNMARKED: "all" }, [request])
    const [chat] = told.spans.filter(({ name }) => name === "chat test-model")
    assert.deepEqual(parsed(chat?.attributes ?? {}, "gen_ai.input.messages"), [
      { role: "user", parts: [{ type: "text", content: "About PUB [secret:key]" }] },
    ])
    assert.deepEqual(parsed(chat?.attributes ?? {}, "gen_ai.output.messages"), [
      {
        role: "assistant",
        parts: [{ type: "text", content: '{"text":"you sent [secret:key]"}' }],
        finish_reason: "stop",
      },
    ])
    const all = await traced(t, { WIRE_TRACE_CONTENT: "all" }, [marked])
    const [whole] = all.spans.filter(({ name }) => name === "chat test-model")
    assert.ok(String(whole?.attributes["gen_ai.input.messages"]).includes("About PUB [secret:key]"))
    for (const { bytes } of [none, unmarked, told, all]) assert.doesNotMatch(bytes, /SECRET-CANARY/)
  })

  it("shows a called file with its caller's labels", async (t) => {
    const { backend } = await fakeBackend(t, ({ body }) =>
      says(JSON.stringify({ text: JSON.stringify(body).includes("PRIV") ? "PRIV-out" : "PUB-out" })),
    )
    const modules = {
      "inner.wire": `input { text: string  more: string }
secrets { key: string }
${backendOf(backend.endpoint)}
agent a { model: model.m  instruction: "Inner {{input.text}} with {{input.more}}"  output { text: string } }
output { text: agent.a.text }`,
    }
    const workflow_source = `${declared}
workflow inner from "./inner.wire" { secrets { key: secrets.key } }
workflow other from "./inner.wire" { secrets { key: secrets.key } }
dynamic {
  one: call workflow.inner { input { text: input.mail  more: input.topic } }
  two: call workflow.other { input { text: input.plain  more: input.topic } }
}
output { one: dynamic.one.text  two: dynamic.two.text }`
    const { spans, bytes } = await traced(t, { WIRE_TRACE_CONTENT: "public" }, [
      { workflow_source, modules, input, secrets: { key: "SECRET-CANARY-1234567890" } },
    ])
    assert.doesNotMatch(bytes, /PRIV|SECRET-CANARY/)
    const texts = spans.flatMap(({ name, attributes }) => {
      return name === "chat test-model" ? [String(attributes["gen_ai.input.messages"])] : []
    })
    assert.equal(texts.filter((text) => text.includes("Inner [private: input.text] with PUB-topic")).length, 1)
    assert.equal(texts.filter((text) => text.includes("Inner PUB-plain with PUB-topic")).length, 1)
  })

  it("keeps values out of names, statuses and addresses, and cuts at a whole message", async (t) => {
    const { backend } = await fakeBackend(t, ({ body }) => {
      const text = JSON.stringify(body)
      if (text.includes("Fail")) return apiError(401, "VALUE-error")
      if (text.includes("Up"))
        return text.includes("no tool named") ? says('{"text":"x"}') : calls("VALUE-tool", { a: 1 })
      return says('{"text":"x"}')
    })
    const { port } = new URL(backend.endpoint)
    const tools = await tinyMcp({ look: () => ({ content: [{ type: "text", text: "seen" }] }) })
    t.after(() => tools.close())
    const source = (instruction: string): string => `input { id: string  host: string  long: string }
secrets { key: string }
provider p from openai { endpoint: "http://{{input.host}}:${port}/v1"  api_key: secrets.key }
model m from p { id: input.id  inference { max_retries: 0 } }
mcp s { endpoint: "${tools.url}" }
tool look from mcp.s.tool.look
agent a {
  model: model.m
  instruction: "${instruction}"
  messages: [{ role: "user", content: "Before" }, { role: "assistant", content: input.long }]
  uses: [tool.look]
  output { text: string }
}
output { text: agent.a.text }`
    const one = {
      input: { id: "VALUE-model", host: "127.0.0.1", long: "x".repeat(40_000) },
      secrets: { key: "k".repeat(20) },
    }
    const { spans, bytes } = await traced(t, { WIRE_TRACE_CONTENT: "all" }, [
      { ...one, workflow_source: source("Good") },
      { ...one, workflow_source: source("Fail"), status: 502 },
      { ...one, workflow_source: source("Up") },
    ])
    for (const { name, attributes } of spans) {
      assert.doesNotMatch(name, /VALUE/)
      assert.equal(attributes["gen_ai.request.model"], undefined)
      assert.equal(attributes["server.address"], undefined)
      assert.equal(attributes["gen_ai.response.model"], undefined)
    }
    assert.doesNotMatch(bytes, /VALUE-(?:model|error)/)
    const cut = spans.flatMap(({ attributes }) => attributes["gen_ai.input.messages"] ?? []).map(String)
    assert.ok(cut.length >= 3)
    for (const text of cut) {
      assert.ok(text.length <= 32 * 1024)
      assert.deepEqual(JSON.parse(text), [
        { role: "user", parts: [{ type: "text", content: "Before" }] },
        { role: "user", parts: [{ type: "text", content: "[cut]" }] },
      ])
    }
  })

  it("speaks the conventions' newer words where it is asked to", async (t) => {
    const { backend } = await fakeBackend(t, () => says('{"text":"x"}'))
    const request = {
      workflow_source: `secrets { key: string }
${backendOf(backend.endpoint)}
agent a { model: model.m  instruction: "Hi"  output { text: string } }
output { text: agent.a.text }`,
      input: {},
      secrets: { key: "k".repeat(20) },
    }
    const both = { WIRE_TRACE_CONTENT: "all" }
    const old = await traced(t, both, [request])
    const opted = { ...both, OTEL_SEMCONV_STABILITY_OPT_IN: "http,gen_ai_latest_experimental" }
    const latest = await traced(t, opted, [request])
    const [before] = old.spans.filter(({ name }) => name === "chat test-model")
    const [now] = latest.spans.filter(({ name }) => name === "chat test-model")
    assert.ok("gen_ai.usage.cache_creation.input_tokens" in (before?.attributes ?? {}))
    assert.ok(!("gen_ai.usage.cache_write.input_tokens" in (before?.attributes ?? {})))
    assert.ok("gen_ai.usage.cache_write.input_tokens" in (now?.attributes ?? {}))
    assert.ok(!("gen_ai.usage.cache_creation.input_tokens" in (now?.attributes ?? {})))
    assert.deepEqual(parsed(now?.attributes ?? {}, "gen_ai.output.messages"), [
      { role: "assistant", parts: [{ type: "text", content: '{"text":"x"}' }] },
    ])
  })
})
