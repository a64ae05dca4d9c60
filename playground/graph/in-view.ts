import type { Placed, PlacedEdge, PlacedNode, Room, View } from "./graph-layout.ts"
import { nodeHeight, nodeWidth } from "./graph-layout.ts"

/** A graph of so many nodes is drawn whole. */
const maxWhole = 60
/** Drawn around what is seen, in pixels of the screen: moving the graph a little shows no empty places. */
const around = 200

interface Extent {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

/** The part of a large graph that is drawn: what is in view, and the nodes in `always`, which have the focus or are selected. */
export function inView(
  placed: Placed,
  { x, y, zoom }: View,
  room: Room,
  always: readonly (string | undefined)[],
): Pick<Placed, "nodes" | "edges"> {
  if (placed.nodes.length <= maxWhole) return placed
  const seen: Extent = {
    left: (-x - around) / zoom,
    top: (-y - around) / zoom,
    right: (room.width - x + around) / zoom,
    bottom: (room.height - y + around) / zoom,
  }
  return {
    nodes: placed.nodes.filter((node) => meets(extentOfNode(node), seen) || always.includes(node.id)),
    edges: placed.edges.filter((edge) => meets(extentOfEdge(edge), seen)),
  }
}

function meets(one: Extent, other: Extent): boolean {
  return one.left <= other.right && one.right >= other.left && one.top <= other.bottom && one.bottom >= other.top
}

function extentOfNode(node: PlacedNode): Extent {
  return { left: node.x, top: node.y, right: node.x + nodeWidth, bottom: node.y + nodeHeight(node) }
}

const extents = new WeakMap<PlacedEdge, Extent>()

/** No curve leaves the rectangle around its points. */
function extentOfEdge(edge: PlacedEdge): Extent {
  let found = extents.get(edge)
  if (found === undefined) {
    const numbers = (edge.path.match(/-?[\d.]+/g) ?? []).map(Number)
    const xs = numbers.filter((_, at) => at % 2 === 0)
    const ys = numbers.filter((_, at) => at % 2 === 1)
    found = { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) }
    extents.set(edge, found)
  }
  return found
}
