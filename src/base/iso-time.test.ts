import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../test/support/fast-check.ts"
import { isoTime } from "./iso-time.ts"

test("it is what Date says", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 }),
        fc.integer(),
        fc.double({ min: 0, max: 4e12, noNaN: true }),
      ),
      (ms) => {
        assert.equal(isoTime(ms), new Date(Math.floor(ms)).toISOString())
      },
    ),
  )
  const now = Date.now()
  for (let ms = now; ms < now + 3000; ms++) assert.equal(isoTime(ms), new Date(ms).toISOString())
})
