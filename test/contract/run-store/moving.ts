import assert from "node:assert/strict"
import type { LogEvent } from "../../../src/log/events.ts"
import { isoTime } from "../../../src/base/iso-time.ts"
import type { Clock } from "../../../src/ports/clock.ts"
import { withoutEnd } from "../../../src/ports/erasure.ts"
import { LeaseLost, WaitSettled, type Lease, type RunStore } from "../../../src/ports/store.ts"
import type { ManualClock } from "../../support/manual-clock.ts"
import { ann, aQuestion, asked, waits } from "./asking.ts"
import { aRequest, created, ended, happened, lapse, leaseMs, row, type OnBench } from "./material.ts"

const before = { name: "split", version: "111111111111" }
const request = { ...aRequest({ secrets: { key: "kept" } }), workflow: before }
const moved = {
  ...request,
  source: "output { y: 2 }",
  workflow: { name: "split", version: "222222222222", moved_from: "111111111111" },
}

/** A run that waits for the answers to its questions. */
async function parked(store: RunStore, clock: ManualClock, names: readonly string[]): Promise<Lease> {
  const lease = await created(store, { request })
  const questions = names.map((id, index) => asked(index + 1, aQuestion(lease.run_id, id, clock)))
  await store.append(lease, [...questions, waits(names.length + 1, names, clock)])
  return lease
}

function move(first: number, withdrawn: readonly string[], open: readonly string[], clock: Clock): LogEvent[] {
  const at = isoTime(clock.now())
  const lists = { reused: [], outdated: [], asked_again: [], dropped: [] }
  const versions = { from: before.version, to: moved.workflow.version }
  return [
    { id: first, type: "run_moved", at, data: { ...versions, ...lists, at } },
    ...withdrawn.map((id, index): LogEvent => {
      const data = { id, name: "review", because: "moved", at } as const
      return { id: first + 1 + index, type: "question_withdrawn", at, data }
    }),
    waits(first + 1 + withdrawn.length, open, clock),
  ]
}

