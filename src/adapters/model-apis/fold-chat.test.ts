import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject } from "../../base/json-value.ts"
import { ChatFold } from "./fold-chat.ts"

/** The calls of a stream with these pieces of calls, as `id name arguments`. */
function callsOf(...pieces: readonly JsonObject[]): string[] {
  const fold = new ChatFold()
  for (const piece of pieces) fold.add({ choices: [{ delta: { tool_calls: [piece] } }] })
  fold.add({ choices: [{ delta: {}, finish_reason: "tool_calls" }] })
  const { choices } = fold.whole() as { choices: [{ message: { tool_calls: { id: string; function: JsonObject }[] } }] }
  return choices[0].message.tool_calls.map(
    ({ id, function: { name, arguments: text } }) => `${id} ${name as string} ${text as string}`,
  )
}

const named = (name: string, text: string): JsonObject => ({ function: { name, arguments: text } })
const more = (text: string): JsonObject => ({ function: { arguments: text } })

test("pieces of calls belong together by number, by id, or by their order", () => {
  assert.deepEqual(
    callsOf(
      { index: 0, id: "a", ...named("find", "") },
      { index: 1, id: "b", ...named("read", "{") },
      { index: 0, ...more('{"x":1}') },
      { index: 1, ...more("}") },
    ),
    ['a find {"x":1}', "b read {}"],
  )
  assert.deepEqual(callsOf({ id: "a", ...named("find", "{") }, { id: "a", ...more("}") }), ["a find {}"])
  assert.deepEqual(callsOf(named("find", "{"), more("}"), named("read", "{}")), [" find {}", " read {}"])
})

test("calls that all have the number 0 are several", () => {
  assert.deepEqual(
    callsOf({ index: 0, id: "a", ...named("find", "{}") }, { index: 0, id: "b", ...named("find", '{"x":1}') }),
    ["a find {}", 'b find {"x":1}'],
  )
})

test("a name that is repeated, or comes late, begins no other call", () => {
  assert.deepEqual(
    callsOf({ index: 0, id: "a", ...named("find", "{") }, { index: 0, id: "a", ...named("find", '"x":1}') }),
    ['a find {"x":1}'],
  )
  assert.deepEqual(callsOf({ index: 0, id: "a", ...more("{") }, { index: 0, ...named("find", "}") }), ["a find {}"])
  assert.deepEqual(callsOf({ index: 0, id: "a", ...named("find", "{") }, { index: 0, id: "", ...named("", "}") }), [
    "a find {}",
  ])
})

test("text and thinking come as text, or in parts", () => {
  const fold = new ChatFold()
  const parts = [
    { type: "thinking", thinking: [{ type: "text", text: "Hm. " }] },
    { type: "text", text: "Yes" },
  ]
  assert.equal(fold.add({ choices: [{ delta: { content: parts } }] }), "Yes")
  assert.equal(fold.add({ choices: [{ delta: { content: ".", reasoning_content: "Right." } }] }), ".")
  assert.equal(fold.whole(), null)
  fold.add({ choices: [{ delta: null, finish_reason: "stop" }] })
  fold.add({ choices: [], usage: { prompt_tokens: 1 } })
  assert.deepEqual(fold.whole(), {
    choices: [
      {
        message: { role: "assistant", content: "Yes.", reasoning_content: "Hm. Right." },
        finish_reason: "stop",
      },
    ],
    usage: { prompt_tokens: 1 },
  })
})
