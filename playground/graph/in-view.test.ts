import assert from "node:assert/strict"
import { test } from "node:test"
import type { GraphNode } from "./graph-node.ts"
import { placeGraph } from "./graph-layout.ts"
import { inView } from "./in-view.ts"

const room = { width: 800, height: 400 }
const top = { x: 0, y: 0, zoom: 1 }

function chain(length: number): GraphNode[] {
  return Array.from({ length }, (_, at) => ({
    id: `agent.s${at}`,
    kind: "agent",
    name: `s${at}`,
    depends_on: at === 0 ? [] : [`agent.s${at - 1}`],
  }))
}

test("a small graph is drawn whole", () => {
  const placed = placeGraph(chain(40), room)
  assert.equal(inView(placed, top, room, []), placed)
})

test("of a large graph the part in view is drawn, and the nodes that are always there", () => {
  const placed = placeGraph(chain(300), room)
  const { nodes, edges } = inView(placed, top, room, ["agent.s299", undefined])
  assert.ok(nodes.length > 4 && nodes.length < 60, String(nodes.length))
  assert.equal(nodes[0]?.id, "agent.s0")
  assert.equal(nodes.at(-1)?.id, "agent.s299")
  const drawn = new Set(nodes.map(({ id }) => id))
  for (const node of nodes.slice(0, 4)) {
    for (const edge of placed.edges.filter(({ from, to }) => from === node.id || to === node.id)) {
      assert.ok(edges.includes(edge), `${edge.from} → ${edge.to}`)
    }
  }
  assert.ok(edges.length < 60, String(edges.length))
  const last = placed.nodes.at(-1)
  assert.ok(last !== undefined)
  const end = inView(placed, { x: 0, y: -last.y + 200, zoom: 1 }, room, [])
  assert.ok(!drawn.has("agent.s290") && end.nodes.some(({ id }) => id === "agent.s299"))
  assert.ok(!end.nodes.some(({ id }) => id === "agent.s0"))
})

test("an edge that passes through the view is drawn although both its ends are beyond it", () => {
  const nodes: GraphNode[] = [...chain(80), { id: "output", kind: "output", name: "output", depends_on: ["agent.s0"] }]
  const placed = placeGraph(nodes)
  const middle = { x: -placed.width / 2, y: 0, zoom: 1 }
  const first = placed.edges.find(({ from, to }) => from === "agent.s39" && to === "agent.s40")
  assert.ok(first !== undefined && inView(placed, middle, room, []).edges.includes(first))
  const passes = { ...first, path: "M0 100C5000 100 5000 120 50000 120" }
  assert.ok(inView({ ...placed, edges: [passes] }, middle, room, []).edges.includes(passes))
})
