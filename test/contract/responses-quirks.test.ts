import assert from "node:assert/strict"
import { test } from "node:test"
import type { TestContext } from "node:test"
import type { JsonObject } from "../../src/base/json-value.ts"
import type { ModelRequest, ModelTurn } from "../../src/ports/model.ts"
import type { RunFailure } from "../../src/ports/run-failure.ts"
import type { AskModel } from "../support/ask-model.ts"
import { askModel } from "../support/ask-model.ts"
import type { Behaviour, FakeBackend } from "../support/fake-backend.ts"
import {
  apiError,
  calls,
  fakeBackend,
  json,
  messageItem,
  raw,
  response,
  says,
  sse,
  streamOf,
} from "../support/fake-backend.ts"

// What `/responses` backends are known to do, each by a small server that does it. A row is one turn with one backend.

const good = '{"message":"Hello, Ada.","tone":"warm"}'
const output = { message: "Hello, Ada.", tone: "warm" }
const tools = [{ name: "search", description: "Searches", parameters: { type: "object", properties: {} } }]

interface Seen {
  readonly fake: FakeBackend
  readonly model: AskModel
}

interface Quirk {
  readonly quirk: string
  readonly behaves: Behaviour
  /** Asked from afar: tools and formats go together there. */
  readonly remote?: boolean
  readonly asks?: Partial<ModelRequest>
  /** The output, where it is not the good one. */
  readonly output?: JsonObject
  readonly gives?: (turn: ModelTurn, seen: Seen) => void
  readonly fails?: (failure: RunFailure, seen: Seen) => void
  /** How many requests it takes. */
  readonly requests: number
  readonly limits?: { readonly firstByteMs?: number; readonly silenceMs?: number; readonly max_bytes?: number }
}

function formatOf(body: JsonObject | undefined): string {
  const text = body?.["text"] as { format?: { type: string; strict?: boolean } } | undefined
  const { type = "none", strict } = text?.format ?? {}
  return strict === undefined ? type : `${type} ${strict ? "strict" : "loose"}`
}

const hasFormat = (body: JsonObject): boolean => formatOf(body) !== "none"

const kindOf = (kind: string, pattern: RegExp) => (failure: RunFailure) => {
  assert.equal(failure.error.kind, kind)
  assert.match(failure.error.message, pattern)
  assert.equal(failure.error.issues[0]?.path.split(".").slice(0, 2).join("."), "agent.reply")
}

