import assert from "node:assert/strict"
import { test } from "node:test"
import type { LogEvent } from "../../log/events.ts"
import { logRuns } from "./log-runs.ts"

const at = "2026-11-15T19:00:00.000Z"

test("a run that waits and continues: a line each, and it was not resumed; never content", () => {
  const lines: [string, Record<string, unknown>, string][] = []
  const observer = logRuns({
    info: (about, message) => void lines.push(["info", about, message]),
    warn: (about, message) => void lines.push(["warn", about, message]),
  })
  const workflow = { name: "publish", version: "0123456789ab" }
  const run = {
    run_id: "r1",
    caller: "ann",
    workflow,
    trace_id: null,
    traceparent: null,
    tracestate: null,
    baggage: null,
  }
  const questions = ["q1", "q2"]
  const usage = {
    input_tokens: 1,
    output_tokens: 2,
    cached_tokens: 0,
    written_tokens: 0,
    reasoning_tokens: 0,
    cost: null,
  }
  const waiting: LogEvent = { id: 3, type: "run_waiting", at, data: { questions, batches: [], waits: [], at } }
  const continued: LogEvent = { id: 4, type: "run_continued", at, data: { questions, batches: [], waits: [], at } }
  const output = { result: { text: "PAYLOAD" } }
  const completed: LogEvent = { id: 5, type: "workflow_completed", at, data: { output, usage, duration_ms: 7, at } }
  observer.taken?.({ ...run, resumed: false })
  observer.appended("r1", [waiting])
  observer.left?.("r1")
  observer.taken?.({ ...run, resumed: true })
  observer.appended("r1", [continued, completed])

  const about = { run_id: "r1", workflow: "publish", version: "0123456789ab", caller: "ann" }
  assert.deepEqual(lines, [
    ["info", { ...about, questions: 2 }, "run waits"],
    ["info", { ...about, questions: 2 }, "run continues"],
    ["info", { ...about, status: "completed", duration_ms: 7, usage, resumed: false }, "run ended"],
  ])
})
