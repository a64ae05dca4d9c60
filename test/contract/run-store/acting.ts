import assert from "node:assert/strict"
import { actionKeptMs, noProgress, type ActionPlan, type NewAction } from "../../../src/ports/run-actions.ts"
import type { OnBench } from "./material.ts"

const plan: ActionPlan = { act: "delete", dry_run: false, run_ids: ["a", "b", "c"] }
const anAction = (id: string, changes: Partial<NewAction> = {}): NewAction => ({
  id,
  caller: "ann",
  by_operator: false,
  plan,
  ...changes,
})

/** Actions on many runs: what they are about and how far they are, over crashes. */
export function acting(onBench: OnBench): void {
  onBench("an action is there for all processes, as it was asked for", async ({ store, other, clock }) => {
    const until = clock.now() + actionKeptMs
    await store.actions.add(anAction("one"), clock.now(), until)
    const erasure = { act: "erase", dry_run: true, also_open: false, where: [], workflow: "shop", until: 7 } as const
    await store.actions.add(anAction("two", { caller: "op", by_operator: true, plan: erasure }), clock.now(), until)
    assert.deepEqual(await other.actions.read("one"), {
      ...anAction("one"),
      progress: noProgress,
      completed: false,
      revision: 1,
    })
    const found = await other.actions.read("two")
    assert.deepEqual([found?.caller, found?.by_operator, found?.plan], ["op", true, erasure])
    assert.equal(await other.actions.read("three"), null)
  })

  onBench("of two processes that go on with an action one is first, and the other changes nothing", async (bench) => {
    const { store, other, clock } = bench
    await store.actions.add(anAction("one"), clock.now(), clock.now() + actionKeptMs)
    const failed = [{ run_id: "a", message: "The run has not ended" }]
    const progress = { next: 2, done: 1, failed }
    assert.equal(await store.actions.advance("one", 1, progress, clock.now()), true)
    assert.equal(await other.actions.advance("one", 1, { ...progress, done: 9 }, null), false)
    const now = await other.actions.read("one")
    assert.deepEqual([now?.progress, now?.completed, now?.revision], [progress, false, 2])
    assert.equal(await other.actions.advance("one", 2, { next: 3, done: 2, failed }, null), true)
    const last = await store.actions.read("one")
    assert.deepEqual([last?.progress.next, last?.progress.done, last?.completed], [3, 2, true])
    assert.equal(await store.actions.advance("nothing", 1, progress, null), false)
  })

  onBench("an action is due when the process that has it has been silent for too long", async (bench) => {
    const { store, other, clock } = bench
    const until = clock.now() + actionKeptMs
    await store.actions.add(anAction("late"), clock.now() + 1_000, until)
    await store.actions.add(anAction("now"), clock.now(), until)
    assert.deepEqual(await other.actions.due(clock.now(), 10), ["now"])
    assert.deepEqual(await other.actions.due(clock.now() + 1_000, 10), ["now", "late"])
    assert.deepEqual(await other.actions.due(clock.now() + 1_000, 1), ["now"])
    assert.equal(await store.actions.advance("now", 1, noProgress, clock.now() + 5_000), true)
    assert.deepEqual(await other.actions.due(clock.now() + 1_000, 10), ["late"])
    assert.equal(await store.actions.advance("late", 1, noProgress, null), true)
    assert.deepEqual(await other.actions.due(clock.now() + 10_000, 10), ["now"])
  })

  onBench("an action can be asked for until its time is over", async ({ store, other, clock }) => {
    await store.actions.add(anAction("one"), clock.now(), clock.now() + actionKeptMs)
    await store.actions.advance("one", 1, noProgress, null)
    clock.advance(actionKeptMs - 1)
    await store.sweep(0)
    assert.equal((await other.actions.read("one"))?.completed, true)
    clock.advance(1)
    await store.sweep(0)
    assert.equal(await other.actions.read("one"), null)
  })
}
