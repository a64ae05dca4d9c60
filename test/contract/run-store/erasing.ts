import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import type { JsonObject, JsonValue } from "../../../src/base/json-value.ts"
import type { NewFile } from "../../../src/ports/file-store.ts"
import type { RunStore } from "../../../src/ports/store.ts"
import { eraseRun, withThoseMadeFrom } from "../../../src/run/erase-run.ts"
import { aRequest, aRun, created, ended, happened, leaseMs, noOptions, owner, type OnBench } from "./material.ts"

const facts = "facts-of-an-agent"

async function endedRun(store: RunStore, input: JsonObject, more: object = {}): Promise<string> {
  const lease = await created(store, { caller: "ann", request: aRequest({ input, ...more }) })
  await store.append(lease, [ended(1)])
  return lease.run_id
}

async function found(store: RunStore, where: Readonly<Record<string, JsonValue>>, workflow: string | null = null) {
  const sought = await Promise.all(
    Object.entries(where).map(async ([path, value]) => ({ path, digest: await store.erasure.digest(path, value) })),
  )
  const until = await store.erasure.newest()
  const ids: string[] = []
  for (let after = 0; after < until;) {
    const { runs, next } = await store.erasure.slice({ where: sought, workflow, after, until })
    for (const { run_id, sure } of runs) if (sure) ids.push(run_id)
    after = next
  }
  return ids
}

/** Erasing runs by values of their input. The stores index `input.customer`. */
export function erasing(onBench: OnBench): void {
  onBench("runs are found by a value of their input, which is compared as JSON", async ({ store, other }) => {
    const text = await endedRun(store, { customer: "42" })
    const number = await endedRun(store, { customer: 42 })
    const object = await endedRun(store, { customer: { b: 1, a: [2] } })
    await endedRun(store, {})
    await endedRun(store, { customer: ["42"] })
    assert.deepEqual(await found(other, { "input.customer": "42" }), [text])
    assert.deepEqual(await found(other, { "input.customer": 42 }), [number])
    assert.deepEqual(await found(other, { "input.customer": { a: [2], b: 1 } }), [object])
    assert.deepEqual(await found(other, { "input.customer": "42", "input.customer.x": 1 }), [])
  })

  onBench("runs of one workflow are found, and none that was made later", async ({ store }) => {
    const workflow = { name: "shop/refund", version: "1" }
    const one = await endedRun(store, { customer: "7" }, { workflow })
    await endedRun(store, { customer: "7" })
    assert.deepEqual(await found(store, { "input.customer": "7" }, "shop/refund"), [one])
    const until = await store.erasure.newest()
    await endedRun(store, { customer: "7" }, { workflow })
    const digest = await store.erasure.digest("input.customer", "7")
    const query = { where: [{ path: "input.customer", digest }], workflow: "shop/refund", after: 0, until }
    assert.deepEqual(
      (await store.erasure.slice(query)).runs.map(({ run_id }) => run_id),
      [one],
    )
  })

  onBench("an erased run leaves its id, and nothing that waits for its own time", async ({ store, other, clock }) => {
    const options = {
      ...noOptions,
      notify: { url: "http://127.0.0.1:9/", events: ["completed", "cancelled"] },
    } as const
    const idempotency = { key: "key", fingerprint: "print", kept_until: clock.now() + 3_600_000 }
    const run = aRun({ caller: "ann", idempotency, request: aRequest({ options }) })
    const made = await store.create(run, owner, leaseMs)
    assert.ok(made.outcome === "created")
    const { run_id } = run
    assert.equal(await store.erasure.erase(run_id), "open")
    await store.append(made.lease, [happened(1), ended(2)])
    assert.equal(await other.erasure.erase(run_id), "deleted")
    assert.equal(await other.erasure.erase(run_id), "gone")
    assert.deepEqual((await store.outbox.take(10, 1_000)).taken, [])
    assert.deepEqual(await store.outbox.ofRun(run_id), [])
    assert.equal(await store.existing("ann", idempotency), null)
    clock.advance(400 * 24 * 3_600_000)
    await store.sweep(0)
    assert.deepEqual(await other.lookup(run_id), { found: "expired", caller: "ann" })
    assert.deepEqual(
      (await other.erasure.erased(10, "")).map((one) => one.run_id),
      [run_id],
    )
    assert.deepEqual(await other.erasure.erased(10, run_id), [])
  })

  onBench(
    "with its shadows and re-runs, the last made first, and the answers that its log names",
    async ({ store }) => {
      const options = { ...noOptions, cache_key: "k" }
      const lease = await created(store, { caller: "ann", request: aRequest({ options }) })
      const completed = {
        id: 1,
        type: "agent_completed",
        at: "2026-11-15T01:00:00.000Z",
        data: { agent: "a", attempt: 1, output: {}, cached: true, duration_ms: 1, usage: {}, calls: [] },
        kept: { facts },
      }
      await store.append(lease, [completed as never, ended(2)])
      await store.cache.put("ann", "k", facts, { output: {} }, 3_600_000)
      await store.cache.put("ann", "k", "others", 1, 3_600_000)
      const rerun = await endedRun(store, {}, { rerun: { run_id: lease.run_id, from: [] } })
      const again = await endedRun(store, {}, { rerun: { run_id: rerun, from: [] } })
      const workflow = { name: "flow", version: "1", release: "shadow", shadow_of: lease.run_id } as const
      const shadow = await endedRun(store, {}, { workflow })
      const all = await withThoseMadeFrom(store, lease.run_id)
      assert.deepEqual(all.toSorted(), [lease.run_id, rerun, again, shadow].toSorted())
      assert.equal(all.at(-1), lease.run_id)
      for (const run_id of all) assert.equal(await eraseRun(store, run_id), "erased")
      assert.equal(await eraseRun(store, lease.run_id), "gone")
      assert.equal(await store.cache.get("ann", "k", facts), undefined)
      assert.equal(await store.cache.get("ann", "k", "others"), 1)
    },
  )

  onBench("a file goes with the last run that uses it, and its object at once", async ({ store }) => {
    const file = (n: number): NewFile => ({
      file_id: `file_${n}`,
      caller: "ann",
      object: randomBytes(16).toString("hex"),
      key: randomBytes(32),
      name: "a.txt",
      media_type: "text/plain",
      bytes: 100,
      sha256: String(n),
      created_at: 0,
      expires_at: Date.UTC(2030, 0, 1),
      most: 1_000,
    })
    const [shared, own] = [file(1), file(2)]
    for (const one of [shared, own]) await store.files.add(one)
    const using = async (files: readonly string[]) => {
      const lease = await created(store, { caller: "ann", files })
      await store.append(lease, [ended(1)])
      return lease.run_id
    }
    const [first, second] = [await using([shared.file_id, own.file_id]), await using([shared.file_id])]
    await store.erasure.erase(first)
    assert.equal(await store.files.one(own.file_id), null)
    assert.ok((await store.files.one(shared.file_id)) !== null)
    assert.deepEqual(await store.files.dueObjects(10), [own.object])
    await store.erasure.erase(second)
    assert.equal(await store.files.one(shared.file_id), null)
    assert.deepEqual((await store.files.dueObjects(10)).toSorted(), [own.object, shared.object].toSorted())
  })
}
