import assert from "node:assert/strict"
import { test } from "node:test"
import { assertCpuBelow } from "../../../test/support/cpu-time.ts"
import type { Refusal, RefusedPart, Sent } from "./refused-field.ts"
import { refusedField } from "./refused-field.ts"

const sent: Sent = {
  options: () => [
    "store",
    "temperature",
    "top_p",
    "max_output_tokens",
    "reasoning",
    "reasoning.effort",
    "text",
    "text.verbosity",
    "seed",
    "stop",
    "include",
    "service_tier",
    "n",
  ],
  format: true,
  tools: true,
  stream: true,
  reasoning: false,
  tool_strict: true,
}

const option = (name: string, unknown: boolean): RefusedPart => ({ about: "option", name, unknown })

function partOf(refusal: Refusal | null): RefusedPart | null {
  if (refusal === null) return null
  const { by: _, ...part } = refusal
  return part
}

// Messages as backends word them.
const cases: readonly (readonly [string, { readonly param?: string; readonly code?: string }, RefusedPart | null])[] = [
  [
    "Unsupported parameter: 'temperature' is not supported with this model.",
    { param: "temperature", code: "unsupported_parameter" },
    option("temperature", true),
  ],
  [
    "Unsupported value: 'temperature' does not support 0.2 with this model.",
    { param: "temperature", code: "unsupported_value" },
    option("temperature", true),
  ],
  [
    "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
    { param: "temperature", code: "decimal_above_max_value" },
    option("temperature", false),
  ],
  ["Unknown parameter: 'seed'.", { param: "seed", code: "unknown_parameter" }, option("seed", true)],
  ['json: unknown field "stop"', {}, option("stop", true)],
  ["Unrecognized request argument supplied: service_tier", {}, option("service_tier", true)],
  ["Extra inputs are not permitted", { param: "top_p", code: "extra_forbidden" }, option("top_p", true)],
  ["`max_tokens` must be at most 8192", {}, option("max_output_tokens", false)],
  ["reasoning_effort is not supported by this model", {}, option("reasoning.effort", true)],
  ["Unsupported parameter", { param: "reasoning.effort" }, option("reasoning.effort", true)],
  ["Unsupported parameter", { param: "reasoning" }, option("reasoning", true)],
  ["verbosity: not supported", {}, option("text.verbosity", true)],
  ["Encrypted content is not supported with this model.", { param: "include" }, option("include", true)],
  ["Unknown parameter: 'n'.", {}, option("n", true)],
  ["Unsupported parameter: 'text.format'", { param: "text.format" }, { about: "format", schema: false }],
  ["response_format is not supported", {}, { about: "format", schema: false }],
  ["This model does not support structured outputs.", {}, { about: "format", schema: false }],
  ['json: unknown field "text"', {}, { about: "format", schema: false }],
  ["Unrecognized request argument supplied: text", {}, { about: "format", schema: false }],
  ["Invalid value: 'text'. Supported values are: 'input_text'.", {}, null],
  [
    "Invalid schema for response_format 'reply': ...",
    { param: "text.format.schema", code: "invalid_json_schema" },
    { about: "format", schema: true },
  ],
  ["failed to parse grammar", {}, { about: "format", schema: true }],
  ["Input should be 'text'", { param: "text.format.json_schema.type" }, { about: "format", schema: false }],
  ["tools cannot be combined with json_schema", {}, { about: "both" }],
  ["Unknown parameter: 'tools[0].strict'.", { param: "tools[0].strict" }, { about: "tool_strict" }],
  ["temperature: Sampling parameters are not supported by this model.", {}, option("temperature", true)],
  ["Sampling parameters are not supported by this model.", {}, option("temperature", true)],
  ["`top_p` is deprecated for this model.", {}, option("top_p", true)],
  [
    "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
    {},
    { about: "option", name: "top_p", unknown: false, beside: "temperature" },
  ],
  ["output_config.format.schema: Too many recursive definitions in schema", {}, { about: "format", schema: true }],
  ["Streaming is not available", { param: "stream" }, { about: "stream" }],
  ["Unknown field `stream`", {}, { about: "stream" }],
  // Words of a sentence, not names of fields.
  ["Please stop sending text; include more context and store less.", {}, null],
  ["The seed of doubt", {}, null],
  ["This model's maximum context length is 8192 tokens.", { param: "input" }, null],
  ["Invalid value", { param: "input[0].content" }, null],
  ["n", {}, null],
  ["", {}, null],
]

