import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../../test/support/fast-check.ts"
import { cases } from "../../../test/support/strength.ts"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import { streamOf } from "../../../test/support/fake-backend.ts"
import { readAnswer } from "./read-answer.ts"
import { StreamReader } from "./read-stream.ts"
import { UpstreamFailure } from "../model-turn/upstream-failure.ts"

const watch = { redact: <T extends JsonValue>(value: T): T => value }

function readAll(chunks: readonly Uint8Array[]): { text: string; deltas: string } {
  let deltas = ""
  const reader = new StreamReader(watch, 1_000_000, (text) => (deltas += text))
  for (const chunk of chunks) if (reader.feed(chunk)) break
  return { text: reader.finish(null).text, deltas }
}

function split(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((from, at) => bytes.subarray(from, places[at] ?? bytes.length))
}

test("a stream says the same wherever its bytes are cut", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1 }), fc.array(fc.nat(), { maxLength: 30 }), (text, cuts) => {
      const events = streamOf(text, 5).map(
        (event) => `event: ${event["type"] as string}\ndata: ${JSON.stringify(event)}\n\n`,
      )
      assert.deepEqual(readAll(split(Buffer.from(events.join("")), cuts)), { text, deltas: text })
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

function outcome(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    assert.ok(error instanceof UpstreamFailure, String(error))
    assert.ok(error.message.length < 400)
  }
}

test("whatever a backend answers is an answer or a failure of the backend, never a crash", () => {
  fc.assert(
    fc.property(object, (response) => outcome(() => readAnswer(response, null, watch))),
    { numRuns: cases(500) },
  )
})

test("whatever a backend streams is an answer or a failure of the backend, never a crash", () => {
  const event = fc.oneof(
    part.map((value) => `data: ${JSON.stringify(value)}\n\n`),
    fc.string(),
    fc.constantFrom("\n", "data: {\n\n", "data: [DONE]\n\n", "event: error\ndata: {}\n\n"),
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 8 }), (events) => outcome(() => readAll([Buffer.from(events.join(""))]))),
    { numRuns: cases(500) },
  )
})

test("a streamed answer is bounded by its text, not by the bytes of its events", () => {
  const watch = { redact: <T>(value: T): T => value }
  const delta = (text: string) =>
    Buffer.from(`event: response.output_text.delta\ndata: ${JSON.stringify({ delta: text, pad: "x".repeat(200) })}\n\n`)
  const reader = new StreamReader(watch, 1_000, () => {})
  for (let count = 0; count < 100; count++) assert.equal(reader.feed(delta("ten chars.")), false)
  assert.equal(reader.feed(delta("one more")), true)
  assert.throws(() => reader.finish(null), /The streamed answer is too large/)
})
