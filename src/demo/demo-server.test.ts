import assert from "node:assert/strict"
import { setImmediate as nextTurn } from "node:timers/promises"
import { after, before, test } from "node:test"
import { createParser } from "eventsource-parser"
import type { JsonObject, JsonValue } from "../base/json-value.ts"
import { within } from "../../test/support/within.ts"
import type { DemoServer } from "./demo-server.ts"
import { startDemoServer } from "./demo-server.ts"
import { createDemoModel } from "./handle-demo.ts"

let server: DemoServer
before(async () => {
  server = await startDemoServer({ slowFirstMs: 5, slowTokenMs: 1 })
})
after(() => server.close())

const greeting = {
  type: "json_schema",
  name: "reply",
  schema: {
    type: "object",
    properties: { message: { type: "string" } },
    required: ["message"],
    additionalProperties: false,
  },
}
const question = { model: "demo", input: "Greet Ada.", text: { format: greeting } }

async function ask(body: unknown, path = "/responses"): Promise<Response> {
  return fetch(server.endpoint + path, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "content-type": "application/json" },
  })
}

async function askJson(body: unknown): Promise<JsonObject> {
  return (await (await ask(body)).json()) as JsonObject
}

function textOf(response: JsonObject): string {
  const [item] = response["output"] as { content: { text: string }[] }[]
  return item?.content[0]?.text ?? ""
}

async function events(body: unknown): Promise<{ event: string; data: JsonObject }[]> {
  const response = await ask(body)
  assert.match(response.headers.get("content-type") ?? "", /^text\/event-stream/)
  const found: { event: string; data: JsonObject }[] = []
  let done = false
  const parser = createParser({
    onEvent: ({ event, data }) => {
      assert.ok(!done, "[DONE] is last")
      if (data === "[DONE]") done = true
      else found.push({ event: event ?? "", data: JSON.parse(data) as JsonObject })
    },
  })
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }))
  assert.ok(done)
  return found
}

test("answers the README's question, the same each time, with usage, and says that it is a demo", async () => {
  const first = await askJson(question)
  assert.equal(first["status"], "completed")
  assert.equal(textOf(first), '{"message":"Hello, Ada."}')
  assert.match(JSON.stringify(first["metadata"]), /demo/)
  const usage = first["usage"] as Record<string, number>
  assert.ok((usage["input_tokens"] ?? 0) > 0 && (usage["output_tokens"] ?? 0) > 0)
  const second = await askJson(question)
  assert.deepEqual({ ...second, created_at: 0 }, { ...first, created_at: 0 })
  assert.match(textOf(await askJson({ model: "demo", input: "Greet Ada." })), /Hello, Ada\..*demo/)
})

test("streams the same answer as proper events", async () => {
  const whole = await askJson(question)
  const stream = await events({ ...question, stream: true })
  const types = stream.map(({ event }) => event)
  for (const { event, data } of stream) assert.equal(data["type"], event)
  assert.deepEqual(
    stream.map(({ data }) => data["sequence_number"]),
    stream.map((_, at) => at),
  )
  assert.deepEqual(
    types.filter((type, at) => type !== types[at - 1]),
    [
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ],
  )
  const deltas = stream.filter(({ event }) => event === "response.output_text.delta")
  assert.equal(deltas.map(({ data }) => data["delta"] as string).join(""), textOf(whole))
  const last = stream.at(-1)?.data["response"] as JsonObject
  assert.deepEqual({ ...last, created_at: 0 }, { ...whole, created_at: 0 })
})

