import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../../test/support/fast-check.ts"
import { roomOnDisk, type DiskUse } from "./disk-room.ts"

const total = 1_000_000

/** A disk with a database, and with other files that come and go. */
const uses = fc
  .record({
    taken: fc.integer({ min: 0, max: 400_000 }),
    // At least a hundredth stays free: with less the disk counts as filled.
    others: fc.integer({ min: 0, max: 590_000 }),
    isFilled: fc.boolean(),
  })
  .map(({ taken, others, isFilled }): DiskUse & { readonly isFilled: boolean } => {
    const isFull = isFilled && taken < 490_000
    return { total, taken, free: isFull ? 0 : total - taken - others, isFilled: isFull }
  })

test("a disk that other files fill never bounds what may be stored, at the start neither", () => {
  fc.assert(
    fc.property(fc.array(uses, { minLength: 1, maxLength: 12 }), (steps) => {
      let now: DiskUse = { total, free: total, taken: 0 }
      const room = roomOnDisk(() => now)
      let most: number | null = null
      for (const step of steps) {
        now = step
        if (!step.isFilled) most = Math.max(most ?? 0, step.taken + step.free)
        assert.equal(room(), most)
      }
    }),
  )
})

test("a disk that the database itself fills bounds it; a file system without sizes says nothing", () => {
  assert.equal(roomOnDisk(() => ({ total, free: 0, taken: 900_000 }))(), 900_000)
  assert.equal(roomOnDisk(() => ({ total: 0, free: 0, taken: 5 }))(), null)
})
