import assert from "node:assert/strict"
import { test } from "node:test"
import { counted, shortNumber, showBytes, showDuration, showMoment, showPreview } from "./show.ts"

test("durations", () => {
  const known: [number, string][] = [
    [0, "0 ms"],
    [811.6, "812 ms"],
    [1_000, "1.00 s"],
    [2_439, "2.43 s"],
    [59_999, "59.9 s"],
    [185_000, "3 min 5 s"],
    [3_700_000, "1 h 1 min"],
    [-3, "0 ms"],
  ]
  for (const [ms, text] of known) assert.equal(showDuration(ms), text)
})

test("counts and sizes", () => {
  assert.equal(counted(1, "retry", "retries"), "1 retry")
  assert.equal(counted(1_204, "token"), "1,204 tokens")
  assert.equal(showBytes(999), "999 B")
  assert.equal(showBytes(2_048), "2.0 kB")
})

test("large numbers are abbreviated", () => {
  const known: [number, string][] = [
    [0, "0"],
    [1_204, "1,204"],
    [99_999, "99,999"],
    [100_000, "100k"],
    [123_456, "123k"],
    [999_499, "999k"],
    [999_500, "1.00M"],
    [4_560_000, "4.56M"],
    [45_600_000, "45.6M"],
    [456_000_000, "456M"],
    [2_000_000_000, "2.00G"],
  ]
  for (const [value, text] of known) assert.equal(shortNumber(value), text)
})

test("moments to the second", () => {
  assert.equal(showMoment(new Date(2026, 10, 5, 14, 3, 27).getTime()), "5 Nov, 14:03:27")
})

test("values in one line", () => {
  assert.equal(showPreview({ name: "Ada\nL.", tags: ["a"], n: 3 }), 'name: Ada L., tags: ["a"], n: 3')
  assert.equal(showPreview("x".repeat(500)).length, 160)
  assert.equal(showPreview(null), "null")
})
