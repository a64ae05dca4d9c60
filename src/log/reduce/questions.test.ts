import assert from "node:assert/strict"
import { test } from "node:test"
import { reduce } from "../reduce.ts"
import type { SeenEvent } from "../run-state.ts"
import { initialState } from "../run-state.ts"

test("an ask has been answered while one of the same name in a called workflow is open", () => {
  const asked = { kind: "ask", name: "review", question: "Good?", show: {}, schema: {}, at: "2026-11-15T00:00:00.000Z" }
  const events = [
    { id: 1, type: "workflow_planned", data: { nodes: [{ id: "ask.review", kind: "ask", name: "review" }] } },
    { id: 2, type: "question_asked", data: { ...asked, id: "inner", scope: "shop@dynamic.first" } },
    { id: 3, type: "question_asked", data: { ...asked, id: "outer" } },
    { id: 4, type: "question_answered", data: { id: "outer", answer: { ok: true } } },
  ] as unknown as readonly SeenEvent[]
  const state = initialState()
  for (const event of events) reduce(state, event)
  assert.equal(state.nodes[0]?.state, "completed")
})