test("calls each tool once, then answers with what they returned", async () => {
  const tool = (name: string): JsonObject => ({
    type: "function",
    name,
    parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
  })
  const schema = {
    type: "object",
    properties: { issue: { type: "integer" }, note: { type: "string" } },
    required: ["issue", "note"],
    additionalProperties: false,
  }
  const user = { role: "user", content: [{ type: "input_text", text: "Find the issue about retries." }] }
  const request = {
    model: "demo",
    input: [user] as JsonValue[],
    tools: [tool("search"), tool("count")],
    text: { format: { type: "json_schema", name: "x", schema } },
  }
  const first = await askJson(request)
  const calls = first["output"] as JsonObject[]
  assert.deepEqual(
    calls.map((call) => [call["type"], call["name"]]),
    [
      ["function_call", "search"],
      ["function_call", "count"],
    ],
  )
  for (const call of calls)
    assert.equal(typeof (JSON.parse(call["arguments"] as string) as JsonObject)["query"], "string")
  assert.notEqual(calls[0]?.["call_id"], calls[1]?.["call_id"])

  const streamed = await events({ ...request, stream: true })
  assert.ok(streamed.some(({ event }) => event === "response.function_call_arguments.delta"))
  const whole = streamed.at(-1)?.data["response"] as JsonObject
  assert.deepEqual(whole["output"], calls)

  const results = calls.map((call) => ({
    type: "function_call_output",
    call_id: call["call_id"] ?? null,
    output: JSON.stringify({ hits: [{ issue: 4711 }] }),
  }))
  const second = await askJson({ ...request, input: [user, ...calls, ...results] })
  const answer = JSON.parse(textOf(second)) as JsonObject
  assert.equal(answer["issue"], 4711)
})

test("tool_choice none keeps it from calling", async () => {
  const tools = [{ type: "function", name: "x", parameters: {} }]
  assert.ok(textOf(await askJson({ model: "demo", input: "Hi", tools, tool_choice: "none" })) !== "")
})

test("finds the schema that a system message asks for", async () => {
  const schema = JSON.stringify(greeting.schema)
  for (const extra of [{ text: { format: { type: "json_object" } } }, {}]) {
    const input = [
      { role: "system", content: `Answer with one JSON object. Its schema:\n${schema}\nNothing else.` },
      { role: "user", content: "Greet Ada." },
    ]
    assert.equal(textOf(await askJson({ model: "demo", input, ...extra })), '{"message":"Hello, Ada."}')
  }
})

test("an answer longer than max_output_tokens is incomplete", async () => {
  const response = await askJson({ ...question, max_output_tokens: 2 })
  assert.equal(response["status"], "incomplete")
  assert.deepEqual(response["incomplete_details"], { reason: "max_output_tokens" })
  const stream = await events({ ...question, max_output_tokens: 2, stream: true })
  assert.equal(stream.at(-1)?.event, "response.incomplete")
})

for (const [what, body, status, param, code] of [
  ["no JSON", "{", 400, null, "invalid_json"],
  ["no object", "[]", 400, null, "invalid_json"],
  ["no model", { input: "x" }, 400, "model", "missing_required_parameter"],
  ["no input", { model: "demo" }, 400, "input", "missing_required_parameter"],
  ["empty input", { model: "demo", input: [] }, 400, "input", "invalid_value"],
  ["a misspelt model of its own", { model: "demo-slwo", input: "x" }, 404, "model", "model_not_found"],
  ["an empty model", { model: " ", input: "x" }, 404, "model", "model_not_found"],
  ["input that is a number", { model: "demo", input: 1 }, 400, "input", "invalid_value"],
  ["an item without a role", { model: "demo", input: [{ content: "x" }] }, 400, "input[0]", "invalid_value"],
  [
    "a call without an id",
    { model: "demo", input: [{ type: "function_call", name: "x" }] },
    400,
    "input[0]",
    "invalid_value",
  ],
  [
    "a format without a schema",
    { model: "demo", input: "x", text: { format: { type: "json_schema", name: "x" } } },
    400,
    "text.format.schema",
    "missing_required_parameter",
  ],
  ["a temperature of 3", { model: "demo", input: "x", temperature: 3 }, 400, "temperature", "invalid_value"],
  [
    "previous_response_id",
    { model: "demo", input: "x", previous_response_id: "r" },
    400,
    "previous_response_id",
    "unsupported_parameter",
  ],
] as const) {
  test(`an error in OpenAI's shape: ${what}`, async () => {
    const response = await ask(body)
    assert.equal(response.status, status)
    const { error } = (await response.json()) as { error: JsonObject }
    assert.deepEqual(Object.keys(error), ["message", "type", "param", "code"])
    assert.equal(error["type"], "invalid_request_error")
    assert.equal(error["param"], param)
    assert.equal(error["code"], code)
  })
}

