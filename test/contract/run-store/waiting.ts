import assert from "node:assert/strict"
import { isoTime } from "../../../src/base/iso-time.ts"
import type { Lease, RunStore } from "../../../src/ports/store.ts"
import type { WaitFilter, WaitKind, WaitQuery, WaitStatus } from "../../../src/ports/waits.ts"
import type { ManualClock } from "../../support/manual-clock.ts"
import { within } from "../../support/within.ts"
import { ann, answeredEvent, aQuestion, asked, waits } from "./asking.ts"
import { created, ended, leaseMs, soon, type OnBench } from "./material.ts"

/** A kind that nothing is stored under. */
const otherKind = "another kind" as WaitKind
const minute = 60_000

/** A parked run with a wait of a key. */
async function waitingFor(
  store: RunStore,
  clock: ManualClock,
  { caller = "ann", id = "w1", key = null as string | null, dueMs = minute },
): Promise<Lease> {
  // Waits of one millisecond may be listed in any order.
  clock.advance(1)
  const lease = await created(store, { caller })
  const expires_at = isoTime(clock.now() + dueMs)
  const wait = aQuestion(lease.run_id, id, clock, { to: key, expires_at })
  await store.append(lease, [asked(1, wait), waits(2, [id], clock)])
  return lease
}

function listed(any: readonly WaitFilter[], status: WaitStatus = "open", more: Partial<WaitQuery> = {}): WaitQuery {
  return { kind: "question", status, any, limit: 100, after: null, ...more }
}

async function runsIn(store: RunStore, query: WaitQuery): Promise<string[]> {
  return (await store.waits.list(query)).found.map(({ wait }) => wait.run_id)
}

