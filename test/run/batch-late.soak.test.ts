import assert from "node:assert/strict"
import { test } from "node:test"
import { BatchService, BatchVendorServer, batchSource, eventsOf, sharedStore } from "../support/batch-world.ts"
import { dataOf } from "../support/run-plan.ts"

test("half an hour before its time is over a batch is cancelled, and the rest is called directly", async (t) => {
  // It never ends by itself.
  const vendor = new BatchVendorServer(100_000_000)
  const store = sharedStore()
  const service = new BatchService(store)
  t.after(async () => {
    await service.close()
    await vendor.close()
  })
  await service.runs.recover()
  const source = batchSource(await vendor.start()).replace("within_hours: 24", "within_hours: 2")
  const events = await eventsOf(store, await service.begin(source, 9), 120_000)
  assert.equal(events.at(-1)?.type, "workflow_completed")
  assert.deepEqual(dataOf(events, "batch_left"), [{ agent: "label", items: 8, reason: "late" }])
  assert.equal(vendor.count("POST", /cancel$/), 1)
  const direct = dataOf(events, "agent_completed").filter(({ calls }) => calls.at(-1)?.batch === undefined)
  assert.equal(direct.length, 9)
  const [sent] = dataOf(events, "batch_submitted")
  assert.equal(sent?.items, 8)
})
