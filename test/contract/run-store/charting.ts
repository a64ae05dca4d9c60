import assert from "node:assert/strict"
import type { LogEvent, Usage } from "../../../src/log/events.ts"
import type { Release } from "../../../src/log/release.ts"
import { allRuns, type ListedStatus } from "../../../src/ports/run-list.ts"
import { statsMs, type RunBucket, type StatsQuery } from "../../../src/ports/run-stats.ts"
import type { RunStore } from "../../../src/ports/store.ts"
import { aQuestion, asked, waits } from "./asking.ts"
import { aRequest, created, ended, lapse, leaseMs, type OnBench } from "./material.ts"

const hour = 3_600_000
const first = Date.UTC(2026, 10, 15, 6)
const query: StatsQuery = { ...allRuns, since: 0, min_cost: null, min_seconds: null, unit: "hour" }
const usage = (cost: number): Usage => ({
  input_tokens: 8,
  output_tokens: 2,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
  cost,
})

interface Made {
  readonly caller?: string
  readonly after?: number
  readonly took?: number
  readonly cost?: number
  readonly name?: string
  readonly release?: Release
  readonly rerun?: true
  readonly end?: "failed" | "cancelled"
}

async function make(store: RunStore, made: Made): Promise<string> {
  const { caller = "ann", after = 0, took = 1_000, cost = 0, name, release, rerun, end } = made
  const created_at = first + after
  const request = aRequest({
    ...(name !== undefined && { workflow: { name, version: "v1", ...(release !== undefined && { release }) } }),
    ...(rerun && { rerun: { run_id: "earlier", from: [] } }),
  })
  const lease = await created(store, { caller, created_at, request })
  const at = new Date(created_at + took).toISOString()
  const error = { kind: "timeout", message: "x", issues: [] } as const
  const last: Readonly<Record<"failed" | "cancelled" | "completed", LogEvent>> = {
    completed: {
      id: 1,
      at,
      type: "workflow_completed",
      data: { output: { result: {} }, usage: usage(cost), duration_ms: 1 },
    },
    failed: { id: 1, at, type: "workflow_failed", data: { error, duration_ms: 1, usage: usage(cost) } },
    cancelled: { id: 1, at, type: "workflow_cancelled", data: { duration_ms: 1, at } },
  }
  await store.append(lease, [last[end ?? "completed"]])
  return lease.run_id
}

