import assert from "node:assert/strict"
import { test } from "node:test"
import { parseTime } from "./parse-time.ts"

test("a date and time of RFC 3339 is a time", () => {
  const utc = Date.UTC(2027, 1, 28, 23, 30)
  for (const text of ["2027-02-28T23:30:00Z", "2027-02-28t23:30:00.000z", "2027-03-01T01:30:00+02:00"]) {
    assert.equal(parseTime(text), utc, text)
  }
  assert.equal(parseTime("2024-02-29T00:00:00.25Z"), Date.UTC(2024, 1, 29, 0, 0, 0, 250))
})

test("other texts are none", () => {
  for (const text of ["", "now", "2027-02-28", "2027-02-28T23:30:00", "2027-02-30T00:00:00Z", "2027-13-01T00:00:00Z"]) {
    assert.equal(parseTime(text), undefined, text)
  }
  assert.equal(parseTime("2027-02-28T24:61:00Z"), undefined)
})
