import assert from "node:assert/strict"
import { test } from "node:test"
import { moved, zoomed } from "./zoom.ts"

test("a moment stays at its place, and nothing beyond the run is shown", () => {
  assert.deepEqual(zoomed(1000, null, 0.5, 500), { from: 250, length: 500 })
  assert.deepEqual(zoomed(1000, null, 0.5, 0), { from: 0, length: 500 })
  assert.deepEqual(zoomed(1000, { from: 500, length: 500 }, 0.5, 1000), { from: 750, length: 250 })
  assert.deepEqual(moved(1000, { from: 250, length: 500 }, 900), { from: 500, length: 500 })
})

test("all of it is no zoom; a window is never shorter than can be seen", () => {
  assert.equal(zoomed(1000, { from: 250, length: 500 }, 2, 500), null)
  assert.equal(zoomed(1000, { from: 250, length: 10 }, 0.5, 255)?.length, 10)
})
