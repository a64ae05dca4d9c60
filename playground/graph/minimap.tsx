import { useRef } from "preact/hooks"
import { selection } from "../shown-run/selection.ts"
import type { Corner } from "./free-corner.ts"
import { freeCorner } from "./free-corner.ts"
import type { Placed, Room } from "./graph-layout.ts"
import { nodeHeight, nodeWidth } from "./graph-layout.ts"
import { drawnNode, statusesOf } from "./graph-model.ts"

/** Which part of the drawing is seen: where its corner is on the screen, and how large it is drawn. */
export interface View {
  readonly x: number
  readonly y: number
  readonly zoom: number
}

const mapWidth = 144
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
    const boxes = nodes.map((node) => ({
      x: view.x + node.x * view.zoom,
      y: view.y + node.y * view.zoom,
      width: nodeWidth * view.zoom,
      height: nodeHeight(node) * view.zoom,
    }))
    const size = { width: width * scale + border, height: height * scale + border }
    corner.current = freeCorner(corner.current, boxes, size, room)
  }
  const statuses = statusesOf(placed)
  const selected = drawnNode(placed, selection.value?.node)
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
      {nodes.map((node) => {
        const status = statuses.get(node.id)
        const name = status === undefined ? "planned" : `is-${status.state}`
        return (
          <rect
            key={node.id}
            class={node === selected ? `${name} selected` : name}
            x={node.x}
            y={node.y}
            width={nodeWidth}
            height={nodeHeight(node)}
          />
        )
      })}
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
