import assert from "node:assert/strict"
import { test } from "node:test"
import type { StreamEvent } from "../../src/client/client.ts"
import { RunView, unknownRequest } from "./run-view.ts"
import { endSentence, statusOf } from "./run-status.ts"

const request = { ...unknownRequest, source: "output { x: 1 }" }
const began = Date.parse("2026-01-01T10:00:00.000Z")
const planned = (id: number, at: number): StreamEvent =>
  ({ id, type: "workflow_planned", data: { nodes: [], at: new Date(at).toISOString() } }) as unknown as StreamEvent

test("the clock of a run goes on after a reload: events that are read again are old", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: began + 90_000 })
  // As a reload makes it: the time at which it was asked for is known, and so is the difference of the clocks.
  const found = new RunView(request, began)
  found.skew = 0
  found.take(planned(1, began))
  assert.equal(found.now() - (found.state.started_at ?? 0), 90_000)
  // A run of somebody else, of which nothing was remembered.
  const others = new RunView(unknownRequest)
  others.take(planned(1, began))
  assert.equal(others.now() - (others.state.started_at ?? 0), 90_000)
})

test("the clock is the service's: its difference to the page's is known from the first event of a run of this page", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: began + 3_600_000 })
  const run = new RunView(request)
  run.take(planned(1, began))
  context.mock.timers.tick(2_000)
  assert.equal(run.now(), began + 2_000)
  // A service whose clock is ahead, found after a reload: no event comes from the future.
  const ahead = new RunView(request, 1)
  ahead.take(planned(1, began + 7_200_000))
  assert.equal(ahead.now(), began + 7_200_000)
})

test("a run whose connection is gone is unknown, and its clock stands until the page is connected again", (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: began })
  const run = new RunView(request)
  run.take(planned(1, began))
  context.mock.timers.tick(5_000)
  run.disconnect("reconnecting")
  run.attempt = 2
  assert.equal(run.isCut, false)
  run.attempt = 3
  assert.equal(run.isCut, true)
  run.disconnect("lost")
  context.mock.timers.tick(60_000)
  assert.equal(run.now(), began + 5_000)
  assert.deepEqual(statusOf(run), { state: "unknown", text: "not connected" })
  run.connection = "open"
  assert.equal(run.isCut, false)
  assert.equal(run.now(), began + 65_000)
  // The service has forgotten it, and says so to the first try to reconnect.
  run.disconnect("reconnecting")
  run.attempt = 1
  run.refuse({ kind: "not_found", message: "Run not found", issues: [] })
  assert.deepEqual(statusOf(run), { state: "unknown", text: "lost" })
  assert.equal(run.isCut, true)
  assert.equal(endSentence(run), "Lost: Run not found")
})

test("before the first answer there is no run that could be lost", () => {
  const run = new RunView(request)
  run.disconnect("reconnecting")
  run.attempt = 9
  assert.equal(run.isCut, false)
})
