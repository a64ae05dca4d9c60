import { useRef } from "preact/hooks"
import { selection } from "../shown-run/selection.ts"
import type { Corner } from "./free-corner.ts"
import { freeCorner } from "./free-corner.ts"
import type { Placed, Room, View } from "./graph-layout.ts"
import { nodeHeight, nodeWidth } from "./graph-layout.ts"
import { drawnNode, statusesOf } from "./graph-model.ts"

const mapWidth = 96
const mapHeight = 96
const leastWidth = 16
const border = 2

interface MinimapProps {
  readonly placed: Placed
  readonly view: View
  readonly room: Room
  readonly onMove: (x: number, y: number) => void
}

/** The whole graph in a corner, as soon as a part of it is out of view. For the mouse: arrows and the search do the same by keyboard. */
export function Minimap({ placed, view, room, onMove }: MinimapProps) {
  const corner = useRef<Corner>("bottom-left")
  const isHeld = useRef(false)
  const { nodes, width, height } = placed
  const right = view.x + width * view.zoom
  const bottom = view.y + height * view.zoom
  const isWhole = view.x >= -1 && view.y >= -1 && right <= room.width + 1 && bottom <= room.height + 1
  const scale = Math.min(mapWidth / width, mapHeight / height)
  // A single long column would be a line.
  if (nodes.length < 2 || isWhole || room.width < 320 || width * scale < leastWidth) {
    isHeld.current = false
    return null
  }
  // It does not leave the pointer that holds it.
  if (!isHeld.current) {
    const places = nodes.map((node) => ({
      x: view.x + node.x * view.zoom,
      y: view.y + node.y * view.zoom,
      width: nodeWidth * view.zoom,
      height: nodeHeight(node) * view.zoom,
    }))
    const size = { width: width * scale + border, height: height * scale + border }
    corner.current = freeCorner(corner.current, places, size, room)
  }
  const statuses = statusesOf(placed)
  const selected = drawnNode(placed, selection.value?.node)
  // One shape for all nodes of a state.
  const boxes = new Map<string, string>()
  for (const node of nodes) {
    const status = statuses.get(node.id)
    const name = node === selected ? "selected" : status === undefined ? "planned" : `is-${status.state}`
    const box = `M${node.x} ${node.y}h${nodeWidth}v${nodeHeight(node)}h${-nodeWidth}z`
    boxes.set(name, (boxes.get(name) ?? "") + box)
  }
  const move = (event: PointerEvent): void => {
    const element = event.currentTarget
    if (!(element instanceof Element) || event.buttons === 0) return
    const bounds = element.getBoundingClientRect()
    onMove((event.clientX - bounds.left) / scale, (event.clientY - bounds.top) / scale)
  }
  const hold = (event: PointerEvent): void => {
    if (event.currentTarget instanceof Element) event.currentTarget.setPointerCapture(event.pointerId)
    isHeld.current = true
    move(event)
  }
  return (
    <svg
      class={`minimap ${corner.current}`}
      aria-hidden="true"
      width={width * scale}
      height={height * scale}
      viewBox={`0 0 ${width} ${height}`}
      onPointerDown={hold}
      onPointerMove={move}
      onLostPointerCapture={() => (isHeld.current = false)}
    >
      {[...boxes].map(([name, path]) => (
        <path key={name} class={name} d={path} />
      ))}
      <rect
        class="seen"
        x={-view.x / view.zoom}
        y={-view.y / view.zoom}
        width={room.width / view.zoom}
        height={room.height / view.zoom}
      />
    </svg>
  )
}