for (const [message, more, expected] of cases) {
  test(`${JSON.stringify(more)} ${message}`, () => {
    const error = { status: 400, code: null, param: null, message, retryable: false, retryAfterMs: null, ...more }
    assert.deepEqual(partOf(refusedField(error, sent)), expected)
  })
}

test("of a model that reasons, other settings are told from the reasoning that is sent back", () => {
  const reasons = { ...sent, reasoning: true, tools: false, options: () => ["thinking", "thinking.budget_tokens"] }
  const partIn = (message: string): RefusedPart | null =>
    partOf(
      refusedField({ status: 400, code: null, param: null, message, retryable: false, retryAfterMs: null }, reasons),
    )
  assert.deepEqual(partIn("messages.1.content.0.thinking: Invalid signature in thinking block"), { about: "reasoning" })
  assert.deepEqual(
    partIn("thinking.budget_tokens: Extra inputs are not permitted"),
    option("thinking.budget_tokens", true),
  )
  assert.deepEqual(partIn("Thinking may not be enabled when tool_choice forces tool use."), {
    about: "format",
    schema: false,
  })
})

test("only what was sent can be refused, and only by a 400 or 422", () => {
  const error = {
    status: 400,
    code: null,
    param: "seed",
    message: "Unknown parameter: 'seed'.",
    retryable: false,
    retryAfterMs: null,
  }
  assert.equal(
    refusedField(error, {
      options: () => [],
      format: false,
      tools: false,
      stream: false,
      reasoning: false,
      tool_strict: true,
    }),
    null,
  )
  assert.equal(refusedField({ ...error, status: 401 }, sent), null)
  assert.equal(refusedField({ ...error, status: 500 }, sent), null)
  assert.notEqual(refusedField({ ...error, status: 422 }, sent), null)
})

test("a field of extra may have any name", () => {
  const options = ["a.*(", "[x]", "\\"]
  for (const name of options) {
    const error = {
      status: 400,
      code: null,
      param: null,
      message: `unknown field '${name}'`,
      retryable: false,
      retryAfterMs: null,
    }
    assert.deepEqual(partOf(refusedField(error, { ...sent, options: () => options })), option(name, true))
  }
})

test("the field that param names comes before one that a message merely mentions", () => {
  const error = { status: 400, code: null, retryable: false, retryAfterMs: null }
  const by = (param: string | null, message: string): unknown => {
    const refusal = refusedField({ ...error, param, message }, sent)
    return refusal === null ? null : [refusal.about === "option" ? refusal.name : refusal.about, refusal.by]
  }
  assert.deepEqual(by("seed", "Unknown parameter"), ["seed", "param"])
  assert.deepEqual(by(null, "Unknown parameter: 'seed'"), ["seed", "words"])
  assert.deepEqual(by("seed", "Unknown parameter beside 'service_tier'"), ["seed", "param"])
  assert.deepEqual(by("text.format", "Not supported"), ["format", "param"])
  assert.deepEqual(by(null, "response_format is not supported"), ["format", "words"])
  assert.deepEqual(by("stream", "Not supported"), ["stream", "param"])
  assert.deepEqual(by(null, "Unknown field `stream`"), ["stream", "words"])
})

test("hostile: a refusal costs little, however many fields extra has", async () => {
  const options = Array.from({ length: 50_000 }, (_, n) => `field_${n}`)
  const message = `unknown field 'none' ${"x".repeat(150)}`
  const error = { status: 400, code: null, param: null, message, retryable: false, retryAfterMs: null }
  await assertCpuBelow(3_000, () => assert.equal(refusedField(error, { ...sent, options: () => options }), null))
})
