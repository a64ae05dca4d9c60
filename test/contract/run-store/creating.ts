import assert from "node:assert/strict"
import { type Lease, StoreFailure } from "../../../src/ports/store.ts"
import { aRequest, aRun, created, ended, happened, ids, leaseMs, owner, row, type OnBench } from "./material.ts"

export function creating(onBench: OnBench): void {
  onBench("a run that was created is there, with its request", async ({ store, other }) => {
    const request = aRequest({
      source: 'agent héllo { instruction: "\u0000 🦉" }',
      input: { deep: [{ list: [1, 2.5, null, true, "x"] }], "": "empty key" },
      secrets: { token: "a", other: "b" },
      options: { cache_key: "k:1", use_cache: false, max_concurrency: 3, timeout_ms: 9, deltas: true },
      workflow: { name: "tickets/triage", version: "0123456789ab" },
    })
    const run = aRun({ caller: "ada", request, created_at: 1_700_000_000_123 })
    const outcome = await store.create(run, owner, leaseMs)
    assert.deepEqual(outcome, { outcome: "created", lease: { run_id: run.run_id, owner, fence: 1 } })
    assert.deepEqual(await row(other, run.run_id), {
      run_id: run.run_id,
      caller: "ada",
      created_at: 1_700_000_000_123,
      finished_at: null,
      last_event_id: 0,
      cancel_requested: false,
      workflow: { name: "tickets/triage", version: "0123456789ab" },
      trigger: null,
      trace_id: null,
      waiting: false,
    })
    assert.deepEqual(await other.request(run.run_id), request)
    assert.deepEqual(await ids(other, run.run_id), [])
  })

  onBench("a run that never was is not there", async ({ store }) => {
    assert.deepEqual(await store.lookup("nobody"), { found: "nothing" })
    assert.deepEqual(await store.read("nobody", 0, 10), [])
    await assert.rejects(store.request("nobody"), StoreFailure)
  })

  onBench("the same idempotency key gives the run that exists, in whatever state", async ({ store, other }) => {
    const idempotency = { key: "order-1", fingerprint: "f1" }
    const lease = await created(store, { caller: "ada", idempotency })
    const again = () => other.create(aRun({ caller: "ada", idempotency }), "owner-2", leaseMs)
    assert.deepEqual(await again(), { outcome: "exists", run_id: lease.run_id })
    await store.append(lease, [happened(1), ended(2)])
    assert.deepEqual(await again(), { outcome: "exists", run_id: lease.run_id })
    assert.deepEqual(await ids(other, lease.run_id), [1, 2])
  })

  onBench("the same key with another fingerprint is a conflict, and makes nothing", async ({ store, other }) => {
    const lease = await created(store, { caller: "ada", idempotency: { key: "order-1", fingerprint: "f1" } })
    const second = aRun({ caller: "ada", idempotency: { key: "order-1", fingerprint: "f2" } })
    assert.deepEqual(await other.create(second, owner, leaseMs), { outcome: "conflict", run_id: lease.run_id })
    assert.deepEqual(await store.lookup(second.run_id), { found: "nothing" })
  })

  onBench("what a key belongs to can be asked without making a run", async ({ store, other }) => {
    const idempotency = { key: "order-1", fingerprint: "f1" }
    assert.equal(await other.existing("ada", idempotency), null)
    const lease = await created(store, { caller: "ada", idempotency })
    const { run_id } = lease
    assert.deepEqual(await other.existing("ada", idempotency), { outcome: "exists", run_id })
    assert.deepEqual(await store.existing("ada", { ...idempotency, fingerprint: "f2" }), {
      outcome: "conflict",
      run_id,
    })
    assert.equal(await store.existing("bob", idempotency), null)
    assert.equal(await store.existing("ada", { ...idempotency, key: "order-2" }), null)
    await store.append(lease, [happened(1), ended(2)])
    assert.deepEqual(await other.existing("ada", idempotency), { outcome: "exists", run_id })
  })

  onBench("keys are the caller's own, and no key is no key", async ({ store }) => {
    const idempotency = { key: "order-1", fingerprint: "f1" }
    const all = [
      await created(store, { caller: "ada", idempotency }),
      await created(store, { caller: "bob", idempotency }),
      await created(store, { caller: "", idempotency }),
      // What one caller's name and key spell together is not another's.
      await created(store, { caller: "adaorder", idempotency: { key: "-1", fingerprint: "f1" } }),
      await created(store, { caller: "ada" }),
      await created(store, { caller: "ada" }),
    ]
    assert.equal(new Set(all.map(({ run_id }) => run_id)).size, 6)
  })

  onBench("of many that come at once with one key, one is created", async ({ store, other }) => {
    const idempotency = { key: "\u0000 ключ \ud83e\udd89", fingerprint: "f" }
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? store : other).create(aRun({ idempotency }), owner, leaseMs)),
    )
    const made = outcomes.filter(({ outcome }) => outcome === "created")
    assert.equal(made.length, 1)
    const run_ids = new Set(
      outcomes.map((one) => (one.outcome === "created" ? one.lease.run_id : "run_id" in one ? one.run_id : "")),
    )
    assert.equal(run_ids.size, 1)
  })

  onBench("one id is one run", async ({ store, other }) => {
    const run = aRun()
    await store.create(run, owner, leaseMs)
    await assert.rejects(other.create(run, owner, leaseMs), StoreFailure)
    assert.deepEqual(await store.request(run.run_id), run.request)
  })

  onBench("runs that are made and end side by side have their own secrets each", async ({ store, other }) => {
    const secrets = (token: string) => ({ request: aRequest({ secrets: { token } }) })
    const make = (round: string) =>
      Promise.all(Array.from({ length: 30 }, (_, index) => created(store, secrets(`${round} ${index}`))))
    const check = async (leases: readonly Lease[], round: string): Promise<void> => {
      for (const [index, { run_id }] of leases.entries()) {
        assert.deepEqual((await other.request(run_id)).secrets, { token: `${round} ${index}` })
      }
    }
    const first = await make("first")
    await check(first, "first")
    // Places that ended runs leave are taken by new ones.
    const [second] = await Promise.all([
      make("second"),
      ...first.slice(0, 15).map((lease) => store.append(lease, [happened(1), ended(2)])),
    ])
    await check(second, "second")
    const third = await make("third")
    await check(third, "third")
    await check(second, "second")
    for (const [index, { run_id }] of first.entries()) {
      const left = index < 15 ? {} : { token: `first ${index}` }
      assert.deepEqual((await other.request(run_id)).secrets, left)
    }
  })

  onBench("the secrets of a request are gone once its run has ended", async ({ store, other }) => {
    const request = aRequest({ secrets: { token: "s3cret-token", second: "x" } })
    const lease = await created(store, { request })
    await store.append(lease, [happened(1)])
    assert.deepEqual((await other.request(lease.run_id)).secrets, request.secrets)
    await store.append(lease, [ended(2)])
    assert.deepEqual(await other.request(lease.run_id), { ...request, secrets: {} })
    assert.deepEqual(await store.request(lease.run_id), { ...request, secrets: {} })
  })
}
