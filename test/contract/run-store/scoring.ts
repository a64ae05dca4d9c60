import assert from "node:assert/strict"
import { allRuns } from "../../../src/ports/run-list.ts"
import { dayMs, mostByHand, shadowAccount, type NewScore, type ScoreSum } from "../../../src/ports/scores.ts"
import type { LogEvent, Usage } from "../../../src/log/events.ts"
import type { NewRun, RunStore } from "../../../src/ports/store.ts"
import { aRequest, created, ended, leaseMs, type OnBench } from "./material.ts"

const at = Date.UTC(2026, 10, 15, 12)
const day = Math.floor(at / dayMs)
const workflow = { name: "help", version: "0123456789ab" }
const everything = { by: "day", caller: null, workflow: null, name: null, from: 0, to: day + 10 } as const
const usage: Usage = {
  input_tokens: 8,
  output_tokens: 2,
  cached_tokens: 0,
  written_tokens: 0,
  reasoning_tokens: 0,
  cost: 0.5,
}
const completed: LogEvent = {
  id: 1,
  at: new Date(at).toISOString(),
  type: "workflow_completed",
  data: { output: { result: {} }, usage, duration_ms: 1 },
}

async function done(store: RunStore, changes: Partial<NewRun> = { scored: true }): Promise<string> {
  const lease = await created(store, { request: aRequest({ workflow }), caller: "ann", ...changes })
  await store.append(lease, [completed])
  return lease.run_id
}

function computed(name: string, value: boolean | number | string, by: string | null = null): NewScore {
  const score = { name, value, at: new Date(at).toISOString(), ...(by !== null && { by }) }
  return { score, name, by, counted: { value, model: null }, at, cost: 0 }
}

const inOrder = (sums: readonly ScoreSum[]): readonly ScoreSum[] =>
  sums.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