/** What every kind of wait has, shown with the first one. */
export function waitingContract(onBench: OnBench): void {
  onBench("waits are found by caller, by key, and by both", async ({ store, other, clock }) => {
    const plain = await waitingFor(store, clock, {})
    const keyed = await waitingFor(store, clock, { key: "order A-17" })
    const strange = await waitingFor(store, clock, { caller: "bob", key: "order A-17" })
    const [a, b, c] = [plain, keyed, strange].map(({ run_id }) => run_id)
    assert.deepEqual(await runsIn(other, listed([{ caller: "ann" }])), [a, b])
    assert.deepEqual(await runsIn(other, listed([{ key: "order A-17" }])), [b, c])
    assert.deepEqual(await runsIn(other, listed([{ caller: "ann", key: "order A-17" }])), [b])
    assert.deepEqual(await runsIn(other, listed([{ caller: "ann", butKeys: ["order A-17"] }])), [a])
    assert.deepEqual(await runsIn(other, listed([{ caller: "bob" }, { caller: "ann", butKeys: ["order A-17"] }])), [
      a,
      c,
    ])
    assert.deepEqual(await runsIn(other, listed([{ key: "order A-1" }])), [])
    assert.deepEqual(await runsIn(other, listed([])), [])
  })

  onBench("a wait of one kind is none of another", async ({ store, other, clock }) => {
    const { run_id } = await waitingFor(store, clock, { key: "k" })
    assert.equal(await other.waits.one(run_id, otherKind, "w1"), null)
    assert.deepEqual(await other.waits.ofRun(run_id, otherKind, 10, null), { found: [], next: null })
    for (const filter of [{ caller: "ann" }, { key: "k" }, { caller: "ann", key: "k" }]) {
      assert.deepEqual(await runsIn(other, listed([filter], "open", { kind: otherKind })), [])
    }
    assert.equal(await other.waits.settle(run_id, otherKind, "w1", ann), null)
    assert.deepEqual(await other.waits.outcomes(run_id), [])
    assert.deepEqual(await other.claim("owner-2", 10, leaseMs), [])
    assert.equal((await other.waits.one(run_id, "question", "w1"))?.status, "open")
  })

  onBench("what has a key is settled, and its runs wake; those of others sleep on", async ({ store, other, clock }) => {
    const runs: string[] = []
    for (let n = 0; n < 3; n++) runs.push((await waitingFor(store, clock, { key: "paid" })).run_id)
    await waitingFor(store, clock, { key: "shipped" })
    await waitingFor(store, clock, { caller: "bob", key: "paid" })
    const { found } = await other.waits.list(listed([{ caller: "ann", key: "paid" }]))
    assert.deepEqual(
      found.map(({ wait }) => wait.run_id),
      runs,
    )
    const heard = new Set<string>()
    const all = new Promise<void>((resolve) =>
      store.waits.onOutcome((run_id) => {
        if (heard.add(run_id).size === runs.length) resolve()
      }),
    )
    for (const { wait } of found) {
      const settling = await other.waits.settle(wait.run_id, wait.kind, wait.id, ann)
      assert.equal(settling?.stored, true)
      assert.deepEqual(settling.wait, { ...wait, status: "settled", outcome: ann, settled_at: clock.now() })
    }
    await within(soon, "the outcomes", all)
    const claimed = await store.claim("owner-2", 10, leaseMs)
    assert.deepEqual(claimed.map(({ run_id }) => run_id).toSorted(), runs.toSorted())
    assert.ok(claimed.every(({ woken }) => woken))
    assert.deepEqual(await runsIn(store, listed([{ caller: "ann", key: "paid" }], "settled")), runs)
  })

  onBench("of many outcomes at once one is stored, and all see the same", async ({ store, other, clock }) => {
    const { run_id } = await waitingFor(store, clock, {})
    const given = [1, 2, 3, 4, 5].map((n) => ({ answer: n, answered_by: { caller: null, by: String(n) } }))
    const settlings = await Promise.all(
      given.map((outcome, n) => (n % 2 === 0 ? store : other).waits.settle(run_id, "question", "w1", outcome)),
    )
    const stored = settlings.flatMap((settling, n) => (settling?.stored === true ? [given[n]] : []))
    assert.equal(stored.length, 1)
    for (const settling of settlings) assert.deepEqual(settling?.wait.outcome, stored[0])
    assert.deepEqual(await other.waits.outcomes(run_id), [
      { kind: "question", id: "w1", status: "settled", outcome: stored[0] },
    ])
  })

  onBench("its due time wakes a run, never early, once, and nothing settles it after that", async (bench) => {
    const { store, other, clock } = bench
    const first = await waitingFor(store, clock, { dueMs: minute })
    const due_at = clock.now() + minute
    const second = await waitingFor(store, clock, { dueMs: 90 * minute })
    clock.advance(due_at - clock.now() - 1)
    assert.equal(await store.waits.settleDue(), 0)
    assert.deepEqual(await other.claim("owner-2", 10, leaseMs), [])
    clock.advance(1)
    assert.deepEqual(await runsIn(other, listed([{ caller: "ann" }])), [second.run_id])
    assert.deepEqual(await runsIn(other, listed([{ caller: "ann" }], "due")), [first.run_id])
    const counts = await Promise.all([store.waits.settleDue(), other.waits.settleDue()])
    assert.equal(counts[0] + counts[1], 1)
    const late = await other.waits.settle(first.run_id, "question", "w1", ann)
    assert.deepEqual([late?.stored, late?.wait.status, late?.wait.outcome], [false, "due", null])
    const [lease, ...others] = await store.claim("owner-2", 10, leaseMs)
    assert.deepEqual([lease?.run_id, lease?.woken, others], [first.run_id, true, []])
    assert.equal(await other.waits.parked("ann"), 1)
    // Hours later, by a process that has not looked meanwhile.
    clock.advance(90 * minute)
    assert.equal(await other.waits.settleDue(), 1)
    assert.equal((await store.waits.one(second.run_id, "question", "w1"))?.status, "due")
  })

  onBench("an outcome is reported until the log shows it, and stays as it is", async ({ store, other, clock }) => {
    const lease = await created(store, { caller: "ann" })
    await store.append(lease, [asked(1, aQuestion(lease.run_id, "w1", clock))])
    assert.equal((await other.waits.settle(lease.run_id, "question", "w1", ann))?.stored, true)
    const outcome = { kind: "question", id: "w1", status: "settled", outcome: ann } as const
    for (const one of [store, other]) assert.deepEqual(await one.waits.outcomes(lease.run_id), [outcome])
    await store.append(lease, [answeredEvent(2, "w1", clock)])
    for (const one of [store, other]) assert.deepEqual(await one.waits.outcomes(lease.run_id), [])
    await store.append(lease, [ended(3)])
    const wait = await other.waits.one(lease.run_id, "question", "w1")
    assert.deepEqual([wait?.status, wait?.outcome], ["settled", ann])
    assert.deepEqual(await runsIn(other, listed([{ caller: "ann" }], "settled")), [lease.run_id])
  })
}
