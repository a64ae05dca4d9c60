import assert from "node:assert/strict"
import { test } from "node:test"
import { responseFacts } from "./response-facts.ts"

test("each API says who answered, and why it ended, in words of its own", () => {
  const told = [
    { id: "resp_1", model: "gpt-5", status: "completed", output: [] },
    { id: "resp_2", model: "gpt-5", status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    { id: "chatcmpl-1", model: "qwen/qwen3:8b", choices: [{ finish_reason: "tool_calls" }] },
    { id: "msg_1", model: "claude-sonnet-5", stop_reason: "end_turn" },
    { responseId: "r1", modelVersion: "gemini-3-flash", candidates: [{ finishReason: "STOP" }] },
  ].map(responseFacts)
  assert.deepEqual(told, [
    { id: "resp_1", model: "gpt-5", finish_reasons: ["completed"] },
    { id: "resp_2", model: "gpt-5", finish_reasons: ["max_output_tokens"] },
    { id: "chatcmpl-1", model: "qwen/qwen3:8b", finish_reasons: ["tool_calls"] },
    { id: "msg_1", model: "claude-sonnet-5", finish_reasons: ["end_turn"] },
    { id: "r1", model: "gemini-3-flash", finish_reasons: ["STOP"] },
  ])
})

test("what is no word is left out", () => {
  assert.deepEqual(responseFacts({ id: 7, model: "a text with blanks", choices: [{ finish_reason: null }] }), {})
  assert.deepEqual(responseFacts({ id: "x".repeat(201), stop_reason: "" }), {})
})
