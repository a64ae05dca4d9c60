import assert from "node:assert/strict"
import { test } from "node:test"
import { created, several } from "../../test/contract/run-store/material.ts"
import { ManualClock } from "../../test/support/manual-clock.ts"
import { MemoryStore } from "../adapters/memory/memory-store.ts"
import type { LogEvent } from "../log/events.ts"
import { readRecord } from "./run-record.ts"
import { noUsage } from "../log/usage.ts"

const at = "2026-11-15T02:00:00.000Z"

/** A store that says which parts of logs are read. */
class ReadStore extends MemoryStore {
  readonly reads: [after: number, limit: number][] = []

  override read(...call: Parameters<MemoryStore["read"]>): Promise<LogEvent[]> {
    this.reads.push([call[1], call[2]])
    return super.read(...call)
  }
}

const started: LogEvent = { id: 1, type: "workflow_started", at, data: { rerun_of: "earlier" } }
const limits = { tokens: { limit: 100, used: 0 } }
const planned: LogEvent = { id: 2, type: "workflow_planned", at, data: { nodes: [], limits, at } }

test("the record of a run that has ended is read from the ends of its log", async () => {
  const store = new ReadStore(new ManualClock())
  const lease = await created(store)
  const usage = { ...noUsage, input_tokens: 5 }
  const data = { output: { result: { a: 1 } }, usage, limits: { tokens: { limit: 100, used: 5 } }, duration_ms: 1, at }
  const end: LogEvent = { id: 1001, type: "workflow_completed", at, data }
  await store.append(lease, [started, planned, ...several(3, 1000), end])
  const record = await readRecord(store, lease.run_id)
  assert.deepEqual([record?.status, record?.rerun_of], ["completed", "earlier"])
  assert.deepEqual(record?.state.output, { a: 1 })
  assert.deepEqual([record?.state.usage, record?.state.limits], [usage, data.limits])
  assert.deepEqual([record?.state.last_event_id, record?.state.finished_at], [1001, Date.parse(at)])
  assert.deepEqual(store.reads, [
    [1000, 1],
    [0, 2],
  ])
})

test("one whose end does not say what was used is read as a whole", async () => {
  const store = new ReadStore(new ManualClock())
  const lease = await created(store)
  const usage = { ...noUsage, input_tokens: 7 }
  const completed = { agent: "a", output: "x", cached: false, duration_ms: 1, usage, calls: [], at }
  await store.append(lease, [
    started,
    { id: 2, type: "workflow_planned", at, data: { nodes: [], at } },
    { id: 3, type: "agent_completed", at, data: completed },
    { id: 4, type: "workflow_cancelled", at, data: { duration_ms: 1, at } },
  ])
  const record = await readRecord(store, lease.run_id)
  assert.deepEqual([record?.status, record?.state.usage.input_tokens], ["cancelled", 7])
})
