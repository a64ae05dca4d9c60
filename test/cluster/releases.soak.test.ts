import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { packFrame } from "../../src/adapters/nats/frame.ts"
import { TooNew } from "../../src/ports/store.ts"
import { created, ended, happened, ids, leaseMs } from "../contract/run-store/material.ts"
import { startNats, type NatsCluster } from "../support/nats-server.ts"
import { storesWithConnection } from "../support/nats-store.ts"

// A cluster while it is upgraded: replicas of other releases have written there, too.

let broker: NatsCluster

before(async () => {
  broker = await startNats(1)
})
after(() => broker.close())

function ofVersion(version: number, facts: object): Uint8Array {
  const frame = Buffer.from(packFrame(facts, []))
  frame[0] = version
  return frame
}

const standing = (fence: number, last: number) => ({ nonce: "bm9uY2Vub25j", fence, session: "other", last })

test("a slot of the next release, of a kind that this one does not know, is passed over", async (t) => {
  const { names, holder, claimant: reader, other } = await storesWithConnection(t, broker.url)
  const lease = await created(holder)
  await holder.append(lease, [happened(1)])
  await other.put(names.slot(lease.run_id, 2), ofVersion(3, { ...standing(1, 1), kind: "pause", colour: "blue" }))
  assert.deepEqual(await ids(reader, lease.run_id), [1])
  // The owner finds its slot filled: it reads the end of the log. The process that claims the run continues after that slot.
  await holder.release(lease)
  const [claimed] = await reader.claim("owner-2", 10, leaseMs)
  assert.ok(claimed?.run_id === lease.run_id)
  await reader.append(claimed, [happened(2), ended(3)])
  assert.deepEqual(await ids(holder, lease.run_id), [1, 2, 3])
})

test("a run that a much newer release has written to is left alone, and does not block others", async (t) => {
  const { clock, names, holder, claimant, other } = await storesWithConnection(t, broker.url)
  const [strange, plain] = [await created(holder), await created(holder)]
  await other.put(names.slot(strange.run_id, 1), ofVersion(4, { ...standing(2, 0), kind: "claim" }))
  assert.deepEqual(await claimant.claim("owner-2", 10, leaseMs), [])
  clock.advance(leaseMs)
  const claimed = await claimant.claim("owner-2", 10, leaseMs)
  assert.deepEqual(
    claimed.map(({ run_id }) => run_id),
    [plain.run_id],
  )
  await assert.rejects(claimant.lookup(strange.run_id), TooNew)
})
