import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import assert from "node:assert/strict"
import { fc } from "../../support/fast-check.ts"
import { atStrength } from "../../support/strength.ts"
import { within } from "../../support/within.ts"
import { created, ended, from, happened, lapse, leaseMs, Reader, several, soon, type OnBench } from "./material.ts"

export function following(onBench: OnBench): void {
  onBench("a follower gets what is stored, then what comes, then the end", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, several(1, 2))
    const reader = new Reader(other, lease.run_id)
    assert.deepEqual(await reader.event(), happened(1))
    assert.deepEqual(await reader.event(), happened(2))
    const third = reader.event()
    await store.append(lease, [happened(3, "three", { kept: true })])
    assert.deepEqual(await third, happened(3, "three"))
    const fourth = reader.event()
    await store.append(lease, [ended(4)])
    assert.deepEqual(await fourth, ended(4))
    assert.equal(await reader.event(), null)
  })

  onBench("from the middle, also of one append", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, several(1, 5))
    await store.append(lease, [...several(6, 9), ended(10)])
    for (const after of from(0, 11)) {
      assert.deepEqual(await new Reader(other, lease.run_id, after).rest(), from(after + 1, 10 - after))
    }
  })

  onBench("past the last event of a running run it waits", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, several(1, 2))
    const reader = new Reader(other, lease.run_id, 5)
    const next = reader.next()
    await store.append(lease, several(3, 4))
    await store.append(lease, several(5, 7))
    assert.equal(await next, 6)
    const beyond = new Reader(other, lease.run_id, 99)
    const end = beyond.next()
    await store.append(lease, [ended(8)])
    assert.equal(await end, null)
    assert.deepEqual(await reader.rest(), [7, 8])
  })

  onBench("of a run that has ended, or never was, there is nothing to wait for", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, [happened(1), ended(2)])
    assert.deepEqual(await new Reader(other, lease.run_id, 2).rest(), [])
    assert.deepEqual(await new Reader(other, lease.run_id, 77).rest(), [])
    assert.deepEqual(await new Reader(other, "nobody").rest(), [])
  })

  onBench("an abort ends it, waiting or not", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, several(1, 3))
    const waiting = new Reader(other, lease.run_id, 3)
    const next = waiting.next()
    waiting.stop()
    assert.equal(await next, null)

    const reading = new Reader(other, lease.run_id)
    assert.equal(await reading.next(), 1)
    reading.stop()
    assert.equal(await reading.next(), null)

    const early = new Reader(other, lease.run_id)
    early.stop()
    assert.equal(await early.next(), null)
  })

  onBench("a follower that leaves early leaves nothing behind", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, several(1, 3))
    for await (const event of other.follow(lease.run_id, 0, new AbortController().signal)) {
      if (event.id === 2) break
    }
    await store.append(lease, [ended(4)])
    assert.deepEqual(await new Reader(other, lease.run_id, 2).rest(), [3, 4])
  })

  onBench("who follows where the run was begun sees what its next owner appends", async ({ store, other, clock }) => {
    const lease = await created(store)
    await store.append(lease, [happened(1)])
    const reader = new Reader(store, lease.run_id)
    assert.equal(await reader.next(), 1)
    const second = reader.next()
    await lapse({ store, other, clock })
    const [taken] = await other.claim("owner-2", 1, leaseMs)
    assert.ok(taken !== undefined)
    await other.append(taken, [happened(2)])
    assert.equal(await second, 2)
    const rest = reader.rest()
    await other.append(taken, several(3, 5))
    await other.append(taken, [ended(6)])
    assert.deepEqual(await rest, [3, 4, 5, 6])
  })

  onBench("a slow reader slows nobody and misses nothing", async ({ store, other }) => {
    const lease = await created(store)
    const slow = new Reader(other, lease.run_id)
    const first = slow.next()
    await store.append(lease, [happened(1)])
    assert.equal(await first, 1)
    // More than any buffer should hold: the reader gets it from the store later.
    for (const n of from(0, 40)) {
      await store.append(
        lease,
        from(2 + n * 10, 10).map((id) => happened(id, "x".repeat(10_000))),
      )
    }
    await store.append(lease, [ended(402)])
    assert.deepEqual(await slow.rest(), from(2, 401))
  })

  onBench("followers that come at any moment see every event once, in order", async ({ store, other }) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 12 }),
        fc.array(fc.record({ join: fc.nat(12), after: fc.nat(30), pause: fc.nat(3) }), { minLength: 1, maxLength: 6 }),
        async (sizes, followers) => {
          const lease = await created(store)
          const total = sizes.reduce((sum, size) => sum + size, 0) + 1
          const read = async (after: number, pause: number) => {
            const reader = new Reader(other, lease.run_id, after)
            const found: number[] = []
            for (;;) {
              for (const _ of from(0, pause)) await new Promise((resolve) => setImmediate(resolve))
              const id = await reader.next()
              if (id === null) return found
              found.push(id)
            }
          }
          const reading: Promise<{ after: number; found: number[] }>[] = []
          const join = (step: number) => {
            for (const { join: when, after, pause } of followers) {
              if (when !== step && !(step === sizes.length && when > step)) continue
              reading.push(read(after, pause).then((found) => ({ after, found })))
            }
          }
          let next = 1
          for (const [step, size] of sizes.entries()) {
            join(step)
            const append = store.append(lease, several(next, next + size - 1))
            if (step % 2 === 0) await append
            next += size
          }
          join(sizes.length)
          await store.append(lease, [ended(next)])
          for (const { after, found } of await Promise.all(reading)) {
            assert.deepEqual(found, from(after + 1, Math.max(0, total - after)))
          }
          assert.equal(reading.length, followers.length)
        },
      ),
      { numRuns: atStrength(8, 25) },
    )
  })

  onBench("many followers of one run", async ({ store, other }) => {
    const lease = await created(store)
    await store.append(lease, several(1, 5))
    const readers = from(0, atStrength(100, 1_000)).map((n) => new Reader(other, lease.run_id, n % 5))
    const all = Promise.all(readers.map((reader) => reader.rest()))
    for (const n of from(0, 10)) await store.append(lease, several(6 + n * 3, 8 + n * 3))
    await store.append(lease, [ended(36)])
    for (const [n, found] of (await within(soon, "all ends", all)).entries()) {
      assert.deepEqual(found, from((n % 5) + 1, 36 - (n % 5)))
    }
  })

  onBench("followers who do not read cost next to nothing", async ({ store, other }) => {
    const lease = await created(store)
    for (const n of from(0, 20)) {
      await store.append(
        lease,
        from(1 + n * 50, 50).map((id) => happened(id, "x".repeat(2_000) + id)),
      )
    }
    const count = atStrength(100, 500)
    const before = heapInUse()
    const readers = from(0, count).map((n) => new Reader(other, lease.run_id, n))
    assert.deepEqual(await Promise.all(readers.map((reader) => reader.next())), from(1, count))
    const each = (heapInUse() - before) / readers.length
    // Were each of them to hold a page of its own, of 2 MB in all, it would be several times that.
    assert.ok(each < 60_000, `${Math.round(each / 1_000)} kB a follower`)
    for (const reader of readers) reader.stop()
  })

  onBench("closing the store ends its followers", async ({ store, other }) => {
    const lease = await created(store)
    const next = new Reader(other, lease.run_id).next()
    await within(soon, "the close", other.close())
    assert.equal(await next, null)
  })
}

/** Without garbage: what a database's client leaves behind for each answer is not kept for a follower. */
function heapInUse(): number {
  setFlagsFromString("--expose-gc")
  const collect = runInNewContext("gc") as () => void
  collect()
  return process.memoryUsage().heapUsed
}
