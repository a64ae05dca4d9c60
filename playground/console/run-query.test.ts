import assert from "node:assert/strict"
import { test } from "node:test"
import { hasFilters, requestOf } from "./run-query.ts"

const now = Date.parse("2026-11-19T12:00:00Z")

test("the address of a list of runs is what the service is asked for", () => {
  const params = new URLSearchParams(
    "q=acme+invoice&status=failed&min_cost=0.5&run=r1&since=2h&until=2026-11-19T11:00:00Z",
  )
  assert.deepEqual(requestOf(params, now), {
    q: "acme invoice",
    status: "failed",
    min_cost: "0.5",
    since: "2026-11-19T10:00:00.000Z",
    until: "2026-11-19T11:00:00Z",
  })
})

test("empty filters are none, and a time that is not one is left to the service", () => {
  assert.deepEqual(requestOf(new URLSearchParams("q=+&since=yesterday"), now), { since: "yesterday" })
  assert.equal(hasFilters(new URLSearchParams("run=r1&q=")), false)
  assert.equal(hasFilters(new URLSearchParams("status=failed")), true)
})
