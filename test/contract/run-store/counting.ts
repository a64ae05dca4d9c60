import assert from "node:assert/strict"
import type { Account, SliceRequest, Spending, SpendingKey } from "../../../src/ports/ledger.ts"
import { hourMs, spendingDays } from "../../../src/ports/ledger.ts"
import { LeaseLost, type RunStore } from "../../../src/ports/store.ts"
import { aRequest, created, ended, happened, type OnBench } from "./material.ts"

const day = 24 * hourMs
const all = { from: 0, to: 10_000_000 }

function spending(store: RunStore, by: SpendingKey, caller: string | null = null): Promise<readonly Spending[]> {
  return store.ledger.spending({ by, caller, ...all })
}

/** What runs have used, and what processes hold of budgets. */
export function counting(onBench: OnBench): void {
  onBench("an entry is set, never added to, and sums follow from it", async ({ store, other, clock }) => {
    const start = clock.now()
    const hour = Math.floor(start / hourMs)
    const workflow = { name: "digest", version: "1" }
    const lease = await created(store, { caller: "ada", created_at: start, request: aRequest({ workflow }) })
    await created(store, { caller: "bob", created_at: start })
    const entry = { hour, model: "m", runs: 1, tokens: 100, cost: 5_000 }
    await store.append(lease, [happened(1)], [entry])
    await store.append(lease, [happened(2)], [{ ...entry, tokens: 70 }])
    await store.append(
      lease,
      [happened(3)],
      [
        { ...entry, tokens: 70 },
        { ...entry, hour: hour + 24, runs: 0, cost: 7 },
      ],
    )
    const days = [
      { name: String(Math.floor(hour / 24)), runs: 2, tokens: 70, cost: 5_000 },
      { name: String(Math.floor(hour / 24) + 1), runs: 0, tokens: 100, cost: 7 },
    ]
    assert.deepEqual(await spending(other, "day"), days)
    const sum = { runs: 1, tokens: 170, cost: 5_007 }
    assert.deepEqual(await spending(other, "model"), [{ name: "m", ...sum }])
    const none = { runs: 1, tokens: 0, cost: 0 }
    assert.deepEqual(await spending(other, "caller"), [
      { name: "ada", ...sum },
      { name: "bob", ...none },
    ])
    assert.deepEqual(await spending(other, "workflow"), [
      { name: "", ...none },
      { name: "digest", ...sum },
    ])
    assert.deepEqual(await spending(other, "workflow", "bob"), [{ name: "", ...none }])
    const [first] = await other.ledger.spending({ by: "caller", caller: null, from: hour + 1, to: hour + 25 })
    assert.deepEqual(first, { name: "ada", runs: 0, tokens: 100, cost: 7 })
  })

  onBench("who has lost the lease sets no entry; what a deleted run used stays for its time", async (bench) => {
    const { store, other, clock } = bench
    const start = clock.now()
    const hour = Math.floor(start / hourMs)
    const lease = await created(store, { caller: "ada", created_at: start })
    const entry = { hour, model: "m", runs: 1, tokens: 100, cost: 0 }
    await assert.rejects(store.append({ ...lease, fence: 9 }, [happened(1)], [entry]), LeaseLost)
    assert.deepEqual(await spending(other, "model"), [])
    await store.append(lease, [ended(1)], [entry])
    assert.equal(await store.delete(lease.run_id), "deleted")
    assert.deepEqual(await spending(other, "caller"), [{ name: "ada", runs: 1, tokens: 100, cost: 0 }])
    clock.advance((spendingDays - 1) * day)
    await store.sweep(0)
    assert.equal((await spending(other, "caller")).length, 1)
    clock.advance(2 * day)
    await store.sweep(0)
    assert.deepEqual(await spending(other, "caller"), [])
  })

  onBench(
    "what processes hold and what is used never exceed a limit, and what a dead one held is free",
    async (bench) => {
      const { store, other, clock } = bench
      const start = clock.now()
      const hour = Math.floor(start / hourMs)
      const account: Account = {
        key: "callers/ada/tokens_per_hour",
        scope: { caller: "ada" },
        measure: "tokens",
        from: hour,
        to: hour + 1,
        limit: 1_000,
      }
      const ask = async (from: RunStore, holder: string, keep: number, want: number, least = keep) => {
        const request: SliceRequest = { ...account, keep, least, want }
        const [slice] = await from.ledger.hold(holder, [request], clock.now() + 30_000)
        return slice
      }
      assert.deepEqual(await ask(store, "one", 0, 300), { amount: 300, used: 0, others: 0 })
      assert.deepEqual(await ask(other, "two", 0, 900), { amount: 700, used: 0, others: 300 })
      const lease = await created(store, { caller: "ada", created_at: start })
      await store.append(lease, [happened(1)], [{ hour, model: "m", runs: 1, tokens: 200, cost: 0 }])
      // The part to keep is held in any case: its call has been made.
      assert.deepEqual(await ask(store, "one", 300, 400), { amount: 300, used: 200, others: 700 })
      assert.deepEqual(await ask(store, "one", 100, 100), { amount: 100, used: 200, others: 700 })
      assert.deepEqual(await ask(other, "two", 0, 0), { amount: 0, used: 200, others: 100 })
      clock.advance(30_001)
      assert.deepEqual(await ask(other, "two", 0, 900), { amount: 800, used: 200, others: 0 })
      assert.deepEqual(await ask(other, "two", 10, 900, 801), { amount: 10, used: 200, others: 0 })
      // Another period, and another caller, have limits of their own.
      const [later] = await store.ledger.hold(
        "one",
        [{ ...account, from: hour + 1, to: hour + 2, keep: 0, least: 0, want: 900 }],
        1,
      )
      assert.equal(later?.amount, 900)
      const runs = { ...account, key: "runs", measure: "runs", keep: 0, least: 0, want: 1 } as const
      assert.equal((await store.ledger.hold("one", [runs], 1))[0]?.used, 1)
    },
  )
}
