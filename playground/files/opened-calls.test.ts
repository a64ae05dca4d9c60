import assert from "node:assert/strict"
import { test } from "node:test"
import { initialState } from "../../src/log/run-state.ts"
import { callLabel, scopesOf } from "./opened-calls.ts"

test("the calls of a step are those at its places, and none of another step, workflow or level", () => {
  const state = initialState()
  const scopes = [
    "t@agent.a.instruction",
    "t@agent.a#1",
    "t@agent.ab",
    "u@agent.a",
    "t@agent.a#1/t@agent.a",
    "t@dynamic.d[0]",
    "t@dynamic.d(2)[1]",
  ]
  state.inside = Object.fromEntries(scopes.map((scope) => [scope, initialState()]))
  const at = (parent: string, node: string, workflow = "t"): string[] =>
    scopesOf(state, parent, { node, workflow, scope: null })
  assert.deepEqual(at("", "agent.a"), ["t@agent.a.instruction", "t@agent.a#1"])
  assert.deepEqual(at("", "agent.a", "u"), ["u@agent.a"])
  assert.deepEqual(at("t@agent.a#1", "agent.a"), ["t@agent.a#1/t@agent.a"])
  assert.deepEqual(at("", "dynamic.d"), ["t@dynamic.d[0]", "t@dynamic.d(2)[1]"])
})

test("a call is told from others by its round, its number or its place", () => {
  assert.equal(callLabel("t@dynamic.d[0]", "dynamic.d"), "[0]")
  assert.equal(callLabel("x@output/t@agent.a#2", "agent.a"), "#2")
  assert.equal(callLabel("t@agent.a.instruction", "agent.a"), "instruction")
  assert.equal(callLabel("t@dynamic.d", "dynamic.d"), "dynamic.d")
})
