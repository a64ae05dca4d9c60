import assert from "node:assert/strict"
import { test } from "node:test"
import { groupDigits } from "./group-digits.ts"

test("digits of whole numbers are grouped as in English", () => {
  for (const whole of [0, 7, 999, 1_000, 12_345, 999_999, 1_000_000, Number.MAX_SAFE_INTEGER, -1, -1_000, -123_456]) {
    assert.equal(groupDigits(whole), whole.toLocaleString("en-US"))
  }
})
