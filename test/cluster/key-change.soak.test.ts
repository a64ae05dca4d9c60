import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { after, before, describe, test } from "node:test"
import type { ClusterStore } from "../../src/adapters/nats/open-nats-store.ts"
import { countUnderOldKey } from "../../src/adapters/nats/open-nats-store.ts"
import { readAddress } from "../../src/adapters/nats/address.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { createVault } from "../../src/adapters/vault/vault.ts"
import type { Vault } from "../../src/ports/vault.ts"
import { StoreFailure } from "../../src/ports/store.ts"
import { aRequest, created, ended, happened, ids, noOptions } from "../contract/run-store/material.ts"
import { startNats, type NatsCluster } from "../support/nats-server.ts"
import { natsStores, noProofs } from "../support/nats-store.ts"

const refused = (pattern: RegExp) => (error: unknown) => error instanceof StoreFailure && pattern.test(error.message)

async function changeAll(store: ClusterStore): Promise<number> {
  assert.ok(store.keyChange !== null)
  for (let all = 0; ;) {
    const { rewritten, left } = await store.keyChange.step()
    all += rewritten
    if (left === 0) return all
  }
}

/** Polls: another process acts on its own time. */
async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline, `waited too long for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

describe("change of the master key in a cluster", () => {
  let broker: NatsCluster
  const opened: ClusterStore[] = []

  before(async () => {
    broker = await startNats(1)
  })
  after(async () => {
    await Promise.all(opened.map((store) => store.close()))
    await broker.close()
  })

  test("a replica with both keys changes it; one with the old key takes no more runs, and ends none of the others'", async () => {
    const [first, second] = [randomBytes(32), randomBytes(32)]
    const prefix = `k${randomBytes(4).toString("hex")}`
    const natsStore = natsStores(broker.url, systemClock)
    const open = async (vault: Vault): Promise<ClusterStore> => {
      const store = await natsStore({ vault, prefix, lookMs: 50, settledAfterMs: 500 })
      opened.push(store)
      return store
    }
    const read = readAddress(broker.url)
    assert.ok(read.ok)
    const needsOld = () =>
      countUnderOldKey({ address: read.address, proofs: noProofs, prefix, vault: createVault(second, first) })

    const old = await open(createVault(first))
    const idempotency = { key: "order-1", fingerprint: "f" }
    const notify = { url: "https://app.example.com/hook", events: ["cancelled" as const] }
    const lease = await created(old, { request: aRequest({ options: { ...noOptions, notify } }), idempotency })
    await old.append(lease, [happened(1)])
    // Its key is in a message of its own, beside the pieces of its request.
    const large = await created(old, { request: aRequest({ input: { text: "x".repeat(300_000) } }) })
    const over = await created(old, { request: aRequest({ options: { ...noOptions, notify } }) })
    await old.append(over, [ended(1)])
    await old.cache.put("", "c", "h", "cached", 60_000)
    // More than one step takes.
    for (let count = 0; count < 10; count++) await created(old)
    assert.equal(await needsOld(), 26)

    const both = await open(createVault(second, first))
    const later = await created(both)
    await until("the old replica to hear of it", () =>
      old.probe().then(
        () => false,
        (error) => refused(/set to the new key and WIRE_ENCRYPTION_KEY_OLD to this one/)(error),
      ),
    )
    await assert.rejects(created(old), refused(/takes no runs/))
    // It can not read what the other one wrote, which is no damage.
    await assert.rejects(old.request(later.run_id), refused(/takes no runs/))
    await old.append(lease, [happened(2)])
    await assert.rejects(open(createVault(first)), refused(/newer key/))
    await assert.rejects(open(createVault(second)), refused(/WIRE_ENCRYPTION_KEY_OLD/))

    // A process that died after a step: another one goes on.
    const halfway = await both.keyChange?.step()
    assert.ok(halfway !== undefined && halfway.left > 0)
    await both.close()
    const again = await open(createVault(second, first))
    await changeAll(again)
    assert.equal(await needsOld(), 0)
    assert.deepEqual((await again.request(lease.run_id)).secrets, { token: "s3cret-token" })
    assert.equal(await again.cache.get("", "c", "h"), undefined)
    await old.append(lease, [happened(3)])
    await old.close()
    await again.close()

    const now = await open(createVault(second))
    assert.equal(now.keyChange, null)
    assert.deepEqual(await ids(now, lease.run_id), [1, 2, 3])
    assert.equal((await now.request(large.run_id)).input["text"], "x".repeat(300_000))
    assert.deepEqual((await now.request(large.run_id)).secrets, { token: "s3cret-token" })
    assert.equal((await now.outbox.ofRun(over.run_id)).length, 1)
    assert.deepEqual(await now.existing("", idempotency), { outcome: "exists", run_id: lease.run_id })
    await now.close()
  })
})
