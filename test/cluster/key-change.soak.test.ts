import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { after, before, describe, test } from "node:test"
import type { ClusterStore } from "../../src/adapters/nats/open-nats-store.ts"
import { changeNatsKey, checkKey } from "../../src/adapters/nats/open-nats-store.ts"
import { readAddress } from "../../src/adapters/nats/address.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { changeOfMasterKey, createMasterKey } from "../../src/adapters/vault/vault.ts"
import { StoreFailure } from "../../src/ports/store.ts"
import { aRequest, created, ended, happened, ids, noOptions } from "../contract/run-store/material.ts"
import { startNats, type NatsCluster } from "../support/nats-server.ts"
import { natsStores, noProofs } from "../support/nats-store.ts"

const refused = (pattern: RegExp) => (error: unknown) => error instanceof StoreFailure && pattern.test(error.message)

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

  test("one command changes it while replicas run; those with the old key finish their runs, and take no more", async () => {
    const [first, second] = [randomBytes(32), randomBytes(32)]
    const prefix = `k${randomBytes(4).toString("hex")}`
    const natsStore = natsStores(broker.url, systemClock)
    const open = async (key: Uint8Array): Promise<ClusterStore> => {
      const store = await natsStore({ masterKey: createMasterKey(key), prefix, lookMs: 50 })
      opened.push(store)
      return store
    }
    const read = readAddress(broker.url)
    assert.ok(read.ok)
    const place = { address: read.address, proofs: noProofs, prefix }
    const change = (from: Uint8Array, to: Uint8Array) => changeNatsKey(place, changeOfMasterKey(from, to))

    // Nothing is there yet.
    await assert.rejects(
      checkKey({ ...place, masterKey: createMasterKey(first) }),
      refused(/no runs of this service in the broker under the prefix "k.*WIRE_NATS_PREFIX.*there is nothing to check/),
    )
    await assert.rejects(
      change(first, second),
      refused(/no runs of this service in the broker under the prefix "k.*WIRE_NATS_PREFIX/),
    )
    const old = await open(first)
    const idempotency = { key: "order-1", fingerprint: "f" }
    const notify = { url: "https://app.example.com/hook", events: ["cancelled" as const] }
    const lease = await created(old, { request: aRequest({ options: { ...noOptions, notify } }), idempotency })
    await old.append(lease, [happened(1)])
    const large = await created(old, { request: aRequest({ input: { text: "x".repeat(300_000) } }) })
    const over = await created(old, { request: aRequest({ options: { ...noOptions, notify } }) })
    await old.cache.put("", "c", "h", "cached", 60_000)
    await assert.rejects(open(second), refused(/is not the key of the runs.*wire store change-key/))

    await assert.rejects(change(randomBytes(32), second), refused(/is not the key of the runs/))
    assert.equal(await change(first, second), "changed")
    assert.equal(await change(first, second), "changed before")
    await checkKey({ ...place, masterKey: createMasterKey(second) })
    await assert.rejects(checkKey({ ...place, masterKey: createMasterKey(first) }), refused(/is not the key/))

    const now = await open(second)
    const later = await created(now)
    // It cannot read what the other one wrote, which is no damage.
    await assert.rejects(old.request(later.run_id), refused(/takes no runs/))
    await until("the old replica to hear of it", () =>
      old.probe().then(
        () => false,
        (error) => refused(/it was changed, or this replica was given another one/)(error),
      ),
    )
    await assert.rejects(created(old), refused(/takes no runs/))
    await old.append(lease, [happened(2)])
    // The notice of an end is stored, too.
    await old.append(over, [ended(1)])
    await assert.rejects(open(first), refused(/is not the key/))
    assert.deepEqual((await now.request(lease.run_id)).secrets, { token: "s3cret-token" })
    assert.equal((await now.request(large.run_id)).input["text"], "x".repeat(300_000))
    assert.equal(await now.cache.get("", "c", "h"), "cached")
    assert.equal((await now.outbox.ofRun(over.run_id)).length, 1)
    assert.deepEqual(await now.existing("", idempotency), { outcome: "exists", run_id: lease.run_id })

    // Changed back: the old replica takes runs again, and reads those of the other.
    assert.equal(await change(second, first), "changed")
    await until("the old replica to hear of it", () =>
      old.probe().then(
        () => true,
        () => false,
      ),
    )
    assert.equal((await old.request(later.run_id)).source, "agent a {}")
    await created(old)
    assert.deepEqual(await ids(old, lease.run_id), [1, 2])
  })
})
