import assert from "node:assert/strict"
import { test } from "node:test"
import { systemClock } from "./system-clock.ts"

test("the monotonic clock has the machine's start, not that of the process: leases are compared between processes", () => {
  const ofMachine = Number(process.hrtime.bigint()) / 1e6
  // The process may be interrupted between the two, and was perhaps when it read its own start.
  assert.ok(Math.abs(systemClock.monotonic() - ofMachine) < 5_000)
})