const quirks: readonly Quirk[] = [
  // --------------------------------------------------------------------------------------------- structured output
  {
    quirk: "plain and right",
    behaves: () => says(good),
    requests: 1,
    gives: (turn) => assert.equal(turn.calls[0]?.format, "json_schema"),
  },
  {
    quirk: "refuses text.format by name (param)",
    behaves: ({ body }) =>
      formatOf(body).startsWith("json_schema")
        ? apiError(400, "Unsupported.", { param: "text.format", code: "unsupported_parameter" })
        : says(good),
    requests: 2,
    gives: (turn, { fake }) => {
      assert.equal(formatOf(fake.asked[1]), "json_object")
      assert.match(JSON.stringify(fake.asked[1]?.["input"]), /JSON Schema/)
      assert.equal(turn.calls[1]?.format, "json_object")
    },
  },
  {
    quirk: "refuses json_schema and json_object by the names of chat completions",
    behaves: ({ body }) =>
      hasFormat(body) ? json({ error: "response_format is not supported by this model" }, 400) : says(good),
    requests: 3,
    gives: (turn) => assert.equal(turn.calls[2]?.format, "instruction_only"),
  },
  {
    quirk: "refuses the strict schema, takes it when it is not enforced",
    behaves: ({ body }) =>
      formatOf(body) === "json_schema strict"
        ? apiError(400, "Invalid schema for response_format 'reply'.", {
            param: "text.format.schema",
            code: "invalid_json_schema",
          })
        : says(good),
    requests: 2,
    gives: (_, { fake }) => assert.equal(formatOf(fake.asked[1]), "json_schema loose"),
  },
  {
    quirk: "FastAPI refuses the field with a 422",
    behaves: ({ body }) =>
      hasFormat(body) && formatOf(body) !== "json_object"
        ? json(
            {
              detail: [
                { type: "extra_forbidden", loc: ["body", "text", "format"], msg: "Extra inputs are not permitted" },
              ],
            },
            422,
          )
        : says(good),
    requests: 2,
  },
  {
    quirk: "LM Studio ignores text.format, and obeys words",
    behaves: ({ body }) =>
      JSON.stringify(body["input"]).includes("JSON Schema") ? says(good) : says("Hello there, dear Ada!"),
    requests: 2,
    gives: (turn, { fake, model }) => {
      assert.equal(formatOf(fake.asked[1]), "json_object")
      assert.match(model.retries[0]?.reason ?? "", /does not fit its contract/)
      assert.equal(turn.message.parts.length, 1)
    },
  },
  { quirk: "fences its JSON", behaves: () => says(`\`\`\`json\n${good}\n\`\`\``), requests: 1 },
  { quirk: "talks around its JSON", behaves: () => says(`Sure! Here it is:\n${good}\nAnything else?`), requests: 1 },
  { quirk: "leaves trailing commas", behaves: () => says('{"message":"Hello, Ada.","tone":"warm",}'), requests: 1 },
  { quirk: "thinks aloud first", behaves: () => says(`<think>a {"message"} is due</think>${good}`), requests: 1 },
  {
    quirk: "gets a field wrong, and corrects it when asked to",
    behaves: ({ body }) =>
      JSON.stringify(body["input"]).includes("one of") ? says(good) : says('{"message":"Hello, Ada.","tone":"hot"}'),
    requests: 2,
    gives: (_, { fake }) => assert.match(JSON.stringify(fake.asked[1]?.["input"]), /agent\.reply\.output\.tone/),
  },
  {
    quirk: "never gets it right",
    behaves: () => says('{"message":1,"tone":"hot","more":"words of the answer"}'),
    requests: 3,
    fails: (failure) => {
      kindOf("output_error", /agent\.reply\.output\.message: expected string, found number 1 \(and 2 more\)/)(failure)
      assert.doesNotMatch(JSON.stringify(failure.error), /words of the answer.*words of the answer/)
      assert.equal(failure.calls.length, 3)
    },
  },
  {
    quirk: "breaks off in the JSON, then does not",
    behaves: (_, n) => (n === 1 ? says('{"message":"Hello, A') : says(good)),
    requests: 2,
    gives: (_, { fake }) => assert.equal(formatOf(fake.asked[1]), "json_schema strict"),
  },
  {
    quirk: "answers nothing",
    behaves: () => json(response([])),
    requests: 3,
    fails: kindOf("output_error", /found nothing/),
  },
  {
    quirk: "is incomplete",
    behaves: () => says(good, { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }),
    requests: 1,
    fails: kindOf("provider_error", /incomplete \(max_output_tokens\).*max_tokens/),
  },
  {
    quirk: "refuses to answer",
    behaves: () =>
      json(
        response([{ type: "message", role: "assistant", content: [{ type: "refusal", refusal: "I will not say." }] }]),
      ),
    requests: 1,
    fails: kindOf("provider_error", /refused to answer/),
  },

  // -------------------------------------------------------------------------------------------------- shapes of answers
  {
    quirk: "omits usage, status and ids",
    behaves: () => json({ output: [{ content: [{ text: good }] }] }),
    requests: 1,
    gives: (turn) => assert.deepEqual([turn.usage.input_tokens, turn.calls[0]?.usage], [0, undefined]),
  },
  {
    quirk: "content is a string",
    behaves: () => json({ output: [{ type: "message", role: "assistant", content: good }] }),
    requests: 1,
  },
  { quirk: "only a top-level output_text", behaves: () => json({ output_text: good }), requests: 1 },
  {
    quirk: "reasoning before the message",
    behaves: () => json(response([{ type: "reasoning", id: "rs_1", summary: [] }, messageItem(good)])),
    requests: 1,
  },
  {
    quirk: "items of unknown types",
    behaves: () => json(response([{ type: "acme:thought", text: "no" }, messageItem(good)])),
    requests: 1,
  },
  { quirk: "no content type", behaves: () => raw(JSON.stringify(response([messageItem(good)])), null), requests: 1 },
  {
    quirk: "JSON called text/plain",
    behaves: () => raw(JSON.stringify(response([messageItem(good)])), "text/plain"),
    requests: 1,
  },
  {
    quirk: "a byte-order mark before the JSON",
    behaves: () => raw(`\uFEFF${JSON.stringify(response([messageItem(good)]))}`, "application/json"),
    requests: 1,
  },
  {
    quirk: "an HTML page with 200",
    behaves: () => raw("<html>Sign in</html>", "text/html"),
    requests: 1,
    fails: kindOf("provider_error", /text\/html where JSON was expected/),
  },
  {
    quirk: "an HTML page with 502",
    behaves: (_, n) => (n === 1 ? raw("<html>Bad gateway</html>", "text/html", 502) : says(good)),
    requests: 2,
  },
  {
    quirk: "an empty body with 200",
    behaves: () => raw("", "application/json"),
    requests: 1,
    fails: kindOf("provider_error", /where JSON was expected/),
  },
  {
    quirk: "invalid UTF-8 in the text",
    behaves: () =>
      raw(
        Buffer.concat([
          Buffer.from('{"output_text":"{\\"message\\":\\"a'),
          Buffer.from([0xff, 0xfe]),
          Buffer.from('\\",\\"tone\\":\\"warm\\"}"}'),
        ]),
        "application/json",
      ),
    requests: 1,
    output: { message: "a\uFFFD\uFFFD", tone: "warm" },
  },
  {
    quirk: "a huge answer",
    behaves: () => says("x".repeat(300_000)),
    requests: 1,
    limits: { max_bytes: 100_000 },
    fails: kindOf("provider_error", /more than 100000 bytes/),
  },
  {
    quirk: "a stream though none was asked for",
    behaves: () => sse(streamOf(good)),
    requests: 1,
    gives: (_, { model }) => assert.deepEqual(model.deltas, []),
  },

  // ---------------------------------------------------------------------------------------------------------- errors
  {
    quirk: "429 with Retry-After in seconds",
    behaves: (_, n) => (n === 1 ? apiError(429, "Slow down", {}, { "retry-after": "7" }) : says(good)),
    requests: 2,
    gives: (_, { model }) => assert.deepEqual(model.slept, [7000]),
  },
  {
    quirk: "503 with Retry-After as a date",
    behaves: (_, n) =>
      n === 1 ? apiError(503, "Busy", {}, { "retry-after": new Date(Date.now() + 20_000).toUTCString() }) : says(good),
    requests: 2,
    gives: (_, { model }) =>
      assert.ok((model.slept[0] ?? 0) > 17_000 && (model.slept[0] ?? 0) <= 20_000, String(model.slept)),
  },
  {
    quirk: "Retry-After of an hour is a minute",
    behaves: (_, n) => (n === 1 ? apiError(429, "Later", {}, { "retry-after": "3600" }) : says(good)),
    requests: 2,
    gives: (_, { model }) => assert.deepEqual(model.slept, [60_000]),
  },
  {
    quirk: "Retry-After in the past, or nonsense",
    behaves: (_, n) =>
      n === 1
        ? apiError(429, "x", {}, { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" })
        : n === 2
          ? apiError(429, "x", {}, { "retry-after": "soon" })
          : says(good),
    requests: 3,
    gives: (_, { model }) => assert.deepEqual(model.slept, [500]),
  },
  ...[408, 425, 429, 500, 502, 503, 504, 529].map((status): Quirk => ({
    quirk: `${status} once`,
    behaves: (_, n) => (n === 1 ? apiError(status, "x") : says(good)),
    requests: 2,
  })),
  ...[400, 401, 402, 403, 404, 413].map((status): Quirk => ({
    quirk: `${status} is final`,
    behaves: () => apiError(status, "Something about the request"),
    requests: 1,
    fails: (failure) => {
      kindOf("provider_error", new RegExp(`answered ${status}`))(failure)
      assert.equal(failure.error.issues[0]?.upstream_status, status)
    },
  })),
  {
    quirk: "500 for ever",
    behaves: () => apiError(500, "x"),
    requests: 4,
    fails: kindOf("provider_error", /answered 500.*after 4 attempts/),
  },
  {
    quirk: "500 with max_retries 0",
    behaves: () => apiError(500, "x"),
    asks: { inference: { max_retries: 0 } },
    requests: 1,
    fails: kindOf("provider_error", /answered 500/),
  },
  {
    quirk: "a rate limit inside a 200",
    behaves: (_, n) => (n === 1 ? json({ error: { code: 429, message: "Rate limited" } }) : says(good)),
    requests: 2,
  },
  {
    quirk: "a rate limit inside a 200, by its words",
    behaves: (_, n) =>
      n === 1
        ? json({ error: { code: "rate_limit_exceeded", message: "x" } }, 200, { "retry-after": "2" })
        : says(good),
    requests: 2,
    gives: (_, { model }) => assert.deepEqual(model.slept, [2000]),
  },
  {
    quirk: "a failed response with a server error",
    behaves: (_, n) =>
      n === 1 ? json(response([], { status: "failed", error: { code: "server_error", message: "x" } })) : says(good),
    requests: 2,
  },
  {
    quirk: "a bad request inside a 200 is final",
    behaves: () => json({ error: { code: 400, message: "prompt too long" } }),
    requests: 1,
    fails: kindOf("provider_error", /answered 400 .*prompt too long/),
  },
  {
    quirk: "OpenRouter blurs the status and tells the type",
    behaves: (_, n) =>
      n === 1
        ? json({ error: { code: 400, message: "Provider returned error" }, error_type: "provider_overloaded" }, 400)
        : says(good),
    requests: 2,
  },
  {
    quirk: "a connection reset before the answer",
    behaves: (_, n) => (n === 1 ? (_reply, request) => request.socket.destroy() : says(good)),
    requests: 2,
  },
  {
    quirk: "a body cut short",
    behaves: (_, n) =>
      n === 1
        ? (reply, request) => {
            reply.writeHead(200, { "content-length": "1000" })
            reply.write("{")
            setImmediate(() => request.socket.destroy())
          }
        : says(good),
    requests: 2,
  },
  {
    quirk: "a slow first byte",
    behaves: () => () => {},
    requests: 1,
    // Long enough for the request to arrive, however busy the machine is.
    limits: { firstByteMs: 1_000 },
    fails: kindOf("timeout", /did not begin to answer within 1000 ms/),
  },
  {
    quirk: "timeout_seconds is over",
    behaves: () => () => {},
    asks: { inference: { timeout_seconds: 1 } },
    requests: 1,
    fails: kindOf("timeout", /within 1000 ms/),
  },

  // ---------------------------------------------------------------------------------------------------- refused fields
  {
    quirk: "a 400 names temperature",
    behaves: ({ body }) =>
      "temperature" in body
        ? apiError(400, "Unsupported parameter: 'temperature' is not supported with this model.", {
            param: "temperature",
            code: "unsupported_parameter",
          })
        : says(good),
    asks: { inference: { temperature: 0.2, seed: 7 } },
    requests: 2,
    gives: (_, { fake }) => assert.equal(fake.asked[1]?.["seed"], 7),
  },
  {
    quirk: "a 400 names a field in prose, and then another",
    behaves: ({ body }) =>
      "seed" in body
        ? json({ message: "unknown field `seed`" }, 400)
        : "stop" in body
          ? json({ error: 'json: unknown field "stop"' }, 400)
          : says(good),
    asks: { inference: { seed: 7, stop: ["x"], top_p: 0.5 } },
    requests: 3,
    gives: (_, { fake }) => assert.equal(fake.asked[2]?.["top_p"], 0.5),
  },
  {
    quirk: "a 400 names reasoning.effort",
    behaves: ({ body }) =>
      "reasoning" in body ? apiError(400, "Unsupported parameter", { param: "reasoning.effort" }) : says(good),
    asks: { inference: { reasoning_effort: "low" } },
    requests: 2,
  },
  {
    quirk: "a 400 names max_tokens, which is max_output_tokens here",
    behaves: ({ body }) =>
      "max_output_tokens" in body ? json({ error: { message: "max_tokens is too large" } }, 400) : says(good),
    asks: { inference: { max_tokens: 100_000 } },
    requests: 2,
  },
  {
    quirk: "a 400 names store",
    behaves: ({ body }) =>
      "store" in body ? json({ error: { message: "Unrecognized request argument: store" } }, 400) : says(good),
    requests: 2,
  },
  {
    quirk: "a 400 about something else is final",
    behaves: () => apiError(400, "The model stopped: your seed money ran out"),
    asks: { inference: { seed: 1, stop: "x" } },
    requests: 1,
    fails: kindOf("provider_error", /seed money/),
  },

  // ----------------------------------------------------------------------------------------------------------- tools
  {
    quirk: "calls a tool",
    behaves: () => calls("search", { q: "x" }),
    asks: { tools },
    requests: 1,
    gives: (turn) => {
      assert.ok(turn.kind === "tool_calls")
      assert.deepEqual(turn.tool_calls, [{ call_id: "call_1", name: "search", arguments: '{"q":"x"}' }])
      assert.deepEqual(turn.message.parts, [
        { type: "tool_call", call_id: "call_1", name: "search", arguments: '{"q":"x"}' },
      ])
    },
  },
  {
    quirk: "tool arguments as an object, no call_id",
    behaves: () => json({ output: [{ type: "function_call", name: "search", arguments: { q: 1 } }] }),
    asks: { tools },
    requests: 1,
    gives: (turn) =>
      assert.deepEqual(turn.kind === "tool_calls" && turn.tool_calls[0], {
        call_id: "call_1",
        name: "search",
        arguments: '{"q":1}',
      }),
  },
  {
    quirk: "Ollama: a schema together with tools suppresses the tools",
    behaves: ({ body }) => (hasFormat(body) ? says(good) : calls("search", {})),
    asks: { tools },
    requests: 1,
    gives: (turn) => assert.equal(turn.kind, "tool_calls"),
  },
  {
    quirk: "a local backend ends its tool loop in prose: one closing call without tools",
    behaves: ({ body }) => ("tools" in body ? says("I found that Ada is well.") : says(good)),
    asks: { tools },
    requests: 2,
    gives: (turn, { fake, model }) => {
      assert.deepEqual([hasFormat(fake.asked[0] ?? {}), formatOf(fake.asked[1])], [false, "json_schema strict"])
      assert.match(JSON.stringify(fake.asked[1]?.["input"]), /Ada is well.*Now give the result/)
      assert.deepEqual(model.retries, [])
      assert.equal(turn.message.parts.length, 1)
    },
  },
  {
    quirk: "a local backend ends its tool loop with the right JSON: no closing call",
    behaves: () => says(good),
    asks: { tools },
    requests: 1,
    gives: (turn) => assert.equal(turn.calls[0]?.format, "instruction_only"),
  },
  {
    quirk: "from afar tools and format go together",
    remote: true,
    behaves: ({ body }) => (hasFormat(body) && "tools" in body ? says(good) : apiError(500, "x")),
    asks: { tools },
    requests: 1,
  },
  {
    quirk: "a remote backend refuses tools with a format",
    remote: true,
    behaves: ({ body }) =>
      hasFormat(body) && "tools" in body
        ? apiError(
            400,
            "Function calling with a response mime type 'json_schema' is unsupported: tools and json_schema cannot be combined",
          )
        : "tools" in body
          ? says("Well, I am done.")
          : says(good),
    asks: { tools },
    requests: 3,
    gives: (_, { fake }) =>
      assert.deepEqual(
        fake.asked.map((body) => ["tools" in body, hasFormat(body)]),
        [
          [true, true],
          [true, false],
          [false, true],
        ],
      ),
  },
  {
    quirk: "vLLM streams a tool call as text, and calls it properly without streaming",
    behaves: ({ body }) =>
      body["stream"] === true
        ? sse(streamOf('<tool_call>{"name":"search","arguments":{}}</tool_call>'))
        : calls("search", {}),
    asks: { tools, deltas: true },
    requests: 2,
    gives: (turn) => assert.equal(turn.kind, "tool_calls"),
  },
  {
    quirk: "tool calls as text even without streaming",
    behaves: () => says('<tool_call>{"name":"search","arguments":{}}</tool_call>'),
    asks: {
      tools,
      contract: {
        name: "x",
        type: { kind: "record", fields: [{ name: "text", type: { kind: "string" } }] },
        types: {},
      },
    },
    requests: 3,
    fails: kindOf("output_error", /tool call was written as text/),
  },
  {
    quirk: "refuses strict in a tool",
    behaves: ({ body }) =>
      JSON.stringify(body["tools"]).includes("strict")
        ? apiError(400, "Unknown parameter: 'tools[0].strict'.", { param: "tools[0].strict" })
        : calls("search", {}),
    asks: { tools },
    requests: 2,
    gives: (turn) => assert.equal(turn.kind, "tool_calls"),
  },
]

/** The same, streamed. */
const streams: readonly Quirk[] = [
  {
    quirk: "by the book",
    behaves: () => sse(streamOf(good), { done: true }),
    requests: 1,
    gives: (turn, { model, fake }) => {
      assert.equal(fake.asked[0]?.["stream"], true)
      assert.equal(model.deltas.map(({ text }) => text).join(""), good)
      assert.ok(model.deltas.length > 1)
      assert.equal(turn.usage.input_tokens, 10)
      assert.equal(turn.usage.reasoning_tokens, 2)
    },
  },
  { quirk: "no [DONE]", behaves: () => sse(streamOf(good)), requests: 1 },
  { quirk: "no names of events", behaves: () => sse(streamOf(good), { names: false }), requests: 1 },
  { quirk: "does not end after its terminal event", behaves: () => sse(streamOf(good), { open: true }), requests: 1 },
  {
    quirk: "the terminal event has no output",
    behaves: () =>
      sse([...streamOf(good).slice(0, -1), { type: "response.completed", response: { status: "completed" } }]),
    requests: 1,
  },
  {
    quirk: "the terminal event has no response",
    behaves: () => sse([...streamOf(good).slice(0, -1), { type: "response.completed" }]),
    requests: 1,
  },
  {
    quirk: "only deltas and a terminal event",
    behaves: () =>
      sse([
        ...streamOf(good).filter(({ type }) => type === "response.output_text.delta"),
        { type: "response.completed", response: {} },
      ]),
    requests: 1,
  },
  {
    quirk: "unknown events and comments between",
    behaves: () =>
      sse([
        ": keep-alive\n\n",
        { type: "acme:progress", n: 1 },
        ...streamOf(good),
        "event: acme:later\ndata: not json\n\n",
      ]),
    requests: 1,
  },
  {
    quirk: "carriage returns and no blank after the colon",
    behaves: () =>
      sse(streamOf(good).map((event) => `event:${event["type"] as string}\r\ndata:${JSON.stringify(event)}\r\n\r\n`)),
    requests: 1,
  },
  {
    quirk: "the last event lacks its blank line",
    behaves: () => sse([...streamOf(good).slice(0, -1), `data: ${JSON.stringify(streamOf(good).at(-1))}`]),
    requests: 1,
  },
  {
    quirk: "a stream under another content type",
    behaves: () => sse(streamOf(good), { type: "text/plain" }),
    requests: 1,
    gives: (_, { model }) => assert.equal(model.deltas.map(({ text }) => text).join(""), good),
  },
  { quirk: "plain JSON though a stream was asked for", behaves: () => says(good), requests: 1 },
  {
    quirk: "cut once",
    behaves: (_, n) => (n === 1 ? sse(streamOf(good).slice(0, 4), { cut: true }) : sse(streamOf(good))),
    requests: 2,
    gives: (_, { model }) => assert.deepEqual([...new Set(model.deltas.map(({ attempt }) => attempt))], [1, 2]),
  },
  {
    quirk: "ends early for ever",
    behaves: () => sse(streamOf(good).slice(0, -1)),
    requests: 4,
    fails: kindOf("provider_error", /ended before its terminal event/),
  },
  {
    quirk: "ends with incomplete",
    behaves: () =>
      sse([
        ...streamOf(good).slice(0, -1),
        {
          type: "response.incomplete",
          response: response([messageItem(good)], {
            status: "incomplete",
            incomplete_details: { reason: "max_output_tokens" },
          }),
        },
      ]),
    requests: 1,
    fails: kindOf("provider_error", /incomplete/),
  },
  {
    quirk: "fails with a server error, then works",
    behaves: (_, n) =>
      n === 1
        ? sse([
            { type: "response.failed", response: { status: "failed", error: { code: "server_error", message: "x" } } },
          ])
        : sse(streamOf(good)),
    requests: 2,
  },
  {
    quirk: "an error event with a rate limit",
    behaves: (_, n) =>
      n === 1 ? sse([{ type: "error", code: "rate_limit_exceeded", message: "x", param: null }]) : sse(streamOf(good)),
    requests: 2,
  },
  {
    quirk: "vLLM: an error inside the stream, without a type",
    behaves: (_, n) =>
      n === 1
        ? sse([`data: ${JSON.stringify({ error: { code: 500, message: "Engine died" } })}\n\n`])
        : sse(streamOf(good)),
    requests: 2,
  },
  {
    quirk: "an error event that is final",
    behaves: () => sse([{ type: "error", error: { type: "invalid_request_error", message: "context too long" } }]),
    requests: 1,
    fails: kindOf("provider_error", /answered 400.*context too long/),
  },
  {
    quirk: "unreadable events, and a whole response at the end",
    behaves: () => sse(["data: {broken\n\n", ...streamOf(good)]),
    requests: 1,
  },
  {
    quirk: "unreadable events, and nothing but deltas",
    behaves: (_, n) =>
      n === 1
        ? sse(["data: {broken\n\n", ...streamOf(good).slice(0, 4), { type: "response.completed", response: {} }])
        : sse(streamOf(good)),
    requests: 2,
    gives: (_, { model }) => assert.match(model.retries[0]?.reason ?? "", /could not be read/),
  },
  {
    quirk: "no events at all, only noise",
    behaves: () => raw("\u0000\u0001 not an event\n\n\n", "text/event-stream"),
    asks: { inference: { max_retries: 1 } },
    requests: 2,
    fails: kindOf("provider_error", /ended before its terminal event/),
  },
  {
    quirk: "silence between chunks",
    behaves: () => sse(streamOf(good).slice(0, 4), { open: true }),
    requests: 1,
    limits: { silenceMs: 80 },
    fails: kindOf("timeout", /fell silent for 80 ms/),
  },
  {
    quirk: "a stream without end",
    behaves: () => (reply) => {
      reply.writeHead(200, { "content-type": "text/event-stream" })
      const push = (): void => {
        if (!reply.destroyed)
          reply.write(
            `data: ${JSON.stringify({ type: "response.output_text.delta", delta: "x".repeat(1000) })}\n\n`,
            () => setImmediate(push),
          )
      }
      push()
    },
    requests: 1,
    limits: { max_bytes: 200_000 },
    fails: kindOf("provider_error", /too large/),
  },
  {
    quirk: "a 429 in place of the stream",
    behaves: (_, n) => (n === 1 ? apiError(429, "x", {}, { "retry-after": "1" }) : sse(streamOf(good))),
    requests: 2,
  },
  {
    quirk: "refuses to stream",
    behaves: ({ body }) =>
      body["stream"] === true ? apiError(400, "Streaming is off", { param: "stream" }) : says(good),
    requests: 2,
  },
  {
    quirk: "a tool call",
    behaves: () =>
      sse([
        { type: "response.function_call_arguments.delta", delta: "{}" },
        {
          type: "response.output_item.done",
          output_index: 0,
          item: { type: "function_call", call_id: "c", name: "search", arguments: "{}" },
        },
        { type: "response.completed", response: { status: "completed" } },
      ]),
    asks: { tools },
    requests: 1,
    gives: (turn) => assert.deepEqual(turn.kind === "tool_calls" && turn.tool_calls[0]?.call_id, "c"),
  },
]

async function hold(t: TestContext, row: Quirk, deltas: boolean): Promise<void> {
  const fake = await fakeBackend(t, row.behaves)
  const model = askModel(t, row.limits === undefined ? {} : { limits: row.limits })
  const request = { backend: row.remote === true ? fake.remote : fake.backend, deltas, ...row.asks }
  if (row.fails === undefined) {
    const turn = await model.ask(request)
    if (turn.kind === "output") assert.deepEqual(turn.output, row.output ?? output)
    else assert.ok(row.gives !== undefined, turn.kind)
    row.gives?.(turn, { fake, model })
    assert.equal(turn.calls.length, row.requests)
    assert.deepEqual(
      turn.calls.map(({ attempt }) => attempt),
      turn.calls.map((_, at) => at + 1),
    )
  } else row.fails(await model.refuse(request), { fake, model })
  assert.equal(fake.asked.length, row.requests)
  for (const body of fake.asked) assert.equal(body["model"], "test-model")
}

for (const row of quirks) test(row.quirk, (t) => hold(t, row, row.asks?.deltas ?? false))
for (const row of streams) test(`streamed: ${row.quirk}`, (t) => hold(t, row, true))
