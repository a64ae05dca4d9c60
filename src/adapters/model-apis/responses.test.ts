import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject } from "../../base/json-value.ts"
import type { Message } from "../../log/messages.ts"
import { userText } from "../../log/messages.ts"
import type { OutputContract } from "../../ports/model.ts"
import type { RetryProgress, TurnProgress } from "../../log/turn-progress.ts"
import { joinProgress } from "../../log/turn-progress.ts"
import { BackendMemory } from "../model-turn/backend-memory.ts"
import { askModel, redacting } from "../../../test/support/ask-model.ts"
import {
  apiError,
  calls,
  fakeBackend,
  json,
  messageItem,
  response,
  says,
  sse,
  streamOf,
} from "../../../test/support/fake-backend.ts"
import { within } from "../../../test/support/within.ts"
import { array, integer, object, oneOf, record, string } from "../../../test/support/build-types.ts"

const good = '{"message":"Hello, Ada.","tone":"warm"}'
const tools = [{ name: "search", description: "Searches", parameters: { type: "object", properties: {} } }]
const contract = (fields: Parameters<typeof record>[0], name = "reply"): OutputContract => ({
  name,
  type: record(fields),
  types: {},
})

// --------------------------------------------------------------------------------------------------------- requests

test("a request holds nothing that is not needed", async (t) => {
  const fake = await fakeBackend(t, () => says(good))
  await askModel(t).ask({ backend: fake.backend })
  assert.deepEqual(fake.asked[0], {
    model: "test-model",
    input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "Greet Ada." }] }],
    store: false,
    text: {
      format: {
        type: "json_schema",
        name: "reply",
        schema: {
          type: "object",
          properties: { message: { type: "string" }, tone: { type: "string", enum: ["warm", "cool"] } },
          required: ["message", "tone"],
          additionalProperties: false,
        },
        strict: true,
      },
    },
  })
  const { headers, url, method } = fake.server.received[0] ?? assert.fail()
  assert.equal(method, "POST")
  assert.equal(url, "/v1/responses")
  assert.equal(headers.authorization, "Bearer test-key")
  assert.equal(headers["content-type"], "application/json")
})

test("without a contract nothing is said about formats, and the answer is text", async (t) => {
  const fake = await fakeBackend(t, () => says("A summary."))
  const turn = await askModel(t).ask({ backend: fake.backend, contract: null })
  assert.deepEqual(Object.keys(fake.asked[0] ?? {}), ["model", "input", "store"])
  assert.equal(turn.kind === "text" && turn.text, "A summary.")
  assert.equal(turn.calls[0]?.format, "text")
})

test("inference keys under the names of the wire, and extra around them", async (t) => {
  const fake = await fakeBackend(t, () => says(good))
  await askModel(t).ask({
    backend: fake.backend,
    inference: {
      temperature: 0.2,
      top_p: 0.9,
      max_tokens: 4000,
      reasoning_effort: "low",
      verbosity: "high",
      seed: 7,
      stop: ["END"],
      timeout_seconds: 30,
      max_retries: 1,
      retry_base_delay_ms: 1,
      output_retries: 1,
      extra: {
        model: "other",
        input: "other",
        tools: [],
        stream: true,
        text: { format: { type: "text" }, note: "kept" },
        reasoning: { summary: "auto" },
        service_tier: "flex",
        temperature: 0.3,
      },
    },
  })
  const { text, ...rest } = fake.asked[0] as JsonObject & { text: JsonObject }
  assert.deepEqual(rest, {
    model: "test-model",
    input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "Greet Ada." }] }],
    store: false,
    temperature: 0.3,
    top_p: 0.9,
    max_output_tokens: 4000,
    reasoning: { effort: "low", summary: "auto" },
    seed: 7,
    stop: ["END"],
    service_tier: "flex",
  })
  assert.equal((text["format"] as JsonObject)["type"], "json_schema")
  assert.deepEqual({ ...text, format: null }, { format: null, verbosity: "high", note: "kept" })
})

test("a schema that does not fit the strict subset is sent without strict", async (t) => {
  const fake = await fakeBackend(t, () => says('{"anything":{}}'))
  await askModel(t).ask({ backend: fake.backend, contract: contract({ anything: object }) })
  const { format } = (fake.asked[0] ?? assert.fail())["text"] as { format: JsonObject }
  assert.equal(format["strict"], false)
})

