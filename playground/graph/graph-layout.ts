import { Graph, layout } from "@dagrejs/dagre"

/** A node of the drawing, before it has a place. */
export interface GraphNode {
  readonly id: string
  readonly kind: "dynamic" | "agent" | "output"
  readonly name: string
  readonly depends_on: readonly string[]
  /** What an agent runs over: `path in input.files`. */
  readonly loop?: string
  readonly model?: string
}

export interface PlacedNode extends GraphNode {
  /** Of its upper left corner. */
  readonly x: number
  readonly y: number
}

export interface PlacedEdge {
  readonly from: string
  readonly to: string
  readonly path: string
}

export interface Placed {
  readonly nodes: readonly PlacedNode[]
  readonly edges: readonly PlacedEdge[]
  readonly width: number
  readonly height: number
}

export const nodeWidth = 200
export const nodeHeight = 56

/** Places the nodes from left to right, each after what it waits for. */
export function placeGraph(nodes: readonly GraphNode[]): Placed {
  const graph = new Graph()
  graph.setGraph({ rankdir: "LR", nodesep: 24, ranksep: 56, marginx: 16, marginy: 16 })
  graph.setDefaultEdgeLabel(() => ({}))
  const known = new Set(nodes.map(({ id }) => id))
  for (const { id } of nodes) graph.setNode(id, { width: nodeWidth, height: nodeHeight })
  for (const { id, depends_on } of nodes) {
    for (const from of depends_on) if (known.has(from)) graph.setEdge(from, id)
  }
  layout(graph)
  const placed = nodes.map((node): PlacedNode => {
    const { x, y } = graph.node(node.id) as { x: number; y: number }
    return { ...node, x: x - nodeWidth / 2, y: y - nodeHeight / 2 }
  })
  const edges = graph.edges().map(({ v, w }): PlacedEdge => {
    const { points } = graph.edge(v, w) as { points: readonly Point[] }
    return { from: v, to: w, path: curve(points) }
  })
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number }
  return { nodes: placed, edges, width: Math.max(0, width), height: Math.max(0, height) }
}

interface Point {
  readonly x: number
  readonly y: number
}

/** A smooth line through the points: from middle to middle, each point drawing it towards itself. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points
  const last = rest.at(-1)
  if (first === undefined || last === undefined) return ""
  const at = ({ x, y }: Point): string => `${round(x)} ${round(y)}`
  let path = `M${at(first)}`
  for (let index = 0; index < rest.length - 1; index++) {
    const [here, next] = [rest[index], rest[index + 1]]
    if (here === undefined || next === undefined) break
    const end = index === rest.length - 2 ? next : { x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 }
    path += `Q${at(here)} ${at(end)}`
  }
  return rest.length === 1 ? `${path}L${at(last)}` : path
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
