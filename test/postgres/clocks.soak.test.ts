import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import type { RunStore } from "../../src/ports/store.ts"
import { created, ended, happened, ids, leaseMs } from "../contract/run-store/material.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { startPostgres, type PostgresServer } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"

// Replicas whose clocks do not agree. Time passes for all alike; only the dates differ.

const minute = 60_000
const differences = [-60 * minute, -minute, minute, 60 * minute]

let server: PostgresServer

before(async () => {
  server = await startPostgres({ config: ["fsync=off"] })
})
after(() => server.close())

interface Pair {
  readonly holder: RunStore
  readonly claimant: RunStore
  readonly holderClock: ManualClock
  readonly claimantClock: ManualClock
  readonly advance: (ms: number) => void
}

async function withPair(difference: number, body: (pair: Pair) => Promise<void>): Promise<void> {
  const holderClock = new ManualClock()
  const claimantClock = new ManualClock(holderClock.now() + difference)
  const open = postgresStores(server.url(), holderClock)
  const [holder, claimant] = [await open(), await open({ clock: claimantClock })]
  const advance = (ms: number) => {
    holderClock.advance(ms)
    claimantClock.advance(ms)
  }
  try {
    await body({ holder, claimant, holderClock, claimantClock, advance })
  } finally {
    await Promise.all([holder.close(), claimant.close()])
  }
}

for (const difference of differences) {
  describe(`a replica whose clock is ${difference / minute} minutes off`, () => {
    test("takes over no run whose owner renews its lease", () =>
      withPair(difference, async ({ holder, claimant, advance }) => {
        const leases = []
        for (let n = 0; n < 20; n++) leases.push(await created(holder))
        for (let round = 0; round < 6; round++) {
          assert.deepEqual(await claimant.claim("owner-2", 50, leaseMs), [])
          advance(leaseMs / 2)
          await Promise.all(leases.map(async (lease) => assert.equal(await holder.renew(lease, leaseMs), true)))
        }
        for (const lease of leases) await holder.append(lease, [happened(1), ended(2)])
      }))

    test("takes over a run whose owner is gone, after one lease time and not before", () =>
      withPair(difference, async ({ holder, claimant, advance }) => {
        const lease = await created(holder)
        await holder.append(lease, [happened(1)])
        assert.deepEqual(await claimant.claim("owner-2", 10, leaseMs), [])
        advance(leaseMs - 1)
        assert.deepEqual(await claimant.claim("owner-2", 10, leaseMs), [])
        advance(1)
        const [claimed] = await claimant.claim("owner-2", 10, leaseMs)
        assert.equal(claimed?.run_id, lease.run_id)
        assert.equal(await holder.renew(lease, leaseMs), false)
        await claimant.append(claimed, [happened(2)])
        assert.deepEqual(await ids(holder, lease.run_id), [1, 2])
        assert.deepEqual(await holder.claim("owner-1", 10, leaseMs), [])
      }))
  })
}

test("what an owner stored before its last renewal does not put its take-over off", () =>
  withPair(0, async ({ holder, claimant, advance }) => {
    const lease = await created(holder)
    assert.deepEqual(await claimant.claim("owner-2", 10, leaseMs), [])
    for (let id = 1; id <= 5; id++) await holder.append(lease, [happened(id)])
    advance(leaseMs / 2)
    assert.equal(await holder.renew(lease, leaseMs), true)
    assert.deepEqual(await claimant.claim("owner-2", 10, leaseMs), [])
    advance(leaseMs)
    assert.equal((await claimant.claim("owner-2", 10, leaseMs))[0]?.run_id, lease.run_id)
  }))

test("a clock that is set frees no lease", () =>
  withPair(0, async ({ holder, claimant, holderClock, claimantClock }) => {
    const lease = await created(holder)
    assert.deepEqual(await claimant.claim("owner-2", 10, leaseMs), [])
    for (const jump of [60 * minute, -120 * minute, 60 * minute]) {
      claimantClock.jump(jump)
      assert.deepEqual(await claimant.claim("owner-2", 10, leaseMs), [])
      holderClock.jump(-jump)
      assert.deepEqual(await claimant.claim("owner-2", 10, leaseMs), [])
      assert.equal(await holder.renew(lease, leaseMs), true)
    }
    await holder.append(lease, [happened(1), ended(2)])
  }))

test("an owner that is late with its renewal and a claimant never both have the run", () =>
  withPair(0, async ({ holder, claimant, advance }) => {
    for (let round = 0; round < 25; round++) {
      const lease = await created(holder)
      await claimant.claim("owner-2", 10, leaseMs)
      advance(leaseMs)
      const [renewed, claims] = await Promise.all([
        holder.renew(lease, leaseMs),
        claimant.claim("owner-2", 10, leaseMs),
      ])
      assert.equal(renewed, claims.length === 0, `round ${round}`)
      const [winner, owner] = renewed ? [holder, lease] : [claimant, claims[0] ?? lease]
      await winner.append(owner, [ended(1)])
    }
  }))
