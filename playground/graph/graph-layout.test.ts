import assert from "node:assert/strict"
import { test } from "node:test"
import { assertCpuBelow } from "../../test/support/cpu-time.ts"
import type { Placed } from "./graph-layout.ts"
import type { GraphNode } from "./graph-node.ts"
import { leastFitIn, nodeHeight, nodeWidth, placeGraph, widthBesideMap } from "./graph-layout.ts"

const node = (id: string, ...depends_on: string[]): GraphNode => ({ id, kind: "agent", name: id, depends_on })

/** What waits stands to the right of what it waits for, nothing overlaps, and everything lies within. */
function assertReadable(nodes: readonly GraphNode[], { nodes: placed, width, height }: Placed): void {
  const at = new Map(placed.map((one) => [one.id, one]))
  for (const { id, depends_on } of nodes) {
    for (const from of depends_on)
      assert.ok((at.get(from)?.x ?? 0) + nodeWidth <= (at.get(id)?.x ?? 0), `${from} ${id}`)
  }
  assertApart({ nodes: placed, edges: [], width, height })
}

function assertApart({ nodes: placed, width, height }: Placed): void {
  const taken = new Map<string, string>()
  for (const one of placed) {
    const { id, x, y } = one
    assert.ok(x >= 0 && y >= 0 && x + nodeWidth <= width && y + nodeHeight(one) <= height, id)
    for (const other of placed) {
      const apart =
        Math.abs(x - other.x) >= nodeWidth || y + nodeHeight(one) <= other.y || other.y + nodeHeight(other) <= y
      assert.ok(other.id === id || apart, `${id} ${other.id}`)
    }
    assert.ok(!taken.has(`${x} ${y}`))
    taken.set(`${x} ${y}`, id)
  }
}

test("a small graph", () => {
  const nodes = [node("a"), node("b"), node("c", "a", "b"), node("d", "c"), node("e", "a", "d")]
  const placed = placeGraph(nodes)
  assertReadable(nodes, placed)
  assert.equal(placed.edges.length, 5)
  for (const { path } of placed.edges) assert.match(path, /^M[\d. -]+(C[\d. -]+)+$/)
})

test("a graph whose nodes are woven together is placed at once, however large", async () => {
  const nodes = Array.from({ length: 600 }, (_, at) =>
    node(`n${at}`, ...(at === 0 ? [] : [`n${Math.floor(at / 2)}`, ...(at > 3 ? [`n${at - 2}`] : [])])),
  )
  await assertCpuBelow(4_000, () => assertReadable(nodes, placeGraph(nodes)))
})

test("steps with a condition are taller, and the edges to them are conditional", () => {
  const nodes = [node("a"), { ...node("b", "a"), when: "input.x" }, node("c", "a"), node("d", "b", "c")]
  const placed = placeGraph(nodes)
  assertReadable(nodes, placed)
  const conditional = placed.edges.filter(({ isConditional }) => isConditional)
  assert.deepEqual(
    conditional.map(({ from, to }) => [from, to]),
    [["a", "b"]],
  )
})

test("nothing, and a reference to what is not there", () => {
  assert.deepEqual(placeGraph([]).nodes, [])
  assert.deepEqual(placeGraph([node("a", "gone")]).edges, [])
})

test("the way to the last step is a straight line, and what passes it by goes round", () => {
  const middleOf = ({ nodes }: Placed, id: string): number => {
    const found = nodes.find((one) => one.id === id)
    assert.ok(found !== undefined)
    return Math.round(found.y + nodeHeight(found) / 2)
  }
  const passedBy = placeGraph([node("write"), node("check", "write"), node("output", "write", "check")])
  assert.equal(middleOf(passedBy, "check"), middleOf(passedBy, "write"))
  assert.equal(middleOf(passedBy, "output"), middleOf(passedBy, "write"))
  const three = placeGraph([node("a"), node("b"), node("c"), node("join", "a", "b", "c"), node("output", "join")])
  for (const id of ["join", "output"]) assert.equal(middleOf(three, id), middleOf(three, "b"))
  // Between two that are alike.
  const two = placeGraph([node("a"), node("b"), node("join", "a", "b"), node("output", "join")])
  assert.equal(middleOf(two, "join"), (middleOf(two, "a") + middleOf(two, "b")) / 2)
  assert.equal(middleOf(two, "output"), middleOf(two, "join"))
})

test("on a telephone steps stand below each other, before they get smaller than 85 %", () => {
  const room = { width: 350, height: 600 }
  for (const count of [2, 5, 30]) {
    const nodes = Array.from({ length: count }, (_, at) => node(`n${at}`, ...(at === 0 ? [] : [`n${at - 1}`])))
    const { width } = placeGraph(nodes, room)
    assert.ok(width * 0.85 <= room.width, String(width))
  }
})

test("what would be too small to read in the room is packed: a long chain, and many steps side by side", () => {
  const room = { width: 760, height: 400 }
  const chain = Array.from({ length: 40 }, (_, at) => node(`n${at}`, ...(at === 0 ? [] : [`n${at - 1}`])))
  const fan = [
    node("root"),
    ...Array.from({ length: 40 }, (_, at) => node(`n${at}`, "root")),
    node("join", ...Array.from({ length: 40 }, (_, at) => `n${at}`)),
  ]
  for (const nodes of [chain, fan]) {
    const placed = placeGraph(nodes, room)
    // Beside it there is room for the map.
    assert.ok(placed.width * leastFitIn(room.width) <= widthBesideMap(room.width), String(placed.width))
    assert.equal(
      placed.edges.length,
      nodes.reduce((sum, one) => sum + one.depends_on.length, 0),
    )
    const at = new Map(placed.nodes.map((one) => [one.id, one]))
    for (const { id, depends_on } of nodes) {
      for (const from of depends_on) {
        const [left, right] = [at.get(from), at.get(id)]
        assert.ok(left !== undefined && right !== undefined)
        // To the right, or in a band below.
        assert.ok(left.x + nodeWidth <= right.x || left.y + nodeHeight(left) < right.y, `${from} ${id}`)
      }
    }
    assertApart(placed)
    // Edges that go round nodes touch none.
    for (const { path } of placed.edges.filter((edge) => !edge.path.includes("C"))) {
      const corners = [...path.matchAll(/Q([\d.]+) ([\d.]+)/g)].map(([, x, y]) => ({ x: Number(x), y: Number(y) }))
      for (const { x, y } of corners) {
        const inside = placed.nodes.find(
          (one) => x > one.x && x < one.x + nodeWidth && y > one.y && y < one.y + nodeHeight(one),
        )
        assert.equal(inside?.id, undefined, path)
      }
    }
  }
  const small = [node("a"), node("b", "a")]
  assert.deepEqual(placeGraph(small, room), placeGraph(small))
})
