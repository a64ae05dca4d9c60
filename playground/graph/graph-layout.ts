import type { GraphNode } from "./graph-node.ts"
import { layeredLayout } from "./layered-layout.ts"
import { pack } from "./packed-layout.ts"

export interface PlacedNode extends GraphNode {
  /** The position of its upper left corner. */
  readonly x: number
  readonly y: number
}

export interface PlacedEdge {
  readonly from: string
  readonly to: string
  readonly path: string
  /** Whether it leads to a step with a condition. */
  readonly isConditional: boolean
}

export interface Placed {
  readonly nodes: readonly PlacedNode[]
  readonly edges: readonly PlacedEdge[]
  readonly width: number
  readonly height: number
}

export const nodeWidth = 208
const plainHeight = 56
/** With a line for the condition. */
const conditionalHeight = 76

export function nodeHeight({ when }: Pick<GraphNode, "when">): number {
  return when === undefined ? plainHeight : conditionalHeight
}

const gapX = 56
const gapY = 24
const margin = 16

/** The zoom at which names can still be read: what does not fit at it is packed. A telephone is read at arm's length, and has room below. */
export function leastFitIn(width: number): number {
  return width < narrowest ? 0.85 : 0.65
}

/** A pane of less has no room beside the graph. */
const narrowest = 600
/** Steps of a graph that is moved about anyway are drawn larger. */
const leastMoved = 0.75
/** Beside a graph that does not fit in: the map stands here, and covers no step. */
const mapStrip = 112

/** The width for the steps of a graph that is higher than its pane. */
export function widthBesideMap(width: number): number {
  return width < narrowest ? width : width - mapStrip
}

export interface Room {
  readonly width: number
  readonly height: number
}

/** Which part of the drawing is seen: where its corner is on the screen, and how large it is drawn. */
export interface View {
  readonly x: number
  readonly y: number
  readonly zoom: number
}

/** Places the nodes from left to right, each after what it waits for; in bands, where one would be too long for the room. */
export function placeGraph(nodes: readonly GraphNode[], room?: Room): Placed {
  const placed = placeInOne(nodes)
  if (room === undefined || room.width === 0) return placed
  const least = leastFitIn(room.width)
  if (placed.width * least <= room.width && placed.height * least <= room.height) return placed
  const packed = placePacked(nodes, room, least)
  if (packed.height * least <= room.height) return packed
  return placePacked(nodes, { ...room, width: widthBesideMap(room.width) }, Math.max(least, leastMoved))
}

function placeInOne(nodes: readonly GraphNode[]): Placed {
  const sized = nodes.map((node) => ({ ...node, height: nodeHeight(node) }))
  const { places, passes, columns, height } = layeredLayout(sized, gapY)
  const left = (column: number): number => margin + column * (nodeWidth + gapX)
  const placed = nodes.map((node): PlacedNode => {
    const { column, top } = places.get(node.id) ?? { column: 0, top: 0 }
    return { ...node, x: left(column), y: margin + top }
  })
  const edges = connect(placed, (from, to) => {
    const first = (places.get(from)?.column ?? 0) + 1
    return (passes.get(`${from} ${to}`) ?? []).flatMap((y, at) => [
      { x: left(first + at), y: margin + y },
      { x: left(first + at) + nodeWidth, y: margin + y },
    ])
  })
  return {
    nodes: placed,
    edges,
    width: columns === 0 ? 0 : left(columns) - gapX + margin,
    height: columns === 0 ? 0 : height + 2 * margin,
  }
}

/** Between two bands, and above the first: edges that go round nodes run here. */
const corridor = 52
/** Left of the first column and right of the last, where edges leave the corridor and come to it. */
const lane = 20