const hello = { role: "user", content: "Hi" }
const functions: Readonly<Record<string, (tool: JsonValue) => JsonObject>> = {
  "/v1/responses": (tool) => ({ model: "demo", input: "Hi", tools: [tool] }),
  "/v1/chat/completions": (tool) => ({ model: "demo", messages: [hello], tools: [tool] }),
  "/v1/messages": (tool) => ({ model: "demo", messages: [hello], max_tokens: 10, tools: [tool] }),
}
const wellFormed: Readonly<Record<string, JsonObject>> = {
  "/v1/responses": { type: "function", name: "look", parameters: { type: "object" } },
  "/v1/chat/completions": { type: "function", function: { name: "look", parameters: { type: "object" } } },
  "/v1/messages": { name: "look", input_schema: { type: "object" } },
}

for (const [path, request] of Object.entries(functions)) {
  const post = (body: JsonValue): Promise<Response> =>
    fetch(server.endpoint.replace(/\/v1$/, path), {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    })
  const good = wellFormed[path] ?? {}

  test(`malformed tools are refused: ${path}`, async () => {
    assert.equal((await post(request(good))).status, 200)
    const inner = "function" in good
    const changed = (change: JsonObject): JsonValue =>
      inner ? { ...good, function: { ...(good["function"] as JsonObject), ...change } } : { ...good, ...change }
    const schema = "input_schema" in good ? "input_schema" : "parameters"
    const wrong: Readonly<Record<string, JsonValue>> = {
      "a text": request("look"),
      "a number": request(1),
      null: request(null),
      "an array": request([good]),
      "an empty object": request({}),
      "no name": request(changed({ name: null })),
      "a name that is a number": request(changed({ name: 1 })),
      "an empty name": request(changed({ name: "" })),
      "a name with a line break": request(changed({ name: "a\nb" })),
      "a description that is a number": request(changed({ description: 1 })),
      "parameters that are a text": request(changed({ [schema]: "x" })),
      "parameters that are an array": request(changed({ [schema]: [] })),
      "parameters of a text": request(changed({ [schema]: { type: "string" } })),
      "tools that are a text": { ...request(good), tools: "look" },
      "tools that are an object": { ...request(good), tools: { look: good } },
      "one good tool and one bad": { ...request(good), tools: [...(request(good)["tools"] as JsonValue[]), 1] },
      "another type": request({ ...good, type: "banana" }),
    }
    for (const [what, body] of Object.entries(wrong)) {
      const response = await post(body)
      const answer = await response.text()
      assert.equal(response.status, 400, `${what}: ${answer}`)
      assert.match(answer, /tools/, what)
    }
  })

  test(`other malformed fields are refused: ${path}`, async () => {
    const fields: Readonly<Record<string, Readonly<Record<string, JsonValue>>>> = {
      "/v1/responses": {
        tool_choice: 1,
        text: "json",
        instructions: 1,
        stream: "yes",
        input: [{ role: "user", content: [1] }],
      },
      "/v1/chat/completions": {
        tool_choice: "sometimes",
        response_format: "json",
        stream: 1,
        temperature: "hot",
        messages: [{ role: "user", content: ["Hi"] }],
      },
      "/v1/messages": { stream: 1, temperature: "hot", max_tokens: 0, messages: [{ role: "user", content: 1 }] },
    }
    for (const [name, value] of Object.entries(fields[path] ?? {})) {
      const response = await post({ ...request(good), [name]: value })
      assert.equal(response.status, 400, `${name}: ${await response.text()}`)
    }
  })
}

test("another path and another method are errors of the same shape", async () => {
  const lost = await ask({}, "/other")
  assert.equal(lost.status, 404)
  assert.equal(((await lost.json()) as { error: JsonObject }).error["type"], "invalid_request_error")
  const get = await fetch(`${server.endpoint}/responses`)
  assert.equal(get.status, 405)
  assert.equal(get.headers.get("allow"), "POST")
})

