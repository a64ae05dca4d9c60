import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { Broker } from "../../src/adapters/nats/broker.ts"
import { packFrame, unpackFrame } from "../../src/adapters/nats/frame.ts"
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

/** The newest message of a run, as another release would write it. */
async function rewritten(other: Broker, subject: string, version: number, more: object): Promise<void> {
  const stored = await other.row(subject)
  assert.ok(stored !== null)
  const { facts, parts } = unpackFrame<object>(subject, stored.data)
  const frame = Buffer.from(packFrame({ ...facts, first: undefined, ...more }, parts.slice(0, 2)))
  frame[0] = version
  await other.put(subject, frame)
}

test("a message of the next release, with facts that this one does not know, is read", async (t) => {
  const { names, holder, claimant: reader, other } = await storesWithConnection(t, broker.url)
  const lease = await created(holder)
  await holder.append(lease, [happened(1)])
  await rewritten(other, names.run(lease.run_id), 3, { colour: "blue" })
  assert.deepEqual(await ids(reader, lease.run_id), [1])
  // The owner finds another message: it goes on after that.
  await holder.release(lease)
  const [claimed] = await reader.claim("owner-2", 10, leaseMs)
  assert.ok(claimed?.run_id === lease.run_id)
  await reader.append(claimed, [happened(2), ended(3)])
  assert.deepEqual(await ids(holder, lease.run_id), [1, 2, 3])
})

test("a run that a much newer release has written to is left alone, and does not block others", async (t) => {
  const { clock, names, holder, claimant, other } = await storesWithConnection(t, broker.url)
  const [strange, plain] = [await created(holder), await created(holder)]
  await rewritten(other, names.run(strange.run_id), 4, { fence: 2 })
  assert.deepEqual(await claimant.claim("owner-2", 10, leaseMs), [])
  clock.advance(leaseMs)
  const claimed = await claimant.claim("owner-2", 10, leaseMs)
  assert.deepEqual(
    claimed.map(({ run_id }) => run_id),
    [plain.run_id],
  )
  await assert.rejects(claimant.lookup(strange.run_id), TooNew)
})
