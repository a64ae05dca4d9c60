import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import { keepSelection, select, selectAtCursor, selection, showsAnswer } from "./selection.ts"

beforeEach(() => select(null))

test("a step stays selected when another run is shown; the bar of the run before does not", () => {
  select({ node: "agent.a", span: 7 })
  keepSelection(() => true)
  assert.deepEqual(selection.value, { node: "agent.a" })
  assert.equal(showsAnswer.value, false)
  keepSelection((node) => node !== "agent.a")
  assert.equal(selection.value, null)
  assert.equal(showsAnswer.value, true)
})

test("the cursor selects its step, and gives up what it has selected", () => {
  selectAtCursor("agent.a")
  assert.deepEqual(selection.value, { node: "agent.a", by: "cursor" })
  selectAtCursor(undefined)
  assert.equal(selection.value, null)
  select({ node: "agent.b" })
  selectAtCursor(undefined)
  assert.deepEqual(selection.value, { node: "agent.b" })
})

test("a run that is begun from within a step's text shows its result first, until the step is chosen", () => {
  selectAtCursor("agent.a")
  assert.equal(showsAnswer.value, false)
  keepSelection(() => true)
  assert.equal(selection.value?.node, "agent.a")
  assert.equal(showsAnswer.value, true)
  select({ node: "agent.a" })
  assert.equal(showsAnswer.value, false)
})
