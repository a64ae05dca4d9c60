import assert from "node:assert/strict"
import { test } from "node:test"
import { assertLinear } from "../../test/support/cpu-time.ts"
import { fc } from "../../test/support/fast-check.ts"
import { containsText } from "./contains-text.ts"

test("finds what the built-in search finds", () => {
  const texts = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 300 })
  fc.assert(
    fc.property(texts, texts, texts, (before, wanted, after) => {
      assert.equal(containsText(before, wanted), before.includes(wanted))
      assert.ok(containsText(before + wanted + after, wanted))
      // One unit off, and long enough for the search of our own.
      const long = `${wanted}${"ab".repeat(40)}`
      assert.equal(containsText(before + after, long), (before + after).includes(long))
      assert.ok(containsText(before + long + after, long))
    }),
  )
})

test("texts that are alike take linear time", async () => {
  await assertLinear(
    (size) => {
      const as = "a".repeat(size)
      for (const wanted of [`ab${as}`, `${as}b${as}`, `${as}b`]) assert.ok(!containsText(as.repeat(8), wanted))
    },
    5_000,
    80_000,
  )
})