for (const [response_format, type, instructs] of [
  ["json_schema", "json_schema", false],
  ["json_object", "json_object", true],
  ["instruction_only", undefined, true],
] as const) {
  test(`response_format ${response_format} is what the author asked for, and stays so`, async (t) => {
    const fake = await fakeBackend(t, () => says("no"))
    const failure = await askModel(t).refuse({ backend: fake.backend, response_format })
    assert.equal(failure.error.kind, "output_error")
    for (const body of fake.asked) {
      assert.equal((body["text"] as { format?: JsonObject } | undefined)?.format?.["type"], type)
      assert.equal(JSON.stringify(body["input"]).includes("JSON Schema"), instructs)
      assert.equal(JSON.stringify(body["input"]).split("Greet Ada.").length, 2)
    }
  })
}

test("an author's json_schema that the backend refuses is an error, not another format", async (t) => {
  const fake = await fakeBackend(t, () => apiError(400, "text.format is not supported", { param: "text.format" }))
  const failure = await askModel(t).refuse({ backend: fake.backend, response_format: "json_schema" })
  assert.equal(failure.error.kind, "provider_error")
  assert.ok(fake.asked.length <= 2)
})

for (const [endpoint, url] of [
  ["/v1", "/v1/responses"],
  ["/v1/", "/v1/responses"],
  ["", "/responses"],
  ["/openai/v1?api-version=preview", "/openai/v1/responses?api-version=preview"],
  ["/v1/responses", "/v1/responses"],
  ["/v1#part", "/v1/responses"],
] as const) {
  test(`endpoint …${endpoint} is called at ${url}`, async (t) => {
    const fake = await fakeBackend(t, () => says(good))
    await askModel(t).ask({ backend: { ...fake.backend, endpoint: fake.server.origin + endpoint } })
    assert.equal(fake.server.received[0]?.url, url)
  })
}

test("an endpoint without a host is refused, instead of taking the path for one", async (t) => {
  const fake = await fakeBackend(t, () => says(good))
  const failure = await askModel(t).refuse({ backend: { ...fake.backend, endpoint: "http://" } })
  assert.equal(failure.error.message, "The endpoint is not a URL.")
})

test("the workflow's headers go along and win; without a key there is no authorization", async (t) => {
  const fake = await fakeBackend(t, () => says(good))
  const model = askModel(t)
  await model.ask({ backend: { ...fake.backend, headers: { "X-Team": "a", AUTHORIZATION: "Basic x" } } })
  await model.ask({ backend: { ...fake.backend, api_key: null } })
  assert.equal(fake.server.received[0]?.headers["x-team"], "a")
  assert.equal(fake.server.received[0]?.headers.authorization, "Basic x")
  assert.equal(fake.server.received[1]?.headers.authorization, undefined)
})

test("a header that would break the message is refused by name before any call, its value unseen", async (t) => {
  const fake = await fakeBackend(t, () => says(good))
  for (const value of ["a\r\nX-Evil: 1", "a\u0000", "日本"]) {
    const failure = await askModel(t).refuse({ backend: { ...fake.backend, headers: { "X-Key": value } } })
    assert.equal(failure.error.kind, "evaluation_error")
    assert.match(failure.error.message, /x-key/)
    assert.ok(!JSON.stringify(failure.error).includes(JSON.stringify(value).slice(1, -1)))
  }
  const failure = await askModel(t).refuse({ backend: { ...fake.backend, api_key: "a\nb" } })
  assert.match(failure.error.message, /authorization/)
  assert.equal(fake.asked.length, 0)
})

test("large inputs and parts pass as they are", async (t) => {
  const fake = await fakeBackend(t, () => says(good))
  const text = "x".repeat(1_000_000)
  const pdf = "data:application/pdf;base64,AAAA"
  const message: Message = {
    role: "user",
    parts: [
      { type: "text", text },
      { type: "image", url: "data:image/png;base64,AAAA" },
      { type: "document", url: "data:text/plain;base64,AAAA", name: "a.txt" },
      { type: "document", url: pdf, name: null },
      { type: "video", url: "https://films.test/a.mp4", name: "a film" },
    ],
  }
  await askModel(t).ask({ backend: fake.backend, input: [message] })
  assert.deepEqual(fake.asked[0]?.["input"], [
    {
      type: "message",
      role: "user",
      content: [
        { type: "input_text", text },
        { type: "input_image", image_url: "data:image/png;base64,AAAA" },
        { type: "input_file", filename: "a.txt", file_data: "data:text/plain;base64,AAAA" },
        { type: "input_file", filename: "document.pdf", file_data: pdf },
        { type: "input_file", file_url: "https://films.test/a.mp4" },
      ],
    },
  ])
})

// ----------------------------------------------------------------------------------------------------------- memory