test("demo-slow waits before an answer, and before each token of a stream", async () => {
  const long = 60_000
  for (const [options, stream] of [
    [{ slowFirstMs: long, slowTokenMs: 0 }, false],
    [{ slowFirstMs: long, slowTokenMs: 0 }, true],
    [{ slowFirstMs: 0, slowTokenMs: long }, true],
  ] as const) {
    const abort = new AbortController()
    const { signal } = abort
    let shown = ""
    const ended = (async () => {
      const body = JSON.stringify({ ...question, model: "demo-slow", stream })
      const answer = await createDemoModel(options).handle({ route: { api: "responses" }, body, signal })
      for await (const text of answer.body) shown += text
    })()
    ended.catch(() => undefined)
    while (options.slowFirstMs === 0 && !shown.includes("response.created")) await nextTurn()
    abort.abort()
    await assert.rejects(within(30_000, "the end", ended), { name: "AbortError" })
    assert.equal(shown.includes("response.created"), options.slowFirstMs === 0)
    assert.ok(!shown.includes("response.output_text.delta"))
  }
})

test("demo-slow stops when its caller goes away", async () => {
  const model = createDemoModel({ slowFirstMs: 60_000 })
  const abort = new AbortController()
  const answer = model.handle({
    route: { api: "responses" },
    body: JSON.stringify({ ...question, model: "demo-slow" }),
    signal: abort.signal,
  })
  abort.abort()
  await assert.rejects(within(30_000, "the end", answer), { name: "AbortError" })
})

test("demo-flaky fails first, with Retry-After, always in the same way, and then answers", async () => {
  let now = 0
  const model = createDemoModel({ now: () => now })
  const seen = new Set<number>()
  for (const name of ["Ada", "Bob", "Cyd", "Dan", "Eve", "Fay", "Gus", "Hal"]) {
    const body = JSON.stringify({ ...question, model: "demo-flaky", input: `Greet ${name}.` })
    const statuses = async (): Promise<number[]> => {
      const found: number[] = []
      while (found.at(-1) !== 200 && found.length < 9) {
        const reply = await model.handle({ route: { api: "responses" }, body })
        if (reply.status !== 200) assert.equal(reply.headers["retry-after"], "1")
        found.push(reply.status)
      }
      return found
    }
    const first = await statuses()
    assert.ok(first.length >= 2 && first.length <= 3, String(first))
    for (const status of first) seen.add(status)
    assert.deepEqual(await statuses(), [200])
    now += 10_000
    assert.deepEqual(await statuses(), first)
  }
  assert.ok(seen.has(429) && [...seen].some((status) => status >= 500))
})

test("demo-flaky fails each caller by itself", async () => {
  const model = createDemoModel({ now: () => 0 })
  const body = JSON.stringify({ ...question, model: "demo-flaky" })
  const untilAnswered = async (caller: string): Promise<number> => {
    for (let failures = 0; ; failures++) {
      const { status } = await model.handle({ route: { api: "responses" }, body, caller })
      if (status === 200) return failures
    }
  }
  const alone = await untilAnswered("run_1 fast")
  assert.ok(alone > 0)
  assert.equal(await untilAnswered("run_1 fast"), 0, "it is well for a while")
  assert.equal(await untilAnswered("run_2 fast"), alone)
})

test("demo-sloppy: in a fence and wrong, cut off, then right", async () => {
  const input: JsonValue[] = [{ role: "user", content: "Greet Ada." }]
  const answers: string[] = []
  for (let turn = 0; turn < 3; turn++) {
    const text = textOf(await askJson({ ...question, model: "demo-sloppy", input }))
    answers.push(text)
    input.push(
      { role: "assistant", content: text },
      { role: "user", content: "Your answer does not fit its contract." },
    )
  }
  assert.match(answers[0] ?? "", /^```json/)
  assert.throws(() => JSON.parse(answers[1] ?? "") as unknown)
  assert.equal(answers[2], '{"message":"Hello, Ada."}')
})
