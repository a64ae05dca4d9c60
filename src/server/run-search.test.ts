import assert from "node:assert/strict"
import { test } from "node:test"
import { allRuns, type ListedRun, type RunQuery } from "../ports/run-list.ts"
import type { RunStore } from "../ports/store.ts"
import { noUsage, showUsage } from "../log/usage.ts"
import { searchRuns } from "./run-search.ts"

const filter = { words: [] as string[], min_cost: null, min_seconds: null }

function runsOf(count: number, text: (at: number) => string): { store: RunStore; looked: () => number } {
  const runs = Array.from({ length: count }, (_, at): ListedRun => {
    const created_at = count - at
    return {
      run_id: `r${created_at}`,
      caller: "",
      workflow: null,
      trigger: null,
      started_by: "request",
      trace_id: null,
      status: "completed",
      error_kind: null,
      scores: [],
      created_at,
      finished_at: created_at + 5,
      usage: showUsage(noUsage),
      preview: { steps: [], input: text(created_at), started_by: "request" },
      end: { output: null, error: null },
    }
  })
  let looked = 0
  const list = async ({ limit, after }: RunQuery): Promise<ListedRun[]> => {
    const from = after === null ? 0 : runs.findIndex(({ run_id }) => run_id === after.run_id) + 1
    const page = runs.slice(from, from + limit)
    looked += page.length
    return page
  }
  return { store: { list } as unknown as RunStore, looked: () => looked }
}

test("a search that has looked at as many runs as it may says where it stopped, and goes on there", async () => {
  const { store } = runsOf(3_200, (at) => (at === 40 ? "needle" : "hay"))
  const words = { ...filter, words: ["needle"] }
  let after: RunQuery["after"] = null
  const stops: number[] = []
  for (;;) {
    const { found, stoppedAt } = await searchRuns(store, { ...allRuns, after }, words, 10, { ms: 60_000, runs: 1_000 })
    if (stoppedAt !== null) {
      assert.deepEqual(found, [])
      stops.push(stoppedAt.created_at)
      after = stoppedAt
      continue
    }
    assert.deepEqual(
      found.map(({ run_id }) => run_id),
      ["r40"],
    )
    break
  }
  assert.deepEqual(stops, [2_201, 1_201, 201])
})

test("time ends it as well, and a full page before either", async () => {
  const { store, looked } = runsOf(5_000, () => "hay")
  const none = await searchRuns(store, allRuns, { ...filter, words: ["needle"] }, 10, { ms: 0, runs: 20_000 })
  assert.equal(none.stoppedAt?.created_at, 4_501)
  const before = looked()
  const full = await searchRuns(store, allRuns, { ...filter, words: ["hay"] }, 10)
  assert.equal(full.stoppedAt, null)
  assert.ok(full.found.length > 10)
  assert.equal(looked() - before, 500)
})

test("without a search, a page and one more are read", async () => {
  const { store, looked } = runsOf(100, () => "")
  assert.equal((await searchRuns(store, allRuns, filter, 10)).found.length, 11)
  assert.equal(looked(), 11)
})
