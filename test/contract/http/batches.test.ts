import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import type { BudgetsAnswer } from "../../../src/api/spending.ts"
import { BatchVendorServer, batchSource, tickets } from "../../support/batch-world.ts"
import { startService } from "./start-service.ts"

interface Waiting {
  readonly run_id: string
  readonly status: string
  readonly batches: readonly string[]
  readonly questions: readonly string[]
  readonly waits: readonly unknown[]
}

test("a run that waits for a batch is a 202 with its id, its record shows the batch, and a cancel reaches the vendor", async (t) => {
  const vendor = new BatchVendorServer(100_000_000)
  const source = batchSource(await vendor.start())
  const service = await startService()
  t.after(() => vendor.close())
  const answer = await service.post("/execute", { workflow_source: source, input: { tickets: tickets(8) } })
  assert.equal(answer.status, 202)
  const { run_id, status, batches, questions, waits } = (await answer.json()) as Waiting
  assert.deepEqual([status, batches.length, questions, waits], ["waiting", 1, [], []])
  const record = (await (await service.get(`/execute/${run_id}`)).json()) as {
    readonly status: string
    readonly waiting_for: object
    readonly batches: readonly Record<string, unknown>[]
    readonly notifications: readonly unknown[]
  }
  assert.equal(record.status, "waiting")
  assert.deepEqual(record.waiting_for, { questions: [], batches, waits: [] })
  const [batch] = record.batches
  assert.deepEqual(
    { ...batch, submitted_at: undefined },
    {
      agent: "label",
      id: batches[0],
      status: "in_progress",
      completed: 0,
      failed: 0,
      total: 7,
      submitted_at: undefined,
    },
  )
  assert.equal((await service.post(`/execute/${run_id}/cancel`, {})).status, 202)
  const events = await (await service.get(`/execute/${run_id}/events`, { accept: "text/event-stream" })).text()
  assert.match(events, /event: workflow_cancelled/)
  assert.equal(vendor.count("POST", /cancel$/), 1)
})

test("metrics count batches, and items by how their model was called", async (t) => {
  let refuses = false
  const vendor = new BatchVendorServer(100_000_000)
  vendor.fault = ({ path }) =>
    refuses && /files|batches/.test(path) ? Promise.resolve({ status: 404, headers: {}, body: "{}" }) : null
  const source = batchSource(await vendor.start())
  const service = await startService()
  t.after(() => vendor.close())
  const counts = async (): Promise<Record<string, number>> => {
    const text = await (await service.get("/metrics")).text()
    const lines = [...text.matchAll(/^wire_batch(?:es|_items)_total\{(?:event|way)="(\w+)"\} (\d+)$/gm)]
    return Object.fromEntries(lines.map(([, label, count]) => [label, Number(count)]))
  }
  const none = { prepared: 0, submitted: 0, repeated: 0, batch: 0, late: 0, few: 0, refused: 0 }
  assert.deepEqual(await counts(), none)
  const begin = (count: number) =>
    service.post("/execute", { workflow_source: source, input: { tickets: tickets(count) } })
  const waiting = await begin(8)
  assert.equal(waiting.status, 202)
  const seven = { ...none, prepared: 1, submitted: 1, batch: 7 }
  assert.deepEqual(await counts(), seven)
  assert.equal((await begin(3)).status, 200)
  assert.deepEqual(await counts(), { ...seven, few: 3 })
  refuses = true
  assert.equal((await begin(6)).status, 200)
  assert.deepEqual(await counts(), { ...seven, few: 3, prepared: 2, refused: 6 })
  const { run_id } = (await waiting.json()) as Waiting
  await service.post(`/execute/${run_id}/cancel`, {})
})

test("the items of a batch reserve from the caller's budget together, and make one batch", async (t) => {
  const vendor = new BatchVendorServer(100_000_000)
  const source = batchSource(await vendor.start())
  const folder = mkdtempSync(join(tmpdir(), "batch-budgets-"))
  const file = join(folder, "budgets.json")
  writeFileSync(file, JSON.stringify({ callers: { "*": { tokens_per_month: 500_000 } } }))
  t.after(async () => {
    await vendor.close()
    rmSync(folder, { recursive: true })
  })
  // A call is worth more than a slice of this budget, so that reservations come one after the other.
  const service = await startService({ STORE: "sqlite", DATA_DIR: folder, BUDGETS: file })
  const answer = await service.post("/execute", { workflow_source: source, input: { tickets: tickets(40) } })
  assert.equal(answer.status, 202, await answer.clone().text())
  const { run_id, batches } = (await answer.json()) as Waiting
  assert.equal(batches.length, 1)
  const record = (await (await service.get(`/execute/${run_id}`)).json()) as { batches: { total: number }[] }
  assert.deepEqual(
    record.batches.map(({ total }) => total),
    [39],
  )
  const { budgets } = (await (await service.get("/budgets")).json()) as BudgetsAnswer
  const [{ used, reserved } = { used: 0, reserved: 0 }] = budgets
  assert.ok(used + reserved >= 39 * 8192, JSON.stringify(budgets))
  await service.post(`/execute/${run_id}/cancel`, {})
  const events = await (await service.get(`/execute/${run_id}/events`, { accept: "text/event-stream" })).text()
  assert.doesNotMatch(events, /event: batch_left/)
})
