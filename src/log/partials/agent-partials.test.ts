import assert from "node:assert/strict"
import { describe, it } from "node:test"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { EventType, LogEvent } from "../events.ts"
import { AgentPartials } from "./agent-partials.ts"

let id = 0
const event = (type: EventType, data: JsonObject): LogEvent =>
  ({ id: ++id, type, at: "2026-01-01T00:00:00.000Z", data }) as unknown as LogEvent
const delta = (text: string, attempt = 1, more: JsonObject = {}): LogEvent =>
  event("agent_delta", { agent: "a", attempt, text, ...more })
const completed = (output: JsonValue, more: JsonObject = {}): LogEvent =>
  event("agent_completed", { agent: "a", output, ...more })

function all(...events: readonly LogEvent[]): unknown[] {
  const partials = new AgentPartials()
  return events.flatMap((one) =>
    partials.take(one).map((part) => [part.attempt, part.path, part.done ? part.value : `+${part.delta}`]),
  )
}

describe("the fields of an output while it is written", () => {
  it("come with agent, iteration and scope; nothing is repeated at the end", () => {
    const partials = new AgentPartials()
    const about = { iteration: 2, scope: "triage@dynamic.first" }
    assert.deepEqual(partials.take(delta('{"t":"x', 1, about)), [
      { agent: "a", ...about, attempt: 1, path: "t", delta: "x", done: false },
    ])
    assert.deepEqual(partials.take(delta('"}', 1, about)), [
      { agent: "a", ...about, attempt: 1, path: "t", value: "x", done: true },
    ])
    assert.deepEqual(partials.take(completed({ t: "x" }, about)), [])
  })

  it("begin anew with a new attempt", () => {
    assert.deepEqual(all(delta('{"t":"x'), delta('{"t":"y"}', 2), completed({ t: "y" })), [
      [1, "t", "+x"],
      [2, "t", "+y"],
      [2, "t", "y"],
    ])
  })

  it("begin anew after tool calls, whose attempts are counted from 1 again", () => {
    const called = event("tool_call_started", { agent: "a", tool: "f", server: "s", call_id: "c", arguments: {} })
    assert.deepEqual(all(delta('{"t":"x'), called, delta('{"t":"y"}'), completed({ t: "y" })), [
      [1, "t", "+x"],
      [2, "t", "+y"],
      [2, "t", "y"],
    ])
  })

  it("come whole at the end where the text is not plain JSON, or came in one piece", () => {
    assert.deepEqual(all(delta('Sure: {"t":"x"}'), completed({ t: "x", n: 1 })), [
      [1, "t", "x"],
      [1, "n", 1],
    ])
    assert.deepEqual(all(completed({ t: "x" })), [[1, "t", "x"]])
  })

  it("are corrected at the end where the text went wrong later, or the output is another", () => {
    assert.deepEqual(all(delta('{"t":"x","t":"y"}'), completed({ t: "y" })), [
      [1, "t", "+x"],
      [1, "t", "x"],
      [1, "t", "y"],
    ])
    assert.deepEqual(all(delta('{"t":"x","u":"v"}'), completed({ t: "[secret:key]", u: "v" })).slice(-1), [
      [1, "t", "[secret:key]"],
    ])
  })

  it("are not made up from an output that is too large for its event", () => {
    assert.deepEqual(all(delta("prose"), completed({ truncated: true, bytes: 300_000 })), [])
  })

  it("of agents side by side are kept apart", () => {
    assert.deepEqual(
      all(
        delta('{"t":"x', 1, { iteration: 0 }),
        delta('{"t":"y"', 1, { iteration: 1 }),
        delta('z"}', 1, { iteration: 0 }),
      ),
      [
        [1, "t", "+x"],
        [1, "t", "+y"],
        [1, "t", "y"],
        [1, "t", "+z"],
        [1, "t", "xz"],
      ],
    )
  })
})
