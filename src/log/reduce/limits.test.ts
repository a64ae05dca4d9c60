import assert from "node:assert/strict"
import { test } from "node:test"
import type { SeenEvent } from "../run-state.ts"
import { initialState } from "../run-state.ts"
import { reduce } from "../reduce.ts"

const at = (second: number): string => new Date(Date.UTC(2026, 10, 15) + second * 1000).toISOString()

test("time that a run waits for people, and time between two owners, does not count toward its time limit", () => {
  const limits = { time_seconds: { limit: 60, used: 0 } }
  const events = [
    { id: 1, type: "workflow_planned", data: { nodes: [], limits, at: at(0) } },
    { id: 2, type: "run_waiting", data: { questions: ["q"], at: at(5) } },
    { id: 3, type: "run_continued", data: { questions: ["q"], at: at(1_000) } },
    { id: 4, type: "step_skipped", data: { step: "agent.a", at: at(1_002) } },
    { id: 5, type: "run_waiting", data: { questions: ["r"], at: at(1_003) } },
    { id: 6, type: "run_continued", data: { questions: ["r"], at: at(1_100) } },
    { id: 7, type: "run_resumed", data: { reason: "restart", at: at(5_000) } },
    { id: 8, type: "step_skipped", data: { step: "agent.b", at: at(5_001) } },
  ] as unknown as readonly SeenEvent[]
  const state = initialState()
  const used = events.map((event) => reduce(state, event).limits?.time_seconds?.used)
  assert.deepEqual(used, [0, 5, 5, 7, 8, 8, 8, 9])
})
