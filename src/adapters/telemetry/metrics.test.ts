import assert from "node:assert/strict"
import { test } from "node:test"
import { noneOpen } from "../../ports/waits.ts"
import { createMetrics } from "./metrics.ts"

const at = "2026-11-15T19:00:00.000Z"
const counts = {
  active: () => 0,
  queued: () => 0,
  streams: () => 0,
  waiting: async () => ({ runs: 0, open: noneOpen() }),
  paced: () => [],
  releases: () => Promise.resolve([]),
  budgets: async () => [],
  files: async () => ({ bytes: 0, added: 0 }),
  isAlone: true,
  clock: { now: () => Date.now(), aheadMs: 0 },
}

test("a thousand workflows have labels of their own, the others share one", async () => {
  const metrics = createMetrics(counts, [])
  const { observer, service } = metrics
  const about = { caller: "", resumed: false, trace_id: null, traceparent: null, tracestate: null, baggage: null }
  for (let n = 0; n < 1_010; n++) {
    const run_id = `r${n}`
    observer.taken?.({ ...about, run_id, workflow: { name: `w${n}`, version: "0" } })
    const usage = {
      input_tokens: 1,
      output_tokens: 1,
      cached_tokens: 0,
      written_tokens: 0,
      reasoning_tokens: 0,
      cost: null,
    }
    observer.appended(run_id, [
      { id: 1, type: "workflow_completed", at, data: { output: { result: {} }, usage, duration_ms: 1 } },
    ])
    service.answered("GET", "/workflows/*", 200, 1, `w${n}`)
  }
  const written = (await metrics.text()).text
  assert.match(written, /^wire_runs_total\{status="completed",workflow="w999"\} 1$/m)
  assert.match(written, /^wire_runs_total\{status="completed",workflow="other"\} 10$/m)
  assert.match(written, /^wire_http_requests_total\{.*workflow="other"\} 10$/m)
  assert.doesNotMatch(written, /workflow="w1000"/)
})

test("calls of workflows by workflows are counted by name and outcome, of a bounded number of names", async () => {
  const metrics = createMetrics(counts, [])
  const usage = {
    input_tokens: 1,
    output_tokens: 1,
    cached_tokens: 0,
    written_tokens: 0,
    reasoning_tokens: 0,
    cost: null,
  }
  const error = { kind: "provider_error", message: "down", issues: [] } as const
  for (let n = 0; n < 201; n++) {
    const about = { workflow: `w${n}`, call_id: `c${n}`, scope: `w${n}@dynamic.r`, duration_ms: 300 }
    metrics.observer.appended("r", [
      { id: 1, type: "workflow_call_completed", at, data: { ...about, output: {}, usage } },
      { id: 2, type: "workflow_call_failed", at, data: { ...about, error } },
      { id: 3, type: "workflow_call_failed", at, data: { ...about, error } },
    ])
  }
  const written = (await metrics.text()).text
  assert.match(written, /^wire_workflow_calls_total\{called="w0",outcome="completed"\} 1$/m)
  assert.match(written, /^wire_workflow_calls_total\{called="w0",outcome="failed"\} 2$/m)
  assert.match(written, /^wire_workflow_calls_total\{called="other",outcome="failed"\} 2$/m)
  assert.match(written, /^wire_workflow_call_duration_seconds_count\{called="w0"\} 3$/m)
})