function placePacked(nodes: readonly GraphNode[], room: Room, least: number): Placed {
  const rowHeight = Math.max(0, ...nodes.map(nodeHeight)) + gapY
  const columnWidth = nodeWidth + gapX
  const most = Math.max(1, Math.floor((room.width / least - 2 * margin - 2 * lane + gapX) / columnWidth))
  const usual = Math.max(3, Math.floor(room.height / least / rowHeight) - 1)
  const { cells, rows, columns } = pack(nodes, most, usual)
  const tops: number[] = []
  let height = margin
  for (const [band, count] of rows.entries()) {
    tops[band] = height + corridor
    height += corridor + count * rowHeight - gapY
  }
  const placed = nodes.map((node): PlacedNode => {
    const { band, column, row } = cells.get(node.id) ?? { band: 0, column: 0, row: 0 }
    return { ...node, x: margin + lane + column * columnWidth, y: (tops[band] ?? 0) + row * rowHeight }
  })
  const places = new Map(placed.map((node) => [node.id, node]))
  const edges = placed.flatMap((to) =>
    to.depends_on.flatMap((id): PlacedEdge[] => {
      const from = places.get(id)
      const [here, there] = [cells.get(id), cells.get(to.id)]
      if (from === undefined || here === undefined || there === undefined) return []
      const isNext = here.band === there.band && here.column + 1 === there.column
      const path = isNext ? curve(from, to, []) : roundabout(from, to, (tops[there.band] ?? 0) - corridor + lane)
      return [{ from: id, to: to.id, path, isConditional: to.when !== undefined }]
    }),
  )
  return { nodes: placed, edges, width: 2 * margin + 2 * lane + columns * columnWidth - gapX, height: height + margin }
}

/** An edge by way of the gaps between columns and the corridor above the band of its end, where it crosses no node. */
function roundabout(from: PlacedNode, to: PlacedNode, corridorY: number): string {
  const [startX, startY] = [from.x + nodeWidth, from.y + nodeHeight(from) / 2]
  const [endX, endY] = [to.x, to.y + nodeHeight(to) / 2]
  return rounded([
    { x: startX, y: startY },
    { x: startX + lane, y: startY },
    { x: startX + lane, y: corridorY },
    { x: endX - lane, y: corridorY },
    { x: endX - lane, y: endY },
    { x: endX, y: endY },
  ])
}

const corner = 8

/** Straight lines between points, with round corners. */
function rounded(points: readonly Point[]): string {
  let path = ""
  for (const [at, point] of points.entries()) {
    const [before, after] = [points[at - 1], points[at + 1]]
    const { x, y } = point
    if (before === undefined) path += `M${round(x)} ${round(y)}`
    else if (after === undefined) path += `L${round(x)} ${round(y)}`
    else {
      const [first, second] = [towards(point, before), towards(point, after)]
      path += `L${round(first.x)} ${round(first.y)}Q${round(x)} ${round(y)} ${round(second.x)} ${round(second.y)}`
    }
  }
  return path
}

/** A corner's length from a point to another, or half of the way where that is less. */
function towards(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y)
  const share = length === 0 ? 0 : Math.min(corner, length / 2) / length
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
}

interface Point {
  readonly x: number
  readonly y: number
}

/** An edge for every reference between two nodes that are there; `points` are the places kept free for it. */
function connect(placed: readonly PlacedNode[], points: (from: string, to: string) => readonly Point[]): PlacedEdge[] {
  const places = new Map(placed.map((node) => [node.id, node]))
  return placed.flatMap((to) =>
    to.depends_on.flatMap((id) => {
      const from = places.get(id)
      if (from === undefined) return []
      const path = curve(from, to, points(id, to.id))
      return [{ from: id, to: to.id, path, isConditional: to.when !== undefined }]
    }),
  )
}

/** A smooth line from the right side of one node to the left side of another, by way of the places kept free for it. */
function curve(from: PlacedNode, to: PlacedNode, points: readonly Point[]): string {
  const start = { x: from.x + nodeWidth, y: from.y + nodeHeight(from) / 2 }
  const end = { x: to.x, y: to.y + nodeHeight(to) / 2 }
  let path = `M${round(start.x)} ${round(start.y)}`
  let last = start
  for (const next of [...points, end]) {
    const middle = round((last.x + next.x) / 2)
    path += `C${middle} ${round(last.y)} ${middle} ${round(next.y)} ${round(next.x)} ${round(next.y)}`
    last = next
  }
  return path
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
