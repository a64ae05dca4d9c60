import assert from "node:assert/strict"
import { test } from "node:test"
import type { PlacedNode } from "./graph-layout.ts"
import { nextNode } from "./tab-stop.ts"

const at = (id: string, x: number, y: number): PlacedNode => ({ id, name: id, kind: "agent", x, y }) as PlacedNode
const nodes = [at("a", 0, 0), at("b", 0, 80), at("c", 260, 40), at("d", 520, 80)]

test("arrows lead to the nearest node in their direction", () => {
  assert.equal(nextNode(nodes, "a", "ArrowDown"), "b")
  assert.equal(nextNode(nodes, "a", "ArrowRight"), "c")
  assert.equal(nextNode(nodes, "c", "ArrowRight"), "d")
  assert.equal(nextNode(nodes, "d", "ArrowLeft"), "c")
  assert.equal(nextNode(nodes, "b", "ArrowUp"), "a")
})

test("there may be none; Home and End lead to the first and the last", () => {
  assert.equal(nextNode(nodes, "a", "ArrowLeft"), undefined)
  assert.equal(nextNode(nodes, "a", "x"), undefined)
  assert.equal(nextNode(nodes, "c", "Home"), "a")
  assert.equal(nextNode(nodes, "c", "End"), "d")
})