test("what a backend refused is remembered for it and its model, not for others", async (t) => {
  const fake = await fakeBackend(t, ({ body }) =>
    body["model"] === "test-model" && "seed" in body
      ? apiError(400, "Unknown parameter: 'seed'.", { param: "seed" })
      : says(good),
  )
  const model = askModel(t)
  const inference = { seed: 1, temperature: 0.5 }
  for (const name of ["test-model", "test-model", "other"])
    await model.ask({ backend: fake.backend, inference, model: name })
  await model.ask({ backend: fake.backend, inference: { seed: 2 } })
  assert.deepEqual(
    fake.asked.map((body) => "seed" in body),
    [true, false, false, true, false],
  )
})

test("what one caller's calls show about a backend changes nobody else's requests", async (t) => {
  const fake = await fakeBackend(t, ({ body }) =>
    "seed" in body || "text" in body
      ? apiError(400, "Unknown parameter", { param: "seed" in body ? "seed" : "text.format.schema" })
      : says(good),
  )
  const model = askModel(t)
  const inference = { seed: 1 }
  await model.ask({ backend: fake.backend, caller: "mallory", inference })
  const [first] = fake.asked
  const asked = fake.asked.length
  await model.ask({ backend: fake.backend, caller: "alice", inference })
  assert.deepEqual(fake.asked[asked], first)
})

test("what only words of an error name is tried at once, and remembered when the backend then accepts the request", async (t) => {
  let accepts = false
  const fake = await fakeBackend(t, ({ body }) =>
    "seed" in body || !accepts ? apiError(400, "The text 'seed' is too long.") : says(good),
  )
  const model = askModel(t)
  const sent = (): boolean[] => fake.asked.splice(0).map((body) => "seed" in body)
  await model.refuse({ backend: fake.backend, inference: { seed: 1 } })
  assert.deepEqual(sent(), [true, false])
  accepts = true
  await model.ask({ backend: fake.backend, inference: { seed: 1 } })
  assert.deepEqual(sent(), [true, false])
  await model.ask({ backend: fake.backend, inference: { seed: 1 } })
  assert.deepEqual(sent(), [false])
})

test("a field of extra with a dot in its name is left out, too", async (t) => {
  const fake = await fakeBackend(t, ({ body }) =>
    "a.b" in body ? apiError(400, "Unknown parameter", { param: "a.b" }) : says(good),
  )
  await askModel(t).ask({ backend: fake.backend, inference: { extra: { "a.b": 1, c: { d: 2 } } } })
  assert.equal(fake.asked.length, 2)
  assert.deepEqual(fake.asked[1]?.["c"], { d: 2 })
})

test("a refusal that nothing helps against ends the turn, and so do too many of them", async (t) => {
  const same = await fakeBackend(t, () => apiError(400, "Unknown parameter", { param: "store" }))
  assert.equal((await askModel(t).refuse({ backend: same.backend })).error.kind, "provider_error")
  assert.equal(same.asked.length, 2)
  const endless = await fakeBackend(t, ({ body }) => {
    const [param] = Object.keys(body).filter((name) => name.startsWith("x"))
    return param === undefined ? says(good) : apiError(400, "Unknown parameter", { param })
  })
  const extra = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`x${n}`, n]))
  const failure = await askModel(t).refuse({ backend: endless.backend, inference: { extra } })
  assert.equal(failure.error.issues[0]?.upstream_status, 400)
  assert.equal(endless.asked.length, 33)
})

test("nothing that is remembered names an endpoint", () => {
  const memory = new BackendMemory({ now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() })
  const quirks = memory.of("alice", "responses", "https://canary-0123.example.com/canary-4567", "canary-model")
  assert.doesNotMatch(JSON.stringify({ ...quirks, dropped: [...quirks.dropped] }), /canary|alice/)
})

test("a value that was refused is remembered, the field is not", async (t) => {
  const fake = await fakeBackend(t, ({ body }) =>
    Number(body["temperature"] ?? 0) > 2
      ? apiError(400, "Invalid 'temperature': decimal above maximum value.", {
          param: "temperature",
          code: "decimal_above_max_value",
        })
      : says(good),
  )
  const model = askModel(t)
  for (const temperature of [3, 3, 0.5]) await model.ask({ backend: fake.backend, inference: { temperature } })
  assert.deepEqual(
    fake.asked.map((body) => body["temperature"]),
    [3, undefined, undefined, 0.5],
  )
})