/** Scores of runs that have completed: one by run and name, whatever crashes; a deleted run has none. */
export function scoring(onBench: OnBench): void {
  onBench("completed runs are given out to be scored, again after a while, until that is done", async (bench) => {
    const { store, other, clock } = bench
    const [one, two] = [await done(store), await done(store)]
    await done(store, {})
    const failed = await created(store, { scored: true })
    await store.append(failed, [ended(1)])
    await created(store, { scored: true })
    assert.deepEqual(await store.scores.take(1, leaseMs), [one])
    assert.deepEqual(await other.scores.take(10, leaseMs), [two])
    assert.deepEqual(await other.scores.take(10, leaseMs), [])
    await store.scores.done(one)
    clock.advance(leaseMs)
    assert.deepEqual(await other.scores.take(10, leaseMs), [two])
    assert.equal(await store.delete(two), "deleted")
    clock.advance(leaseMs)
    assert.deepEqual(await other.scores.take(10, leaseMs), [])
  })

  onBench("a declared score has one result; one by hand is replaced by the same caller's next", async (bench) => {
    const { store, other } = bench
    const run_id = await done(store)
    assert.equal(await store.scores.put(run_id, computed("fast", true)), "stored")
    assert.equal(await other.scores.put(run_id, computed("fast", false)), "there")
    assert.equal(await store.scores.put(run_id, computed("thumbs", true, "ann")), "stored")
    assert.equal(await other.scores.put(run_id, computed("thumbs", false, "ann")), "stored")
    assert.equal(await other.scores.put(run_id, computed("thumbs", true, "op")), "stored")
    const found = await other.scores.of(run_id)
    assert.deepEqual(found.map(({ name, value, by = "" }) => `${name} ${value} ${by}`).toSorted(), [
      "fast true ",
      "thumbs false ann",
      "thumbs true op",
    ])
    assert.deepEqual(inOrder(await other.scores.sums(everything)), [
      { name: "fast", key: String(day), value: "true", count: 1, sum: 0 },
      { name: "thumbs", key: String(day), value: "false", count: 1, sum: 0 },
      { name: "thumbs", key: String(day), value: "true", count: 1, sum: 0 },
    ])
    const [listed] = await other.list({ ...allRuns, caller: "ann", previews: true, limit: 10 })
    assert.equal(listed?.scores.length, 3)
    const search = async (name: string, value: string): Promise<number> =>
      (await other.list({ ...allRuns, score: { name, value }, limit: 10 })).length
    assert.deepEqual(
      [await search("fast", "true"), await search("fast", "false"), await search("thumbs", "false")],
      [1, 0, 1],
    )
  })

  onBench("open and deleted runs get no score, and deleted ones go on to count without a trace", async (bench) => {
    const { store, other } = bench
    const open = await created(store, { scored: true })
    assert.equal(await store.scores.put(open.run_id, computed("fast", true)), "open")
    assert.equal(await store.scores.put("nothing", computed("fast", true)), "gone")
    const run_id = await done(store)
    await store.scores.put(run_id, computed("cites", 0.5))
    assert.equal(await store.delete(run_id), "deleted")
    assert.equal(await other.scores.put(run_id, computed("cites", 1)), "gone")
    assert.deepEqual(await other.scores.of(run_id), [])
    assert.deepEqual(await other.scores.sums({ ...everything, by: "version" }), [
      { name: "cites", key: workflow.version, value: "", count: 1, sum: 0.5 },
    ])
    assert.deepEqual(await other.scores.sums({ ...everything, caller: "bob" }), [])
    assert.deepEqual(await other.scores.sums({ ...everything, name: "other" }), [])
  })

  onBench("what is made from private values is in the record alone", async (bench) => {
    const { store, other } = bench
    const run_id = await done(store)
    await store.scores.put(run_id, { ...computed("secret", true), counted: null })
    assert.deepEqual(
      (await other.scores.of(run_id)).map(({ name }) => name),
      ["secret"],
    )
    const [listed] = await other.list({ ...allRuns, caller: "ann", previews: true, limit: 10 })
    assert.deepEqual(listed?.scores, [])
    assert.deepEqual(await other.list({ ...allRuns, score: { name: "secret", value: "true" }, limit: 10 }), [])
    assert.deepEqual(await other.scores.sums(everything), [])
  })

  onBench("a run has a hundred scores by hand at most", async ({ store }) => {
    const run_id = await done(store)
    for (let at = 0; at < mostByHand; at++) {
      assert.equal(await store.scores.put(run_id, computed(`s${at}`, at, "ann")), "stored")
    }
    assert.equal(await store.scores.put(run_id, computed("more", 1, "ann")), "full")
    assert.equal(await store.scores.put(run_id, computed("s1", 5, "ann")), "stored")
    assert.equal(await store.scores.put(run_id, computed("fast", true)), "stored")
  })

  onBench(
    "judges reserve what they may cost; what a crash left is given back when the run is asked about again",
    async (bench) => {
      const { store, other } = bench
      const [one, two] = [await done(store), await done(store)]
      const reserve = (on: RunStore, run_id: string, cost: number): Promise<boolean> =>
        on.scores.reserve(run_id, "helpful", day, cost, 100)
      assert.equal(await reserve(store, one, 60), true)
      assert.equal(await reserve(other, two, 60), false)
      // The process that asked has died.
      assert.equal(await reserve(other, one, 90), true)
      const judged = { ...computed("helpful", "good"), cost: 30 }
      assert.equal(await other.scores.put(one, judged), "stored")
      assert.equal(await store.scores.put(one, judged), "there")
      assert.equal(await reserve(store, one, 1), false)
      assert.equal(await reserve(store, two, 70), true)
      // Nothing came of the judge: only its cost counts.
      assert.equal(await store.scores.put(two, { ...judged, score: null, counted: null, cost: 10 }), "stored")
      assert.deepEqual(await other.scores.of(two), [])
      assert.equal(await reserve(other, two, 60), true)
      assert.equal(await store.scores.reserve("nothing", "helpful", day, 1, 100), false)
    },
  )

  onBench("shadows have a bound of their own, beside that of judges", async ({ store, other }) => {
    const [one, two] = [await done(store, {}), await done(store, {})]
    assert.equal(await store.scores.reserve(one, "helpful", day, 100, 100), true)
    assert.equal(await store.scores.reserve(one, shadowAccount, day, 60, 100), true)
    assert.equal(await other.scores.reserve(two, shadowAccount, day, 60, 100), false)
    const settled = { score: null, name: shadowAccount, by: null, counted: null, at, cost: 20 }
    assert.equal(await other.scores.put(one, settled), "stored")
    assert.equal(await other.scores.reserve(two, shadowAccount, day, 80, 100), true)
    assert.deepEqual(await store.scores.of(one), [])
    assert.equal(await store.scores.reserve(two, "helpful", day, 1, 100), false)
  })
}