/** Counts of runs that have ended in the store's own steps, and of those that are open. */
export function charting(onBench: OnBench): void {
  onBench("runs are counted by the hour of their creation, by their end and by how long they took", async (bench) => {
    const { store, other, clock } = bench
    assert.deepEqual(await other.stats(query), [])
    for (const took of [1_000, 2_000, 3_000, 123_456]) await make(store, { took, cost: 0.5 })
    await make(store, { after: 10, end: "failed", took: 0 })
    await make(store, { after: 2 * hour, end: "cancelled", took: 7 })
    const waiting = await created(store, { caller: "ann", created_at: first + 2 * hour + 5 })
    await store.append(waiting, [asked(1, aQuestion(waiting.run_id, "q1", clock)), waits(2, ["q1"], clock)])
    await created(store, { caller: "bob", created_at: first + 3 * hour })
    const [morning, noon, open, ...more] = await other.stats(query)
    assert.deepEqual(morning, {
      at: first,
      runs: 5,
      failed: 1,
      waiting: 0,
      p50_ms: 2_000,
      p95_ms: 123_000,
      tokens: 50,
      cost: 2e9,
    } satisfies RunBucket)
    const none = { failed: 0, tokens: 0, cost: 0 }
    assert.deepEqual(noon, { at: first + 2 * hour, runs: 2, ...none, waiting: 1, p50_ms: 7, p95_ms: 7 })
    assert.deepEqual(open, { at: first + 3 * hour, runs: 1, ...none, waiting: 0, p50_ms: null, p95_ms: null })
    assert.deepEqual(more, [])
    assert.deepEqual(
      (await other.stats({ ...query, unit: "day" })).map(({ at, runs }) => [at, runs]),
      [[Date.UTC(2026, 10, 15), 8]],
    )
    // A run that waited and is cancelled counts at its end, once.
    assert.equal(await store.requestCancel(waiting.run_id), true)
    assert.equal((await other.stats({ ...query, caller: "ann" }))[1]?.waiting, 0)
    const [again] = await store.claim("owner-2", 1, leaseMs)
    assert.ok(again !== undefined)
    await store.append(again, [ended(3, new Date(first + 3 * hour).toISOString())])
    assert.deepEqual((await other.stats({ ...query, caller: "ann" }))[1]?.runs, 2)
  })

  onBench("all filters of the counts hold", async ({ store, other }) => {
    await make(store, { caller: "bob", name: "a", cost: 2, took: 5_000 })
    await make(store, { name: "a", after: hour, end: "failed", cost: 1 })
    await make(store, { name: "b", after: 2 * hour, rerun: true })
    await make(store, { after: 3 * hour, end: "cancelled" })
    await created(store, { caller: "ann", created_at: first + 4 * hour })
    const hours = async (more: Partial<StatsQuery>): Promise<number[]> =>
      (await other.stats({ ...query, ...more })).map(({ at }) => (at - first) / hour)
    assert.deepEqual(await hours({}), [0, 1, 2, 3, 4])
    assert.deepEqual(await hours({ caller: "bob" }), [0])
    assert.deepEqual(await hours({ workflows: ["a"] }), [0, 1])
    assert.deepEqual(await hours({ workflows: ["b", "a"], caller: "ann" }), [1, 2])
    assert.deepEqual(await hours({ version: "v1" }), [0, 1, 2])
    assert.deepEqual(await hours({ started_by: "rerun" }), [2])
    assert.deepEqual(await hours({ started_by: "request" }), [0, 1, 3, 4])
    assert.deepEqual(await hours({ started_by: "schedule" }), [])
    assert.deepEqual(await hours({ error_kind: "timeout" }), [1])
    assert.deepEqual(await hours({ error_kind: "tool_error" }), [])
    assert.deepEqual(await hours({ min_cost: 1 }), [0, 1])
    assert.deepEqual(await hours({ min_cost: 0 }), [0, 1, 2, 3, 4])
    assert.deepEqual(await hours({ min_seconds: 1 }), [0, 1, 2, 3])
    assert.deepEqual(await hours({ min_seconds: 1.5 }), [0])
    assert.deepEqual(await hours({ since: first + hour, until: first + 3 * hour }), [1, 2])
    const statuses: readonly (readonly [ListedStatus, readonly number[]])[] = [
      ["completed", [0, 2]],
      ["failed", [1]],
      ["cancelled", [3]],
      ["ended", [0, 1, 2, 3]],
      ["queued", [4]],
      ["open", [4]],
      ["waiting", []],
    ]
    for (const [status, expected] of statuses) assert.deepEqual(await hours({ status }), expected, status)
  })

  onBench("the counts are those of one side of a release, or of all runs but shadows", async ({ store, other }) => {
    await make(store, { name: "a" })
    await make(store, { name: "a", release: "current", after: hour })
    await make(store, { name: "a", release: "candidate", after: 2 * hour })
    await make(store, { name: "a", release: "shadow", after: 3 * hour })
    const open = { name: "a", version: "v1" }
    const openOf = (release: Release, after: number) =>
      created(store, {
        caller: "ann",
        created_at: first + after,
        request: aRequest({ workflow: { ...open, release } }),
      })
    await openOf("candidate", 4 * hour)
    await openOf("shadow", 5 * hour)
    const hours = async (release: Release | null): Promise<number[]> =>
      (await other.stats({ ...query, release })).map(({ at }) => (at - first) / hour)
    assert.deepEqual(await hours(null), [0, 1, 2, 4])
    assert.deepEqual(await hours("current"), [1])
    assert.deepEqual(await hours("candidate"), [2, 4])
    assert.deepEqual(await hours("shadow"), [3, 5])
  })

  onBench(
    "a run counts once, whoever ends it, and goes on to count when it is deleted, for 400 days",
    async (bench) => {
      const { store, other, clock } = bench
      const lease = await created(store, { created_at: clock.now() })
      await lapse(bench)
      const [taken] = await other.claim("owner-2", 1, leaseMs)
      assert.ok(taken !== undefined)
      await assert.rejects(store.append(lease, [ended(1)]))
      await other.append(taken, [ended(1)])
      await assert.rejects(other.append(taken, [ended(2)]))
      const runs = async (): Promise<number[]> => (await store.stats(query)).map((bucket) => bucket.runs)
      assert.deepEqual(await runs(), [1])
      assert.equal(await store.delete(lease.run_id), "deleted")
      assert.deepEqual(await runs(), [1])
      await store.sweep(clock.now())
      assert.deepEqual(await runs(), [1])
      clock.advance(statsMs)
      await store.sweep(0)
      assert.deepEqual(await runs(), [])
    },
  )
}
