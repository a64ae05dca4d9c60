import assert from "node:assert/strict"
import { it } from "node:test"
import { BoundedLabels } from "./bounded-labels.ts"

it("tells the first combinations apart and counts the others together", () => {
  const labels = new BoundedLabels(2)
  assert.deepEqual(labels.of({ server: "a", tool: "x" }), { server: "a", tool: "x" })
  assert.deepEqual(labels.of({ server: "a", tool: "y" }), { server: "a", tool: "y" })
  assert.deepEqual(labels.of({ server: "b", tool: "x" }), { server: "other", tool: "other" })
  assert.deepEqual(labels.of({ server: "a", tool: "x" }), { server: "a", tool: "x" })
})
