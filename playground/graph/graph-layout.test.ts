import assert from "node:assert/strict"
import { test } from "node:test"
import type { GraphNode } from "./graph-layout.ts"
import { nodeHeight, nodeWidth, placeGraph } from "./graph-layout.ts"

const node = (id: string, ...depends_on: string[]): GraphNode => ({ id, kind: "agent", name: id, depends_on })

test("what waits stands to the right of what it waits for, and nothing overlaps", () => {
  const nodes = [node("a"), node("b"), node("c", "a", "b"), node("d", "c"), node("e", "a", "d")]
  const { nodes: placed, edges, width, height } = placeGraph(nodes)
  const at = new Map(placed.map((one) => [one.id, one]))
  for (const { id, depends_on } of nodes) {
    for (const from of depends_on)
      assert.ok((at.get(from)?.x ?? 0) + nodeWidth <= (at.get(id)?.x ?? 0), `${from} ${id}`)
  }
  for (const one of placed) {
    assert.ok(one.x >= 0 && one.y >= 0 && one.x + nodeWidth <= width && one.y + nodeHeight <= height)
    for (const other of placed) {
      const apart = Math.abs(one.x - other.x) >= nodeWidth || Math.abs(one.y - other.y) >= nodeHeight
      assert.ok(one === other || apart, `${one.id} ${other.id}`)
    }
  }
  assert.equal(edges.length, 5)
  for (const { path } of edges) assert.match(path, /^M[\d. -]+(C[\d. -]+)+$/)
})

test("nothing, and a reference to what is not there", () => {
  assert.deepEqual(placeGraph([]).nodes, [])
  assert.deepEqual(placeGraph([node("a", "gone")]).edges, [])
})