test("the format that held is remembered, for an hour", async (t) => {
  const fake = await fakeBackend(t, ({ body }) =>
    "text" in body ? apiError(400, "Unsupported: text.format", { param: "text.format" }) : says(good),
  )
  let now = Date.now()
  const model = askModel(t, { clock: { now: () => now, monotonic: () => now, sleep: () => Promise.resolve() } })
  await model.ask({ backend: fake.backend })
  assert.equal(fake.asked.length, 3)
  await model.ask({ backend: fake.backend })
  assert.equal(fake.asked.length, 4)
  now += 61 * 60 * 1000
  await model.ask({ backend: fake.backend })
  assert.equal(fake.asked.length, 7)
})

test("a format that was ignored is not asked for again", async (t) => {
  const fake = await fakeBackend(t, ({ body }) =>
    JSON.stringify(body["input"]).includes("JSON Schema") ? says(good) : says("Hi!"),
  )
  const model = askModel(t)
  await model.ask({ backend: fake.backend })
  await model.ask({ backend: fake.backend })
  assert.equal(fake.asked.length, 3)
})

test("one schema that is refused does not spoil the format for others", async (t) => {
  const fake = await fakeBackend(t, ({ body }) => {
    const { format } = (body["text"] ?? {}) as { format?: { name?: string; strict?: boolean } }
    return format?.name === "bad" && format.strict === true
      ? apiError(400, "Invalid schema for response_format", {
          code: "invalid_json_schema",
          param: "text.format.schema",
        })
      : says('{"n":1}')
  })
  const model = askModel(t)
  const bad = contract({ n: integer }, "bad")
  for (const one of [bad, bad, contract({ n: integer }, "fine")])
    await model.ask({ backend: fake.backend, contract: one })
  assert.deepEqual(
    fake.asked.map((body) => (body["text"] as { format: { strict: boolean } }).format.strict),
    [true, false, false, true],
  )
})

test("a backend that streams tool calls as text is not streamed from again while tools are offered", async (t) => {
  const fake = await fakeBackend(t, ({ body }) =>
    body["stream"] === true ? sse(streamOf("<tool_call>{}</tool_call>")) : calls("search", {}),
  )
  const model = askModel(t)
  await model.ask({ backend: fake.backend, tools, deltas: true })
  await model.ask({ backend: fake.backend, tools, deltas: true })
  assert.deepEqual(
    fake.asked.map((body) => body["stream"]),
    [true, undefined, undefined],
  )
})

// ------------------------------------------------------------------------------------------------------ plain contracts

for (const [text, message] of [
  ["Hello, Ada.", "Hello, Ada."],
  ["  spaced  ", "spaced"],
  ['{"message":"in JSON"}', "in JSON"],
  ['Sure: {"message":"in prose"}', "in prose"],
  ['"quoted"', "quoted"],
  ['"Hello," she said.', '"Hello," she said.'],
] as const) {
  test(`a contract of one string takes ${JSON.stringify(text)}`, async (t) => {
    const fake = await fakeBackend(t, () => says(text))
    const turn = await askModel(t).ask({ backend: fake.backend, contract: contract({ message: string }) })
    assert.deepEqual(turn.kind === "output" && turn.output, { message })
    assert.equal(fake.asked.length, 1)
  })
}

for (const text of ["Use {curly} braces", "Closed }", '{"message":', '{"other":"x"}', "```json\n{\n```", "[1]", ""]) {
  test(`a contract of one string does not take ${JSON.stringify(text)} for plain text`, async (t) => {
    const fake = await fakeBackend(t, () => says(text))
    const failure = await askModel(t).refuse({
      backend: fake.backend,
      contract: contract({ message: string }),
      inference: { output_retries: 0 },
    })
    assert.equal(failure.error.kind, "output_error")
    assert.equal(fake.asked.length, 1)
  })
}

test("asked for in words alone, a contract of one string takes text with braces in it", async (t) => {
  const fake = await fakeBackend(t, () => says("Use {curly} braces"))
  const turn = await askModel(t).ask({
    backend: fake.backend,
    contract: contract({ message: string }),
    response_format: "instruction_only",
  })
  assert.deepEqual(turn.kind === "output" && turn.output, { message: "Use {curly} braces" })
  const refused = await fakeBackend(t, () => says('{"message":'))
  const failure = await askModel(t).refuse({
    backend: refused.backend,
    contract: contract({ message: string }),
    response_format: "instruction_only",
    inference: { output_retries: 0 },
  })
  assert.equal(failure.error.kind, "output_error")
})

test("plain text is for one string only: not for two, an enum or a list", async (t) => {
  const fake = await fakeBackend(t, () => says("warm"))
  for (const fields of [{ a: string, b: string }, { a: oneOf("warm") }, { a: array(string) }]) {
    await askModel(t).refuse({ backend: fake.backend, contract: contract(fields), inference: { output_retries: 0 } })
  }
})

