import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import type { RunState, Span } from "../../src/log/run-state.ts"
import { initialState } from "../../src/log/run-state.ts"
import { keepSelection, select, selectAtCursor, selectedSpan, selection, showsAnswer } from "./selection.ts"

beforeEach(() => select(null))

test("a step stays selected when another run is shown; the bar of the run before does not", () => {
  select({ node: "agent.a", span: 7 })
  keepSelection(() => true, undefined)
  assert.deepEqual(selection.value, { node: "agent.a" })
  assert.equal(showsAnswer.value, false)
  keepSelection((node) => node !== "agent.a", undefined)
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
  keepSelection(() => true, undefined)
  assert.equal(selection.value?.node, "agent.a")
  assert.equal(showsAnswer.value, true)
  select({ node: "agent.a" })
  assert.equal(showsAnswer.value, false)
})

/** A run of a loop with this many items, each with a model call. */
function loopOf(items: number): RunState {
  const common = { name: "a", start: 0, end: 1, state: "completed" } as const
  const spans: Span[] = [{ ...common, kind: "loop", parent: null }]
  for (let iteration = 0; iteration < items; iteration++) {
    const parent = spans.push({ ...common, kind: "iteration", parent: 0, iteration }) - 1
    spans.push({ ...common, kind: "model_call", parent, iteration })
  }
  return { ...initialState(), spans }
}

test("the item of a loop stays selected when the new run has it, also from a call within it", () => {
  for (const span of [5, 6]) {
    select({ node: "agent.a", span })
    keepSelection(() => true, loopOf(3))
    const chosen = selection.value
    assert.deepEqual(chosen, { node: "agent.a", iteration: 2 })
    assert.ok(chosen !== null)
    assert.equal(selectedSpan(loopOf(4), chosen), 5)
    // Until the new run has come to it, and where it has fewer: the loop.
    assert.equal(selectedSpan(loopOf(2), chosen), 0)
    keepSelection(() => true, loopOf(2))
    assert.deepEqual(selection.value, chosen)
  }
  select({ node: "agent.a" })
  assert.deepEqual(selection.value, { node: "agent.a" })
})
