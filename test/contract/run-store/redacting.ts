import assert from "node:assert/strict"
import { allRuns } from "../../../src/ports/run-list.ts"
import type { LogEvent } from "../../../src/log/events.ts"
import { NoSuchRun, type RunStore } from "../../../src/ports/store.ts"
import { aRequest, created, happened, type OnBench } from "./material.ts"

const workflow = { name: "help", version: "0123456789ab" }
const usage = {
  input_tokens: 8,
  output_tokens: 2,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
  cost: 0.5,
}

const completed = (at: number): LogEvent => ({
  id: 2,
  at: new Date(at).toISOString(),
  type: "workflow_completed",
  data: { output: { result: { mail: "private" } }, usage, duration_ms: 1 },
})

async function done(store: RunStore, at: number, isPrivate: boolean): Promise<string> {
  const changes = isPrivate ? ({ private: true } as const) : {}
  const lease = await created(store, { request: aRequest({ workflow }), caller: "ann", ...changes })
  await store.append(lease, [happened(1), completed(at)])
  return lease.run_id
}

/** Private values go before their runs. */
export function redacting(onBench: OnBench): void {
  onBench("private runs lose what they were given and made, and keep how they went", async ({ store, clock }) => {
    const at = clock.now()
    const [old, plain] = [await done(store, at, true), await done(store, at, false)]
    const score = { name: "good", value: true, at: new Date(at).toISOString() }
    const counted = { value: true, model: null }
    assert.equal(await store.scores.put(old, { score, name: "good", by: null, counted, at, cost: 0 }), "stored")
    const late = await done(store, at + 1_000, true)
    await store.sweep(0)
    assert.equal((await store.lookup(old)).found, "run")
    const bytes = await store.stored("ann")
    await store.sweep(0, at + 500)
    const found = await store.lookup(old)
    assert.ok(found.found === "expired" && found.redacted !== undefined)
    const { status, error_kind, usage: used, run } = found.redacted
    assert.deepEqual(
      [found.caller, status, error_kind, used.cost, run.finished_at],
      ["ann", "completed", null, 0.5, at],
    )
    assert.deepEqual(run.workflow, workflow)
    assert.deepEqual(await store.read(old, 0, 10), [])
    const request = await store.request(old).catch((error: unknown) => {
      assert.ok(error instanceof NoSuchRun)
      return null
    })
    assert.deepEqual(request?.input ?? {}, {})
    assert.equal(request?.source ?? "", "")
    assert.deepEqual(await store.scores.of(old), [score])
    const listed = await store.list({ ...allRuns, previews: true, limit: 10 })
    const row = listed.find(({ run_id }) => run_id === old)
    assert.deepEqual([row?.status, row?.preview, row?.end, row?.scores.length], ["completed", null, null, 1])
    assert.ok((await store.stored("ann")) < bytes)
    for (const other of [plain, late]) assert.equal((await store.lookup(other)).found, "run")
    await store.sweep(0, at + 2_000)
    assert.equal((await store.lookup(late)).found, "expired")
    assert.equal((await store.lookup(plain)).found, "run")
    // It is erased, and swept, like every other run.
    assert.equal(await store.erasure.erase(old), "deleted")
    assert.deepEqual(await store.lookup(old), { found: "expired", caller: "ann" })
    await store.sweep(at + 2_000)
    assert.deepEqual(await store.lookup(late), { found: "expired", caller: "ann" })
    assert.deepEqual(await store.list({ ...allRuns, limit: 10 }), [])
  })
}