// -------------------------------------------------------------------------------------------------- retries and repairs

test("without Retry-After the waits double below a bound, with full jitter", async (t) => {
  const fake = await fakeBackend(t, () => apiError(500, "x"))
  const model = askModel(t, { random: { id: () => "", fraction: () => 1 } })
  await model.refuse({ backend: fake.backend, inference: { max_retries: 8, retry_base_delay_ms: 200 } })
  assert.deepEqual(model.slept, [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600])
  assert.deepEqual(
    model.retries.map(({ attempt, delay_ms }) => [attempt, delay_ms]),
    model.slept.map((delay, at) => [at + 2, delay]),
  )
})

test("attempts of an earlier life count", async (t) => {
  const fake = await fakeBackend(t, () => apiError(500, "x"))
  const before = askModel(t)
  await before.refuse({ backend: fake.backend })
  const failure = await askModel(t).refuse({
    backend: fake.backend,
    attempts_before: 2,
    progress: before.progresses[1] ?? null,
  })
  assert.deepEqual(
    failure.calls.map(({ attempt }) => attempt),
    [1, 2, 3, 4],
  )
  assert.match(failure.error.message, /after 4 attempts/)
})

test("a retry reports only what is new since the one before", async (t) => {
  const fake = await fakeBackend(t, (_, n) => (n === 1 ? says("{}") : apiError(500, "x")))
  const reported: RetryProgress[] = []
  const failure = await askModel(t).refuse(
    { backend: fake.backend, inference: { max_retries: 20 } },
    {
      retried: ({ progress }) => {
        reported.push(progress)
        return Promise.resolve()
      },
    },
  )
  assert.deepEqual(
    reported.map(({ new_calls, added }) => [new_calls.map(({ attempt }) => attempt), added !== undefined]),
    reported.map((_, at) => [[at + 1], at === 0]),
  )
  const joined = reported.reduce<TurnProgress | null>((before, one) => joinProgress(before, one), null)
  assert.deepEqual(joined?.calls, failure.calls.slice(0, -1))
  assert.equal(joined?.added.length, 2)
})

test("a turn is taken up where it was: the same question, after the rest of the wait, with the repairs that are left", async (t) => {
  const fake = await fakeBackend(t, (_, n) => (n === 2 ? apiError(429, "x", {}, { "retry-after": "30" }) : says("{}")))
  const before = askModel(t)
  await before.refuse({ backend: fake.backend })
  const [, waiting] = before.progresses
  assert.ok(waiting !== undefined)
  const question = fake.asked[2]

  const again = askModel(t)
  const failure = await again.refuse({ backend: fake.backend, attempts_before: 2, progress: waiting })
  assert.deepEqual(fake.asked[4], question)
  assert.equal(fake.asked.length, 4 + 2)
  assert.ok(again.slept.length === 1 && (again.slept[0] ?? 0) > 25_000 && (again.slept[0] ?? 0) <= 30_000)
  assert.deepEqual(
    failure.calls.map(({ attempt, usage }) => [attempt, usage?.input_tokens]),
    [
      [1, 10],
      [2, undefined],
      [3, 10],
      [4, 10],
    ],
  )
})

test("the retry is logged before the wait, and the wait before the call", async (t) => {
  const order: string[] = []
  const fake = await fakeBackend(t, (_, n) => {
    order.push("call")
    return n === 1 ? apiError(429, "x") : says(good)
  })
  const model = askModel(t, {
    clock: {
      now: () => Date.now(),
      monotonic: () => performance.now(),
      sleep: () => {
        order.push("sleep")
        return Promise.resolve()
      },
    },
  })
  await model.ask(
    { backend: fake.backend },
    {
      retried: async () => {
        await new Promise((resolve) => setImmediate(resolve))
        order.push("logged")
      },
    },
  )
  assert.deepEqual(order, ["call", "logged", "sleep", "call"])
})

test("usage is the sum of all calls, and each call has its own", async (t) => {
  const fake = await fakeBackend(t, (_, n) =>
    n === 1 ? says('{"message":1}') : n === 2 ? apiError(500, "x") : says(good),
  )
  const turn = await askModel(t).ask({ backend: fake.backend, turn: 3 })
  assert.deepEqual(turn.usage, {
    input_tokens: 20,
    output_tokens: 10,
    cached_tokens: 8,
    written_tokens: 0,
    reasoning_tokens: 4,
    cost: null,
  })
  assert.deepEqual(
    turn.calls.map(({ turn: number, attempt, usage, format }) => [number, attempt, usage?.input_tokens, format]),
    [
      [3, 1, 10, "json_schema"],
      [3, 2, undefined, undefined],
      [3, 3, 10, "json_object"],
    ],
  )
  assert.ok(
    turn.calls.every(({ started_at, duration_ms }) => !Number.isNaN(Date.parse(started_at)) && duration_ms >= 0),
  )
})