export function moving(onBench: OnBench): void {
  onBench("a parked run can be claimed by its id, once, and parked again", async ({ store, other, clock }) => {
    const { run_id } = await parked(store, clock, ["q"])
    const lease = await other.claimParked(run_id, "mover", leaseMs)
    assert.ok(lease !== null)
    assert.equal(await store.claimParked(run_id, "second", leaseMs), null)
    assert.deepEqual(await store.claim("second", 10, leaseMs), [])
    assert.equal((await row(store, run_id)).waiting, false)
    await other.parkAgain(lease, [])
    assert.equal((await row(store, run_id)).waiting, true)
    await assert.rejects(other.append(lease, [happened(3)]), LeaseLost)
    assert.equal((await store.questions.answer(run_id, "q", ann))?.stored, true)
    assert.equal(await store.claimParked(run_id, "late", leaseMs), null)
    assert.equal((await store.claim("second", 10, leaseMs))[0]?.run_id, run_id)
  })

  onBench(
    "neither a run that is to be cancelled nor one that works can be claimed by its id",
    async ({ store, clock }) => {
      const { run_id } = await parked(store, clock, ["q"])
      await store.requestCancel(run_id)
      assert.equal(await store.claimParked(run_id, "mover", leaseMs), null)
      const working = await created(store)
      assert.equal(await store.claimParked(working.run_id, "mover", leaseMs), null)
      assert.equal(await store.claimParked("unknown", "mover", leaseMs), null)
    },
  )

  onBench(
    "a run that has moved to a file with private values loses them like one that began with it",
    async (bench) => {
      const { store, clock } = bench
      const { run_id } = await parked(store, clock, ["q"])
      const lease = await store.claimParked(run_id, "mover", leaseMs)
      assert.ok(lease !== null)
      await store.append(lease, move(3, [], ["q"], clock), [], { request: moved, wakes: true, private: true })
      const [claimed] = await store.claim("next", 10, leaseMs)
      assert.ok(claimed?.run_id === run_id)
      await store.append(claimed, [ended(5)])
      await store.sweep(0, withoutEnd)
      const found = await store.lookup(run_id)
      assert.ok(found.found === "expired" && found.redacted !== undefined)
      assert.equal(found.redacted.run.workflow?.version, moved.workflow.version)
    },
  )

  onBench("a claim of a parked run whose process dies runs out like any other", async (bench) => {
    const { store, other, clock } = bench
    const { run_id } = await parked(store, clock, ["q"])
    assert.ok((await store.claimParked(run_id, "mover", leaseMs)) !== null)
    await lapse(bench)
    const [claimed] = await other.claim("next", 10, leaseMs)
    assert.deepEqual([claimed?.run_id, claimed?.given_back], [run_id, false])
  })

  onBench(
    "a move replaces the request, withdraws questions and parks, in one step",
    async ({ store, other, clock }) => {
      const { run_id } = await parked(store, clock, ["kept", "lost"])
      const lease = await other.claimParked(run_id, "mover", leaseMs)
      assert.ok(lease !== null)
      await other.append(lease, move(4, ["lost"], ["kept"], clock), [], { request: moved, wakes: false })
      const { workflow, waiting } = await row(store, run_id)
      assert.deepEqual([workflow, waiting], [moved.workflow, true])
      const stored = await store.request(run_id)
      assert.deepEqual([stored.source, stored.secrets], [moved.source, { key: "kept" }])
      assert.deepEqual((await store.list({ ...listed, version: before.version })).length, 0)
      assert.deepEqual((await store.list({ ...listed, version: moved.workflow.version })).length, 1)
      const late = await store.questions.answer(run_id, "lost", ann)
      assert.deepEqual([late?.stored, late?.question.status], [false, "withdrawn"])
      assert.deepEqual(await store.waits.outcomes(run_id), [])
      assert.deepEqual(await store.claim("next", 10, leaseMs), [])
      assert.equal((await store.questions.answer(run_id, "kept", ann))?.stored, true)
      assert.equal((await store.claim("next", 10, leaseMs))[0]?.run_id, run_id)
    },
  )

  onBench("a move stores nothing where a question has its answer, or is due", async ({ store, clock }) => {
    for (const settle of ["answer", "due"] as const) {
      const { run_id } = await parked(store, clock, ["q"])
      const lease = await store.claimParked(run_id, "mover", leaseMs)
      assert.ok(lease !== null)
      if (settle === "answer") assert.equal((await store.questions.answer(run_id, "q", ann))?.stored, true)
      else clock.advance(2 * 24 * 3_600_000)
      const events = move(3, ["q"], [], clock)
      await assert.rejects(store.append(lease, events, [], { request: moved, wakes: false }), WaitSettled)
      assert.deepEqual((await row(store, run_id)).workflow, before)
      assert.equal((await row(store, run_id)).last_event_id, 2)
      assert.equal((await store.request(run_id)).source, request.source)
      await store.parkAgain(lease, [])
      if (settle === "answer") assert.equal((await store.claim("next", 10, leaseMs))[0]?.run_id, run_id)
    }
  })

  onBench("a run that moves can be claimed at once where its new steps are ready", async ({ store, clock }) => {
    const { run_id } = await parked(store, clock, ["q"])
    const heard: string[] = []
    const stop = store.waits.onOutcome((id) => heard.push(id))
    const lease = await store.claimParked(run_id, "mover", leaseMs)
    assert.ok(lease !== null)
    await store.append(lease, move(3, ["q"], [], clock), [], { request: moved, wakes: true })
    assert.equal((await row(store, run_id)).waiting, false)
    const [claimed] = await store.claim("next", 10, leaseMs)
    assert.deepEqual([claimed?.run_id, claimed?.woken], [run_id, true])
    assert.ok(heard.includes(run_id))
    stop()
  })
}

const listed = {
  caller: null,
  workflows: ["split"],
  release: null,
  status: "waiting",
  started_by: null,
  since: null,
  until: null,
  error_kind: null,
  score: null,
  previews: false,
  limit: 10,
  after: null,
} as const
