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

it("cuts names that are too long to be written with every sample", () => {
  const labels = new BoundedLabels(1)
  const { tool } = labels.of({ server: "a", tool: "x".repeat(1_000_000) })
  assert.equal(tool, `${"x".repeat(99)}…`)
  assert.deepEqual(labels.of({ server: "a", tool: "x".repeat(2_000_000) }), { server: "a", tool })
})