test("what an answer that was no good has cost counts too", async (t) => {
  const fake = await fakeBackend(t, () => says(good, { status: "incomplete" }))
  const { calls } = await askModel(t).refuse({ backend: fake.backend })
  assert.deepEqual(
    calls.map(({ usage, format }) => [usage?.input_tokens, format]),
    [[10, undefined]],
  )
})

test("a repair shows the model its answer and everything that is wrong with it", async (t) => {
  const fake = await fakeBackend(t, (_, n) => (n === 1 ? says('{"message":1,"tone":"hot"}') : says(good)))
  await askModel(t).ask({ backend: fake.backend })
  const input = fake.asked[1]?.["input"] as { role: string; content: { text: string }[] }[]
  assert.deepEqual(
    input.map(({ role }) => role),
    ["system", "user", "assistant", "user"],
  )
  const complaint = input[3]?.content[0]?.text ?? ""
  assert.match(complaint, /^Your answer does not fit/)
  assert.match(complaint, /output\.message: expected string, found number 1/)
  assert.match(complaint, /output\.tone: expected one of "warm", "cool"/)
})

test("an output error names agent, field, what was expected and what was found, and not the answer", async (t) => {
  const fake = await fakeBackend(t, () => says(`{"message":"${"long ".repeat(200)}","tone":"hot"}`))
  const failure = await askModel(t).refuse({ backend: fake.backend, inference: { output_retries: 0 } })
  assert.deepEqual(failure.error, {
    kind: "output_error",
    message: 'agent.reply.output.tone: expected one of "warm", "cool", found string "hot"',
    issues: [
      {
        path: "agent.reply.output.tone",
        message: 'agent.reply.output.tone: expected one of "warm", "cool", found string "hot"',
      },
    ],
  })
})

// -------------------------------------------------------------------------------------------------------------- aborts

for (const deltas of [false, true]) {
  test(`an abort closes the socket${deltas ? ", within a stream" : ""}`, async (t) => {
    let onRequest: () => void = () => {}
    let onClose: () => void = () => {}
    const arrived = new Promise<void>((resolve) => (onRequest = resolve))
    const closed = new Promise<void>((resolve) => (onClose = resolve))
    const fake = await fakeBackend(t, () => (reply, request) => {
      request.socket.on("close", () => onClose())
      if (deltas) sse(streamOf(good).slice(0, 3), { open: true })(reply, request)
      onRequest()
    })
    const abort = new AbortController()
    const model = askModel(t)
    const turn = model.ask({ backend: fake.backend, deltas }, { signal: abort.signal })
    const rejected = assert.rejects(turn, /stop it/)
    await arrived
    abort.abort(new Error("stop it"))
    await rejected
    await within(30_000, "the close", closed)
    assert.equal(fake.asked.length, 1)
  })
}

