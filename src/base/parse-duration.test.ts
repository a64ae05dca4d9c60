import assert from "node:assert/strict"
import { test } from "node:test"
import { parseDuration } from "./parse-duration.ts"

test("durations", () => {
  const known = { "500ms": 500, "30s": 30_000, "15m": 900_000, "1h": 3_600_000, "7d": 604_800_000, "0s": 0 }
  for (const [text, ms] of Object.entries(known)) assert.equal(parseDuration(text), ms, text)
})

test("anything else is not a duration", () => {
  for (const text of ["", "30", "s", "1.5h", "-1s", "1 h", "1h30m", "1H", "9999999999ms", "1w"]) {
    assert.equal(parseDuration(text), undefined, text)
  }
})
