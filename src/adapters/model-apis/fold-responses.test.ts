import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../../test/support/fast-check.ts"
import { cases } from "../../../test/support/strength.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { streamOf } from "../../../test/support/fake-backend.ts"
import { openGate } from "../../ports/gate.ts"
import { redactor } from "../../run/secrets/redact.ts"
import { foldEvents } from "./fold-events.ts"
import { ResponsesFold } from "./fold-responses.ts"
import { otherApi, readResponses } from "./read-responses.ts"
import { UpstreamFailure } from "../model-turn/upstream-failure.ts"

const watch = { redact: <T extends JsonValue>(value: T): T => value }
const about = { retryAfterMs: null, origin: "o", watch }
const dialect = { fold: () => new ResponsesFold(), problem: otherApi, unread: [] }

async function readAll(
  chunks: readonly Uint8Array[],
  max_bytes = 1_000_000,
): Promise<{ readonly text: string; readonly deltas: string }> {
  let deltas = ""
  const call = {
    attempt: 1,
    limits: { firstByteMs: 1, silenceMs: 1, totalMs: 1, max_bytes },
    watch: {
      ...watch,
      signal: new AbortController().signal,
      now: () => 0,
      gate: openGate,
      retried: () => Promise.resolve(),
      delta: (_: number, text: string) => void (deltas += text),
      redactStream: () => redactor({}).stream(),
    },
    now: () => 0,
  }
  const body = await foldEvents(chunks.values(), { dialect, call, show: true })
  return { text: readResponses(body, about).text, deltas }
}

function split(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((from, at) => bytes.subarray(from, places[at] ?? bytes.length))
}

test("a stream says the same wherever its bytes are cut", async () => {
  const texts = fc.string({ unit: "grapheme", minLength: 1 })
  await fc.assert(
    fc.asyncProperty(texts, fc.array(fc.nat(), { maxLength: 30 }), async (text, cuts) => {
      const events = streamOf(text, 5).map(
        (event) => `event: ${event["type"] as string}\ndata: ${JSON.stringify(event)}\n\n`,
      )
      assert.deepEqual(await readAll(split(Buffer.from(events.join("")), cuts)), { text, deltas: text })
    }),
  )
})

/** Parts of answers, some of them out of shape. */
const part: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<JsonValue>(
      null,
      true,
      0,
      -1,
      "",
      "message",
      "function_call",
      "reasoning",
      "output_text",
      "failed",
      "incomplete",
      "response.completed",
      "error",
      429,
      "429",
    ),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(
        "type",
        "output",
        "content",
        "text",
        "status",
        "error",
        "code",
        "message",
        "usage",
        "input_tokens",
        "response",
        "item",
        "delta",
        "output_text",
        "arguments",
        "name",
        "call_id",
        "incomplete_details",
        "reason",
        "role",
        "encrypted_content",
        "summary",
        "error_type",
        "detail",
        "loc",
      ),
      tie("value"),
      { maxKeys: 6 },
    ),
  ),
})).value

const object = part.filter(
  (value): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value),
)

async function outcome(read: () => unknown): Promise<void> {
  try {
    await read()
  } catch (error) {
    assert.ok(error instanceof UpstreamFailure, String(error))
    assert.ok(error.message.length < 400)
  }
}

test("whatever a backend answers is an answer or a failure of the backend, never a crash", async () => {
  await fc.assert(
    fc.asyncProperty(object, (response) => outcome(() => readResponses(response, about))),
    { numRuns: cases(500) },
  )
})

test("whatever a backend streams is an answer or a failure of the backend, never a crash", async () => {
  const event = fc.oneof(
    part.map((value) => `data: ${JSON.stringify(value)}\n\n`),
    fc.string(),
    fc.constantFrom("\n", "data: {\n\n", "data: [DONE]\n\n", "event: error\ndata: {}\n\n"),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 8 }), (events) =>
      outcome(() => readAll([Buffer.from(events.join(""))])),
    ),
    { numRuns: cases(500) },
  )
})

test("a streamed answer is bounded by its text, not by the bytes of its events", async () => {
  const delta = (text: string) =>
    Buffer.from(`event: response.output_text.delta\ndata: ${JSON.stringify({ delta: text, pad: "x".repeat(200) })}\n\n`)
  const end = Buffer.from('data: {"type":"response.completed"}\n\n')
  const hundred = Array.from({ length: 100 }, () => delta("ten chars."))
  assert.equal((await readAll([...hundred, end], 1_000)).text.length, 1_000)
  await assert.rejects(readAll([...hundred, delta("one more"), end], 1_000), /The streamed answer is too large/)
})