test("an abort ends the wait for a retry", async (t) => {
  const fake = await fakeBackend(t, () => apiError(429, "x", {}, { "retry-after": "60" }))
  const abort = new AbortController()
  const model = askModel(t, {
    clock: {
      now: () => Date.now(),
      monotonic: () => performance.now(),
      sleep: (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
    },
  })
  const turn = model.ask(
    { backend: fake.backend },
    {
      signal: abort.signal,
      retried: () => {
        setImmediate(() => abort.abort(new Error("stop it")))
        return Promise.resolve()
      },
    },
  )
  await assert.rejects(within(30_000, "the end", turn), /stop it/)
})

// ------------------------------------------------------------------------------------------------------------- secrets

const secret = "hunter2-very-secret"

test("secrets are replaced in texts, outputs, tool calls and histories, also when escapes hide them", async (t) => {
  const escaped = secret
    .split("")
    .map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("")
  for (const written of [secret, escaped]) {
    const fake = await fakeBackend(t, ({ body }) =>
      "tools" in body
        ? json(response([{ type: "function_call", call_id: "c", name: "search", arguments: `{"q":"${written}"}` }]))
        : says(`{"message":"the key is ${written}","tone":"warm"}`),
    )
    const model = askModel(t)
    const turn = await model.ask({ backend: fake.backend }, redacting(secret))
    assert.deepEqual(turn.kind === "output" && turn.output, { message: "the key is [secret:key]", tone: "warm" })
    const called = await model.ask({ backend: fake.backend, tools }, redacting(secret))
    assert.equal(called.kind === "tool_calls" && called.tool_calls[0]?.arguments, '{"q":"[secret:key]"}')
    for (const result of [turn, called]) {
      const text = JSON.stringify(result)
      assert.ok(!text.includes(secret) && !text.includes(escaped.replaceAll("\\", "\\\\")), text)
    }
  }
})

test("a secret in a rejected answer, and in what is said about it, is replaced, also when escapes hide it", async (t) => {
  const escaped = secret.replaceAll("-", "\\u002d")
  const fake = await fakeBackend(t, () => says(`{"message":"${escaped}","tone":"${escaped}"}`))
  const model = askModel(t)
  const failure = await model.refuse({ backend: fake.backend, inference: { output_retries: 1 } }, redacting(secret))
  assert.equal(failure.answer, '{"message":"[secret:key]","tone":"[secret:key]"}')
  const added = JSON.stringify(model.progresses.at(-1)?.added)
  assert.match(added, /Your answer does not fit/)
  for (const written of [secret, "u002d"]) assert.ok(!added.includes(written), added)
})

test("a secret that comes in pieces is not shown in deltas, and nothing else is lost", async (t) => {
  const text = `{"message":"a ${secret} b ${secret}${secret} c","tone":"warm"}`
  for (const pieces of [1, 3, 7, 20, text.length]) {
    const fake = await fakeBackend(t, () => sse(streamOf(text, pieces)))
    const model = askModel(t)
    await model.ask({ backend: fake.backend, deltas: true }, redacting(secret))
    assert.equal(model.deltas.map((delta) => delta.text).join(""), text.replaceAll(secret, "[secret:key]"))
  }
})

test("errors name the status, never more than a redacted line, and of a 401 nothing at all", async (t) => {
  const body = {
    error: {
      message: `Bad key ${secret}\nsecond line sk-abcdefghijklmnop ${"x".repeat(1000)}`,
      type: "t",
      code: "bad_thing",
    },
  }
  for (const status of [400, 401, 403]) {
    const fake = await fakeBackend(t, () => json(body, status))
    const failure = await askModel(t).refuse({ backend: fake.backend }, redacting(secret))
    const text = JSON.stringify(failure.error)
    assert.ok(!text.includes(secret) && !text.includes("abcdefgh") && text.length < 800, text)
    assert.match(failure.error.message, new RegExp(`answered ${status} \\(bad_thing\\)`))
    assert.equal(failure.error.message.includes("Bad key"), status === 400)
  }
})

test("a retry's reason is redacted too", async (t) => {
  const fake = await fakeBackend(t, (_, n) => (n === 1 ? apiError(500, `Upstream said ${secret}`) : says(good)))
  const model = askModel(t)
  await model.ask({ backend: fake.backend }, redacting(secret))
  assert.match(model.retries[0]?.reason ?? "", /\[secret:key\]/)
})

// ------------------------------------------------------------------------------------------------------------- reasoning

test("reasoning goes back to the backend that made it, and to no other", async (t) => {
  const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" }
  const fake = await fakeBackend(t, ({ body }) =>
    JSON.stringify(body["input"]).includes("function_call_output")
      ? says(good)
      : json(
          response([
            reasoning,
            { ...messageItem("Let me see."), id: "msg_7" },
            { type: "function_call", id: "fc_1", call_id: "c", name: "search", arguments: "{}" },
          ]),
        ),
  )
  const other = await fakeBackend(t, () => says(good))
  const model = askModel(t)
  const hi = userText("Hi")
  const user = { type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] }
  const first = await model.ask({ backend: fake.backend, tools, input: [hi] })
  const history = JSON.parse(
    JSON.stringify([hi, first.message, { role: "tool", call_id: "c", name: "search", output: "1" }]),
  ) as Message[]

  await model.ask({ backend: fake.backend, input: history, turn: 2 })
  const message = {
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text: "Let me see.", annotations: [] }],
  }
  const call = { type: "function_call", call_id: "c", name: "search", arguments: "{}" }
  const result = { type: "function_call_output", call_id: "c", output: "1" }
  assert.deepEqual(fake.asked[1]?.["input"], [
    user,
    reasoning,
    { ...message, id: "msg_7", status: "completed" },
    call,
    result,
  ])

  await model.ask({ backend: other.backend, input: history })
  assert.deepEqual(other.asked[0]?.["input"], [user, message, call, result])
  await model.ask({ backend: fake.backend, model: "another", input: history })
  assert.deepEqual(fake.asked[2]?.["input"], [user, message, call, result])
})

