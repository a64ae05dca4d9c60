import assert from "node:assert/strict"
import { LeaseLost, StoreFailure } from "../../../src/ports/store.ts"
import { atStrength } from "../../support/strength.ts"
import { created, ended, from, happened, ids, lapse, leaseMs, Reader, row, several, type OnBench } from "./material.ts"

export function appending(onBench: OnBench): void {
  onBench("events come back as they were appended", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, [happened(1), happened(2, "two", { history: [{ role: "user" }] })])
    await store.append(lease, [happened(3)])
    assert.deepEqual(await other.read(lease.run_id, 0, 10), [happened(1), happened(2, "two"), happened(3)])
    assert.equal((await row(other, lease.run_id)).last_event_id, 3)
    assert.equal((await row(other, lease.run_id)).finished_at, null)
  })

  onBench("`kept` is there only when asked for", async ({ store, other }) => {
    const lease = await created(store)
    const events = [happened(1), happened(2, "two", { a: [1] }), happened(3, "three", null), happened(4)]
    await store.append(lease, events.slice(0, 2))
    await store.append(lease, events.slice(2))
    assert.deepEqual(await other.read(lease.run_id, 0, 10, "kept"), events)
    assert.deepEqual(await other.read(lease.run_id, 1, 2, "kept"), events.slice(1, 3))
    for (const event of await other.read(lease.run_id, 0, 10)) assert.equal("kept" in event, false)
  })

  onBench("`kept` is there after the end of the run, for a re-run", async ({ store, other }) => {
    const lease = await created(store)
    const events = [happened(1, "one", { facts: "f" }), ended(2)]
    await store.append(lease, events)
    assert.deepEqual(await other.read(lease.run_id, 0, 10, "kept"), events)
  })

  onBench("reading begins after any id and stops at the limit, wherever appends began", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, several(1, 7))
    await store.append(lease, several(8, 8))
    await store.append(lease, several(9, 20))
    for (const after of from(0, 22)) {
      assert.deepEqual(await ids(other, lease.run_id, after), from(after + 1, Math.max(0, 20 - after)))
      assert.deepEqual(await ids(other, lease.run_id, after, 3), from(after + 1, Math.max(0, Math.min(3, 20 - after))))
    }
  })

  onBench("a terminal event ends the run", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, [happened(1), ended(2, "2026-11-15T03:04:05.678Z")])
    assert.equal((await row(other, lease.run_id)).finished_at, Date.UTC(2026, 10, 15, 3, 4, 5, 678))
    await assert.rejects(store.append(lease, [happened(3)]), LeaseLost)
    await assert.rejects(store.append(lease, [ended(3)]), LeaseLost)
    assert.equal(await store.renew(lease, leaseMs), false)
    assert.deepEqual(await ids(store, lease.run_id), [1, 2])
  })

  onBench("ids that do not go on from the log's last are refused whole", async ({ store, other }) => {
    const lease = await created(store)
    await assert.rejects(store.append(lease, several(2, 3)), StoreFailure)
    await store.append(lease, several(1, 3))
    await assert.rejects(store.append(lease, several(3, 5)), StoreFailure)
    await assert.rejects(store.append(lease, several(5, 6)), StoreFailure)
    await assert.rejects(store.append(lease, several(1, 3)), StoreFailure)
    await assert.rejects(store.append(lease, [happened(4), happened(6)]))
    await assert.rejects(store.append(lease, [ended(4), happened(5)]))
    assert.deepEqual(await ids(other, lease.run_id), [1, 2, 3])
    assert.equal((await row(other, lease.run_id)).finished_at, null)
    await store.append(lease, several(4, 5))
    assert.deepEqual(await ids(other, lease.run_id), [1, 2, 3, 4, 5])
  })

  onBench("nothing appended is nothing done", async ({ store }) => {
    const lease = await created(store)
    await store.append(lease, [])
    assert.deepEqual(await ids(store, lease.run_id), [])
  })

  onBench("a condemned run has ended, can be read to its end, and is deleted like others", async (bench) => {
    const { store, other, clock } = bench
    const lease = await created(store, { idempotency: { key: "k", fingerprint: "f" } })
    await store.append(lease, several(1, 3))
    const reader = new Reader(other, lease.run_id, 2)
    assert.equal(await reader.next(), 3)
    const end = ended(4, new Date(clock.now()).toISOString())
    await store.failAsCorrupt(lease, end)
    assert.deepEqual(await reader.rest(), [4])
    for (const from of [store, other]) {
      const { last_event_id, finished_at } = await row(from, lease.run_id)
      assert.deepEqual([last_event_id, finished_at], [4, clock.now()])
      const all = await from.read(lease.run_id, 0, 100)
      assert.deepEqual(all.at(-1), end)
      assert.equal(all.filter(({ type }) => type === "workflow_cancelled").length, 1)
      assert.deepEqual(await ids(from, lease.run_id, 3), [4])
      assert.deepEqual(await ids(from, lease.run_id, 4), [])
      assert.equal((await new Reader(from, lease.run_id).rest()).at(-1), 4)
      assert.equal(await from.requestCancel(lease.run_id), false)
    }
    await assert.rejects(store.append(lease, [happened(5)]), LeaseLost)
    await assert.rejects(store.failAsCorrupt(lease, end), LeaseLost)
    assert.equal(await store.renew(lease, leaseMs), false)
    await lapse(bench)
    assert.deepEqual(await other.claim("owner-2", 10, leaseMs), [])
    clock.advance(1_000)
    assert.equal(await store.sweep(clock.now()), 1)
    assert.equal((await other.lookup(lease.run_id)).found, "expired")
  })

  onBench("a writer that lost its lease cannot append", async ({ store, other, clock }) => {
    const lease = await created(store)
    await store.append(lease, [happened(1)])
    await lapse({ store, other, clock })
    const [taken] = await other.claim("owner-2", 10, leaseMs)
    assert.ok(taken !== undefined && taken.run_id === lease.run_id)
    await assert.rejects(store.append(lease, [happened(2, "from the loser")]), LeaseLost)
    await other.append(taken, [happened(2, "from the winner")])
    await assert.rejects(store.append(lease, [ended(3)]), LeaseLost)
    assert.deepEqual(await store.read(lease.run_id, 0, 10), [happened(1), happened(2, "from the winner")])
  })

  onBench("a lease of nothing appends nothing", async ({ store }) => {
    await assert.rejects(store.append({ run_id: "nobody", owner: "x", fence: 1 }, [happened(1)]), LeaseLost)
  })

  onBench("appends that do not wait for each other keep their order", async ({ store, other }) => {
    const leases = await Promise.all(from(1, 20).map(() => created(store)))
    await Promise.all(
      leases.flatMap((lease, n) => from(1, 30).map((id) => store.append(lease, [happened(id, `${n}/${id}`)]))),
    )
    for (const [n, lease] of leases.entries()) {
      const texts = (await other.read(lease.run_id, 0, 100)).map(({ data }) => ("text" in data ? data.text : null))
      assert.deepEqual(
        texts,
        from(1, 30).map((id) => `${n}/${id}`),
      )
    }
  })

  onBench("after a failed append the later ones fail too", async ({ store }) => {
    const lease = await created(store)
    const outcomes = await Promise.allSettled([
      store.append(lease, [happened(1)]),
      store.append(lease, [happened(3)]),
      store.append(lease, [happened(4)]),
      store.append(lease, [ended(5)]),
    ])
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "rejected", "rejected"],
    )
    assert.deepEqual(await ids(store, lease.run_id), [1])
  })

  onBench("one run's failing append does not harm another's", async ({ store }) => {
    const [a, b] = [await created(store), await created(store)]
    const outcomes = await Promise.allSettled([
      store.append(a, [happened(1)]),
      store.append({ ...b, fence: b.fence + 1 }, [happened(1)]),
      store.append(b, [happened(1)]),
      store.append(a, [happened(9)]),
      store.append(b, [happened(2)]),
    ])
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled"],
    )
    assert.deepEqual([await ids(store, a.run_id), await ids(store, b.run_id)], [[1], [1, 2]])
  })

  onBench("unusual strings come back unchanged", async ({ store, other }) => {
    const strings = [
      "",
      "\u0000",
      "a\u0000b\u0000",
      "\ud800",
      "x\udfffy",
      "\udc00\ud800",
      "🦉👩‍👩‍👧‍👦",
      "\u2028\u2029\ufeff\ufffe\uffff",
      "\\u0000 \\ \" '",
      "'; DROP TABLE events; --",
      "\r\n\t\u001b[0m",
      "é e\u0301",
    ]
    const lease = await created(store)
    const events = strings.map((text, index) => happened(index + 1, text, { [text]: [text] }))
    await store.append(lease, events)
    assert.deepEqual(await other.read(lease.run_id, 0, 100, "kept"), events)
  })

  onBench("several megabytes in one event", async ({ store, other }) => {
    const lease = await created(store)
    const big = happened(2, "🦉x".repeat(1_500_000), { history: "k".repeat(3_000_000) })
    await store.append(lease, [happened(1), big, happened(3)])
    await store.append(lease, [happened(4, "y".repeat(4_000_000))])
    const found = []
    for (let after = 0; ;) {
      const page = await other.read(lease.run_id, after, 10, "kept")
      if (page.length === 0) break
      found.push(...page)
      after = page.at(-1)?.id ?? after
    }
    assert.equal(found.length, 4)
    assert.deepEqual(found[1], big)
  })

  onBench("thousands of events", async ({ store, other }) => {
    const count = atStrength(2_000, 10_000)
    const lease = await created(store)
    const appends = []
    for (let first = 1; first <= count; first += 8)
      appends.push(store.append(lease, several(first, Math.min(first + 7, count))))
    await Promise.all(appends)
    const found: number[] = []
    for (;;) {
      const page = await ids(other, lease.run_id, found.at(-1) ?? 0, 997)
      if (page.length === 0) break
      found.push(...page)
    }
    assert.deepEqual(found, from(1, count))
    assert.equal((await row(other, lease.run_id)).last_event_id, count)
    assert.deepEqual(await ids(other, lease.run_id, count - 2), [count - 1, count])
  })
}
