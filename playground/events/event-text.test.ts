import assert from "node:assert/strict"
import { test } from "node:test"
import type { StreamEvent } from "../../src/client/client.ts"
import { initialState } from "../../src/log/run-state.ts"
import { isWithin, stepOf, subjectOf } from "./event-text.ts"

const event = (type: string, data: object): StreamEvent => ({ id: 1, type, data }) as unknown as StreamEvent

test("events are those of a call, with the calls inside of it, or those of the workflow itself", () => {
  const own = event("agent_started", { agent: "a" })
  const called = event("workflow_call_started", { workflow: "t", scope: "t@dynamic.d" })
  const inside = event("agent_started", { agent: "a", scope: "t@dynamic.d" })
  const deeper = event("agent_started", { agent: "a", scope: "t@dynamic.d/u@output.v" })
  const other = event("agent_started", { agent: "a", scope: "t@dynamic.d(2)" })
  const all = [own, called, inside, deeper, other]
  const within = (scope: string): StreamEvent[] => all.filter((one) => isWithin(one, scope))
  assert.deepEqual(within(""), [own, called])
  assert.deepEqual(within("t@dynamic.d"), [called, inside, deeper])
  assert.deepEqual(within("t@dynamic.d/u@output.v"), [deeper])
  assert.equal(subjectOf(deeper), "t@dynamic.d/u@output.v · agent.a")
})

test("an event inside a call belongs to the step that calls, not to a step of the same name", () => {
  const state = initialState()
  assert.deepEqual(stepOf(event("agent_started", { agent: "a" }), state), { node: "agent.a" })
  assert.equal(stepOf(event("agent_started", { agent: "a", scope: "t@dynamic.d" }), state), null)
})