test("reasoning without its content is not sent back, nor what refers to it; the next time it is asked for", async (t) => {
  const fake = await fakeBackend(t, () =>
    json(
      response([
        { type: "reasoning", id: "rs_1", summary: [] },
        { type: "function_call", id: "fc_1", call_id: "c", name: "search", arguments: "{}" },
      ]),
    ),
  )
  const model = askModel(t)
  const first = await model.ask({ backend: fake.remote, tools })
  assert.deepEqual(first.message.parts, [{ type: "tool_call", call_id: "c", name: "search", arguments: "{}" }])
  assert.equal(fake.asked[0]?.["include"], undefined)
  await model.ask({ backend: fake.remote, tools })
  assert.deepEqual(fake.asked[1]?.["include"], ["reasoning.encrypted_content"])
})

test("a backend that does not take its reasoning back is asked again without it", async (t) => {
  const fake = await fakeBackend(t, ({ body }, n) =>
    n === 1
      ? json(response([{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" }, messageItem(good)]))
      : JSON.stringify(body["input"]).includes('"reasoning"')
        ? apiError(404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.", {
            param: "input",
          })
        : says(good),
  )
  const model = askModel(t)
  const { message } = await model.ask({ backend: fake.backend, input: [userText("Hi")] })
  await model.ask({ backend: fake.backend, input: [userText("Hi"), message, userText("And?")] })
  const types = (body: JsonObject = {}): unknown[] => (body["input"] as JsonObject[]).map(({ type }) => type)
  assert.deepEqual(types(fake.asked[1]), ["message", "reasoning", "message", "message"])
  assert.deepEqual(types(fake.asked[2]), ["message", "message", "message"])
  assert.equal(JSON.stringify(fake.asked[2]).includes("msg_1"), false)
})

// ----------------------------------------------------------------------------------------------------------- the rest

test("a forbidden destination names the agent", async (t) => {
  const failure = await askModel(t, {}, { policy: { kind: "public" } }).refuse({
    backend: { api: "responses", endpoint: "http://10.0.0.1/v1", api_key: null, headers: {} },
  })
  assert.equal(failure.error.kind, "blocked_destination")
  assert.equal(failure.error.issues[0]?.path, "agent.reply")
  assert.match(failure.error.message, /WIRE_EGRESS/)
})

test("a backend that is not there is a provider error after retries; one that does not accept is a timeout", async (t) => {
  const fake = await fakeBackend(t, () => says(good))
  await fake.server.close()
  const failure = await askModel(t).refuse({ backend: fake.backend })
  assert.equal(failure.error.kind, "provider_error")
  assert.match(failure.error.message, /refused the connection \(after 4 attempts\)/)
  const slow = askModel(t, {}, { connectMs: 50, resolve: () => new Promise(() => {}) })
  const late = await slow.refuse({
    backend: { api: "responses", endpoint: "http://slow.test/v1", api_key: null, headers: {} },
  })
  assert.equal(late.error.kind, "timeout")
})

test("the demo model that is switched off says so", async (t) => {
  const failure = await askModel(t).refuse({
    backend: { api: "responses", endpoint: "demo", api_key: null, headers: {} },
  })
  assert.match(failure.error.message, /WIRE_DEMO/)
})

test("after a stream the connection is used again, once its end is there", async (t) => {
  let ended: Promise<void> = Promise.resolve()
  const fake = await fakeBackend(t, () => (reply, request) => {
    sse(streamOf(good), { open: true })(reply, request)
    ended = new Promise((resolve) => reply.on("finish", () => setImmediate(resolve)))
    setTimeout(() => reply.end("data: [DONE]\n\n"), 10)
  })
  const model = askModel(t)
  for (let round = 0; round < 10; round++) {
    await model.ask({ backend: fake.backend, deltas: true })
    await ended
  }
  assert.ok(fake.server.connections() < 5, `${fake.server.connections()} connections for 10 streams`)
})

test("each answer has its own retries", async (t) => {
  const fake = await fakeBackend(t, (_, n) => (n % 2 === 1 ? apiError(500, "x") : n === 2 ? says("{}") : says(good)))
  const turn = await askModel(t).ask({ backend: fake.backend, inference: { max_retries: 1 } })
  assert.equal(turn.calls.length, 4)
})

test("redirects of a call are followed with 308, and the key stays behind when the origin changes", async (t) => {
  const target = await fakeBackend(t, () => says(good))
  const fake = await fakeBackend(
    t,
    () => (reply) => reply.writeHead(308, { location: `${target.backend.endpoint}/responses` }).end(),
  )
  await askModel(t).ask({ backend: fake.backend })
  assert.equal(target.server.received[0]?.headers.authorization, undefined)
})
